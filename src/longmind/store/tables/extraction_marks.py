"""Extraction marks: up to which message a conversation was extracted for a binding and a space, and was asked to be."""

from __future__ import annotations

from typing import NamedTuple

from longmind.scope import Scope
from longmind.store.database import Transaction


class ExtractionTarget(NamedTuple):
    """A conversation, with the binding and the space that it is extracted for."""

    conversation_id: str
    binding_id: str
    space_id: str


def read(run: Transaction, target: ExtractionTarget) -> tuple[int, int]:
    """Return the sequence numbers up to which the conversation was extracted, and up to which that was requested."""
    row = run.one("extraction_mark", **target._asdict())
    return (row[0], row[1]) if row else (0, 0)


def move(run: Transaction, target: ExtractionTarget, begun_at: int, until: int) -> bool:
    """Move the mark of what was extracted; False when another extraction has moved it since this one began."""
    moved = run.one("move_extraction_mark", from_sequence=begun_at, until_sequence=until, **target._asdict())
    return moved is not None


def request(run: Transaction, target: ExtractionTarget, until: int) -> None:
    """Move the mark of what was requested, from which the turns of the next window are counted."""
    run.send("request_extraction", requested_sequence=until, **target._asdict())


def count_answered_turns(run: Transaction, conversation_id: str, after: int) -> int:
    """Return how many turns of a conversation have an answer after a sequence number."""
    row = run.one("count_answered_turns", conversation_id=conversation_id, after=after)
    return int(row[0]) if row else 0


def is_extracted(run: Transaction, conversation_id: str, until: int) -> bool:
    """Return whether the conversation was extracted up to a message, for any binding."""
    row = run.one("furthest_extraction_mark", conversation_id=conversation_id)
    return row is not None and row[0] is not None and row[0] >= until


def is_awaited(run: Transaction, conversation_id: str) -> bool:
    """Return whether an extraction of the conversation was requested for any binding, and has not happened yet."""
    return run.one("awaited_extraction", conversation_id=conversation_id) is not None


def forget_conversations(run: Transaction, owner: Scope, speaker: Scope) -> None:
    """Remove the marks that an owner of shared spaces has of another user's conversations."""
    run.send("forget_marks_of", owner=owner.id, speaker_scope=speaker.id)
