"""Distillation as a job: the summary is recorded in the transaction that ends the job, so that it exists exactly once.

A job that died between the two would otherwise be repeated and record a second summary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longmind.events.service import Events
from longmind.events.timeline import TimelineLog
from longmind.store.database import Row, Transaction
from longmind.store.tables import events as store

LONG_TERM = "events.distill_long_term"
META = "events.distill_meta_summary"
DISTILL = (LONG_TERM, META)
"""The kinds of the jobs that distil events, named after the operations whose arguments are their payload."""


class DeferredLog(TimelineLog):
    """A log that collects its inserts until `write` is called in a transaction."""

    def __init__(self, log: TimelineLog) -> None:
        super().__init__(log.database, log.scope, log.clock, log.settings)
        self.timeline = log.timeline
        # Copies for other timelines share this list, so that one call of `write` writes all.
        self._inserts: list[tuple[Mapping[str, Any], Sequence[Row]]] = []

    def insert(self, shared_columns: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Collect rows for `write`."""
        self._inserts.append((shared_columns, rows))

    def write(self, run: Transaction) -> None:
        """Write what was collected."""
        for shared_columns, rows in self._inserts:
            store.insert(run, shared_columns, rows)


def prepare_distillation(
    events: Events, kind: str, arguments: Mapping[str, Any]
) -> Callable[[Transaction], dict[str, Any]]:
    """Do all the work of a distillation except its write, which is returned for the transaction that ends the job."""
    log = DeferredLog(events._log)
    service = events._use(log)
    distill = service.distill_long_term if kind == LONG_TERM else service.distill_meta_summary
    summary = distill(**arguments)
    # The result says where the summary is, never what it says: that may have to be erased later.
    result = {name: summary[name] for name in ("event_id", "uri")} if summary else {"skipped": "No event qualifies."}

    def write(run: Transaction) -> dict[str, Any]:
        log.write(run)
        return result

    return write
