"""Operations on what tools have done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longmind.events.bound import as_asked
from longmind.events.recording import Recording
from longmind.models.event import TOOL_RESULT, Event
from longmind.scope import IDENTITY_LIMIT
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, Limit
from longmind.validation.text import validate_text


class ToolResults(Recording):
    def record_tool_result(
        self,
        *,
        tool: str,
        inputs: Sequence[dict[str, Any]] | None = None,
        outputs: Sequence[dict[str, Any]] | None = None,
        tags: Sequence[str] | None = None,
        metrics: dict[str, float] | None = None,
        message: str | None = None,
        severity: int = 3,
    ) -> Event:
        """Record what a tool was given and what it answered; the message says it in words."""
        base = {
            "kind": TOOL_RESULT,
            "topic": _validate_tool(tool),
            "inputs": [] if inputs is None else inputs,
            "outputs": [] if outputs is None else outputs,
            "tags": tags,
            "severity": severity,
        }
        return self.record_raw(base=base, text=message, metrics=metrics)

    def recent_tool_results(self, *, tool: str, limit: Limit = 10, return_event: bool = True) -> list[Any]:
        """The last results of one tool in the hot log, newest last."""
        most = LIMIT.check("limit", limit)
        topic = _validate_tool(tool)
        window = self._window(None, hot=True)
        if window is None:
            return []
        found = self._database.read(self._scope, store.newest_on_topic, self._scope, window, most, TOOL_RESULT, topic)
        return as_asked(found, return_event)


def _validate_tool(tool: object) -> str:
    return validate_text("tool", tool, limit=IDENTITY_LIMIT, blank=False)
