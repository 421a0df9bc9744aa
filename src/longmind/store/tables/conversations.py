"""Units of work on conversations and their messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from longmind.clock import Micros, to_iso
from longmind.errors import ConversationClosed, IdempotencyMismatch, NotFound
from longmind.ids import new_id
from longmind.models.content import decode_content
from longmind.models.conversation import Conversation
from longmind.models.message import Message, Role, Turn, Visibility, decode_usage
from longmind.scope import Scope, timeline_id
from longmind.store.database import BEYOND_ALL_IDS, Row, Transaction
from longmind.store.tables.ledger import CHAT, record, record_change
from longmind.store.triggers.extraction import USUAL_ATTEMPTS, on_answer, on_closed
from longmind.store.triggers.rolling_summary import on_appended
from longmind.store.triggers.sleep_time import put_off
from longmind.validation.text import decode_json

_BEYOND_ALL_TIMES = 2**62
BEYOND_ALL_SEQUENCES = 2**53


@dataclass(frozen=True)
class NewConversation:
    namespace: str
    title: str | None
    session_id: str | None
    metadata: str


@dataclass(frozen=True)
class NewMessage:
    """A message that was checked and encoded, but has no place yet."""

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
class Place:
    """Where a message stands."""

    conversation_id: str
    sequence: int
    turn_id: str
    attempt: int
    session_id: str | None
    namespace: str
    unsummarised: int
    """Turns that have begun since the last rolling summary."""
    counted: bool
    """Whether a binding counts the turns of the conversation."""
    settles_at: Micros | None
    """When sleep-time memory reads it if nothing more is said; None where that is not on."""


def create(run: Transaction, scope: Scope, new: NewConversation, now: Micros) -> Conversation:
    conversation_id = new_id("conv", now)
    run.send(
        "insert_conversation",
        id=conversation_id,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        namespace=new.namespace,
        title=new.title,
        session_id=new.session_id,
        metadata=new.metadata,
        now=now,
    )
    record_change(run, scope, "conversation.created", now, conversation_id=conversation_id, namespace=new.namespace)
    return Conversation(
        id=conversation_id,
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        namespace=new.namespace,
        user_id=scope.user_id,
        title=new.title,
        session_id=new.session_id,
        status="open",
        metadata=decode_json(new.metadata, dict),
        message_count=0,
        rolling_summary=None,
        rolling_summary_until_seq=0,
        created_at=to_iso(now),
        updated_at=to_iso(now),
        closed_at=None,
    )


def get(run: Transaction, conversation_id: str) -> Conversation | None:
    row = run.one("get_conversation", id=conversation_id)
    return _conversation(row) if row else None


def list_newest_first(
    run: Transaction, namespace: str | None, status: str | None, before: tuple[Micros, str] | None, limit: int
) -> list[Conversation]:
    before_time, before_id = before or (_BEYOND_ALL_TIMES, BEYOND_ALL_IDS)
    rows = run.all(
        "list_conversations",
        namespace=namespace,
        status=status,
        before_time=before_time,
        before_id=before_id,
        limit=limit,
    )
    return [_conversation(row) for row in rows]


def every(run: Transaction) -> Iterator[Conversation]:
    """All conversations of a user, oldest first. Only inside of `read_snapshot`, like the next."""
    return map(_conversation, run.each("every_conversation"))


def every_message(run: Transaction) -> Iterator[Message]:
    """All messages of a user, of every visibility, one conversation after another."""
    return map(_message, run.each("every_message"))


def close(
    run: Transaction, scope: Scope, conversation_id: str, now: Micros, attempts: int = USUAL_ATTEMPTS
) -> Conversation:
    """Close a conversation, and queue what its bindings make of it: jobs that are tried so many times."""
    conversation = close_if_stale(run, scope, conversation_id, None, now, attempts) or get(run, conversation_id)
    if conversation is None:
        raise NotFound("conversation", conversation_id)
    return conversation


def close_if_stale(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    stale_before: Micros | None,
    now: Micros,
    attempts: int = USUAL_ATTEMPTS,
) -> Conversation | None:
    """Close an open conversation, given an instant only if nothing was appended since; None if it was left as it is."""
    row = run.one("close_conversation", id=conversation_id, stale_before=stale_before, now=now)
    if row is None:
        return None
    *columns, bound, settles_at = row
    conversation = _conversation(tuple(columns))
    record_change(
        run, scope, "conversation.closed", now, conversation_id=conversation_id, namespace=conversation.namespace
    )
    if bound:
        on_closed(run, scope, conversation, now, attempts)
    if settles_at is not None:
        put_off(run, scope, conversation_id, conversation.message_count, now, now, attempts)
    return conversation


def find_stale(run: Transaction, namespace: str | None, before: Micros) -> list[str]:
    return [row[0] for row in run.all("stale_conversations", namespace=namespace, before=before)]


def owners_of_stale(run: Transaction, namespace: str | None, before: Micros) -> list[Scope]:
    return [Scope(*row) for row in run.all("owners_of_stale_conversations", namespace=namespace, before=before)]


def append(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    new: NewMessage,
    now: Micros,
    attempts: int = USUAL_ATTEMPTS,
    summary_turns: int = 0,
) -> Message:
    """Append one message; with a key that was used before, give back the message of that time instead.

    After so many turns, 0 for never, a refresh of the rolling summary is queued.
    """
    known = message_of_key(run, conversation_id, new)
    if known:
        if next_attempt(run, known) > 1:
            run.send("mark_asked_again", conversation_id=conversation_id, turn_id=known.turn_id)
        return known
    place = take_place(run, conversation_id, 1, now, new.role)
    message = insert(run, scope, place, new)
    if place.counted and new.role == "assistant":
        on_answer(run, scope, conversation_id, place.namespace, place.sequence, now, attempts)
    if summary_turns:
        on_appended(run, scope, message, place.unsummarised, summary_turns, now, attempts)
    let_settle(run, scope, place, now, attempts)
    return message


def append_turn(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    user: NewMessage,
    assistant: NewMessage,
    now: Micros,
    attempts: int = USUAL_ATTEMPTS,
    summary_turns: int = 0,
) -> Turn:
    """Append a user's message and its answer side by side; on a retry of the user's message only a new answer."""
    asked = message_of_key(run, conversation_id, user)
    if asked is None:
        place = take_place(run, conversation_id, 2, now, "user")
        asked = insert(run, scope, place, user)
        place = replace(place, sequence=place.sequence + 1)
    else:
        place = take_place_for_answer(run, asked, now)
    answer = insert(run, scope, place, assistant)
    if place.counted:
        on_answer(run, scope, conversation_id, place.namespace, place.sequence, now, attempts)
    if summary_turns:
        on_appended(run, scope, answer, place.unsummarised, summary_turns, now, attempts)
    let_settle(run, scope, place, now, attempts)
    return Turn(turn_id=asked.turn_id, user_message=asked, assistant_message=answer)


def let_settle(run: Transaction, scope: Scope, place: Place, now: Micros, attempts: int) -> None:
    """Have sleep-time memory, where it is on, read the conversation when nothing more is said."""
    if place.settles_at is not None:
        put_off(run, scope, place.conversation_id, place.sequence, place.settles_at, now, attempts)


def last_messages(
    run: Transaction,
    conversation_id: str,
    *,
    limit: int,
    before: int,
    internal: bool,
    hidden: bool,
    latest_attempts: bool,
) -> list[Message]:
    """The tail of a conversation in the order in which it was said."""
    rows = run.all(
        "last_messages",
        conversation_id=conversation_id,
        limit=limit,
        before=before,
        internal=int(internal),
        hidden=int(hidden),
        latest_attempts=int(latest_attempts),
    )
    if not rows and run.one("conversation_status", conversation_id=conversation_id) is None:
        raise NotFound("conversation", conversation_id)
    rows.reverse()
    return [_message(row) for row in rows]


def rows_before(
    run: Transaction, conversation_id: str, before: int, limit: int, known_at: Micros | None
) -> list[Message]:
    """The last rows before a sequence number, all that there are or that there were at an instant, in their order."""
    rows = run.all("rows_before", conversation_id=conversation_id, before=before, limit=limit, known_at=known_at)
    return [_message(row) for row in reversed(rows)]


def read_status(run: Transaction, conversation_id: str) -> str | None:
    """Return the status of a conversation; None when the scope has no such conversation."""
    row = run.one("conversation_status", conversation_id=conversation_id)
    return None if row is None else row[0]


def message_times(run: Transaction, message_ids: Iterable[str]) -> dict[str, Micros]:
    """When each of some messages was said."""
    return dict(run.all("message_times", ids=json.dumps(sorted(message_ids))))


def message_of_key(run: Transaction, conversation_id: str, new: NewMessage) -> Message | None:
    """The message that came with this idempotency key before. The conversation is held, so the answer stays true."""
    if new.idempotency_key is None:
        return None
    if run.one("lock_conversation", conversation_id=conversation_id) is None:
        raise NotFound("conversation", conversation_id)
    row = run.one("message_by_key", conversation_id=conversation_id, idempotency_key=new.idempotency_key)
    if row is None:
        return None
    if row[-1] != new.fingerprint:
        raise IdempotencyMismatch(new.idempotency_key)
    return _message(row, replayed=True)


def take_place(run: Transaction, conversation_id: str, count: int, now: Micros, role: Role) -> Place:
    fresh = new_id("turn", now)
    return take(
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
    )


def take_place_for_answer(
    run: Transaction, asked: Message, now: Micros, *, role: Role = "assistant", attempt: int | None = None
) -> Place:
    """A place in the turn of a user's message; the first row of an answer is given the next attempt."""
    attempt = attempt or next_attempt(run, asked)
    place = take(
        run,
        asked.conversation_id,
        count=1,
        now=now,
        role=role,
        new_turn_id=None,
        spare_turn_id=None,
        answered_turn_id=asked.turn_id,
        attempt=attempt,
    )
    return replace(place, turn_id=asked.turn_id, attempt=attempt)


