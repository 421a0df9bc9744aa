"""What every part of the memory service is bound to."""

from __future__ import annotations

from recollect.clock import Clock
from recollect.recall.recaller import Recaller
from recollect.scope import Scope
from recollect.store.database import Database


class Bound:
    def __init__(self, database: Database, scope: Scope, clock: Clock, recaller: Recaller) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._recaller = recaller
