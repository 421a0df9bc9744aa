"""Operations that read events back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longmind.clock import Instant, to_micros
from longmind.errors import InvalidInput
from longmind.events import hot_log
from longmind.events.bound import Bound, as_asked
from longmind.events.validation import validate_names
from longmind.models.event import Event, EventUsage
from longmind.scope import Level
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, Limit
from longmind.validation.identifiers import validate_id
from longmind.validation.text import quote_value

_FARTHEST = 2**53


class Reading(Bound):
    def recent(
        self,
        *,
        kinds: Sequence[str] | None = None,
        limit: Limit = 50,
        level: Level | None = None,
        return_event: bool = True,
    ) -> list[Any]:
        """The last events of the hot log, newest last.

        The hot log is the newest part of the timeline: what has left it is found by `recent_persisted`. A level lets
        through only what was recorded in the same session or run, and nothing if the context names none.
        """
        return self._newest(kinds, limit, 0, self._window(level, hot=True), return_event)

    def recent_persisted(
        self,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: Limit = 50,
        level: Level | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        offset: int = 0,
        return_event: bool = True,
    ) -> list[Any]:
        """The last events of the whole timeline, newest last, after so many newer ones were skipped.

        An event must have all of the tags. `since` and `until` are included.
        """
        if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset <= _FARTHEST:
            raise InvalidInput(f"offset is {quote_value(offset)}.", hint="It is 0 or more.")
        times: dict[str, Any] = {
            name: to_micros(instant, name)
            for name, instant in (("since", since), ("until", until))
            if instant is not None
        }
        return self._newest(kinds, limit, offset, self._window(level, all_tags=tags, **times), return_event)

    def get_event(self, event_id: str) -> Event | None:
        """One event of the user's, on whichever timeline it stands; None if there is none."""
        return self._database.read(self._scope, store.get, self._scope, validate_id("event_id", event_id))

    def usage(self, *, since: Instant | None = None) -> list[EventUsage]:
        """How many events the user has, by kind, on all timelines: those that happened since then, or ever."""
        first = 0 if since is None else to_micros(since, "since")
        scope = self._scope
        return [
            EventUsage(
                tenant_id=scope.tenant_id,
                app_id=scope.app_id,
                user_id=scope.user_id,
                kind=kind,
                meter=f"memory.{kind}",
                events=events,
            )
            for kind, events in self._database.read(scope, store.usage, first)
        ]

    def _newest(
        self,
        kinds: Sequence[str] | None,
        limit: int,
        offset: int,
        window: store.Window | None,
        return_event: bool,
    ) -> list[Any]:
        most = LIMIT.check("limit", limit)
        wanted = validate_names(kinds, "kinds")
        if window is None or wanted == ():
            return []
        if window.kept is not None:
            most = min(most, window.kept)
            if wanted is None and not window.narrows:
                kept = self._database.read(self._scope, hot_log.newest, self._indexes, self._scope, window, most)
                return as_asked(kept, return_event)
        found = self._database.read(self._scope, store.newest, self._scope, window, most, offset, wanted)
        return as_asked(found, return_event)
