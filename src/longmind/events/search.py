"""Operations that find events by what they say."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_args

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.events.bound import Bound
from longmind.events.event_builder import STATE_TAG, validate_state_key
from longmind.events.validation import validate_names, validate_tags
from longmind.models.event import Event
from longmind.models.event_search import EventSearchResult, SearchMode
from longmind.scope import Level
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, Limit
from longmind.validation.text import quote_value, storable_text

_WINDOW = re.compile(r"\s*(\d+)\s*([smhd])\s*")
_MICROS = {"s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_QUERY_LIMIT = 10_000
"""Characters of a query that are read."""
_LONGEST = 2**62


class Searching(Bound):
    def search(
        self,
        query: str | None = None,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: Limit = 100,
        use_embedding: bool = True,
        level: Level | None = None,
        time_window: str | None = None,
        mode: SearchMode | None = None,
    ) -> list[Event]:
        """The events of the whole timeline that a query is about, best first; without a query the newest first.

        `semantic` goes by meaning, `lexical` by words, `hybrid` by both, `structural` by time alone; `auto` is
        structural without a query, or else semantic. Without an embedder, or with `use_embedding=False`, words decide.
        An event must have all of the tags, and have happened in the time window, such as `90s`, `15m`, `12h` or `7d`.
        When nothing has to do with the query, nothing is found.
        """
        by = _validate_mode(mode, use_embedding)
        most = LIMIT.check("limit", limit)
        wanted = validate_names(kinds, "kinds")
        window = self._window(level, all_tags=tags, **_times(self._clock(), time_window))
        found = self._found("" if query is None else query, window, wanted, by, most)
        return [event for event, _ in found]

    def search_state(
        self,
        query: str,
        *,
        key: str | None = None,
        tags: Sequence[str] | None = None,
        top_k: int = 10,
        time_window: str | None = None,
        created_at_min: str | datetime | float | None = None,
        created_at_max: str | datetime | float | None = None,
    ) -> list[EventSearchResult]:
        """The snapshots of states that a query is about, best first, of one key or of all.

        A snapshot must have all of the tags. `created_at_min` and `created_at_max` are included, as ISO 8601, a
        datetime or seconds since 1970, and win over the bounds of the time window.
        """
        most = LIMIT.check("top_k", top_k)
        required = [STATE_TAG, *validate_tags(tags)]
        if key is not None:
            required.append(f"{STATE_TAG}:{validate_state_key(key)}")
        times = _times(self._clock(), time_window)
        for name, bound, instant in (
            ("created_at_min", "since", created_at_min),
            ("created_at_max", "until", created_at_max),
        ):
            if instant is not None:
                times[bound] = _instant(name, instant)
        window = self._window(None, all_tags=required, **times)
        found = self._found(query, window, None, "auto", most)
        return [EventSearchResult.of(event, score) for event, score in found]

    def _found(
        self, query: object, window: store.Window | None, kinds: Sequence[str] | None, mode: SearchMode, limit: int
    ) -> list[tuple[Event, float]]:
        if not isinstance(query, str):
            raise InvalidInput(f"query must be a text, not {type(query).__name__}.")
        if window is None or kinds == ():
            return []
        if not query.strip():
            mode = "structural"
        if mode == "structural" and not window.narrows:
            # The newest are found by the database at once; among many, those of a tag are not.
            newest = self._database.read(self._scope, store.newest, self._scope, window, limit, 0, kinds)
            return [(event, 0.0) for event in reversed(newest)]
        asked = storable_text(query)[:_QUERY_LIMIT]
        return self._retriever().find(self._scope, window, kinds, asked, mode, limit, self._clock())


def _validate_mode(mode: object, use_embedding: object) -> SearchMode:
    if mode is not None and mode not in get_args(SearchMode):
        raise InvalidInput(f"mode is {quote_value(mode)}.", hint=f"It is one of {', '.join(get_args(SearchMode))}.")
    by: SearchMode = "auto" if mode is None else mode  # type: ignore[assignment]  # it is one of the known
    return by if use_embedding or by == "structural" else "lexical"


def _times(now: Micros, time_window: object) -> dict[str, Any]:
    if time_window is None:
        return {}
    read = _WINDOW.fullmatch(time_window) if isinstance(time_window, str) else None
    if read is None:
        raise InvalidInput(
            f"time_window is {quote_value(time_window)}.",
            hint="It is a number and a unit: 90s, 15m, 12h or 7d for seconds, minutes, hours and days.",
        )
    # No number of more digits is needed to reach beyond all times.
    length = min(int(read[1][:20]) * _MICROS[read[2]], _LONGEST)
    return {"since": now - length, "until": now}


def _instant(name: str, instant: Any) -> Micros:
    if isinstance(instant, str | datetime):
        return to_micros(instant, name)
    nan = isinstance(instant, float) and math.isnan(instant)
    if nan or isinstance(instant, bool) or not isinstance(instant, int | float):
        raise InvalidInput(
            f"{name} is {quote_value(instant)}.", hint="It is ISO 8601, a datetime or a number of seconds since 1970."
        )
    return round(max(-_LONGEST, min(instant * 1_000_000, _LONGEST)))
