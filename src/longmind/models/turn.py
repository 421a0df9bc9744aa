"""Turns that a model answers: their options and their results."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from longmind.models.message import Message, Usage
from longmind.models.value import Value

TurnStatus = Literal["completed", "max_cycles", "error"]


class TurnOptions(Value):
    """Options of the model call: the app's system prompt and the sampling parameters."""

    system_prompt: str | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class ToolInvocation(Value):
    """One call of a tool by the model, with its result."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    is_error: bool
    latency_ms: float


class TurnResult(Value):
    """The result of a turn that was run. Once the user's message is stored there is always one."""

    turn_id: str
    status: TurnStatus
    appended_messages: list[Message]
    """The user's message first; `replayed` is set if it existed already."""
    # Sums over all calls of the model.
    aggregate_usage: Usage
    """The tokens and milliseconds of all model calls together."""
    tool_invocations: list[ToolInvocation]
    total_latency_ms: float
    error: str | None = None
    """The failure, if the status is `error`."""

    @property
    def text(self) -> str:
        """The texts of all messages of the assistant in this turn, one per line."""
        texts = (message.text for message in self.appended_messages if message.role == "assistant")
        return "\n".join(text for text in texts if text)
