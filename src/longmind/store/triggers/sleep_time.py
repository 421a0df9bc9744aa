"""Sleep-time memory: the reading of a conversation once it is closed, or nothing was said in it for a while.

The first message after a silence queues the one job of its conversation, in its own transaction, so that nothing has to
be searched for. When the job is due, it waits on if more was said since; a close makes it due at once. Nothing is
queued for users who have turned it off.
"""

from __future__ import annotations

from dataclasses import dataclass

from longmind.clock import Micros
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import conversations, jobs, sleep_time_rules
from longmind.store.tables.jobs import NewJob
from longmind.store.tables.sleep_time_rules import SleepRule
from longmind.validation.text import encode_json

SLEEP = "blocks.sleep"
"""The kind of the jobs that update memory blocks from conversations."""


@dataclass(frozen=True)
class IdleState:
    """The part of a conversation that is to be read, the rule for it, and whether it has settled."""

    rule: SleepRule | None
    settled: bool
    settles_at: Micros
    """The time when it settles if nothing more is said, and it is not closed."""
    begun_at: int
    """The sequence number up to which it was read before."""
    until: int
    """The sequence number of its last message."""


def queue_reading(
    run: Transaction, scope: Scope, conversation_id: str, sequence: int, due_at: Micros, now: Micros, attempts: int
) -> None:
    """Have a conversation looked at when it may have settled, and not before."""
    payload = encode_json("payload", {"conversationId": conversation_id})
    # While a worker reads the conversation, it may have begun before this message: another job follows.
    for key in (conversation_id, f"{conversation_id}:{sequence}"):
        if jobs.put_off_waiting(run, scope, NewJob(SLEEP, payload, due_at, attempts, unique_key=key), now):
            return


def on_extracted(run: Transaction, conversation_id: str, now: Micros) -> None:
    """Make a job due that has waited for the extraction of its conversation."""
    run.send("hasten_sleep", conversation_id=conversation_id, now=now)


def read_idle_state(run: Transaction, conversation_id: str, now: Micros, usual: SleepRule | None) -> IdleState:
    """Return the part that is to be read, and whether the conversation has settled; raise NotFound if it is gone.

    usual: the rule for users without one of their own.
    """
    state = conversations.read_sleep_state(run, conversation_id)
    rule = sleep_time_rules.find(run, state.agent_id) or usual
    settles_at = state.updated_at + (rule.idle if rule else 0)
    settled = state.status == "closed" or settles_at <= now
    return IdleState(rule, settled, settles_at, state.read_until, state.until)
