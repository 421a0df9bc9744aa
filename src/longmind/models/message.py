"""A message: one row of the ledger that belongs to a conversation."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from longmind.models.content import Block, extract_words
from longmind.models.value import Value
from longmind.validation.annotated import Label
from longmind.validation.text import make_damage_error

Role = Literal["user", "assistant", "tool", "system"]
Visibility = Literal["user", "internal", "hidden"]


class Usage(Value):
    """What a model call cost."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    latency_ms: int | float | None = Field(default=None, ge=0)


def decode_usage(stored: str) -> Usage:
    try:
        return Usage.model_validate_json(stored)
    except ValidationError as error:
        raise make_damage_error() from error


class AssistantTurn(Value):
    """The assistant's side of a turn, as the caller gives it."""

    content: Any
    """A text or a list of content blocks; checked when it is appended."""
    stop_reason: Label | None = None
    model: Label | None = None
    provider: Label | None = None
    usage: Usage | None = None


class Message(Value):
    id: str
    conversation_id: str
    turn_id: str
    sequence: int
    role: Role
    content: list[Block]
    visibility: Visibility
    stop_reason: str | None = None
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    tool_use_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    trace_id: str | None = None
    idempotency_key: str | None = None
    created_at: str
    attempt: int = 1
    """Which answer to its turn this row belongs to; only the highest one of a turn is fed to a model."""
    replayed: bool = False
    """True when the row was there already and its idempotency key brought it back."""

    @property
    def text(self) -> str:
        """What the message says in words."""
        return extract_words(self.content)


class Turn(Value):
    """A user's message and the assistant's answer, stored together."""

    turn_id: str
    user_message: Message
    assistant_message: Message
