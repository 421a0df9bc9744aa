"""Things that an atom names by their ids: the messages that it cites, and the entities that it is about."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.errors import InvalidInput
from longmind.store.database import Transaction
from longmind.store.tables import conversations as conversation_rows
from longmind.store.tables import messages
from longmind.store.tables.atom_rows import PreparedAtom

_MERGED_INTO = 9
"""The column of an entity's row that says into which other it was merged."""


def check_sources(run: Transaction, atoms: Sequence[PreparedAtom]) -> list[str | None]:
    """Return the conversation that each atom cites; raise InvalidInput for a source that the scope does not have."""
    conversation_of: dict[str, str] = {}
    for message_id in dict.fromkeys(each for atom in atoms for each in atom.source_message_ids):
        found = messages.find_conversation(run, message_id)
        if found is None:
            raise InvalidInput(
                f"There is no message {message_id!r} in this scope to cite.",
                hint="Pass ids of messages of the same user as source_message_ids.",
            )
        conversation_of[message_id] = found
    known: set[str] = set()
    cited = []
    for atom in atoms:
        conversations = {conversation_of[each] for each in atom.source_message_ids}
        conversation_id = atom.source_conversation_id
        if conversation_id is None:
            # Messages of one conversation name it; those of several have no single one.
            cited.append(conversations.pop() if len(conversations) == 1 else None)
            continue
        if conversation_id not in known and conversation_rows.read_status(run, conversation_id) is None:
            raise InvalidInput(f"There is no conversation {conversation_id!r} in this scope to cite.")
        known.add(conversation_id)
        if conversations - {conversation_id}:
            raise InvalidInput(f"source_message_ids has messages that are not in conversation {conversation_id!r}.")
        cited.append(conversation_id)
    return cited


def resolve_entities(run: Transaction, space_id: str, atoms: Sequence[PreparedAtom]) -> list[PreparedAtom]:
    """Return the atoms with the entities that their ids stand for after merges; raise InvalidInput for unknown ids."""
    stands_for: dict[str, str] = {}
    for entity_id in dict.fromkeys(each for atom in atoms for each in atom.entity_ids):
        row = run.one("get_entity", id=entity_id)
        while row is not None and row[_MERGED_INTO] is not None:
            row = run.one("get_entity", id=row[_MERGED_INTO])
        if row is None or row[1] != space_id:
            raise InvalidInput(f"There is no entity {entity_id!r} in this space to link.")
        stands_for[entity_id] = row[0]
    return [
        atom._replace(entity_ids=tuple(dict.fromkeys(stands_for[each] for each in atom.entity_ids)))
        if atom.entity_ids
        else atom
        for atom in atoms
    ]
