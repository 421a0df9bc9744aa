"""A turn that is run: what may be chosen for it, and what came of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from longmind.models.message import Message, Usage
from longmind.models.value import Value

TurnStatus = Literal["completed", "max_cycles", "error"]


class TurnOptions(Value):
    """How a model is asked."""

    system_prompt: str | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class ToolInvocation(Value):
    """One call of a tool by the model."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    is_error: bool
    latency_ms: float


class TurnResult(Value):
    """What came of a turn that was run."""

    turn_id: str
    status: TurnStatus
    appended_messages: list[Message]
    """The user's message first; one that was there already has `replayed` set."""
    aggregate_usage: Usage
    """The tokens and milliseconds of all calls of the model together."""
    tool_invocations: list[ToolInvocation]
    total_latency_ms: float
    error: str | None = None
    """What went wrong, when the status is `error`."""

    @property
    def text(self) -> str:
        """What the assistant said in words, in all of its messages."""
        said = (message.text for message in self.appended_messages if message.role == "assistant")
        return "\n".join(text for text in said if text)
