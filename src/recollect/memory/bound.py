"""What every part of the memory service is bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.scope import Scope
from recollect.store.database import Database

if TYPE_CHECKING:
    from recollect.recall.recaller import Recaller


class Bound:
    def __init__(self, database: Database, scope: Scope, clock: Clock, recaller: Callable[[], Recaller]) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._find_recaller = recaller

    @property
    def _recaller(self) -> Recaller:
        # Asked for at each use: it is made at the first, since what it computes with takes long to load.
        return self._find_recaller()
