"""The queue of jobs.

A job is queued in the transaction of the change that causes it, so that neither is there without the other. A worker
claims it for a while with a fencing token, and every write of the attempt proves that its claim is still the newest.
A job also carries the epoch of its user: what was queued before an erasure is never claimed after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from longmind.clock import Micros, to_iso, to_micros
from longmind.errors import Conflict, LeaseLost, NotFound
from longmind.ids import new_id
from longmind.models.job import Job
from longmind.scope import Scope
from longmind.store.database import BEYOND_ALL_IDS, Row, Transaction
from longmind.validation.text import decode_json


@dataclass(frozen=True)
class NewJob:
    """A job that is to be queued; its payload is JSON."""

    kind: str
    payload: str
    due_at: Micros
    max_attempts: int
    unique_key: str | None = None


@dataclass(frozen=True)
class JobClaim:
    """A job that a worker has taken, with its user's scope and the token that proves the claim."""

    scope: Scope
    job: Job
    fencing_token: int
    epoch: int
    """The number of erasures of the user when it was queued."""


@dataclass(frozen=True)
class AttemptEnding:
    """The end of an attempt: with a result, with an error and a next attempt, or with an error for good."""

    status: str
    result: str | None = None
    error: str | None = None
    due_at: Micros | None = None


@dataclass(frozen=True)
class JobPostponement:
    """The answer of a handler whose job has to wait for something: it does not count as an attempt."""

    seconds: float


def enqueue(run: Transaction, scope: Scope, new: NewJob, now: Micros) -> Job:
    """Queue a job in the transaction of the change that causes it, or return the one that has its unique key."""
    row = run.one(
        "insert_job",
        id=new_id("job", now),
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        kind=new.kind,
        payload=new.payload,
        max_attempts=new.max_attempts,
        unique_key=new.unique_key,
        due_at=new.due_at,
        now=now,
    ) or run.one("job_by_key", kind=new.kind, unique_key=new.unique_key)
    # Neither inserted nor found: it was there, and was removed between the two statements.
    if row is None:
        raise Conflict("The job with this unique key was removed at the same time.", hint="Try again.")
    return _to_job(row)


def put_off_waiting(run: Transaction, scope: Scope, new: NewJob, now: Micros) -> bool:
    """Queue a job, or move the one of its unique key to the new instant; False while a worker has that one.

    A job that is over is queued again as if it were new.
    """
    row = run.one(
        "put_off_waiting_job",
        id=new_id("job", now),
        tenant_id=scope.tenant_id,
        app_id=scope.app_id,
        user_id=scope.user_id,
        kind=new.kind,
        payload=new.payload,
        max_attempts=new.max_attempts,
        unique_key=new.unique_key,
        due_at=new.due_at,
        now=now,
    )
    return row is not None


def get(run: Transaction, job_id: str) -> Job | None:
    """Return a job; None when the scope has no such one."""
    row = run.one("get_job", id=job_id)
    return _to_job(row) if row else None


def list_newest_first(
    run: Transaction, status: str | None, kind: str | None, before_id: str | None, limit: int
) -> list[Job]:
    """Return jobs of a user, newest first, that come before an id; a filter that is None lets every job through."""
    return [
        _to_job(row)
        for row in run.all("list_jobs", status=status, kind=kind, before_id=before_id or BEYOND_ALL_IDS, limit=limit)
    ]


def list_of_all_scopes(
    run: Transaction, status: str | None, kind: str | None, job_id: str | None, limit: int
) -> list[tuple[Scope, Job]]:
    """Return jobs of all users, newest first, each with the scope of its user."""
    if job_id is not None:
        rows = run.all("job_of_any_scope", id=job_id, status=status, kind=kind)
    else:
        rows = run.all("jobs_of_all_scopes", status=status, kind=kind, limit=limit)
    return [(Scope(tenant, app, user), _to_job(tuple(rest))) for tenant, app, user, *rest in rows]


def read_every(run: Transaction) -> Iterator[Job]:
    """Yield all jobs of a user, oldest first. Only inside of `read_snapshot`."""
    return map(_to_job, run.each("every_job"))


def find_by_key(run: Transaction, kind: str, unique_key: str) -> Job | None:
    """Return the job of a kind that has a unique key; None if there is none."""
    row = run.one("job_by_key", kind=kind, unique_key=unique_key)
    return _to_job(row) if row else None


