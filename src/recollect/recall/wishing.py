"""Asks for background work that makes recall better, once for each need of it, and never in anyone's way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from recollect.clock import Micros
from recollect.errors import StoreError
from recollect.scope import Scope
from recollect.store import jobs
from recollect.store.database import Database
from recollect.store.jobs import Later, NewJob

_ATTEMPTS = 10
_HOUR = 3600 * 1_000_000
"""How long it is left alone when all attempts at it have failed."""
_REMEMBERED = 10_000
_OTHERS_TURN_SECONDS = 15.0


def kind_for(work: str, model: str) -> str:
    """The kind of a job that only an engine with this embedder can do: who has another one leaves it to others."""
    return f"{work}.{hashlib.blake2b(model.encode(), digest_size=6).hexdigest()}"


class Wish(NamedTuple):
    kind: str
    payload: Mapping[str, str]
    stamp: str
    """Whose vectors are wished for. Embedders of one name can have different dimensions."""
    about: str
    """What it is about, a space or a timeline."""


def left_to_others(payload: Mapping[str, str], stamp: str) -> Later | None:
    """Whether a job is for an engine with an embedder of another dimension, which then comes to it soon."""
    return Later(_OTHERS_TURN_SECONDS) if payload.get("stamp", stamp) != stamp else None


class Wishes:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._made: dict[tuple[str, str, str], int] = {}

    def make(self, scope: Scope, wish: Wish, state: int, now: Micros) -> None:
        """Have a job queued, unless one is; not again before what it is about has another state."""
        key = f"{wish.about}:{wish.stamp}"
        made = (scope.id, wish.kind, key)
        if self._made.get(made) == state:
            return
        if len(self._made) >= _REMEMBERED:
            self._made.clear()
        job = NewJob(
            kind=wish.kind,
            payload=json.dumps({**wish.payload, "stamp": wish.stamp}),
            due_at=now,
            max_attempts=_ATTEMPTS,
            unique_key=key,
        )
        try:
            queued = self._database.write(scope, jobs.enqueue_again, scope, job, now, now - _HOUR)
        except StoreError:
            # Recall goes on without it, and the next one tries again.
            return
        if queued.status != "running":
            # One that runs may be past what is wished for, so that the next recall looks again.
            self._made[made] = state
