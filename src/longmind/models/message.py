"""Messages: rows of the ledger that belong to a conversation.

A turn begins with a user's message, and the rows of its answer share its `turn_id`. A turn that is answered again
gets another `attempt`; earlier ones stay, but a model sees only the last.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, StrictBool, ValidationError

from longmind.models.content import Block, extract_words
from longmind.models.conversation import Conversation
from longmind.models.job import Job
from longmind.models.value import Value
from longmind.validation.parameter_limits import Label
from longmind.validation.text import make_damage_error

Role = Literal["user", "assistant", "tool", "system"]
Visibility = Literal["user", "internal", "hidden"]


class Usage(Value):
    """The tokens and the time that a model call took."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    latency_ms: int | float | None = Field(default=None, ge=0)


def decode_usage(stored: str) -> Usage:
    """Return stored usage; raise StoreError if it was damaged since it was written."""
    try:
        return Usage.model_validate_json(stored)
    except ValidationError as error:
        raise make_damage_error() from error


class AssistantTurn(Value):
    """The assistant's side of a turn, as the caller passes it."""

    content: Any
    """A text or a list of content blocks; checked when it is appended."""
    stop_reason: Label | None = None
    model: Label | None = None
    provider: Label | None = None
    usage: Usage | None = None


class GivenMessage(Value):
    """A message of any role, as the caller passes it to `append_messages`.

    `content` is a text or a list of content blocks. A system message is `internal` unless it says otherwise, and the
    others are for the user. `created_at`, an ISO 8601 text or a datetime, is for imported messages.

    A tool's message needs the `tool_use_id` of the call that it answers. `stop_reason`, `model`, `provider` and `usage`
    belong to an assistant's message, and describe the model call that made it.
    """

    role: Role
    content: Any
    # Checked when it is appended.
    visibility: Visibility | None = None
    created_at: Any = None
    tool_use_id: Label | None = None
    tool_name: Label | None = None
    is_error: StrictBool = False
    stop_reason: Label | None = None
    model: Label | None = None
    provider: Label | None = None
    usage: Usage | None = None


class Message(Value):
    """A message as it is stored. Messages never change and are never deleted one by one."""

    id: str
    conversation_id: str
    turn_id: str
    sequence: int
    # What was said, and who may see it.
    role: Role
    content: list[Block]
    visibility: Visibility
    # Of an assistant's message: the model call that made it.
    stop_reason: str | None = None
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    # Of a tool's message: the call that it answers.
    tool_use_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    # Set by the caller, for tracing and for safe retries.
    trace_id: str | None = None
    idempotency_key: str | None = None
    created_at: str
    attempt: int = 1
    """The number of the answer that this row belongs to; a model sees only the highest of a turn."""
    replayed: bool = False
    """True if the row existed already and its idempotency key found it."""

    @property
    def text(self) -> str:
        """The texts of the message, one per line."""
        return extract_words(self.content)


class Turn(Value):
    """A user's message and the assistant's answer, stored together."""

    turn_id: str
    user_message: Message
    assistant_message: Message


class AppendedMessages(Value):
    """Messages that were appended together, the conversation as it is after them, and the jobs that read them.

    There is one job, an extraction, for each binding and space; none if no extraction was asked for.
    """

    conversation: Conversation
    messages: list[Message]
    jobs: list[Job]
