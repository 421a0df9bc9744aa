"""Operations that record events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longmind.errors import InvalidInput, LimitExceeded
from longmind.events.bound import Bound
from longmind.events.event_builder import Composer
from longmind.models.event import RECORD_LIMIT, Event
from longmind.store.database import Row
from longmind.store.tables import events as store
from longmind.validation.annotated import Text


class Recording(Bound):
    def record_raw(
        self, *, base: dict[str, Any], text: Text | None = None, metrics: dict[str, float] | None = None
    ) -> Event:
        """Record an event from its fields. Without a text it is given one made from `base["data"]`.

        `base` may hold kind, stage, data, tags, severity, signal, topic, inputs, outputs and ts, for what happened
        before, and more. Who records and where is the context's to say: `base` cannot name anybody else.
        """
        composer = Composer(self._scope, self._timeline_id(), self._clock())
        event, row = composer.compose(base, text, metrics)
        self._put(composer.same, [row])
        return event

    def record(
        self,
        kind: str,
        data: Any,
        tags: Sequence[str] | None = None,
        severity: int = 2,
        stage: str | None = None,
        inputs_ref: Sequence[Any] | None = None,
        outputs_ref: Sequence[Any] | None = None,
        metrics: dict[str, float] | None = None,
        signal: float | None = None,
        text: Text | None = None,
    ) -> Event:
        """Record that something of a kind happened.

        A dict is kept as it is; a text is the event's text; anything else is kept as the value of a dict, and as what
        it shows itself as where it is no JSON. Without a signal, how much it matters is weighed.
        """
        return self.record_raw(
            base={
                "kind": kind,
                "data": data,
                "tags": tags,
                "severity": severity,
                "stage": stage,
                "inputs": inputs_ref,
                "outputs": outputs_ref,
                "signal": signal,
            },
            text=text,
            metrics=metrics,
        )

    def record_many(self, events: Sequence[dict[str, Any]]) -> list[Event]:
        """Record many events at once, all or none; each is given by its fields, as the base of `record_raw` is."""
        if isinstance(events, str | bytes | Mapping) or not isinstance(events, Sequence):
            raise InvalidInput(f"events must be a list of dicts, not {type(events).__name__}.")
        if len(events) > RECORD_LIMIT:
            raise LimitExceeded("events", limit=RECORD_LIMIT, given=len(events), unit="at a time")
        composer = Composer(self._scope, self._timeline_id(), self._clock(), len(events))
        composed = [composer.compose(base) for base in events]
        if composed:
            self._put(composer.same, [row for _, row in composed])
        return [event for event, _ in composed]

    def _put(self, same: Mapping[str, Any], rows: Sequence[Row]) -> None:
        self._database.write(self._scope, store.insert, same, rows)
