"""Tokens of a text as a language model of OpenAI would count them.

A text is cut into pieces by a pattern. A piece that is a token of the vocabulary counts once; any other is joined from
its bytes, each time the neighbours that make the most frequent token, until no two make one. The vocabularies are files
of this package, so nothing is downloaded, and every version of Python counts alike.
"""

from __future__ import annotations

import heapq
import re
import unicodedata
import zlib
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

Ranks = dict[bytes, int]

FOLDER = Path(__file__).parent / "vocabularies"
"""The packed vocabularies, which `training/vocabularies` writes."""


class Encoding(NamedTuple):
    """A vocabulary of a model."""

    file: str
    tokens: int
    pattern: str
    """The pieces of a text in which each character stands for its kind: see `PieceKinds`."""

    def compile_pattern(self) -> re.Pattern[str]:
        """Compile the pattern, which takes longer than importing this module."""
        return re.compile(self.pattern, re.VERBOSE)


_OTHER_LETTER, _MARK = "\u00aa", "\u0300"
_SPACE = r" \t\n\x0b\x0c\r"
_SUFFIX = r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
_UPPER, _LOWER = f"A-Z{_OTHER_LETTER}{_MARK}", f"a-z{_OTHER_LETTER}{_MARK}"
_O200K = rf"""
    [^\r\n0-9A-Za-z{_OTHER_LETTER}]?[{_UPPER}]*[{_LOWER}]+(?:{_SUFFIX})?
    |[^\r\n0-9A-Za-z{_OTHER_LETTER}]?[{_UPPER}]+[{_LOWER}]*(?:{_SUFFIX})?
    |[0-9]{{1,3}}
    |[ ]?[^{_SPACE}0-9A-Za-z{_OTHER_LETTER}]+[\r\n/]*
    |[{_SPACE}]*[\r\n]+
    |[{_SPACE}]+(?![^{_SPACE}])
    |[{_SPACE}]+
"""
_CL100K = rf"""
    {_SUFFIX}
    |[^\r\n0-9A-Za-z{_OTHER_LETTER}]?[A-Za-z{_OTHER_LETTER}]+
    |[0-9]{{1,3}}
    |[ ]?[^{_SPACE}0-9A-Za-z{_OTHER_LETTER}]+[\r\n]*
    |[{_SPACE}]*[\r\n]+
    |[{_SPACE}]+(?![^{_SPACE}])
    |[{_SPACE}]+
"""
ENCODINGS = {
    "o200k": Encoding("o200k_base", 199_998, _O200K),
    "cl100k": Encoding("cl100k_base", 100_256, _CL100K),
}
"""Vocabularies of language models, by their names in settings."""


class PieceKinds(dict[int, str]):
    """For each character one in ASCII, or nearly so, that stands for its kind: the patterns need to know no others."""

    def __missing__(self, code: int) -> str:
        kind = self[code] = _find_kind(chr(code))
        return kind


def _find_kind(character: str) -> str:
    """Return the character that stands for the kind of another one."""
    if character.isascii():
        return character
    category = unicodedata.category(character)
    if category in _CATEGORIES:
        return _CATEGORIES[category]
    if category[0] in "MN":
        return _MARK if category[0] == "M" else "0"
    return "\t" if character.isspace() else "!"


_CATEGORIES = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": _OTHER_LETTER, "Lo": _OTHER_LETTER}
_KINDS = PieceKinds()


class BytePairCounter:
    """Counts the tokens of a text. Threads may share it."""

    def __init__(self, encoding: Encoding) -> None:
        self._pattern = encoding.compile_pattern()
        self._ranks = load_ranks(encoding)

    def __call__(self, text: str) -> int:
        if text.isascii():
            pieces = self._pattern.findall(text)
        else:
            spans = self._pattern.finditer(text.translate(_KINDS))
            pieces = [text[span.start() : span.end()] for span in spans]
        count, ranks = 0, self._ranks
        for piece in pieces:
            # A lone surrogate, which is no text, counts as a character of three bytes.
            encoded = piece.encode("utf-8", "surrogatepass")
            count += 1 if encoded in ranks else count_joined(encoded, ranks)
        return count


def load_ranks(encoding: Encoding) -> Ranks:
    """Return the tokens of a vocabulary with their ranks, the most frequent first."""
    table = zlib.decompress((FOLDER / f"{encoding.file}.tokens").read_bytes())
    ends = accumulate(table[: encoding.tokens], initial=encoding.tokens)
    return {table[start:end]: rank for rank, (start, end) in enumerate(pairwise(ends))}


def count_joined(piece: bytes, ranks: Ranks) -> int:
    """Return the number of tokens that the bytes of a piece are joined to.

    The time grows little faster than the length, so that a text without a space costs no more than others.
    """
    count = end = len(piece)
    # Each part is known by its start. A part that was joined to the one before it follows no other.
    after, before = list(range(1, end + 1)), list(range(-1, end - 1))
    pairs = [(ranks[pair], start) for start in range(end - 1) if (pair := piece[start : start + 2]) in ranks]
    heapq.heapify(pairs)
    joined = bytearray(end)
    while pairs:
        rank, start = heapq.heappop(pairs)
        middle = after[start]
        # The pair is out of date if one of its parts has been joined to another since.
        if joined[start] or middle == end or ranks.get(piece[start : after[middle]]) != rank:
            continue
        joined[middle], count = 1, count - 1
        follower = after[start] = after[middle]
        if follower < end:
            before[follower] = start
            _push(pairs, ranks, piece[start : after[follower]], start)
        if start:
            _push(pairs, ranks, piece[before[start] : follower], before[start])
    return count


def _push(pairs: list[tuple[int, int]], ranks: Ranks, pair: bytes, start: int) -> None:
    rank = ranks.get(pair)
    if rank is not None:
        heapq.heappush(pairs, (rank, start))
