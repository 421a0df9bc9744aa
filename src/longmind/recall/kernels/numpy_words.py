"""BM25 in numpy: the score of every atom by the words that it shares with a query."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.postings import OWN, RunArrays

Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Piece = tuple[int, Array, Array, int]
"""The postings of one term in one run: the number of the term, its places, their codes, and the number of places that
hold the term in their own text."""


def word_scores(
    runs: Sequence[RunArrays], terms: tuple[int, ...], worth: Floats, among: Mask | None, atoms: int, scores: Floats
) -> None:
    """Write the BM25 score of each place to `scores`, as a share of the score of a text that is full of every term.

    runs: the postings of the space.
    worth: the weight of each posting code.
    among: the atoms that count, or None for all; others score 0 and do not make a word more common.
    atoms: the number of atoms that count.
    """
    pieces = find_pieces(runs, terms)
    if among is not None:
        pieces = restrict_pieces(pieces, among)
    if not pieces:
        return
    rarity, most = measure_rarity(pieces, len(terms), atoms)
    # All pieces at once: a call of numpy costs more than the few places of a rare word.
    numbers, places, codes, _ = zip(*pieces, strict=True)
    weights = worth.take(np.concatenate(codes))
    weights *= np.repeat([rarity[number] / most for number in numbers], [len(each) for each in places])
    scores[:] = np.bincount(np.concatenate(places), weights, len(scores))


def measure_rarity(pieces: Sequence[Piece], terms: int, atoms: int) -> tuple[dict[int, float], float]:
    """Return the rarity of each term by its number, and the length of the vector of all of them.

    A term that nothing holds is the rarest: what is found without it answers less of the question.
    """
    holders = dict.fromkeys(range(terms), 0)
    for number, _, _, own in pieces:
        holders[number] += own
    rarity = {number: math.log1p((atoms - held + 0.5) / (held + 0.5)) for number, held in holders.items()}
    # Summed in the order of the query: the order in which runs yield the terms changes as a space grows.
    return rarity, math.hypot(*(rarity[number] for number in sorted(rarity)))


def find_pieces(runs: Sequence[RunArrays], terms: Sequence[int]) -> list[Piece]:
    """Return the postings of the terms of a query, run by run and, within a run, in the order of the terms."""
    pieces = []
    asked = np.array(terms, np.uint32)
    for known, starts, places, codes, own in runs:
        for number, (term, at) in enumerate(zip(terms, known.searchsorted(asked).tolist(), strict=True)):
            if at < len(known) and known[at] == term:
                start, end = starts[at], starts[at + 1]
                pieces.append((number, places[start:end], codes[start:end], int(own[at])))
    return pieces


def restrict_pieces(pieces: list[Piece], some: Mask) -> list[Piece]:
    """Return the pieces without the postings of other atoms than `some`."""
    left = []
    for number, places, codes, _ in pieces:
        there = some[places]
        if there.any():
            codes = codes[there]
            left.append((number, places[there], codes, int(np.count_nonzero(codes & OWN))))
    return left
