"""Distillation as a job: what is made is recorded in the transaction that ends the job, so that it is there once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longmind.events.bound import Bound
from longmind.events.distilling import Distilling
from longmind.store.database import Row, Transaction
from longmind.store.tables import events as store

LONG_TERM = "events.distill_long_term"
META = "events.distill_meta_summary"
DISTILL = (LONG_TERM, META)
"""The kinds of the jobs that distill events, named after the operations whose arguments are their payload."""


class Drafting(Distilling):
    """Distills as ever, and keeps what would be recorded until there is a transaction for it."""

    def __init__(self, events: Bound) -> None:
        super().__init__(
            events._database,
            events._scope,
            events._clock,
            events._settings,
            events._indexes,
            events._retriever,
            events._distillers,
        )
        self._drafts: list[tuple[Mapping[str, Any], Sequence[Row]]] = []

    def draft(self, kind: str, arguments: Mapping[str, Any]) -> Callable[[Transaction], dict[str, Any]]:
        """Do all up to the transaction that writes."""
        distill = self.distill_long_term if kind == LONG_TERM else self.distill_meta_summary
        made = distill(**arguments)
        # Where it is, never what it says, which may have to be forgotten later.
        told = {name: made[name] for name in ("event_id", "uri")} if made else {"skipped": "No event qualifies."}

        def write(run: Transaction) -> dict[str, Any]:
            for same, rows in self._drafts:
                store.insert(run, same, rows)
            return told

        return write

    def _put(self, same: Mapping[str, Any], rows: Sequence[Row]) -> None:
        self._drafts.append((same, rows))


def prepare_distillation(
    events: Bound, kind: str, arguments: Mapping[str, Any]
) -> Callable[[Transaction], dict[str, Any]]:
    """Do all the work of a distillation except its write, which is returned for the transaction that ends the job."""
    return Drafting(events).draft(kind, arguments)
