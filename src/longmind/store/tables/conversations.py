"""Conversations: one row each, which every append counts up and every close ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from longmind.clock import Micros, to_iso
from longmind.errors import NotFound
from longmind.ids import new_id
from longmind.models.conversation import Conversation
from longmind.scope import Scope
from longmind.store.database import BEYOND_ALL_IDS, Row, Transaction
from longmind.store.tables.ledger import record_change
from longmind.validation.text import decode_json

_BEYOND_ALL_TIMES = 2**62


@dataclass(frozen=True)
class NewConversation:
    """A conversation that was validated and encoded, but has no id yet."""

    namespace: str
    title: str | None
    session_id: str | None
    metadata: str


@dataclass(frozen=True)
class ClosedConversation:
    """A conversation that was just closed, and the facts that decide which jobs this causes."""

    conversation: Conversation
    bound: bool
    """True if a binding extracts conversations of its namespace when they are closed."""
    settles_at: Micros | None
    """The time when sleep-time memory would have read it; None where that is off."""


@dataclass(frozen=True)
class SleepState:
    """As much of a conversation as sleep-time memory decides by."""

    agent_id: str | None
    status: str
    updated_at: Micros
    until: int
    """The sequence number of its last message."""
    read_until: int
    """The sequence number up to which sleep-time memory has read it."""


def create(
    run: Transaction, scope: Scope, new: NewConversation, now: Micros, conversation_id: str | None = None
) -> Conversation:
    """Make an open conversation without messages, under a new id unless one is given."""
    conversation_id = conversation_id or new_id("conv", now)
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
    # Made here instead of read back: that would cost a round trip.
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
    """Return a conversation; None if the scope has none with this id."""
    row = run.one("get_conversation", id=conversation_id)
    return _to_conversation(row) if row else None


def read_status(run: Transaction, conversation_id: str) -> str | None:
    """Return the status of a conversation; None when the scope has no such one."""
    row = run.one("conversation_status", conversation_id=conversation_id)
    return None if row is None else row[0]


def hold(run: Transaction, conversation_id: str) -> str | None:
    """Keep a conversation as it is until the transaction ends, and return its status; None when there is none."""
    row = run.one("lock_conversation", conversation_id=conversation_id)
    return None if row is None else row[0]


def list_newest_first(
    run: Transaction, namespace: str | None, status: str | None, before: tuple[Micros, str] | None, limit: int
) -> list[Conversation]:
    """Return conversations, newest first, that come after the instant and id of the last one that was listed."""
    before_time, before_id = before or (_BEYOND_ALL_TIMES, BEYOND_ALL_IDS)
    rows = run.all(
        "list_conversations",
        namespace=namespace,
        status=status,
        before_time=before_time,
        before_id=before_id,
        limit=limit,
    )
    return [_to_conversation(row) for row in rows]


def read_every(run: Transaction) -> Iterator[Conversation]:
    """Yield all conversations of a user, oldest first. Only inside of `read_snapshot`."""
    return map(_to_conversation, run.each("every_conversation"))


def close(
    run: Transaction,
    scope: Scope,
    conversation_id: str,
    stale_before: Micros | None,
    now: Micros,
    sleep_idle: Micros | None,
) -> ClosedConversation | None:
    """Close an open conversation, given an instant only if nothing was appended since; None if it was left as it is."""
    row = run.one("close_conversation", id=conversation_id, stale_before=stale_before, now=now, sleep_idle=sleep_idle)
    if row is None:
        return None
    *columns, bound, settles_at = row
    conversation = _to_conversation(tuple(columns))
    record_change(
        run, scope, "conversation.closed", now, conversation_id=conversation_id, namespace=conversation.namespace
    )
    return ClosedConversation(conversation, bound, settles_at)


def list_stale(run: Transaction, namespace: str | None, before: Micros) -> list[str]:
    """Return the ids of a user's open conversations to which nothing was appended since an instant."""
    return [row[0] for row in run.all("stale_conversations", namespace=namespace, before=before)]


def list_owners_of_stale(run: Transaction, namespace: str | None, before: Micros) -> list[Scope]:
    """Return all users who have an open conversation to which nothing was appended since an instant."""
    return [Scope(*row) for row in run.all("owners_of_stale_conversations", namespace=namespace, before=before)]


def read_sleep_state(run: Transaction, conversation_id: str) -> SleepState:
    """Return the columns of a conversation by which sleep-time memory decides; raise NotFound if there is none."""
    row = run.one("sleep_state", conversation_id=conversation_id)
    if row is None:
        raise NotFound("conversation", conversation_id)
    return SleepState(*row)


def move_sleep_mark(run: Transaction, conversation_id: str, begun_at: int, until: int) -> bool:
    """Move the mark of what sleep-time memory has read; False when another job has moved it since."""
    moved = run.one("move_sleep_mark", conversation_id=conversation_id, begun_at=begun_at, until=until)
    return moved is not None


def restart_turn_count(run: Transaction, conversation_id: str, begun: int) -> None:
    """Count the turns since the last rolling summary from here on; `begun` of them are open already."""
    run.send("restart_turn_count", conversation_id=conversation_id, begun=begun)


def _to_conversation(row: Row) -> Conversation:
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
