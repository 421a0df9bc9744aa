"""Counting of tokens: by a vocabulary, by an estimate, or by a function of the host."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from longmind.assembly.byte_pairs import ENCODINGS, BytePairCounter
from longmind.errors import InvalidInput
from longmind.validation.text import quote_value

TokenCounter = Callable[[str], int]

AUTO = "auto"
ESTIMATE = "estimate"

# Scripts in which a character is about a token: Han, kana and Hangul, with their extensions.
_ONE_EACH = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U000323af]"
)


def estimate(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer: four bytes each, and one per CJK character."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = len(_ONE_EACH.findall(text))
    return max(-(-len(text.encode()) // 4), wide - (-(len(text) - wide) // 4))


def choose_counter(chosen: object) -> TokenCounter:
    """Return the counter of a name, or the host's function with its answers checked."""
    if isinstance(chosen, str):
        return _choose_named_counter(chosen)
    if callable(chosen):
        return CheckedCounter(chosen)
    raise InvalidInput(f"token_counter is {quote_value(chosen)}.", hint=_HINT)


def _choose_named_counter(name: str) -> TokenCounter:
    """Return the counter of a name; `auto` is the vocabulary of the newer models."""
    if name == ESTIMATE:
        return estimate
    if name != AUTO and name not in ENCODINGS:
        raise InvalidInput(f"Unknown token counter {name!r}.", hint=_HINT)
    return Tokenizer("o200k" if name == AUTO else name)


_HINT = f"Pass a function from a text to a number, or one of {', '.join((AUTO, *ENCODINGS, ESTIMATE))}."


class Tokenizer:
    """Counts tokens by a model's vocabulary, whose tables are loaded with the first text.

    Most lines stay the same from one prompt to the next, so counts are remembered by line. The keys are hashes: a line
    that was erased from memory must not live on here.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._count: TokenCounter | None = None
        self._loading = threading.Lock()
        self._counted: dict[tuple[int, int], int] = {}

    def __call__(self, text: str) -> int:
        count = self._count
        if count is None:
            with self._loading:
                count = self._count = self._count or BytePairCounter(ENCODINGS[self._encoding])
        total, counted = 0, self._counted
        for line in _LINES.split(text):
            key = hash(line), len(line)
            tokens = counted.get(key)
            if tokens is None:
                if len(counted) >= _REMEMBERED:
                    counted.clear()
                tokens = counted[key] = count(line)
            total += tokens
        return total


# No token spans a line break, unless white space follows it or, in one vocabulary, a slash. So the tokens of lines that
# are split there add up to those of the text.
_LINES = re.compile(r"(?<=\n)(?=[^\s/])")
_REMEMBERED = 10_000
"""Lines whose tokens are remembered: about a megabyte."""


class CheckedCounter:
    """A counter of the host. Its answers are checked, because a wrong one would break the budget."""

    def __init__(self, count: Callable[[str], object]) -> None:
        self._count = count

    def __call__(self, text: str) -> int:
        counted = self._count(text)
        if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
            raise InvalidInput(
                f"The token counter returned {quote_value(counted)}.", hint="Return a whole number from 0."
            )
        return counted
