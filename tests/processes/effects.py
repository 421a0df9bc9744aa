"""What the jobs of these tests write in the transaction that ends them."""

from __future__ import annotations

import time

import longmind
from longmind.clock import system_clock
from longmind.models.content import encode_content
from longmind.store.database import Transaction
from longmind.store.tables.messages import NewMessage
from longmind.store.triggers import conversation_writes


class Undone(Exception):
    """The reason why a transaction is rolled back."""


def leave_remark(run: Transaction, attempt: longmind.JobRun, text: str) -> str:
    """Append a message to the conversation that the job names."""
    now = system_clock()
    new = NewMessage(role="system", content=encode_content(text), visibility="user", at=now)
    return conversation_writes.append(run, attempt.scope, attempt.job.payload["conversation"], new, now).id


def leave_remark_slowly(run: Transaction, attempt: longmind.JobRun, seconds: float) -> str:
    """Take a place in the ledger, and let the commit wait."""
    message_id = leave_remark(run, attempt, "slow")
    time.sleep(seconds)
    return message_id


def leave_remark_and_undo(run: Transaction, attempt: longmind.JobRun) -> None:
    """Take a place in the ledger that stays empty for ever."""
    leave_remark(run, attempt, "undone")
    raise Undone
