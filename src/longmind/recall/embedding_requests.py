"""Requests for background work that improves recall, each made once and without delaying anyone.

Every recall that lacks vectors asks for them, and a recall must not wait for a write. So an engine remembers what it
has asked for, and looks at the queue again only when something has changed or some time has passed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from longmind.clock import Micros
from longmind.errors import StoreError
from longmind.models.job import Job
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import jobs
from longmind.store.tables.jobs import JobPostponement, NewJob

_ATTEMPTS = 10
_SECOND = 1_000_000
_LOOKED_AGAIN = 60 * _SECOND
"""The minimum delay before an unchanged space is checked again for missing vectors."""
_RUNNING_AGAIN = 5 * _SECOND
"""The delay while the job runs, which changes the revision all the time."""
_CHANGED_AGAIN = 600 * _SECOND
"""The delay before an embedder takes a space back from another one, so that two do not do so all the time."""
_DEAD_AGAIN = 3600 * _SECOND
"""The delay after all attempts of a job have failed."""
_GIVEN_UP = 3600 * _SECOND
"""The longest wait of a job for an engine with vectors of the right size; a later recall can ask again."""
_OTHERS_TURN_SECONDS = 15.0
_REMEMBERED = 10_000


def kind_for(work: str, model: str) -> str:
    """Return the kind of a job that only engines with this embedder take; others leave it in the queue."""
    return f"{work}.{hashlib.blake2b(model.encode(), digest_size=6).hexdigest()}"


class EmbeddingRequest(NamedTuple):
    """A request for the missing vectors of a space or a timeline."""

    kind: str
    about: Mapping[str, str]
    """The id of the space or the timeline, by its name in the payload of the job."""
    stamp: str
    """The model and dimension of the vectors; embedders of one name can have different dimensions."""
    changes: bool = False
    """True if the vectors replace those of another embedder, rather than add missing ones."""

    @property
    def key(self) -> str:
        return ":".join((*self.about.values(), self.stamp))


class _EarlierRequest(NamedTuple):
    """The memory of a request, which holds the next one back."""

    state: int | None
    """The state that the request was made for; None while the job runs, since that changes it."""
    until: Micros


def defer_to_other_engine(job: Job, stamp: str | None, now: Micros) -> JobPostponement | dict[str, int] | None:
    """Return how to postpone or end a job for vectors of another size; None if this engine can do it.

    stamp: that of this engine's vectors; None if it can make none.
    """
    if job.payload.get("stamp", stamp) == stamp:
        return None
    given_up = now - job.payload.get("wishedAt", 0) > _GIVEN_UP
    return {"vectors": 0} if given_up else JobPostponement(_OTHERS_TURN_SECONDS)


class EmbeddingRequests:
    """The requests that one engine has made. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: dict[tuple[str, str, str], _EarlierRequest] = {}

    def make(self, scope: Scope, request: EmbeddingRequest, state: int, now: Micros) -> None:
        """Enqueue a job for a request, unless there is one or was one a short while ago.

        state: changes with what the request is about, such as the revision of a space; a new state is looked at at
            once.

        A database that cannot be written to is no error: the next recall asks again.
        """
        made, name = self._made, (scope.id, request.kind, request.key)
        before = made.get(name)
        if before is not None and now < before.until and before.state in (None, state):
            return
        if len(made) >= _REMEMBERED:
            made.clear()
        try:
            job = self._enqueue(scope, request, now)
        except StoreError:
            # Recall works without it, and the next one tries again.
            return
        running = job.status == "running"
        made[name] = _EarlierRequest(*((None, now + _RUNNING_AGAIN) if running else (state, now + _LOOKED_AGAIN)))

    def _enqueue(self, scope: Scope, request: EmbeddingRequest, now: Micros) -> Job:
        done_until, dead_until = now - (_CHANGED_AGAIN if request.changes else 0), now - _DEAD_AGAIN
        job = self._database.read(scope, jobs.find_by_key, request.kind, request.key)
        if job is not None and not jobs.is_over(job, done_until, dead_until):
            # The usual case, which needs no write and so waits for no writer.
            return job
        new = NewJob(
            kind=request.kind,
            payload=json.dumps({**request.about, "stamp": request.stamp, "wishedAt": now}),
            due_at=now,
            max_attempts=_ATTEMPTS,
            unique_key=request.key,
        )
        return self._database.write(scope, jobs.enqueue_again, scope, new, now, done_until, dead_until)
