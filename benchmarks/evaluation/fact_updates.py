"""Facts that have changed: whether recall gives the current version, and a timeline both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.evaluation.dataset import Statement, Update
from benchmarks.evaluation.scoring import share
from benchmarks.evaluation.scripted_clock import Moments
from longmind.clock import to_micros
from longmind.context import Context
from longmind.models.atom import Atom, Category, NewAtom

_LIMIT = 20
_CATEGORY = Category(name="turn", kind="FACT")


def measure_updates(context: Context, clock: Moments, updates: Sequence[Update]) -> dict[str, object]:
    """All facts are one user's; each was superseded by its new version when that was said."""
    space_id = context.memory.create_memory_space("facts").id
    versions = [_remember(context, clock, space_id, update) for update in updates]
    clock.now = max(to_micros(said.at) for update in updates for said in update.new)
    current_above = [
        _is_above(_recalled(context, space_id, update.question), atoms[-1].id, {atom.id for atom in atoms[:-1]})
        for update, atoms in zip(updates, versions, strict=True)
    ]
    both_there = [
        {atom.id for atom in atoms} <= set(_timeline(context, space_id, update.question))
        for update, atoms in zip(updates, versions, strict=True)
    ]
    return {
        "facts": len(updates),
        "current above old": share(current_above),
        "timeline has both": share(both_there),
    }


def _remember(context: Context, clock: Moments, space_id: str, update: Update) -> list[Atom]:
    conversation = context.conversations.create_conversation("facts")
    atoms: list[Atom] = []
    for said in (*update.old, *update.new):
        clock.now = to_micros(said.at)
        new = _atom(context, conversation.id, said)
        atoms.append(
            context.memory.supersede_atom(atoms[-1].id, new) if atoms else context.memory.add_atom(space_id, new)
        )
    return atoms


def _atom(context: Context, conversation_id: str, said: Statement) -> NewAtom:
    conversations = context.conversations
    append = conversations.append_user_message if said.role == "user" else conversations.append_assistant_turn
    message = append(conversation_id, said.text, created_at=said.at)
    return NewAtom(
        text=said.text,
        category=_CATEGORY,
        valid_from=said.at,
        source_message_ids=[message.id],
        trust="user" if said.role == "user" else "assistant",
    )


def _recalled(context: Context, space_id: str, question: str) -> list[str]:
    return [hit.atom.id for hit in context.memory.recall_by_topic(space_id, question, limit=_LIMIT).hits]


def _timeline(context: Context, space_id: str, question: str) -> Iterator[str]:
    hits = context.memory.recall_timeline(space_id, query=question, limit=_LIMIT, include_superseded=True).hits
    return (hit.atom.id for hit in hits)


def _is_above(ranked: Sequence[str], current: str, old: set[str]) -> bool:
    """Whether the current version is found, and no older one before it."""
    return current in ranked and not old & set(ranked[: ranked.index(current)])
