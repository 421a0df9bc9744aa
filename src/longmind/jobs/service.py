"""The operations on one user's jobs.

A job is queued in the transaction that decides on it, and a worker of any process does it later. Workers of this
process are woken at once; those of others find it at their next poll.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, get_args

from longmind.clock import Clock, Instant, to_micros
from longmind.errors import Conflict, InvalidInput, NotFound
from longmind.jobs.handler_registry import HandlerRegistry, validate_kind
from longmind.models.job import Job, JobStatus, WorkReport
from longmind.models.value import Page
from longmind.scope import Scope, ScopedService
from longmind.settings import Settings
from longmind.store.database import Database
from longmind.store.tables import jobs as store
from longmind.store.tables.jobs import NewJob
from longmind.validation.identifiers import validate_id, validate_label
from longmind.validation.parameter_limits import ATTEMPTS, LIMIT, Attempts, JobId, JobKind, Label, Limit
from longmind.validation.text import encode_json

PAYLOAD_LIMIT = 1024 * 1024
"""Largest payload, and largest result, in bytes of JSON."""
_POLL_SECONDS = 0.005


class Jobs(ScopedService):
    """The current user's jobs. Threads may share it."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        settings: Settings,
        wake_workers: Callable[[], None],
        handlers: HandlerRegistry,
        attempt: Callable[[Scope, str], WorkReport],
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._settings = settings
        self._wake_workers = wake_workers
        self._handlers = handlers
        self._attempt = attempt

    def enqueue(
        self,
        kind: JobKind,
        payload: dict[str, Any] | None = None,
        *,
        run_at: Instant | None = None,
        unique_key: Label | None = None,
        max_attempts: Attempts | None = None,
    ) -> Job:
        """Queue a job and return it, or return the earlier job of this kind that has the same unique key.

        kind: at most 100 lower-case letters, digits, `_`, `-` and `.`. payload: JSON for the handler, at most 1 MiB;
        None means `{}`. run_at: the earliest time of the first attempt; None means now. unique_key: at most 255
        characters; None always queues a new job. max_attempts: from 1 to 100; None means the setting `job_attempts`.
        """
        if payload is not None and not isinstance(payload, dict):
            raise InvalidInput(f"payload must be a dict, not {type(payload).__name__}.")
        now = self._clock()
        new = NewJob(
            kind=validate_kind(kind),
            payload=encode_json("payload", payload or {}, limit=PAYLOAD_LIMIT),
            due_at=now if run_at is None else to_micros(run_at, "run_at"),
            max_attempts=self._settings.job_attempts
            if max_attempts is None
            else ATTEMPTS.check("max_attempts", max_attempts),
            unique_key=validate_label("unique_key", unique_key),
        )
        # Workers are woken after the commit, when they can see the job.
        job = self._database.write(self._scope, store.enqueue, self._scope, new, now)
        self._wake_workers()
        return job

    def get_job(self, job_id: JobId) -> Job | None:
        """Return a job, or None if this user has none with this id.

        job_id: the id of the job.
        """
        return self._database.read(self._scope, store.get, validate_id("job_id", job_id))

    def list_jobs(
        self,
        *,
        status: JobStatus | None = None,
        kind: JobKind | None = None,
        limit: Limit = 100,
        cursor: str | None = None,
    ) -> Page[Job]:
        """List the user's jobs, newest first.

        status: `queued`, `running`, `succeeded`, `failed` or `dead`; None means all. kind: only jobs of this kind; None
        means all. limit: at most that many, 1 to 10,000. cursor: `next_cursor` of the page before; None begins with the
        newest job.
        """
        if status is not None and status not in get_args(JobStatus):
            raise InvalidInput(f"status is {status!r}.", hint=f"Use one of {', '.join(get_args(JobStatus))}.")
        most = LIMIT.check("limit", limit)
        kind = None if kind is None else validate_kind(kind)
        cursor = None if cursor is None else validate_id("cursor", cursor)
        found = self._database.read(self._scope, store.list_newest_first, status, kind, cursor, most + 1)
        return Page(found[:most], found[most - 1].id if len(found) > most else None)

    def retry_job(self, job_id: JobId) -> Job:
        """Queue a failed or dead job again, with all its attempts.

        job_id: the id of the job. Raises NotFound if there is none, and Conflict if it is neither failed nor dead.
        """
        job = self._database.write(self._scope, store.retry, validate_id("job_id", job_id), self._clock())
        self._wake_workers()
        return job

    def run_job(self, job_id: JobId) -> Job:
        """Make one attempt at a job in this thread, due or not, and return the job as it is after that.

        If another worker has the job, this waits for the end of that attempt. A job that has succeeded or is dead is
        returned as it is. Raises Conflict if this engine has no handler for jobs of its kind.

        job_id: the id of the job.
        """
        checked = validate_id("job_id", job_id)
        while True:
            job = self._database.read(self._scope, store.get, checked)
            if job is None:
                raise NotFound("job", checked)
            if job.status in ("succeeded", "dead"):
                return job
            if job.kind not in self._handlers.kinds_in_turn():
                raise Conflict(
                    f"This engine has no handler for jobs of the kind {job.kind!r}.",
                    hint="Register one, or leave the job to an engine that has one.",
                )
            report = self._attempt(self._scope, checked)
            if report != WorkReport() or job.status == "running":
                job = self._database.read(self._scope, store.get, checked) or job
                if job.status != "running":
                    return job
            # Another worker has it, and says when it is done by the state of the job alone.
            time.sleep(_POLL_SECONDS)
