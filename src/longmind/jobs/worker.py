"""A worker: it claims jobs, keeps the claims alive, and commits their outcomes.

A claim is a lease on one job. While the handler runs, a heartbeat thread extends the lease; when a worker dies, the
lease runs out and another worker claims the job, as a further attempt. Each claim has a fencing token, and only the
newest claim can store the end of the job, in the transaction of the job's Effect. So an effect is committed exactly
once, even if a worker that lost its lease is still running.
An erased user's jobs are refused by the fence around the attempt (see `erasure_fence`).
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from longmind.clock import Clock, Micros
from longmind.errors import EngineClosed, LeaseLost, LongmindError, UserErased
from longmind.jobs.handler_registry import Effect, HandlerRegistry, JobRun
from longmind.jobs.service import PAYLOAD_LIMIT
from longmind.jobs.wakeup import Bell
from longmind.models.job import WorkReport
from longmind.runtime.backoff import compute_pause
from longmind.scope import Scope
from longmind.settings import Settings
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.erasure_fence import fence_erasures
from longmind.store.tables import jobs as store
from longmind.store.tables.jobs import AttemptEnding, JobClaim, JobPostponement
from longmind.validation.text import encode_json

if TYPE_CHECKING:
    from longmind.context import Context

_log = logging.getLogger("longmind.jobs")

_ERROR_LIMIT = 4_000
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
_ROUNDS = 6
"""Most runs of a handler in one attempt, when what it has seen keeps changing."""

handler_thread: ContextVar[threading.Thread | None] = ContextVar("handler_thread", default=None)
"""The worker thread whose handler the current code belongs to, even if the handler is a coroutine elsewhere."""


class Worker:
    """One worker, in one thread. Any number of them, in any number of processes, may share a database."""

    def __init__(
        self,
        database: Database,
        handlers: HandlerRegistry,
        settings: Settings,
        clock: Clock,
        context_of: Callable[[Scope], Context],
    ) -> None:
        self._database = database
        self._context_of = context_of
        self._handlers = handlers
        self._settings = settings
        self._clock = clock
        self._name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"

    def work(self, limit: int | None = None, stop: threading.Event | None = None) -> WorkReport:
        """Do due jobs, and those that they make due, until none is left.

        limit: most jobs to do. stop: end after the current job once it is set.
        """
        report = WorkReport()
        done = 0
        # One heartbeat for all jobs of this call, so that short jobs do not start a thread each.
        with _Heartbeat(self) as heartbeat:
            while (limit is None or done < limit) and not (stop is not None and stop.is_set()):
                claim = self._claim_next()
                if claim is None:
                    break
                with heartbeat.keeping(claim):
                    report = report + self._attempt(claim)
                done += 1
        return report

    def work_on(self, scope: Scope, job_id: str) -> WorkReport:
        """Do one job, due or not; report nothing done if it is over, or another worker has it."""
        claim = self._database.write(scope, store.claim_one, job_id, self._name, self._lease, self._clock())
        if claim is None:
            return WorkReport()
        with _Heartbeat(self) as heartbeat, heartbeat.keeping(claim):
            return self._attempt(claim)

    def extend_lease(self, claim: JobClaim) -> bool:
        """Extend the lease; return False if another worker has taken the job over."""
        return self._database.write(claim.scope, store.extend_lease, claim, self._lease, self._clock())

    @property
    def seconds_between_beats(self) -> float:
        # Two beats may be lost before the lease runs out.
        return self._settings.job_lease_seconds / 3

    def run_until(self, stop: threading.Event, bell: Bell) -> None:
        """Work until `stop` is set. Errors are logged, and work goes on after a pause: nobody awaits this thread."""
        while True:
            # Read before the search for jobs, so that a ring during it ends the wait at once.
            last_ring = bell.rung
            if stop.is_set():
                return
            try:
                self.work(stop=stop)
            except LongmindError as error:
                if isinstance(error, EngineClosed) and stop.is_set():
                    # The program ended before the job, which is done again when its lease has run out.
                    return
                _log.warning("worker %s: %s", self._name, error)
                stop.wait(_PAUSE_AFTER_FAILURE_SECONDS)
            except BaseException:
                _log.exception("worker %s", self._name)
                stop.wait(_PAUSE_AFTER_FAILURE_SECONDS)
            else:
                bell.wait(last_ring, self._settings.worker_poll_seconds)

    def _claim_next(self) -> JobClaim | None:
        # One read for all kinds: a claim of each would be a transaction for each, and most would find nothing.
        kinds = self._handlers.kinds_in_turn()
        for kind in self._database.read(None, store.list_due_kinds, kinds, self._clock()):
            found = self._database.write(None, store.claim, kind, self._name, self._lease, self._clock())
            if found:
                self._handlers.note_claim(kind)
                return found[0]
        return None

    @property
    def _lease(self) -> Micros:
        return int(self._settings.job_lease_seconds * 1_000_000)

    def _attempt(self, claim: JobClaim) -> WorkReport:
        """Do a claimed job once; store its failure if it fails."""
        job = claim.job
        # The claim counts as an attempt already, so more than the limit means that workers died.
        if job.attempts > job.max_attempts:
            return self._fail(claim, f"The worker died during each of {job.max_attempts} attempts.")
        try:
            with fence_erasures(self._database, claim.scope, claim.epoch):
                return self._carry_out(claim)
        except (_JobEndRefused, UserErased) as refusal:
            return self._lose(claim, refusal)
        except KeyboardInterrupt:
            # The user wants the program to end, not the job to fail: it is done again when its lease has run out.
            raise
        except BaseException as error:
            # Only the type is logged: the message may quote what a user said. It is stored with the job.
            # A program that ends under a job is no failure that anyone has to look into.
            level = logging.DEBUG if isinstance(error, EngineClosed) else logging.WARNING
            _log.log(level, "job %s (%s) failed: %s", job.id, job.kind, type(error).__name__)
            message = _describe_error(error)
        return self._fail(claim, message)

    def _carry_out(self, claim: JobClaim) -> WorkReport:
        """Run the handler and store its outcome; run it again if its effect was outdated by other writes."""
        notes: dict[str, Any] = {}
        round = 1
        while True:
            try:
                outcome = self._handle(claim, round, notes)
                done = self._database.write(claim.scope, _complete, claim, outcome, self._clock())
                return WorkReport(succeeded=int(done))
            except EffectConflict:
                if round == _ROUNDS:
                    raise
                round += 1

    def _handle(self, claim: JobClaim, round: int, notes: dict[str, Any]) -> Any:
        run = JobRun(claim.job, self._context_of(claim.scope), lambda: self.extend_lease(claim), round, notes)
        token = handler_thread.set(threading.current_thread())
        try:
            return self._handlers.find_handler(claim.job.kind)(run)
        finally:
            handler_thread.reset(token)

    def _fail(self, claim: JobClaim, error: str) -> WorkReport:
        job, now = claim.job, self._clock()
        # The error may quote anything; characters that cannot be stored are escaped.
        error = error.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()[:_ERROR_LIMIT]
        if job.attempts < job.max_attempts:
            pause = compute_pause(job.attempts, self._settings.job_retry_seconds, self._settings.job_retry_cap_seconds)
            ending, report = (
                AttemptEnding("failed", error=error, due_at=now + int(pause * 1_000_000)),
                WorkReport(failed=1),
            )
        else:
            ending, report = AttemptEnding("dead", error=error), WorkReport(dead=1)
        try:
            self._database.write(claim.scope, _finish, claim, ending, now)
        except _JobEndRefused as refusal:
            return self._lose(claim, refusal)
        return report

    def _lose(self, claim: JobClaim, refusal: Exception) -> WorkReport:
        """Report a job that this worker may not end any more."""
        _log.warning("job %s (%s): %s", claim.job.id, claim.job.kind, refusal)
        return WorkReport(lost=1)


class _JobEndRefused(Exception):
    """The end of the job could not be stored, because the lease is lost. A LeaseLost in a handler is a failure."""


def _describe_error(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        # An error whose own text fails.
        return type(error).__name__


def _complete(run: Transaction, claim: JobClaim, outcome: Any, now: int) -> bool:
    """Store the job's effect and its end in one transaction; return False if the job is put off instead."""
    result = outcome.work(run, *outcome.arguments) if isinstance(outcome, Effect) else outcome
    if isinstance(result, JobPostponement):
        _put_off(run, claim, now + int(result.seconds * 1_000_000), now)
        return False
    _finish(run, claim, AttemptEnding("succeeded", result=encode_json("result", result, limit=PAYLOAD_LIMIT)), now)
    return True


def _finish(run: Transaction, claim: JobClaim, ending: AttemptEnding, now: int) -> None:
    try:
        store.finish(run, claim, ending, now)
    except LeaseLost as error:
        raise _JobEndRefused(error.message) from error


def _put_off(run: Transaction, claim: JobClaim, due_at: int, now: int) -> None:
    try:
        store.put_off(run, claim, due_at, now)
    except LeaseLost as error:
        raise _JobEndRefused(error.message) from error


class _Heartbeat:
    """A thread that extends the lease of the current job while its handler runs. It starts with the first job."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._claim: JobClaim | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> _Heartbeat:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def keeping(self, claim: JobClaim) -> Iterator[None]:
        self._claim = claim
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat, name="longmind-heartbeat", daemon=True)
            self._thread.start()
        try:
            yield
        finally:
            self._claim = None

    def _beat(self) -> None:
        while not self._stop.wait(self._worker.seconds_between_beats):
            claim = self._claim
            if claim is None:
                # Between two jobs.
                continue
            try:
                self._worker.extend_lease(claim)
            except Exception as error:
                _log.warning("job %s: the lease could not be extended: %s", claim.job.id, error)
