"""Memory of AetherGraph nodes, kept by Longmind: `await context.memory().record_chat_user("Hi!")` runs unchanged.

from longmind.compat.aethergraph import NodeContext
context = NodeContext(engine.context(tenant_id="acme", app_id="desk", user_id="ada", session_id="s1", run_id="r1"))

`context.memory()` has the methods of that library's MemoryFacade as its reference of early 2026 lists them, over the
events of one user. Recorded events are Longmind's own: searchable, exported, erased with the user, and never visible to
another one. The differences are listed in the guide on events.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from longmind.aio.engine import AsyncContext
from longmind.aio.services import AsyncEvents
from longmind.context import Context
from longmind.events import Events
from longmind.models.event import Event
from longmind.scope import Level, Scope

if TYPE_CHECKING:
    from longmind.runtime.thread_pool import Hop

_OVERFETCH = 5
_OVERFETCH_LEAST = 100


class NodeContext:
    """The part of a node's context that is about memory.

    context: a context of an engine, synchronous or asynchronous. Its ids file the events.
    level: the timeline, as in `events.at`; by default that of the session, or of the user without one.
    """

    def __init__(self, context: Context | AsyncContext, *, level: Level | None = None) -> None:
        events: Events = context.events if isinstance(context, Context) else context._context.events
        self.scope: Scope = context.scope
        self._facade = MemoryFacade(
            events if level is None else events.at(level),
            # Of a synchronous engine, whose calls would block the caller's event loop.
            cast("Hop", asyncio.to_thread) if isinstance(context, Context) else context._hop,
        )

    def memory(self) -> MemoryFacade:
        """Return the memory of the node."""
        return self._facade

    @property
    def run_id(self) -> str | None:
        """The id of the run, if the context has one."""
        return self.scope.run_id

    @property
    def session_id(self) -> str | None:
        """The id of the session, if the context has one."""
        return self.scope.session_id

    @property
    def graph_id(self) -> str | None:
        """The id of the graph, if the context has one."""
        return self.scope.graph_id

    @property
    def node_id(self) -> str | None:
        """The id of the node, if the context has one."""
        return self.scope.node_id


class MemoryFacade(AsyncEvents):
    """The events of one timeline, awaitable, with the older names that the library still had in early 2026."""

    def event_to_dict(self, event: Event) -> dict[str, Any]:
        """Return an event as the row that `recent(..., return_event=False)` has."""
        return event.as_row()

    def normalize_recent_output(self, events: Sequence[Event], *, return_event: bool) -> list[Any]:
        """Return events as they are, or as rows."""
        return list(events) if return_event else [event.as_row() for event in events]

    async def recent_events(
        self,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: int = 50,
        overfetch: int = _OVERFETCH,
        level: Level | None = None,
        use_persistence: bool = False,
        return_event: bool = True,
    ) -> list[Any]:
        """Return the last events that have all of the tags, newest last, from the hot log or the whole timeline.

        Of the hot log, `overfetch` times as many events as wanted are looked through.
        """
        if use_persistence:
            return await self.recent_persisted(
                kinds=kinds, tags=tags, limit=limit, level=level, return_event=return_event
            )
        # Only tags are compared here, so only with tags more than the wanted events have to be read.
        if not tags:
            return await self.recent(kinds=kinds, limit=limit, level=level, return_event=return_event)
        events = await self.recent(kinds=kinds, limit=max(limit * overfetch, _OVERFETCH_LEAST), level=level)
        found = [event for event in events if set(tags) <= set(event.tags or ())][-limit:]
        return self.normalize_recent_output(found, return_event=return_event)

    async def recent_data(
        self,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: int = 50,
        level: Level | None = None,
    ) -> list[Any]:
        """Return only the data of recent events, or their text, parsed where it is JSON."""
        _warn("recent_data", "recent(..., return_event=False)")
        events = await self.recent_events(kinds=kinds, tags=tags, limit=limit, level=level)
        return [_read_payload(event) for event in events if event.data is not None or event.text]

    async def record_chat_tool(
        self,
        tool_name: str,
        text: str,
        *,
        tags: Sequence[str] | None = None,
        data: dict[str, Any] | None = None,
        severity: int = 2,
        signal: float | None = None,
    ) -> Event:
        """Record a turn of a tool, with a tag that names it."""
        _warn("record_chat_tool", "record_chat('tool', ...)")
        return await self.record_chat(
            "tool",
            text,
            tags=[*(tags or ()), f"tool:{tool_name}"],
            data={"tool_name": tool_name, **(data or {})},
            severity=severity,
            signal=signal,
        )

    async def recent_tool_result_data(self, *, tool: str, limit: int = 10) -> list[dict[str, Any]]:
        """Return the last results of one tool as rows."""
        _warn("recent_tool_result_data", "recent_tool_results(..., return_event=False)")
        return await self.recent_tool_results(tool=tool, limit=limit, return_event=False)

    async def record_result(self, *, tool: str | None = None, **result: Any) -> Event:
        """Record the result of a tool."""
        return await self._record_named("record_result", tool, result)

    async def write_result(self, *, tool: str | None = None, topic: str | None = None, **result: Any) -> Event:
        """Record the result of a tool, which may be named as the topic."""
        return await self._record_named("write_result", topic if tool is None else tool, result)

    async def write_tool_result(self, *, tool: str, **result: Any) -> Event:
        """Record the result of a tool."""
        return await self._record_named("write_tool_result", tool, result)

    async def mark_event_important(self, event_id: str, *, reason: str | None = None, topic: str | None = None) -> None:
        """Record that an event is important, as an event of the kind `memory.core_fact`; unknown ids are ignored."""
        event = await self.get_event(event_id)
        # The library logs that the event is unknown, and goes on.
        if event is None:
            return
        marks = {"important", "core_fact", *([f"topic:{topic}"] if topic else [])}
        await self.record_raw(
            base={
                "kind": "memory.core_fact",
                "stage": "mark_important",
                "tags": sorted({*(event.tags or ()), *marks}),
                "data": {
                    "source_event_id": event.event_id,
                    "source_kind": event.kind,
                    "source_tags": event.tags or [],
                    "reason": reason,
                    "topic": topic or event.topic,
                },
                "severity": max(event.severity, 2),
                "signal": max(event.signal, 0.85),
                "topic": topic or event.topic,
            },
            text=event.text,
        )

    async def _record_named(self, name: str, tool: str | None, result: dict[str, Any]) -> Event:
        _warn(name, "record_tool_result(...)")
        if tool is None:
            raise ValueError(f"{name} needs the name of a tool.")
        return await self.record_tool_result(tool=tool, **result)


def _read_payload(event: Event) -> Any:
    if event.data is not None:
        return event.data
    text = (event.text or "").strip()
    # A text that only looks like JSON is returned as it is.
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return event.text


def _warn(name: str, newer: str) -> None:
    warnings.warn(f"{name}() is an older name; call {newer}.", DeprecationWarning, stacklevel=3)
