"""Emoji in chat text: most are dropped, some stand before the items of a list, and some stand for words."""

from __future__ import annotations

import re

_ONE = "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff][\ufe0f\u200d\U0001f3fb-\U0001f3ff]*"
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U000e0020-\U000e007f]+")
_AT_START = re.compile(rf"(?m)^[ \t]*(?:{_ONE})+[ \t]+(?=\S)")
_REPEATED = re.compile(rf"({_ONE}) [^\n]*?[^\W_][^\n]*? ?\1 [^\n]*?[^\W_]")
_FOR_WORDS = re.compile(rf"{_ONE}(?:,| and| or|, and) ?{_ONE}")
_BETWEEN_SENTENCES = re.compile(
    rf"(?<=[^\W_])\s*(?:{_ONE}\s*)+(?=(?:I|We|It|My|Our|The|This|That|He|She|They|You|There)\b)"
)


def without_emoji(text: str) -> str:
    """A text as it reads without them; items that begin with one begin with a dash instead."""
    if not _EMOJI.search(text) or _FOR_WORDS.search(text):
        return text
    repeated = _REPEATED.search(text)
    if repeated is not None:
        text = text.replace(f"{repeated[1]} ", "\n- ")
    text = _BETWEEN_SENTENCES.sub(". ", _AT_START.sub("- ", text))
    return _EMOJI.sub(" ", text)
