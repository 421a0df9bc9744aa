"""The contract of a language model: requests, replies, tools, and cancelling a call.

Everything in the engine that needs a language model goes by this contract. `VendorModel` implements it for models that
pydantic-ai knows, `ScriptedModel` for tests, and a host may pass an object of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from longmind.errors import ModelCancelled
from longmind.models.content import Block, TextBlock, ToolUseBlock, extract_words
from longmind.models.message import Usage

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal", "error"]
OnText = Callable[[str], object]
ToolHandler = Callable[[str, dict[str, Any]], Any]
"""Runs the tool of a name with its arguments, for tools that bring no function of their own."""


@dataclass(frozen=True)
class ModelMessage:
    """One message of the conversation that a model continues.

    A message of the role `tool` holds tool_result blocks, which answer the tool_use blocks of the assistant before it.
    """

    role: Literal["user", "assistant", "tool"]
    content: str | Sequence[Block]

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks, also if it is plain text."""
        return [TextBlock(text=self.content)] if isinstance(self.content, str) else list(self.content)


@dataclass(frozen=True)
class Tool:
    """An action that a model may request from its caller."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """The JSON schema of its arguments."""


@dataclass(frozen=True)
class BoundTool:
    """A tool with its implementation: `run_turn` runs it, and hands only other tools to its caller."""

    tool: Tool
    run: Callable[[dict[str, Any]], str]
    """Receives the arguments that the model chose; returns the tool's result. An exception becomes an error result."""


@dataclass(frozen=True)
class ModelRequest:
    """One question to a model: the conversation so far, and the form of the answer."""

    messages: Sequence[ModelMessage]
    system: str | None = None
    tools: Sequence[Tool] = ()
    output_schema: dict[str, Any] | None = None
    """A JSON schema of an object: the text of the answer is then JSON, by the means that the vendor offers.

    Vendors differ in how strictly they follow a schema, so the answer has to be validated.
    """
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True)
class ModelReply:
    """The answer of a model, and its cost."""

    content: list[Block]
    stop_reason: StopReason
    usage: Usage
    """Tokens, and milliseconds from the question to the answer, including pauses between attempts."""
    model: str
    """The vendor's name of the model, which may be more specific than the name it was chosen by."""
    provider: str
    dollars: float | None = None
    """The cost of the call as the vendor or its price list states it; None if it is unknown."""
    attempts: int = 1

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return extract_words(self.content)

    @property
    def tool_uses(self) -> list[ToolUseBlock]:
        """The tools that the model requests."""
        return [block for block in self.content if isinstance(block, ToolUseBlock)]


UNREADABLE = "INVALID_JSON"
"""The only key of a tool's arguments if the model wrote something else than a JSON object; its value is that text."""


class Cancel:
    """Cancels the model calls that it was passed to, from any thread. Later calls with it are refused."""

    def __init__(self) -> None:
        self.cancelled = False
        self._calls: set[Future[Any]] = set()
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """Cancel all calls under way, and every later one."""
        with self._lock:
            self.cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    @contextmanager
    def covering(self, call: Future[Any]) -> Iterator[None]:
        """Let `cancel()` end the call during the block; at the end of the block, the call is ended in any case."""
        with self._lock:
            self._calls.add(call)
        try:
            if self.cancelled:
                call.cancel()
            yield
        finally:
            with self._lock:
                self._calls.discard(call)
            call.cancel()

    def result_of(self, call: Future[T]) -> T:
        """Wait for a call and return its result; raise ModelCancelled if it was cancelled."""
        from concurrent.futures import CancelledError

        try:
            with self.covering(call):
                return call.result()
        except CancelledError:
            raise ModelCancelled("The turn was cancelled.") from None


@runtime_checkable
class LanguageModel(Protocol):
    """A model that answers messages. Threads may share it."""

    @property
    def name(self) -> str:
        """The name in the form `vendor:model`."""

    def ask(self, request: ModelRequest, *, on_text: OnText | None = None, cancel: Cancel | None = None) -> ModelReply:
        """Ask the model and wait for its answer.

        on_text: receives the answer's text piece by piece as it arrives, in the thread of the caller. cancel: ends the
        call, which then raises ModelCancelled.
        """