def next_attempt(run: Transaction, asked: Message) -> int:
    """The number of the next answer to a user's message."""
    newest = run.one(
        "newest_attempt", conversation_id=asked.conversation_id, turn_id=asked.turn_id, user_sequence=asked.sequence
    )
    return (newest[0] if newest and newest[0] else 0) + 1


def take(run: Transaction, conversation_id: str, **values: Any) -> Place:
    row = run.one("take_sequences", conversation_id=conversation_id, **values)
    if row is None:
        if run.one("conversation_status", conversation_id=conversation_id) is None:
            raise NotFound("conversation", conversation_id)
        raise ConversationClosed(conversation_id)
    return Place(conversation_id, *row)


def insert(run: Transaction, scope: Scope, place: Place, new: NewMessage) -> Message:
    message_id = new_id("msg", new.at)
    session_id = place.session_id or scope.session_id
    record(
        run,
        scope,
        event_id=message_id,
        kind=CHAT,
        at=new.at,
        timeline_id=timeline_id(scope, session_id=session_id),
        session_id=session_id,
        stage=new.role,
        tags='["chat"]',
        conversation_id=place.conversation_id,
        sequence=place.sequence,
        turn_id=place.turn_id,
        attempt=place.attempt,
        visibility=new.visibility,
        content=new.content,
        stop_reason=new.stop_reason,
        model=new.model,
        provider=new.provider,
        usage=new.usage,
        tool_use_id=new.tool_use_id,
        tool_name=new.tool_name,
        is_error=new.is_error,
        trace_id=new.trace_id,
        idempotency_key=new.idempotency_key,
        fingerprint=new.fingerprint,
    )
    row = (
        message_id, place.conversation_id, place.turn_id, place.sequence, new.role, new.content, new.visibility,
        new.stop_reason, new.model, new.provider, new.usage, new.tool_use_id, new.tool_name, new.is_error,
        new.trace_id, new.idempotency_key, new.at, place.attempt, new.fingerprint,
    )  # fmt: skip
    return _message(row)


def _conversation(row: Row) -> Conversation:
    (
        id, tenant_id, app_id, namespace, user_id, title, session_id, status, metadata, next_sequence,
        rolling_summary, rolling_summary_until_seq, created_at, updated_at, closed_at,
    ) = row  # fmt: skip
    return Conversation(
        id=id,
        tenant_id=tenant_id,
        app_id=app_id,
        namespace=namespace,
        user_id=user_id,
        title=title,
        session_id=session_id,
        status=status,
        metadata=decode_json(metadata, dict),
        message_count=next_sequence - 1,
        rolling_summary=rolling_summary,
        rolling_summary_until_seq=rolling_summary_until_seq,
        created_at=to_iso(created_at),
        updated_at=to_iso(updated_at),
        closed_at=to_iso(closed_at) if closed_at is not None else None,
    )


def _message(row: Row, *, replayed: bool = False) -> Message:
    (
        id, conversation_id, turn_id, sequence, role, content, visibility, stop_reason, model, provider, usage,
        tool_use_id, tool_name, is_error, trace_id, idempotency_key, at, attempt, _fingerprint,
    ) = row  # fmt: skip
    return Message.trusted(
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
