"""Messages: the rows of the ledger that have a place in a conversation.

A message is written in two steps within one transaction. `take_place` counts up the sequence of the conversation, which
holds its row until the transaction ends, so that no two messages get the same place; `insert` then appends to the
ledger. Rows are never changed afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from longmind.clock import Micros, to_iso
from longmind.errors import ConversationClosed, IdempotencyMismatch, NotFound
from longmind.ids import new_id
from longmind.models.content import decode_content
from longmind.models.message import Message, Role, Visibility, decode_usage
from longmind.scope import Scope, timeline_id
from longmind.store.database import Row, Transaction
from longmind.store.tables import conversations
from longmind.store.tables.ledger import CHAT, record

BEYOND_ALL_SEQUENCES = 2**53
MESSAGE_COLUMNS = (
    "id", "conversation_id", "turn_id", "sequence", "role", "content", "visibility", "stop_reason", "model", "provider",
    "usage", "tool_use_id", "tool_name", "is_error", "trace_id", "idempotency_key", "created_at", "attempt",
    "fingerprint",
)  # fmt: skip
"""The columns of a row, named like the fields of a Message; the fragment message_columns has the same order."""


@dataclass(frozen=True)
class NewMessage:
    """A message that was validated and encoded, but has no place yet."""

    role: Role
    content: str
    visibility: Visibility
    at: Micros
    stop_reason: str | None = None
    model: str | None = None
    provider: str | None = None
    usage: str | None = None
    tool_use_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    trace_id: str | None = None
    idempotency_key: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class MessagePlace:
    """A place in a conversation, and the facts that decide which jobs a message there causes."""

    conversation_id: str
    sequence: int
    turn_id: str
    attempt: int
    session_id: str | None
    namespace: str
    unsummarised: int
    """Turns that have begun since the last rolling summary."""
    window: int | None
    """The most turns after which a binding extracts the conversation, 0 if none counts them; None if none covers it."""
    vectors_awaited: bool
    """True if a job waits that makes vectors of new messages."""
    settles_at: Micros | None
    """The time when sleep-time memory reads it if nothing more is said; None where that is off, or queued already."""


class PlaceTriggers(Protocol):
    """The settings that decide which jobs a new place may cause."""

    @property
    def passages_kind(self) -> str | None: ...

    @property
    def sleep_idle(self) -> Micros | None: ...


def take_place(
    run: Transaction, conversation_id: str, count: int, now: Micros, role: Role, triggers: PlaceTriggers
) -> MessagePlace:
    """Take the next places of a conversation for a number of rows; a user's message opens a new turn there."""
    fresh = new_id("turn", now)
    return _take(
        run,
        conversation_id,
        count=count,
        now=now,
        role=role,
        new_turn_id=fresh if role == "user" else None,
        # A conversation may begin with the assistant's greeting, before there is a turn to belong to.
        spare_turn_id=fresh,
        answered_turn_id=None,
        attempt=None,
        passages_kind=triggers.passages_kind,
        sleep_idle=triggers.sleep_idle,
    )


def take_place_for_answer(
    run: Transaction,
    question: Message,
    now: Micros,
    triggers: PlaceTriggers,
    *,
    role: Role = "assistant",
    attempt: int | None = None,
) -> MessagePlace:
    """Take a place in the turn of a user's message; the first row of an answer is given the next attempt."""
    attempt = attempt or find_next_attempt(run, question)
    place = _take(
        run,
        question.conversation_id,
        count=1,
        now=now,
        role=role,
        new_turn_id=None,
        spare_turn_id=None,
        answered_turn_id=question.turn_id,
        attempt=attempt,
        passages_kind=triggers.passages_kind,
        sleep_idle=triggers.sleep_idle,
    )
    return replace(place, turn_id=question.turn_id, attempt=attempt)


def find_next_attempt(run: Transaction, question: Message) -> int:
    """Return the number of the next answer to a user's message, counted from 1."""
    newest = run.one(
        "newest_attempt",
        conversation_id=question.conversation_id,
        turn_id=question.turn_id,
        user_sequence=question.sequence,
    )
    return (newest[0] if newest and newest[0] else 0) + 1


def insert(run: Transaction, scope: Scope, place: MessagePlace, new: NewMessage) -> Message:
    """Append a message to the ledger at a place that was taken in this transaction."""
    columns: dict[str, Any] = {
        **vars(new),
        "conversation_id": place.conversation_id,
        "turn_id": place.turn_id,
        "sequence": place.sequence,
        "attempt": place.attempt,
    }
    # The fields of NewMessage are named like the columns, but for these two.
    role, at = columns.pop("role"), columns.pop("at")
    message_id = new_id("msg", at)
    session_id = place.session_id or scope.session_id
    record(
        run,
        scope,
        event_id=message_id,
        kind=CHAT,
        at=at,
        timeline_id=timeline_id(scope, session_id=session_id),
        session_id=session_id,
        stage=role,
        tags='["chat"]',
        **columns,
    )
    columns |= {"id": message_id, "role": role, "created_at": at}
    return _to_message([columns[name] for name in MESSAGE_COLUMNS])


