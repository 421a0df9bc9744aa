"""Asks for background work that makes recall better, once for each need of it, and never in anyone's way."""

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
"""How long after a request it is looked again whether it is needed once more, though nothing has changed."""
_RUNNING_AGAIN = 5 * _SECOND
"""The same while the work is being done, whatever changes: it does so all the time then."""
_CHANGED_AGAIN = 600 * _SECOND
"""How long an embedder lets another one have a space that it has had before: two could take it away from each other."""
_DEAD_AGAIN = 3600 * _SECOND
"""How long it is left alone when all attempts at it have failed."""
_GIVEN_UP = 3600 * _SECOND
"""How long work waits for an engine with vectors of the right size. Who needs it then asks for it again."""
_OTHERS_TURN_SECONDS = 15.0
_REMEMBERED = 10_000


def kind_for(work: str, model: str) -> str:
    """The kind of a job that only an engine with this embedder can do: who has another one leaves it to others."""
    return f"{work}.{hashlib.blake2b(model.encode(), digest_size=6).hexdigest()}"


class EmbeddingRequest(NamedTuple):
    kind: str
    about: Mapping[str, str]
    """What it is about, by its id: a space or a timeline."""
    stamp: str
    """Whose vectors are wished for. Embedders of one name can have different dimensions."""
    changes: bool = False
    """Whether they would replace those of another embedder, and not only add what is missing."""

    @property
    def key(self) -> str:
        return ":".join((*self.about.values(), self.stamp))


class _EarlierRequest(NamedTuple):
    state: int | None
    """What the request was made for; None while the work is being done, since that changes it."""
    until: Micros


def defer_to_other_engine(job: Job, stamp: str, now: Micros) -> JobPostponement | dict[str, int] | None:
    """What becomes of a job that is for an engine with vectors of another size; None when it is for this one."""
    if job.payload.get("stamp", stamp) == stamp:
        return None
    given_up = now - job.payload.get("wishedAt", 0) > _GIVEN_UP
    return {"vectors": 0} if given_up else JobPostponement(_OTHERS_TURN_SECONDS)


class EmbeddingRequests:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: dict[tuple[str, str, str], _EarlierRequest] = {}

    def make(self, scope: Scope, request: EmbeddingRequest, state: int, now: Micros) -> None:
        """Have a job queued, unless one is, or was a while ago; it is looked at once when there is another state."""
        made, name = self._made, (scope.id, request.kind, request.key)
        before = made.get(name)
        if before is not None and now < before.until and before.state in (None, state):
            return
        if len(made) >= _REMEMBERED:
            made.clear()
        try:
            job = self._enqueue(scope, request, now)
        except StoreError:
            # Recall goes on without it, and the next one tries again.
            return
        running = job.status == "running"
        made[name] = _EarlierRequest(*((None, now + _RUNNING_AGAIN) if running else (state, now + _LOOKED_AGAIN)))

    def _enqueue(self, scope: Scope, request: EmbeddingRequest, now: Micros) -> Job:
        done_until, dead_until = now - (_CHANGED_AGAIN if request.changes else 0), now - _DEAD_AGAIN
        job = self._database.read(scope, jobs.find_by_key, request.kind, request.key)
        if job is not None and not jobs.is_over(job, done_until, dead_until):
            # Most of the time. To write anything would be to wait for all who write.
            return job
        new = NewJob(
            kind=request.kind,
            payload=json.dumps({**request.about, "stamp": request.stamp, "wishedAt": now}),
            due_at=now,
            max_attempts=_ATTEMPTS,
            unique_key=request.key,
        )
        return self._database.write(scope, jobs.enqueue_again, scope, new, now, done_until, dead_until)
