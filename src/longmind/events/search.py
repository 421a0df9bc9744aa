"""Search of events and of state snapshots on one timeline: reads what is asked for, and has the retriever rank."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.events.event_builder import STATE_TAG, validate_state_key
from longmind.events.timeline import TimelineLog
from longmind.events.validation import validate_names, validate_tags
from longmind.models.event import Event
from longmind.models.event_search import EventSearchResult, SearchMode
from longmind.scope import Level
from longmind.store.tables import events as store
from longmind.validation.parameter_limits import LIMIT, SCORE
from longmind.validation.text import quote_value, to_storable

if TYPE_CHECKING:
    from longmind.events.search_index import EventRetriever

_TIME_WINDOW = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_UNIT_MICROS = {"s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_QUERY_LIMIT = 10_000
"""Characters of a query that are read."""
_MAX_MICROS = 2**62


class EventSearch:
    """Searches one timeline. The retriever is asked for only where events have to be ranked: it loads slowly."""

    def __init__(self, log: TimelineLog, retriever: Callable[[], EventRetriever]) -> None:
        self._log = log
        self._retriever = retriever

    def search(
        self,
        query: str | None,
        kinds: Sequence[str] | None,
        tags: Sequence[str] | None,
        limit: int,
        use_embedding: bool,
        level: Level | None,
        time_window: str | None,
        mode: SearchMode | None,
        min_score: float | None,
    ) -> list[Event]:
        """Return the events that a query is about, best first; see `Events.search`."""
        mode = _choose_mode(mode, use_embedding)
        least = _validate_min_score(min_score)
        limit = LIMIT.check("limit", limit)
        names = validate_names(kinds, "kinds")
        window = self._log.build_window(level, all_tags=tags, **_read_time_window(self._log.clock(), time_window))
        found = self._rank("" if query is None else query, window, names, mode, limit, least)
        return [event for event, _ in found]

    def search_states(
        self,
        query: str,
        key: str | None,
        tags: Sequence[str] | None,
        limit: int,
        time_window: str | None,
        created_at_min: str | datetime | float | None,
        created_at_max: str | datetime | float | None,
        min_score: float | None,
    ) -> list[EventSearchResult]:
        """Return the state snapshots that a query is about, best first; see `Events.search_state`."""
        limit, least = LIMIT.check("top_k", limit), _validate_min_score(min_score)
        required = [STATE_TAG, *validate_tags(tags)]
        if key is not None:
            required.append(f"{STATE_TAG}:{validate_state_key(key)}")
        bounds = _read_time_window(self._log.clock(), time_window)
        for name, bound, instant in (
            ("created_at_min", "since", created_at_min),
            ("created_at_max", "until", created_at_max),
        ):
            if instant is not None:
                bounds[bound] = _read_instant(name, instant)
        window = self._log.build_window(None, all_tags=required, **bounds)
        return [
            EventSearchResult.from_event(event, score)
            for event, score in self._rank(query, window, None, "auto", limit, least)
        ]

    def _rank(
        self,
        query: object,
        window: store.EventWindow | None,
        kinds: Sequence[str] | None,
        mode: SearchMode,
        limit: int,
        min_score: float,
    ) -> list[tuple[Event, float]]:
        if not isinstance(query, str):
            raise InvalidInput(f"query must be a text, not {type(query).__name__}.")
        if window is None or kinds == ():
            return []
        if not query.strip():
            mode = "structural"
        if mode == "structural" and not window.narrows:
            # SQL reads the newest events fast, but not the newest ones of a tag among many: the index does that.
            newest = self._log.read(store.list_newest_unforgotten, window, limit, kinds)
            return [(event, 0.0) for event in reversed(newest)]
        query = to_storable(query)[:_QUERY_LIMIT]
        return self._retriever().find(self._log.scope, window, kinds, query, mode, limit, self._log.clock(), min_score)


def _validate_min_score(given: object) -> float:
    return 0.0 if given is None else float(SCORE.check("min_score", given))


def _choose_mode(mode: object, use_embedding: object) -> SearchMode:
    if mode is not None and mode not in get_args(SearchMode):
        raise InvalidInput(f"Unknown mode {quote_value(mode)}.", hint=f"Use one of {', '.join(get_args(SearchMode))}.")
    # Among events `auto` is by meaning alone; that of the retriever is by relevance, for states.
    chosen: SearchMode = "semantic" if mode in (None, "auto") else mode  # type: ignore[assignment]  # it is one of the known
    return chosen if use_embedding or chosen == "structural" else "lexical"


def _read_time_window(now: Micros, time_window: object) -> dict[str, Any]:
    if time_window is None:
        return {}
    parts = _TIME_WINDOW.fullmatch(time_window) if isinstance(time_window, str) else None
    if parts is None:
        raise InvalidInput(
            f"time_window is {quote_value(time_window)}.",
            hint="Pass a number and a unit: 90s, 15m, 12h or 7d for seconds, minutes, hours and days.",
        )
    # Twenty digits reach beyond all times; more would only cost time to parse.
    length = min(int(parts[1][:20]) * _UNIT_MICROS[parts[2]], _MAX_MICROS)
    return {"since": now - length, "until": now}


def _read_instant(name: str, instant: Any) -> Micros:
    if isinstance(instant, str | datetime):
        return to_micros(instant, name)
    is_nan = isinstance(instant, float) and math.isnan(instant)
    if is_nan or isinstance(instant, bool) or not isinstance(instant, int | float):
        raise InvalidInput(
            f"{name} is {quote_value(instant)}.", hint="Pass ISO 8601, a datetime or a number of seconds since 1970."
        )
    return round(max(-_MAX_MICROS, min(instant * 1_000_000, _MAX_MICROS)))
