"""What the jobs of these tests write in the transaction that ends them."""

from __future__ import annotations

import time

import recollect
from recollect.clock import system_clock
from recollect.models.content import encode_content
from recollect.store import conversations as store
from recollect.store.conversations import NewMessage
from recollect.store.database import Transaction


class Undone(Exception):
    """The reason why a transaction is rolled back."""


def leave_remark(run: Transaction, attempt: recollect.JobRun, text: str) -> str:
    """Append a message to the conversation that the job names."""
    now = system_clock()
    new = NewMessage(role="system", content=encode_content(text), visibility="user", at=now)
    return store.append(run, attempt.scope, attempt.job.payload["conversation"], new, now).id


def leave_remark_slowly(run: Transaction, attempt: recollect.JobRun, seconds: float) -> str:
    """Take a place in the ledger, and let the commit wait."""
    message_id = leave_remark(run, attempt, "slow")
    time.sleep(seconds)
    return message_id


def leave_remark_and_undo(run: Transaction, attempt: recollect.JobRun) -> None:
    """Take a place in the ledger that stays empty for ever."""
    leave_remark(run, attempt, "undone")
    raise Undone
