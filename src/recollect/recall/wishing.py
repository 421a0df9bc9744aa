"""Asks for background work that makes recall better: not more often than once an hour, and never in anyone's way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from recollect.clock import Micros
from recollect.errors import StoreError
from recollect.scope import Scope
from recollect.store import jobs
from recollect.store.database import Database
from recollect.store.jobs import NewJob

_ATTEMPTS = 10
_HOUR = 3600 * 1_000_000


def kind_for(work: str, model: str) -> str:
    """The kind of a job that only an engine with this embedder can do: who has another one leaves it to others."""
    return f"{work}.{hashlib.blake2b(model.encode(), digest_size=6).hexdigest()}"


class Wishes:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: set[tuple[str, str]] = set()
        self._made_in = 0

    def make(self, scope: Scope, kind: str, payload: Mapping[str, str], key: str, now: Micros) -> None:
        """Queue a job, unless it was asked for within the hour; the key says what it is about."""
        wish, hour = (scope.id, f"{kind}:{key}"), now // _HOUR
        if hour != self._made_in:
            self._made, self._made_in = set(), hour
        if wish in self._made:
            return
        self._made.add(wish)
        job = NewJob(
            kind=kind,
            payload=json.dumps(payload),
            due_at=now,
            max_attempts=_ATTEMPTS,
            unique_key=f"{key}:{hour}",
        )
        try:
            self._database.write(scope, jobs.enqueue, scope, job, now)
        except StoreError:
            # Recall goes on without it, and the next one tries again.
            self._made.discard(wish)
