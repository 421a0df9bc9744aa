"""Where events are recorded and read, and how to do so elsewhere. Nothing here asks the database."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from typing import Any, ClassVar, Self

from longmind.events.bound import Bound
from longmind.events.timelines import timeline_at
from longmind.scope import Level, bucket_of

_LEVELS = ("session", "user", "run", "org", "app")


class Introspection(Bound):
    plain: ClassVar[frozenset[str]] = frozenset(
        {
            "at",
            "scope_id",
            "memory_level",
            "bucket_level",
            "timeline",
            "scope_info",
            "debug_print_scope",
            "uri_of",
            "jsonl_files",
        }
    )
    """The methods that wait for nothing: asynchronous programs have them as they are."""

    def at(self, level: Level | None = None, *, bucket: str | None = None) -> Self:
        """The same service for the timeline of another level, or of a bucket that the caller names.

        Each timeline has its own events: what is recorded at one is not read at another. Where the context lacks the
        id of the level there is nothing to read, and recording is refused.
        """
        elsewhere = copy(self)
        elsewhere._timeline = timeline_at(self._scope, level, bucket)
        return elsewhere

    def scope_id(self) -> str | None:
        """What the timeline is the timeline of, such as `session:s1`."""
        return None if self._timeline.id is None else bucket_of(self._timeline.id)

    def memory_level(self) -> str | None:
        """The level that was asked for; `session` unless another one was, None for a named bucket."""
        return self._timeline.level

    def bucket_level(self) -> str | None:
        """The level that the timeline has: `user` where there is no session; None for a global or a named bucket."""
        parts = (self.scope_id() or "").split(":")
        # Ids are encoded and hold no colon, so that every second part is the name of a level.
        return parts[-2] if len(parts) > 1 and parts[-2] in _LEVELS else None

    def timeline(self) -> str | None:
        """The id of the timeline."""
        return self._timeline.id

    def scope_info(self) -> dict[str, Any]:
        """The timeline, the levels and the ids of the context, for a look at them."""
        known = {
            each.name: getattr(self._scope, each.name)
            for each in fields(self._scope)
            if each.name != "capabilities" and getattr(self._scope, each.name) is not None
        }
        return {
            "timeline_id": self._timeline.id,
            "memory_scope_id": self.scope_id(),
            "memory_level": self.memory_level(),
            "bucket_level": self.bucket_level(),
            "has_indices": True,
            "run_id": self._scope.run_id,
            "session_id": self._scope.session_id,
            "graph_id": self._scope.graph_id,
            "node_id": self._scope.node_id,
            "org_id": self._scope.tenant_id,
            **known,
        }

    def debug_print_scope(self, prefix: str = "[MEM]") -> None:
        """Print what `scope_info` tells, a line each."""
        for name, value in self.scope_info().items():
            print(f"{prefix} {name}: {value}")
