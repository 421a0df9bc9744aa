"""The contract of a language model: what it is asked, and what it answers."""

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


@dataclass(frozen=True)
class ModelMessage:
    """One message of the conversation that a model goes on with.

    A message of the role `tool` holds tool_result blocks, which answer the tool_use blocks of the assistant before it.
    """

    role: Literal["user", "assistant", "tool"]
    content: str | Sequence[Block]

    @property
    def blocks(self) -> list[Block]:
        return [TextBlock(text=self.content)] if isinstance(self.content, str) else list(self.content)


@dataclass(frozen=True)
class Tool:
    """Something a model may ask its caller to do."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    """The JSON schema of its arguments."""


@dataclass(frozen=True)
class BoundTool:
    """A tool that brings its own doing: `run_turn` runs it itself, and hands only the others to its caller."""

    tool: Tool
    run: Callable[[dict[str, Any]], str]
    """Given the arguments the model chose; what it returns is the tool's result, and what it raises an error result."""


@dataclass(frozen=True)
class ModelRequest:
    messages: Sequence[ModelMessage]
    system: str | None = None
    tools: Sequence[Tool] = ()
    output_schema: dict[str, Any] | None = None
    """A JSON schema of an object: then the text of the answer is JSON like it, in whichever way the vendor does that.

    Vendors differ in how strictly they keep to it, so the answer has to be checked.
    """
    max_tokens: int | None = None
    temperature: float | None = None


@dataclass(frozen=True)
class ModelReply:
    content: list[Block]
    stop_reason: StopReason
    usage: Usage
    """The tokens, and the milliseconds from the question to the answer, pauses between attempts included."""
    model: str
    """The model as its vendor calls it, which may say more than the name it was chosen by."""
    provider: str
    dollars: float | None = None
    """What the call cost, where the price is known."""
    attempts: int = 1

    @property
    def text(self) -> str:
        return extract_words(self.content)

    @property
    def tool_uses(self) -> list[ToolUseBlock]:
        return [block for block in self.content if isinstance(block, ToolUseBlock)]


UNREADABLE = "INVALID_JSON"
"""In the place of a tool's arguments: the only one when what the model wrote is not a JSON object, with its text."""


class Cancel:
    """Ends the model calls it was given to, from any thread. What is asked with it afterwards is refused."""

    def __init__(self) -> None:
        self.cancelled = False
        self._calls: set[Future[Any]] = set()
        self._lock = threading.Lock()

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    @contextmanager
    def covering(self, call: Future[Any]) -> Iterator[None]:
        """While this lasts, `cancel()` ends the call; it ends in any case with what is done inside."""
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
        """Wait for a call, unless it is ended."""
        from concurrent.futures import CancelledError

        try:
            with self.covering(call):
                return call.result()
        except CancelledError:
            raise ModelCancelled("The turn was cancelled.") from None


@runtime_checkable
class LanguageModel(Protocol):
    """Answers messages. Threads may share it."""

    @property
    def name(self) -> str:
        """`vendor:model`."""

    def ask(self, request: ModelRequest, *, on_text: OnText | None = None, cancel: Cancel | None = None) -> ModelReply:
        """Wait for the answer.

        With `on_text`, the answer's text is also given piece by piece while it comes, in the thread of the caller.
        """
