"""Events: rows of the ledger that were recorded on a timeline.

An event never changes. Optional attributes are None where nothing was recorded.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from longmind.models.value import Value

ChatRole = Literal["user", "assistant", "system", "tool"]

CHAT_TURN = "chat.turn"
"""The kind of every row with something said, inside a conversation or outside."""
TOOL_RESULT = "tool_result"
STATE_SNAPSHOT = "state.snapshot"

EVENT_TEXT_LIMIT = 1024 * 1024
"""Characters in the text of an event."""
EVENT_DATA_LIMIT = 1024 * 1024
"""Bytes of JSON in each of data, inputs and outputs."""
EVENT_TAGS_LIMIT = 100
"""Tags of an event, each of at most 255 characters."""
RECORD_LIMIT = 10_000
"""Events that one call records at most."""

_ROW = (
    "event_id", "ts", "kind", "stage", "text", "tags", "data", "metrics", "tool", "topic", "severity", "signal",
    "inputs", "outputs", "run_id", "scope_id", "session_id", "graph_id", "node_id", "user_id", "org_id", "client_id",
)  # fmt: skip


class Event(Value):
    """A recorded event. Its JSON has the same names as its attributes."""

    model_config = ConfigDict(serialize_by_alias=False)

    event_id: str
    ts: str
    """The time when it happened: ISO 8601 in UTC, with six decimals and `Z`."""
    kind: str = "misc"
    # The timeline, and the context that recorded it.
    run_id: str | None = None
    scope_id: str | None = None
    """The bucket of its timeline, such as `session:s1`."""
    user_id: str | None = None
    org_id: str | None = None
    """The tenant."""
    client_id: str | None = None
    session_id: str | None = None
    # What happened.
    stage: str | None = None
    text: str | None = None
    tags: list[str] | None = None
    data: dict[str, Any] | None = None
    metrics: dict[str, float] | None = None
    graph_id: str | None = None
    node_id: str | None = None
    tool: str | None = None
    """The old name of `topic`, and always the same."""
    topic: str | None = None
    # How much it matters: distillation selects events by their signal.
    severity: int = Field(default=2, ge=1, le=3)
    signal: float = Field(default=0.0, ge=0, le=1)
    inputs: list[Any] | None = None
    outputs: list[Any] | None = None
    app_id: str | None = None
    agent_id: str | None = None
    embedding: list[float] | None = None
    pii_flags: dict[str, bool] | None = None
    version: int = 2

    @model_validator(mode="before")
    @classmethod
    def _one_topic(cls, given: Any) -> Any:
        if isinstance(given, dict):
            topic = given.get("topic")
            tool = given.get("tool")
            if None not in (topic, tool) and topic != tool:
                raise ValueError(f"tool is {tool!r} and topic {topic!r}, and both are names of one thing")
            name = tool if topic is None else topic
            return {**given, "tool": name, "topic": name}
        return given

    def as_row(self) -> dict[str, Any]:
        """Return the event as a plain dict, for callers that pass `return_event=False`."""
        return {name: getattr(self, name) for name in _ROW}


class EventUsage(Value):
    """The number of events of a kind that a user recorded."""

    model_config = ConfigDict(serialize_by_alias=False)

    tenant_id: str
    app_id: str
    user_id: str
    kind: str
    meter: str
    """The name of the count: `memory.` followed by the kind."""
    events: int
