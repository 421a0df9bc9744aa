"""Which timeline a level stands for, and which of its rows another level lets through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from longmind.errors import InvalidInput
from longmind.scope import Level, Scope, bucket_timeline_id, timeline_id

_IDS = {"session": "session_id", "run": "run_id"}
"""The levels that a scope may lack the id of; a user and an organisation are always known."""


@dataclass(frozen=True)
class Timeline:
    """Where events are recorded and read."""

    id: str | None
    """None when the scope lacks the id of its level: there is nothing to read then, and nowhere to record."""
    level: Level | None
    """None when the caller has named the bucket."""


def usual_timeline(scope: Scope) -> Timeline:
    """The session's, or the user's where there is no session."""
    return Timeline(timeline_id(scope, "session"), "session")


def timeline_at(scope: Scope, level: Level | None, bucket: str | None) -> Timeline:
    if (level is None) == (bucket is None):
        given = "neither" if level is None else "both"
        raise InvalidInput(f"A timeline is that of a level or of a bucket, and {given} is given.")
    if bucket is not None:
        return Timeline(bucket_timeline_id(scope, bucket), None)
    level = validate_level(level)
    lacks = level in _IDS and getattr(scope, _IDS[level]) is None
    return Timeline(None if lacks else timeline_id(scope, level), level)


def rows_at(scope: Scope, level: Level | None) -> dict[str, Any] | None:
    """What the rows of a timeline must say to be of a level; None when no row can, since the scope lacks its id."""
    if level is None:
        return {}
    column = _IDS.get(validate_level(level))
    if column is None:
        # Every row of a scope is of its one user, who belongs to one organisation.
        return {}
    known = getattr(scope, column)
    return None if known is None else {column: known}


def validate_level(level: object) -> Level:
    if level in get_args(Level):
        return level  # type: ignore[return-value]  # it is one of the known
    raise InvalidInput(f"level is {level!r}.", hint=f"It is one of {', '.join(get_args(Level))}.")