def mark_asked_again(run: Transaction, question: Message) -> None:
    """Let the next answer go to the turn of a message that was appended before, whatever turn is newest."""
    run.send("mark_asked_again", conversation_id=question.conversation_id, turn_id=question.turn_id)


def find_by_key(run: Transaction, conversation_id: str, new: NewMessage) -> Message | None:
    """Return the earlier message that has the idempotency key of a new one; None if there is none, or no key.

    With a key, the conversation is held until the transaction ends, so that the answer stays true.
    """
    if new.idempotency_key is None:
        return None
    if conversations.hold(run, conversation_id) is None:
        raise NotFound("conversation", conversation_id)
    row = run.one("message_by_key", conversation_id=conversation_id, idempotency_key=new.idempotency_key)
    if row is None:
        return None
    # The fingerprint is the last column. The same key with other content is a mistake of the caller.
    if row[-1] != new.fingerprint:
        raise IdempotencyMismatch(new.idempotency_key)
    return _to_message(row, replayed=True)


def read_last(
    run: Transaction,
    conversation_id: str,
    *,
    limit: int,
    before: int,
    internal: bool,
    hidden: bool,
    latest_attempts: bool,
) -> list[Message]:
    """Return the last messages before a sequence number, in the order in which they were said.

    Messages for the user are always among them, others on request. With `latest_attempts` an answer is left out when a
    later one to the same turn replaced it.
    """
    rows = run.all(
        "last_messages",
        conversation_id=conversation_id,
        limit=limit,
        before=before,
        internal=int(internal),
        hidden=int(hidden),
        latest_attempts=int(latest_attempts),
    )
    if not rows and conversations.read_status(run, conversation_id) is None:
        raise NotFound("conversation", conversation_id)
    # The statement reads from the end.
    rows.reverse()
    return [_to_message(row) for row in rows]


def read_before(
    run: Transaction, conversation_id: str, before: int, limit: int, known_at: Micros | None
) -> list[Message]:
    """Return the last messages before a sequence number in their order, of every visibility and attempt.

    Given an instant, only those that were there by then.
    """
    rows = run.all("rows_before", conversation_id=conversation_id, before=before, limit=limit, known_at=known_at)
    return [_to_message(row) for row in reversed(rows)]


def read_times(run: Transaction, message_ids: Iterable[str]) -> dict[str, Micros]:
    """Return the instants at which messages were said; ids that lead nowhere are left out."""
    return dict(run.all("message_times", ids=json.dumps(sorted(message_ids))))


def read_visible(run: Transaction, message_ids: Iterable[str]) -> list[Message]:
    """Return messages by their ids in the order in which they were said, without hidden ones."""
    rows = run.all("messages_by_id", ids=json.dumps(sorted(message_ids)))
    return sorted(map(_to_message, rows), key=lambda each: (each.created_at, each.conversation_id, each.sequence))


def read_every(run: Transaction) -> Iterator[Message]:
    """Yield all messages of a user, one conversation after another. Only inside of `read_snapshot`."""
    return map(_to_message, run.each("every_message"))


def count(run: Transaction) -> int:
    """Return how many messages a user has, of every visibility."""
    row = run.one("count_messages")
    return int(row[0]) if row else 0


def find_conversation(run: Transaction, message_id: str) -> str | None:
    """Return the id of the conversation that a message is in; None when the scope has no such message."""
    row = run.one("message_conversation", event_id=message_id)
    return None if row is None else row[0]


def _take(run: Transaction, conversation_id: str, **values: Any) -> MessagePlace:
    row = run.one("take_sequences", conversation_id=conversation_id, **values)
    if row is None:
        if conversations.read_status(run, conversation_id) is None:
            raise NotFound("conversation", conversation_id)
        raise ConversationClosed(conversation_id)
    return MessagePlace(conversation_id, *row)


def _to_message(row: Row | list[Any], *, replayed: bool = False) -> Message:
    # Spelled out, because pages have many rows and pairing names with values takes a fifth longer.
    (
        id, conversation_id, turn_id, sequence, role, content, visibility, stop_reason, model, provider, usage,
        tool_use_id, tool_name, is_error, trace_id, idempotency_key, at, attempt, _fingerprint,
    ) = row  # fmt: skip
    return Message.from_trusted(
        {
            "id": id,
            "conversation_id": conversation_id,
            "turn_id": turn_id,
            "sequence": sequence,
            "role": role,
            "content": decode_content(content),
            "visibility": visibility,
            "stop_reason": stop_reason,
            "model": model,
            "provider": provider,
            "usage": decode_usage(usage) if usage else None,
            "tool_use_id": tool_use_id,
            "tool_name": tool_name,
            "is_error": None if is_error is None else bool(is_error),
            "trace_id": trace_id,
            "idempotency_key": idempotency_key,
            "created_at": to_iso(at),
            "attempt": attempt,
            "replayed": replayed,
        }
    )
