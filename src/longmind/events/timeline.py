"""A timeline of one user: which one a level or a name stands for, and the reads and writes on it.

A timeline belongs to a bucket (a session, a run, a user, an app, an organisation, or a name that the caller chose) and
holds only rows of the current user, also where the bucket is shared: the scope's key is part of every query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, get_args

from longmind.clock import Clock
from longmind.errors import InvalidInput
from longmind.events.event_builder import EventBuilder
from longmind.events.validation import validate_tags
from longmind.models.event import Event
from longmind.scope import (
    ENCODED_LIMIT,
    Level,
    Scope,
    bucket_of,
    bucket_timeline_id,
    timeline_id,
    timeline_of,
    validate_identity,
)
from longmind.settings import Settings
from longmind.store.database import Database, Row, Transaction
from longmind.store.tables import events as store
from longmind.store.tables.events import EventWindow

P = ParamSpec("P")
T = TypeVar("T")

_DAY = 24 * 3600 * 1_000_000
_ID_COLUMNS = {"session": "session_id", "run": "run_id"}
"""Levels whose id a scope may lack, with its column; a user and an organisation are always known."""
_LEVELS = ("session", "user", "run", "org", "app")
_ENCODED_ID = rf"[\w~%!-]{{1,{ENCODED_LIMIT}}}"
_BUCKET = re.compile(
    rf"(?:session|run|user|app|bucket):{_ENCODED_ID}|org:{_ENCODED_ID}(?::user:{_ENCODED_ID})?|global", re.ASCII
)
"""The scope ids that `scope_id()` returns. Ids are encoded in them, so no other characters can occur."""


@dataclass(frozen=True)
class Timeline:
    """The id of a timeline and the level that it was chosen by."""

    id: str | None
    """None when the scope lacks the id of its level: nothing can be read or recorded then."""
    level: Level | None
    """None when the caller named the bucket."""

    @property
    def scope_id(self) -> str | None:
        """The bucket of the timeline, such as `session:s1`."""
        return None if self.id is None else bucket_of(self.id)

    @property
    def bucket_level(self) -> str | None:
        """The level of the bucket; None for a global bucket and for one that the caller named."""
        parts = (self.scope_id or "").split(":")
        # Encoded ids hold no colon, so every second part is the name of a level.
        return parts[-2] if len(parts) > 1 and parts[-2] in _LEVELS else None


def choose_default(scope: Scope) -> Timeline:
    """Return the timeline of the session, or of the user where there is no session."""
    return Timeline(timeline_id(scope, "session"), "session")


def choose_timeline(scope: Scope, level: Level | None, bucket: str | None) -> Timeline:
    """Return the timeline of a level or of a named bucket; raise InvalidInput unless exactly one is given."""
    if (level is None) == (bucket is None):
        given = "Neither level nor bucket is" if level is None else "Both level and bucket are"
        raise InvalidInput(f"{given} given.", hint="Pass either level or bucket.")
    if bucket is not None:
        return Timeline(bucket_timeline_id(scope, bucket), None)
    level = _validate_level(level)
    # timeline_id() falls back to a wider level; somebody who names a level wants that one or nothing.
    is_missing = level in _ID_COLUMNS and getattr(scope, _ID_COLUMNS[level]) is None
    return Timeline(None if is_missing else timeline_id(scope, level), level)


def is_bucket_name(scope_id: str | None) -> bool:
    """Return whether a scope id is a name of the caller's own instead of one that `scope_id()` returns."""
    return scope_id is not None and not _BUCKET.fullmatch(scope_id)