def is_over(job: Job, done_until: Micros, dead_until: Micros) -> bool:
    """Return whether a job had succeeded by one instant, or was dead by the other."""
    until = {"succeeded": done_until, "dead": dead_until}.get(job.status)
    return until is not None and to_micros(job.updated_at) <= until


def enqueue_again(
    run: Transaction, scope: Scope, new: NewJob, now: Micros, done_until: Micros, dead_until: Micros
) -> Job:
    """Queue a job of a unique key, also where the one of that key is over, and return the one that is queued."""
    job = enqueue(run, scope, new, now)
    if not is_over(job, done_until, dead_until):
        return job
    row = run.one("queue_again", id=job.id, payload=new.payload, now=now)
    return job if row is None else _to_job(row)


def retry(run: Transaction, job_id: str, now: Micros) -> Job:
    """Queue a failed or dead job once more; raise Conflict if it is neither."""
    row = run.one("retry_job", id=job_id, now=now)
    if row:
        return _to_job(row)
    job = get(run, job_id)
    if job is None:
        raise NotFound("job", job_id)
    raise Conflict(f"Job {job_id!r} is {job.status}.", hint="Only a failed or dead job can be retried.")


def list_due_kinds(run: Transaction, kinds: list[str], now: Micros) -> list[str]:
    """Return those kinds of which some job is due, in the given order."""
    return [kind for (kind,) in run.all("due_kinds", kinds=json.dumps(kinds), now=now)]


def claim(run: Transaction, kind: str, worker: str, lease: Micros, now: Micros) -> list[JobClaim]:
    """Take the job of a kind that has been due for longest, of any scope; return an empty list if there is none."""
    return list(map(_to_claim, run.all("claim_jobs", kind=kind, worker=worker, lease=lease, now=now)))


def claim_one(run: Transaction, job_id: str, worker: str, lease: Micros, now: Micros) -> JobClaim | None:
    """Take a job of the scope, due or not; return None if it is over, or a worker has it."""
    row = run.one("claim_job", id=job_id, worker=worker, lease=lease, now=now)
    return None if row is None else _to_claim(row)


def extend_lease(run: Transaction, claim: JobClaim, lease: Micros, now: Micros) -> bool:
    """Keep a claim for a while longer; return False when another worker has the job by now."""
    row = run.one("extend_lease", id=claim.job.id, fencing_token=claim.fencing_token, lease=lease, now=now)
    return row is not None


def finish(run: Transaction, claim: JobClaim, ending: AttemptEnding, now: Micros) -> None:
    """End an attempt; raise LeaseLost, which undoes the whole transaction, if the claim is no longer the newest."""
    row = run.one(
        "finish_job",
        id=claim.job.id,
        fencing_token=claim.fencing_token,
        status=ending.status,
        result=ending.result,
        error=ending.error,
        due_at=ending.due_at,
        finished_at=now if ending.due_at is None else None,
        now=now,
    )
    if row is None:
        raise LeaseLost(f"Job {claim.job.id!r} was taken over by another worker, or its user's data was erased.")


def put_off(run: Transaction, claim: JobClaim, due_at: Micros, now: Micros) -> None:
    """Let a claimed job wait until an instant without counting an attempt."""
    row = run.one("put_off_job", id=claim.job.id, fencing_token=claim.fencing_token, due_at=due_at, now=now)
    if row is None:
        raise LeaseLost(f"Job {claim.job.id!r} was taken over by another worker, or its user's data was erased.")


def hasten(run: Transaction, kind: str, named: str, now: Micros) -> None:
    """Make the waiting jobs of a kind due now, of all scopes, that name something in their payload."""
    run.send("hasten_jobs", kind=kind, named=f"%{named}%", now=now)


def _to_job(row: Row) -> Job:
    (
        id, kind, status, payload, result, error, attempts, max_attempts, unique_key, due_at, created_at, updated_at,
        finished_at,
    ) = row  # fmt: skip
    return Job(
        id=id,
        kind=kind,
        status=status,
        payload=decode_json(payload, dict),
        result=None if result is None else decode_json(result, object),
        error=error,
        attempts=attempts,
        max_attempts=max_attempts,
        unique_key=unique_key,
        due_at=None if due_at is None else to_iso(due_at),
        created_at=to_iso(created_at),
        updated_at=to_iso(updated_at),
        finished_at=None if finished_at is None else to_iso(finished_at),
    )


def _to_claim(row: Row) -> JobClaim:
    tenant, app, user, token, epoch, *rest = row
    return JobClaim(Scope(tenant, app, user), _to_job(tuple(rest)), token, epoch)
