"""A language model that follows a script, for tests of programs that use Longmind."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from longmind.errors import ModelCancelled, ModelFailed
from longmind.models.content import Block, TextBlock, ToolUseBlock
from longmind.models.message import Usage
from longmind.models.value import Value
from longmind.providers.language_model import Cancel, ModelReply, ModelRequest, OnText

Answer: TypeAlias = "str | dict[str, Any] | Block | Sequence[Block] | ModelReply | Exception"
Line: TypeAlias = "Answer | Callable[[ModelRequest], Answer]"

_CHARACTERS_A_TOKEN = 4


class ScriptedModel:
    """A language model that answers from a script, and collects the requests in `requests`.

    A line of the script is a text, a dict (sent as JSON), a block or a list of blocks, a whole `ModelReply`, an error
    to raise, or a function that receives the request and returns one of these. The script is a list of lines, each
    used once, or one function that answers every request.
    """

    def __init__(
        self, script: Sequence[Line] | Callable[[ModelRequest], Answer], *, name: str = "scripted:model"
    ) -> None:
        self._script = script if callable(script) else list(script)
        self._name = name
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    def ask(self, request: ModelRequest, *, on_text: OnText | None = None, cancel: Cancel | None = None) -> ModelReply:
        """Return the answer of the next line, or raise it if it is an error."""
        begun = time.monotonic()
        if cancel is not None and cancel.cancelled:
            raise ModelCancelled(f"The call of {self._name!r} was cancelled.")
        line = self._next(request)
        answer = line(request) if callable(line) else line
        if isinstance(answer, Exception):
            raise answer
        reply = answer if isinstance(answer, ModelReply) else self._reply(_blocks(answer), request, begun)
        if on_text is not None:
            # Word by word, as a vendor would stream it.
            for word in re.findall(r"\s*\S+|\s+", reply.text):
                on_text(word)
        return reply

    def _next(self, request: ModelRequest) -> Line:
        """Record the request and return the line that answers it; raise ModelFailed after the last one."""
        with self._lock:
            self.requests.append(request)
            if callable(self._script):
                return self._script
            if not self._script:
                raise ModelFailed(
                    f"The script of {self._name!r} ended before request {len(self.requests)}.",
                    hint="Add a line to it, or pass a function that answers every request.",
                )
            return self._script.pop(0)

    def _reply(self, blocks: list[Block], request: ModelRequest, begun: float) -> ModelReply:
        vendor, _, model = self._name.partition(":")
        asked = (block for message in request.messages for block in message.blocks)
        return ModelReply(
            content=blocks,
            stop_reason="tool_use" if any(isinstance(block, ToolUseBlock) for block in blocks) else "end_turn",
            usage=Usage(
                input_tokens=_tokens(request.system or "", *asked),
                output_tokens=_tokens(*blocks),
                latency_ms=round((time.monotonic() - begun) * 1000, 1),
            ),
            model=model,
            provider=vendor,
        )


def _blocks(answer: Any) -> list[Block]:
    match answer:
        case str():
            return [TextBlock(text=answer)]
        case dict():
            return [TextBlock(text=json.dumps(answer))]
        case Value():
            return [answer]  # type: ignore[list-item]  # a block, as the annotation of the script says
        case _:
            return list(answer)


def _tokens(*contents: str | Block) -> int:
    """Estimate the tokens of contents by their length, so that usage is never zero."""
    characters = sum(len(each) if isinstance(each, str) else len(each.model_dump_json()) for each in contents)
    return -(-characters // _CHARACTERS_A_TOKEN)
