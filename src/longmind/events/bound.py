"""What every part of the events service is bound to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from longmind.clock import Clock
from longmind.errors import InvalidInput
from longmind.events.timelines import rows_at, usual_timeline
from longmind.events.validation import validate_tags
from longmind.models.event import Event
from longmind.recall.index.cache import IndexCache
from longmind.scope import Level, Scope
from longmind.settings import Settings
from longmind.store.database import Database
from longmind.store.tables.events import Window
from longmind.summaries.distiller_registry import Distillers

if TYPE_CHECKING:
    from longmind.events.search_index import EventRetriever

_DAY = 24 * 3600 * 1_000_000


class Bound:
    def __init__(
        self,
        database: Database,
        scope: Scope,
        clock: Clock,
        settings: Settings,
        indexes: IndexCache,
        retriever: Callable[[], EventRetriever],
        distillers: Distillers,
    ) -> None:
        self._database = database
        self._scope = scope
        self._clock = clock
        self._settings = settings
        self._indexes = indexes
        self._retriever = retriever
        self._distillers = distillers
        self._timeline = usual_timeline(scope)

    def _timeline_id(self) -> str:
        """Where to record."""
        if self._timeline.id is None:
            raise InvalidInput(
                f"There is no timeline at the level {self._timeline.level!r}: the context names no such id.",
                hint=f"Make the context with a {self._timeline.level}_id, or record at another level.",
            )
        return self._timeline.id

    def _window(
        self,
        level: Level | None,
        *,
        all_tags: Sequence[str] | None = None,
        any_tags: Sequence[str] | None = None,
        hot: bool = False,
        **more: Any,
    ) -> Window | None:
        """Which rows of the timeline a read is about; None when there can be none."""
        rows = rows_at(self._scope, level)
        more["all_tags"], more["any_tags"] = validate_tags(all_tags), validate_tags(any_tags)
        if self._timeline.id is None or rows is None:
            return None
        if hot:
            more["since"] = self._clock() - self._settings.hot_log_days * _DAY
            more["kept"] = self._settings.hot_log_events
        return Window(self._timeline.id, **rows, **more)


def as_asked(events: list[Event], return_event: bool) -> list[Any]:
    return events if return_event else [event.as_row() for event in events]
