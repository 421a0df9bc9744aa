"""Pieces of messages: what a passage shows, and an embedder reads at a time.

Most messages are one piece. A longer one is split at the ends of lines and sentences, and only where a sentence is too
long by itself, between words or within a word. The work is linear in the length of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from longmind.language.words import UNSPACED

WHOLE = 125
"""The most words of a message that stays whole."""
_MOST = 90
"""The words that a piece of a longer message is filled up to."""
_LONGEST_SENTENCE = 2 * _MOST
_SHORT = 250
"""Characters of a text that cannot have more words than `WHOLE`."""
_LONG_WORD = 12
"""Characters that count as one word more, where there are no spaces for so long."""
_CHUNK = 360
"""Characters at which a word is cut that is as long as a paragraph."""

_WORD = re.compile(r"\S+\s*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f][\"')\\]\u201d\u2019]*$")
_UNSPACED_ENDS = "\u3002\uff01\uff1f"
_UNSPACED_PARTS = re.compile(f".{{1,{_CHUNK // 2}}}?[\u3002\uff01\uff1f]+|.{{1,{_CHUNK // 2}}}", re.DOTALL)


class _Run(NamedTuple):
    """A few characters that are not split: mostly a word with the space after it."""

    end: int
    words: int
    ends_sentence: bool


def split_message(text: str) -> list[tuple[int, int]]:
    """Return the spans of the pieces of a message: they ascend, do not overlap, and hold all that is not blank."""
    if len(text) <= _SHORT:
        return [(0, len(text))] if text.strip() else []
    if _UNSPACED.search(text) is None and _count_words(text) <= WHOLE:
        # The usual case, for which looking for the ends of sentences would take ten times as long.
        return [(0, len(text))] if text.strip() else []
    runs = list(_find_runs(text))
    if sum(run.words for run in runs) <= WHOLE:
        return [(0, len(text))] if runs else []
    return [(begins, ends) for begins, ends in _join_runs(runs) if text[begins:ends].strip()]


def _count_words(text: str) -> int:
    words = text.split()
    return len(words) + sum(len(word) // _LONG_WORD for word in words if len(word) >= _LONG_WORD)


def _find_runs(text: str) -> Iterator[_Run]:
    has_unspaced = _UNSPACED.search(text) is not None
    for found in _WORD.finditer(text):
        word = found[0].rstrip()
        if len(word) > _CHUNK or (has_unspaced and _UNSPACED.search(word)):
            yield from _cut_word(word, found.start(), found.end())
        else:
            ends = "\n" in found[0] or _SENTENCE_END.search(word[-4:]) is not None
            yield _Run(found.end(), 1 + len(word) // _LONG_WORD, ends)


def _cut_word(word: str, begins: int, until: int) -> Iterator[_Run]:
    """Yield the runs of a long word, or of words in a language that puts no spaces between them."""
    if _UNSPACED.search(word):
        found = _UNSPACED_PARTS.finditer(word)
        parts = [(part.end(), _count_unspaced(part[0]), part[0][-1] in _UNSPACED_ENDS) for part in found]
    else:
        ends = [*range(_CHUNK, len(word), _CHUNK), len(word)]
        parts = [(end, 1 + _CHUNK // _LONG_WORD, False) for end in ends]
    for number, (end, words, ends_sentence) in enumerate(parts, 1):
        is_last = number == len(parts)
        yield _Run(until if is_last else begins + end, words, ends_sentence or (is_last and "\n" in word))


def _count_unspaced(part: str) -> int:
    """Return the words of a part, as pairs of characters."""
    return 1 + len(part) // 2


def _join_runs(runs: list[_Run]) -> Iterator[tuple[int, int]]:
    """Yield pieces of whole sentences, as many as fit."""
    begins = until = filled = 0
    for words, end in _find_units(runs):
        if filled and filled + words > _MOST:
            yield begins, until
            begins, filled = until, 0
        until, filled = end, filled + words
    yield begins, until


def _find_units(runs: list[_Run]) -> Iterator[tuple[int, int]]:
    """Yield the words and the end of each sentence, or of each part of one that is too long."""
    sentence: list[_Run] = []
    for run in runs:
        sentence.append(run)
        if run.ends_sentence:
            yield from _cut_sentence(sentence)
            sentence = []
    if sentence:
        yield from _cut_sentence(sentence)


def _cut_sentence(runs: list[_Run]) -> Iterator[tuple[int, int]]:
    most = sum(run.words for run in runs)
    limit = most if most <= _LONGEST_SENTENCE else _MOST
    words = end = 0
    for run in runs:
        if words and words + run.words > limit:
            yield words, end
            words = 0
        words, end = words + run.words, run.end
    yield words, end
