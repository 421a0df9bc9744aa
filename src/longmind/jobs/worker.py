"""Works jobs off: claims them, keeps the claims alive, and commits what came of them."""

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
from longmind.errors import LeaseLost, LongmindError, UserErased
from longmind.jobs.handler_registry import Effect, JobHandlers, JobRun
from longmind.jobs.retry_policy import seconds_until_retry
from longmind.jobs.service import PAYLOAD_LIMIT
from longmind.jobs.wakeup import Bell
from longmind.models.job import WorkReport
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
_NAP_AFTER_TROUBLE_SECONDS = 1.0
_ROUNDS = 6
"""How often a handler is asked in one attempt when what it has seen keeps changing."""

handler_thread: ContextVar[threading.Thread | None] = ContextVar("handler_thread", default=None)
"""The thread that waits for the handler this code is part of, also where the handler is a coroutine elsewhere."""


class Worker:
    """One worker, in one thread. Any number of them, in any number of processes, may share a database."""

    def __init__(
        self,
        database: Database,
        handlers: JobHandlers,
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
        """Do what is due, and what becomes due by it, until nothing is left."""
        report = WorkReport()
        done = 0
        with _Heartbeat(self) as heartbeat:
            while (limit is None or done < limit) and not (stop is not None and stop.is_set()):
                claim = self._claim_next()
                if claim is None:
                    break
                with heartbeat.keeping(claim):
                    report = report + self._attempt(claim)
                done += 1
        return report

    def is_ours(self, claim: JobClaim) -> bool:
        """Give a sign of life; False when another worker has taken the job over."""
        return self._database.write(claim.scope, store.extend_lease, claim, self._lease, self._clock())

    @property
    def seconds_between_beats(self) -> float:
        return self._settings.job_lease_seconds / 3

    def run_until(self, stop: threading.Event, bell: Bell) -> None:
        """Work until told to stop. Trouble is logged and waited out: nobody else would hear of it in this thread."""
        while True:
            heard = bell.rung
            if stop.is_set():
                return
            try:
                self.work(stop=stop)
            except LongmindError as error:
                _log.warning("worker %s: %s", self._name, error)
                stop.wait(_NAP_AFTER_TROUBLE_SECONDS)
            except BaseException:
                _log.exception("worker %s", self._name)
                stop.wait(_NAP_AFTER_TROUBLE_SECONDS)
            else:
                bell.wait(heard, self._settings.worker_poll_seconds)

    def _claim_next(self) -> JobClaim | None:
        # One look for all kinds: to try to take one of each would be a transaction for each, and most find nothing.
        kinds = self._handlers.kinds_in_turn()
        for kind in self._database.read(None, store.list_due_kinds, kinds, self._clock()):
            found = self._database.write(None, store.claim, kind, self._name, self._lease, self._clock())
            if found:
                self._handlers.found(kind)
                return found[0]
        return None

    @property
    def _lease(self) -> Micros:
        return int(self._settings.job_lease_seconds * 1_000_000)

    def _attempt(self, claim: JobClaim) -> WorkReport:
        job = claim.job
        if job.attempts > job.max_attempts:
            return self._fail(claim, f"The worker died during each of {job.max_attempts} attempts.")
        try:
            with fence_erasures(self._database, claim.scope, claim.epoch):
                return self._carry_out(claim)
        except (_Refused, UserErased) as refusal:
            return self._lose(claim, refusal)
        except KeyboardInterrupt:
            # Somebody wants the program to end, not the job to fail: it is done again when its lease is over.
            raise
        except BaseException as error:
            # Only the kind of error is logged: its words may quote what a user said. They are kept with the job.
            _log.warning("job %s (%s) failed: %s", job.id, job.kind, type(error).__name__)
            words = _words(error)
        return self._fail(claim, words)

    def _carry_out(self, claim: JobClaim) -> WorkReport:
        """Have the job handled, again when its effect was overtaken, and store what came of it."""
        kept: dict[str, Any] = {}
        round = 1
        while True:
            try:
                outcome = self._handle(claim, round, kept)
                done = self._database.write(claim.scope, _complete, claim, outcome, self._clock())
                return WorkReport(succeeded=int(done))
            except EffectConflict:
                if round == _ROUNDS:
                    raise
                round += 1

    def _handle(self, claim: JobClaim, round: int, kept: dict[str, Any]) -> Any:
        run = JobRun(claim.job, self._context_of(claim.scope), lambda: self.is_ours(claim), round, kept)
        token = handler_thread.set(threading.current_thread())
        try:
            return self._handlers.of(claim.job.kind)(run)
        finally:
            handler_thread.reset(token)

    def _fail(self, claim: JobClaim, error: str) -> WorkReport:
        job, now = claim.job, self._clock()
        # What the error quotes may hold anything; what cannot be stored as text is made visible instead.
        error = error.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()[:_ERROR_LIMIT]
        if job.attempts < job.max_attempts:
            wait = int(seconds_until_retry(job.attempts, self._settings) * 1_000_000)
            ending, report = AttemptEnding("failed", error=error, due_at=now + wait), WorkReport(failed=1)
        else:
            ending, report = AttemptEnding("dead", error=error), WorkReport(dead=1)
        try:
            self._database.write(claim.scope, _finish, claim, ending, now)
        except _Refused as refusal:
            return self._lose(claim, refusal)
        return report

    def _lose(self, claim: JobClaim, refusal: Exception) -> WorkReport:
        _log.warning("job %s (%s): %s", claim.job.id, claim.job.kind, refusal)
        return WorkReport(lost=1)


class _Refused(Exception):
    """The end of the job could not be stored: the lease is lost. A LeaseLost of the handler's is its own failure."""


def _words(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        # An error that cannot even say what it is.
        return type(error).__name__


def _complete(run: Transaction, claim: JobClaim, outcome: Any, now: int) -> bool:
    """The job's effect and its end, in one transaction: both, or neither. False when it has to wait."""
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
        raise _Refused(error.message) from error


def _put_off(run: Transaction, claim: JobClaim, due_at: int, now: int) -> None:
    try:
        store.put_off(run, claim, due_at, now)
    except LeaseLost as error:
        raise _Refused(error.message) from error


class _Heartbeat:
    """Extends the lease of the job at hand in the background, for as long as its handler works."""

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
                continue
            try:
                self._worker.is_ours(claim)
            except Exception as error:
                _log.warning("job %s: no sign of life could be given: %s", claim.job.id, error)
