"""What the vendor on this machine is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Event = tuple[str, dict[str, Any] | str]
"""The name of a piece of a stream, and what it says."""


@dataclass(frozen=True)
class Answer:
    """What the model says, or what goes wrong instead."""

    text: str = ""
    tools: tuple[tuple[str, str], ...] = ()
    """The names of tools that are called, and their arguments as JSON."""
    tokens: tuple[int, int] = (11, 7)
    cut_off: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """What is sent instead of an answer."""
    hangs: bool = False
    breaks_after: int | None = None
    """How many pieces of a stream are sent before the connection breaks."""
    pause: float = 0.0
    """How many seconds pass before each piece of a stream."""

    @property
    def pieces(self) -> list[str]:
        return [f"{word} " for word in self.text.split(" ")[:-1]] + self.text.split(" ")[-1:] if self.text else []


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        """The instructions, whichever way the vendor is given them."""
        told = [self.body.get("system"), self.body.get("instructions")]
        told += [message["content"] for message in self._messages if message.get("role") == "system"]
        return "\n".join(text for each in told for text in _texts(each))

    @property
    def last_text(self) -> str:
        """What was said last, by the user or a tool."""
        last = self._messages[-1]
        return "\n".join(_texts(last.get("content", last.get("output"))))

    @property
    def _messages(self) -> list[dict[str, Any]]:
        messages = self.body.get("messages", self.body.get("input"))
        if isinstance(messages, str):
            return [{"role": "user", "content": messages}]
        assert isinstance(messages, list)
        return messages


def _texts(content: Any) -> list[str]:
    match content:
        case str():
            return [content]
        case list():
            return [text for part in content for text in _texts(part.get("text", part.get("content")))]
        case _:
            return []
