"""Index terms of many texts in one pass, in a fraction of the time that reading each by itself takes.

All texts are joined, split once at characters that are in no word, and looked up in a cache from piece to term number.
The result is always equal to that of `terms_of` for each text; texts for which one piece may hold several words are
read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from longmind.language.words import STOP_WORDS, WordNumbers, terms_among, terms_of, words_of

Integers = NDArray[np.int64]

_END = "\x00"
"""Separates the joined texts: no word holds it, and hardly any text."""
_GAPS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) not in (_END, "'")}

_AT_THE_END = -(2**62)
_NO_WORD = _AT_THE_END + 1


def _number_of(piece: str) -> int:
    """Return the term number of one piece of text between gaps; that of a stop word is its complement, below zero."""
    # Not only preset in the cache: another thread may have cleared it just now.
    if piece == _END:
        return _AT_THE_END
    words = words_of(piece)
    if not words:
        return _NO_WORD
    (term,) = terms_among(words)
    return ~term if words[0] in STOP_WORDS else term


_cached_number = WordNumbers(_number_of).__getitem__


def terms_of_each(texts: Sequence[str]) -> tuple[Integers, Integers]:
    """Return the terms of all texts, in their order, and for each term the index of its text.

    The terms of a text are those that `terms_of` returns for it, in the same order.
    """
    places = [place for place, text in enumerate(texts) if _is_simple(text)]
    terms, place_of = _terms_of_simple([texts[place] for place in places])
    if len(places) == len(texts):
        return terms, place_of
    found: list[int] = []
    places_found: list[int] = []
    for place in sorted(set(range(len(texts))).difference(places)):
        found += terms_of(texts[place])
        places_found += [place] * (len(found) - len(places_found))
    place_of = np.concatenate([np.array(places, np.int64)[place_of], np.array(places_found, np.int64)])
    order = np.argsort(place_of, kind="stable")
    return np.concatenate([terms, np.array(found, np.int64)])[order], place_of[order]


def _is_simple(text: str) -> bool:
    """Return whether each piece between two gaps is one word at most."""
    return text.isascii() and "''" not in text and _END not in text


def _terms_of_simple(texts: Sequence[str]) -> tuple[Integers, Integers]:
    """Do the work of `terms_of_each` for simple texts, with one lookup for each piece."""
    pieces = f" {_END} ".join(texts).lower().translate(_GAPS).split()
    numbers = np.fromiter(map(_cached_number, pieces), np.int64, len(pieces))
    place_of = np.cumsum(numbers == _AT_THE_END)
    is_indexed = numbers >= 0
    has_none = np.bincount(place_of[is_indexed], minlength=len(texts)) == 0
    if has_none.any():
        # A text of stop words only is indexed by those.
        is_indexed |= has_none[place_of] & (numbers > _NO_WORD)
        numbers = np.where(numbers < 0, ~numbers, numbers)
    return numbers[is_indexed], place_of[is_indexed]
