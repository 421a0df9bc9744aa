"""When a conversation has settled: it is closed, or nobody has said anything for a while.

Each message puts off the one job of its conversation, in its own transaction, so that nothing has to be searched for.
For those who have not asked for it nothing is queued.
"""

from __future__ import annotations

from dataclasses import dataclass

from longmind.clock import Micros
from longmind.errors import NotFound
from longmind.ids import new_id
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.validation.text import encode_json

SLEEP = "blocks.sleep"
"""The kind of the jobs that update memory blocks from conversations."""


@dataclass(frozen=True)
class Rule:
    """Whether blocks are updated from conversations, whose, and after how long a silence."""

    enabled: bool
    idle: Micros
    agent_id: str | None
    """The agent whose blocks they are, and whose conversations; None stands for the user and all conversations."""


@dataclass(frozen=True)
class Settling:
    """What there is to know of a conversation that may have settled."""

    rule: Rule | None
    settled: bool
    settles_at: Micros
    """If nothing more is said, and it is not closed."""
    begun_at: int
    """The sequence number up to which it was read before."""
    until: int


def set_rule(run: Transaction, rule: Rule, now: Micros) -> None:
    run.send("set_sleep_time", agent_id=rule.agent_id or "", enabled=int(rule.enabled), idle=rule.idle, now=now)


def rule_of(run: Transaction, agent_id: str | None) -> Rule | None:
    """The rule for conversations with an agent: its own or, where it has none, the user's."""
    row = run.one("get_sleep_time", agent_id=agent_id or "")
    return Rule(bool(row[0]), row[1], row[2] or None) if row else None


def put_off(
    run: Transaction, scope: Scope, conversation_id: str, sequence: int, due_at: Micros, now: Micros, attempts: int
) -> None:
    """Have a conversation looked at when it may have settled, and not before."""
    payload = encode_json("payload", {"conversationId": conversation_id})
    # While a worker reads the conversation, it may have begun before this message: another job follows.
    for key in (conversation_id, f"{conversation_id}:{sequence}"):
        moved = run.one(
            "put_off_settling",
            id=new_id("job", now),
            tenant_id=scope.tenant_id,
            app_id=scope.app_id,
            user_id=scope.user_id,
            kind=SLEEP,
            payload=payload,
            max_attempts=attempts,
            unique_key=key,
            due_at=due_at,
            now=now,
        )
        if moved is not None:
            return


def look(run: Transaction, conversation_id: str, now: Micros) -> Settling:
    row = run.one("settling_conversation", conversation_id=conversation_id)
    if row is None:
        raise NotFound("conversation", conversation_id)
    agent_id, status, updated_at, messages, slept_until = row
    rule = rule_of(run, agent_id)
    settles_at = updated_at + (rule.idle if rule else 0)
    return Settling(rule, status == "closed" or settles_at <= now, settles_at, slept_until, messages)


def is_extracted(run: Transaction, conversation_id: str, until: int) -> bool:
    """Whether a binding has had a conversation extracted up to a message."""
    row = run.one("furthest_extraction_mark", conversation_id=conversation_id)
    return row is not None and row[0] is not None and row[0] >= until


def move_mark(run: Transaction, conversation_id: str, begun_at: int, until: int) -> bool:
    """Say how far it was read now; False when somebody else has moved the mark since."""
    moved = run.one("move_sleep_mark", conversation_id=conversation_id, begun_at=begun_at, until=until)
    return moved is not None
