"""Changed facts: does recall rank the current version first, and does a timeline show both?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.evaluation.dataset import Statement, Update
from benchmarks.evaluation.scoring import compute_share
from benchmarks.evaluation.scripted_clock import ScriptedClock
from longmind.clock import to_micros
from longmind.context import Context
from longmind.models.atom import Atom, Category, NewAtom

_LIMIT = 20
_CATEGORY = Category(name="turn", kind="FACT")


def measure_updates(context: Context, clock: ScriptedClock, updates: Sequence[Update]) -> dict[str, object]:
    """Return the shares of facts that recall and timeline show correctly.

    All facts belong to one user; each is superseded by its new version at the time of the new statement.
    """
    space_id = context.memory.create_memory_space("facts").id
    versions = [_remember(context, clock, space_id, update) for update in updates]
    clock.now = max(to_micros(said.at) for update in updates for said in update.new)
    current_above = [
        _is_above(_list_recalled(context, space_id, update.question), atoms[-1].id, {atom.id for atom in atoms[:-1]})
        for update, atoms in zip(updates, versions, strict=True)
    ]
    both_there = [
        {atom.id for atom in atoms} <= set(_list_timeline(context, space_id, update.question))
        for update, atoms in zip(updates, versions, strict=True)
    ]
    return {
        "facts": len(updates),
        "current above old": compute_share(current_above),
        "timeline has both": compute_share(both_there),
    }


def _remember(context: Context, clock: ScriptedClock, space_id: str, update: Update) -> list[Atom]:
    conversation = context.conversations.create_conversation("facts")
    atoms: list[Atom] = []
    for statement in (*update.old, *update.new):
        clock.now = to_micros(statement.at)
        new = _make_atom(context, conversation.id, statement)
        atoms.append(
            context.memory.supersede_atom(atoms[-1].id, new) if atoms else context.memory.add_atom(space_id, new)
        )
    return atoms


def _make_atom(context: Context, conversation_id: str, statement: Statement) -> NewAtom:
    conversations = context.conversations
    append = conversations.append_user_message if statement.role == "user" else conversations.append_assistant_turn
    message = append(conversation_id, statement.text, created_at=statement.at)
    return NewAtom(
        text=statement.text,
        category=_CATEGORY,
        valid_from=statement.at,
        source_message_ids=[message.id],
        trust="user" if statement.role == "user" else "assistant",
    )


def _list_recalled(context: Context, space_id: str, question: str) -> list[str]:
    return [hit.atom.id for hit in context.memory.recall_by_topic(space_id, question, limit=_LIMIT).hits]


def _list_timeline(context: Context, space_id: str, question: str) -> Iterator[str]:
    hits = context.memory.recall_timeline(space_id, query=question, limit=_LIMIT, include_superseded=True).hits
    return (hit.atom.id for hit in hits)


def _is_above(ranked: Sequence[str], current: str, old: set[str]) -> bool:
    """Return whether the current version is found and no older one precedes it."""
    return current in ranked and not old & set(ranked[: ranked.index(current)])
