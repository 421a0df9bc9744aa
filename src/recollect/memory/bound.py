"""What every part of the memory service is bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.scope import Scope
from recollect.store.database import Database

if TYPE_CHECKING:
    from recollect.extraction.pipeline import Pipeline
    from recollect.recall.recaller import Recaller


class Bound:
    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        recaller: Callable[[], Recaller],
        pipeline: Callable[[], Pipeline],
        job_attempts: int,
        wake_workers: Callable[[], None],
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._find_recaller = recaller
        self._find_pipeline = pipeline
        self._job_attempts = job_attempts
        self._wake_workers = wake_workers

    # Both are asked for at each use: they are made at the first, since what they compute with takes long to load.

    @property
    def _recaller(self) -> Recaller:
        return self._find_recaller()

    @property
    def _pipeline(self) -> Pipeline:
        return self._find_pipeline()
