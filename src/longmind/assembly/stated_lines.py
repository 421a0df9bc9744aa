"""The lines of memory that a prompt states already, so that a part which is added to it need not repeat them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_MARKS = re.compile(r"^(?:<[^<>]*>)?\s*(?:[-*]\s+)?(?:\[\d+\]\s+)?")
"""The beginning of a line of memory in a prompt: a tag, a list mark, a number."""
_REMARKS = re.compile(r"(?:\s+\([^()]*\))?\s*(?:</[^<>]*>)?$")
"""The end of such a line: remarks on its source and age, and a closing tag."""


class StatedLines:
    """The lines of a prompt, comparable with memory texts however the prompt lays memory out."""

    def __init__(self, prompt: str) -> None:
        self._lines = set[str]()
        for line in prompt.splitlines():
            unmarked = _MARKS.sub("", html.unescape(line.strip()), count=1)
            self._lines |= {_fold(unmarked), _fold(_REMARKS.sub("", unmarked, count=1))}

    def has(self, text: str) -> bool:
        """Return whether a line of the prompt is a sanitised memory text."""
        return _fold(html.unescape(text)) in self._lines

    def has_all(self, texts: Iterable[str]) -> bool:
        """Return whether each of the texts is a line of the prompt."""
        return all(map(self.has, texts))


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
