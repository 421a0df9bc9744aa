"""How many tokens a text takes: counted by a real tokenizer, estimated, or told by a function of the host's."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from importlib.util import find_spec

from longmind.errors import InvalidInput
from longmind.validation.text import quote_value

TokenCounter = Callable[[str], int]

AUTO = "auto"
ESTIMATE = "estimate"
ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""Vocabularies of language models, by the name that they are chosen by."""
_PACKAGE = "rs_bpe"

# Scripts in which a character is about a token: Han, kana and Hangul, with their extensions.
_ONE_EACH = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U000323af]"
)


def estimate(text: str) -> int:
    """About how many tokens a text takes, without a tokenizer: four bytes each, and each Chinese character one."""
    if text.isascii():
        return -(-len(text) // 4)
    wide = len(_ONE_EACH.findall(text))
    return max(-(-len(text.encode()) // 4), wide - (-(len(text) - wide) // 4))


def choose_counter(chosen: object) -> TokenCounter:
    """The counter of a name, or the function that was given."""
    if isinstance(chosen, str):
        return _choose_named_counter(chosen)
    if callable(chosen):
        return CheckedCounter(chosen)
    raise InvalidInput(f"token_counter is {quote_value(chosen)}.", hint=_HINT)


def _choose_named_counter(name: str) -> TokenCounter:
    installed = find_spec(_PACKAGE) is not None
    if name == ESTIMATE or (name == AUTO and not installed):
        return estimate
    if name != AUTO and name not in ENCODINGS:
        raise InvalidInput(f"There is no token counter {name!r}.", hint=_HINT)
    if not installed:
        raise InvalidInput(
            f"The token counter {name!r} needs a package that is not installed.",
            hint="Install rs-bpe, which has no wheel for every Python yet, or use 'estimate'.",
        )
    return Tokenizer(ENCODINGS["o200k" if name == AUTO else name])


_HINT = f"It is a function from a text to a number, or one of {', '.join((AUTO, *ENCODINGS, ESTIMATE))}."


class Tokenizer:
    """Counts the tokens of a vocabulary. Its tables are loaded with the first text, which takes a moment.

    From one prompt to the next most lines stay as they are, so what a line takes is remembered. Lines are told apart
    by their hashes: what was erased from memory is not to live on here.
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
                count = self._count = self._count or self._load()
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

    def _load(self) -> TokenCounter:
        from rs_bpe.bpe import openai

        count: TokenCounter = getattr(openai, self._encoding)().count
        return count


# No token goes on behind a line break, unless white space follows it or, in one vocabulary, a slash. So the tokens of
# lines that are parted there add up to those of the text.
_LINES = re.compile(r"(?<=\n)(?=[^\s/])")
_REMEMBERED = 10_000
"""Lines whose tokens are remembered: about a megabyte."""


class CheckedCounter:
    """A function of the host's. A wrong answer would break what is promised of a budget, so it is not believed."""

    def __init__(self, count: Callable[[str], object]) -> None:
        self._count = count

    def __call__(self, text: str) -> int:
        counted = self._count(text)
        if isinstance(counted, bool) or not isinstance(counted, int) or counted < 0:
            raise InvalidInput(
                f"The token counter gave {quote_value(counted)}.", hint="It has to give a whole number, zero or more."
            )
        return counted
