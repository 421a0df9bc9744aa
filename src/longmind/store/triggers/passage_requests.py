"""Requests to store the words and vectors of new messages, each queued in the transaction of its append.

At most one job of a user waits. An append finds out with the place that it takes whether one does, and then asks for
nothing. No message is missed:

- A worker that has claimed the job first waits for all transactions that are writing conversations or the ledger, and
  then reads the messages: an append that found the job still waiting belongs to one of them.
- While the job runs, a request leaves a mark in it. The end of the job holds its row and looks for the mark, and then
  the job goes on instead.
"""

from __future__ import annotations

import json

from longmind.clock import Micros
from longmind.ids import new_id
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables.jobs import JobPostponement

UNIQUE_KEY = "passages"
FIRST_KIND, LAST_KIND = "passages.embed.", "passages.embed/"
"""The kinds of these jobs, of all embedders, are between the two."""
_DEAD_AGAIN = 3600 * 1_000_000
"""The delay after all attempts of a job have failed."""
_PAUSE_SECONDS = 1.0
"""The pause before the ledger is looked at again, where some transaction has been writing for long."""


def request(run: Transaction, scope: Scope, kind: str, now: Micros, attempts: int) -> None:
    """Have the messages of a user stored that are not yet, unless a job waits for that already."""
    run.send(
        "request_passages",
        id=new_id("job", now),
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        kind=kind,
        max_attempts=attempts,
        mark=json.dumps({"since": now}),
        dead_until=now - _DEAD_AGAIN,
        due_at=now,
        now=now,
    )


def end(run: Transaction, job_id: str, made: int, is_complete: bool) -> dict[str, int] | JobPostponement:
    """Return the result of a job, or that it goes on: a message came, or may have come, while it ran."""
    row = run.one("hold_job_payload", id=job_id)
    since = json.loads(row[0]).get("since") if row else None
    if since is not None:
        run.send("restart_passages_job", id=job_id, began=since)
        return JobPostponement(0.0)
    return {"pieces": made} if is_complete else JobPostponement(_PAUSE_SECONDS)