class TimelineLog:
    """The events of one timeline: validates windows on it, reads its rows, and records on it.

    It keeps no state besides its timeline, so threads may share it. Each read and each record is one transaction.
    Subclasses may override `insert` to defer the write.
    """

    def __init__(self, database: Database, scope: Scope, clock: Clock, settings: Settings) -> None:
        self.database = database
        self.scope = scope
        self.clock = clock
        self.settings = settings
        self.timeline = choose_default(scope)

    def move_to(self, timeline: Timeline) -> Self:
        """Return the log of another timeline of the same user."""
        moved = copy(self)
        moved.timeline = timeline
        return moved

    def find_filed(self, scope_id: str | None) -> Self:
        """Return the log of the timeline on which summaries of a scope id are filed; None means this one.

        A scope id that is not a known bucket names a bucket of the caller's own. Every timeline is this user's.
        """
        if scope_id is None or scope_id == self.timeline.scope_id:
            return self
        if not isinstance(scope_id, str) or is_bucket_name(scope_id):
            return self.move_to(choose_timeline(self.scope, None, validate_identity("scope_id", scope_id)))
        return self.move_to(Timeline(timeline_of(self.scope, scope_id), None))

    def build_window(
        self,
        level: Level | None,
        *,
        all_tags: Sequence[str] | None = None,
        any_tags: Sequence[str] | None = None,
        hot: bool = False,
        **bounds: Any,
    ) -> EventWindow | None:
        """Return the window of rows that a read may see, or None when there can be none.

        level: rows recorded in the same session or run, for `session` and `run`; None and other levels see all.
        hot: only the hot log, the newest part of the timeline.
        bounds: further fields of EventWindow.
        """
        columns = self._match_level(level)
        bounds["all_tags"], bounds["any_tags"] = validate_tags(all_tags), validate_tags(any_tags)
        if self.timeline.id is None or columns is None:
            return None
        if hot:
            # Both limits apply: an event leaves the hot log by its age or by newer events.
            bounds["since"] = self.clock() - self.settings.hot_log_days * _DAY
            bounds["kept"] = self.settings.hot_log_events
        return EventWindow(self.timeline.id, **columns, **bounds)

    def read(self, work: Callable[Concatenate[Transaction, Scope, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query of this user's events in a transaction of its own."""
        return self.database.read(self.scope, work, self.scope, *args, **kwargs)

    def record(
        self, base: Mapping[str, Any], text: str | None = None, metrics: Mapping[str, float] | None = None
    ) -> Event:
        """Record one event of the fields in `base`; `text` and `metrics` win over those in it."""
        builder = EventBuilder(self.scope, self._require_id(), self.clock())
        event, row = builder.build(base, text, metrics)
        self.insert(builder.shared_columns, [row])
        return event

    def record_many(self, bases: Sequence[Mapping[str, Any]]) -> list[Event]:
        """Record events at one instant and in one transaction, all or none."""
        builder = EventBuilder(self.scope, self._require_id(), self.clock(), len(bases))
        built = [builder.build(base) for base in bases]
        if built:
            self.insert(builder.shared_columns, [row for _, row in built])
        return [event for event, _ in built]

    def insert(self, shared_columns: Mapping[str, Any], rows: Sequence[Row]) -> None:
        """Write rows that were validated and encoded before."""
        self.database.write(self.scope, store.insert, shared_columns, rows)

    def _require_id(self) -> str:
        """Return the id of the timeline to record on; raise InvalidInput if the scope has none."""
        if self.timeline.id is None:
            level = self.timeline.level
            raise InvalidInput(
                f"There is no timeline at the level {level!r}: the context has no {level}_id.",
                hint=f"Make the context with a {level}_id, or record at another level.",
            )
        return self.timeline.id

    def _match_level(self, level: Level | None) -> dict[str, Any] | None:
        """Return the columns that rows of a level have in common; None when the scope lacks the id of the level."""
        if level is None:
            return {}
        column = _ID_COLUMNS.get(_validate_level(level))
        if column is None:
            # Every row of a scope is of its one user, who belongs to one organisation.
            return {}
        own_id = getattr(self.scope, column)
        return None if own_id is None else {column: own_id}


def _validate_level(level: object) -> Level:
    if level in get_args(Level):
        return level  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"Unknown level {level!r}.", hint=f"Use one of {', '.join(get_args(Level))}.")
