"""BM25 over windows in numpy: the score of each piece of a message by its own words and those of its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.postings import RunArrays
from longmind.recall.kernels.numpy_words import find_pieces, measure_rarity, restrict_pieces

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


def window_scores(
    runs: Sequence[RunArrays],
    terms: tuple[int, ...],
    amounts: Floats,
    previous: NDArray[np.int32],
    next: NDArray[np.int32],
    need: NDArray[np.float32],
    saturation: float,
    weights: tuple[float, float],
    among: Mask | None,
    atoms: int,
    scores: Floats,
) -> None:
    """Add the BM25 score of each window to `scores`, as `word_scores` does for texts by themselves.

    amounts: by code, how much of a word a piece holds.
    previous, next: by piece, the places of its neighbours in the conversation, -1 for none.
    need: by piece, the share that words around it count, and that its own words count around others.
    saturation: the amount at which a word counts half.
    weights: the share of the words of the nearest neighbours, and of those beyond them.
    among, atoms: the pieces that count, and their number.
    """
    pieces = find_pieces(runs, terms)
    if among is not None:
        pieces = restrict_pieces(pieces, among)
    if not pieces:
        return
    rarity, most = measure_rarity(pieces, len(terms), atoms)
    for number in sorted({piece[0] for piece in pieces}):
        window = np.zeros(len(scores))
        for of_term, places, codes, _ in pieces:
            if of_term == number:
                amount, at = amounts.take(codes), places.astype(np.intp)
                np.add.at(window, at, amount)
                for links in (previous, next):
                    _spread(window, links, need, weights, at, amount * need[at])
        held = window.nonzero()[0]
        scores[held] += rarity[number] / most * (window[held] / (saturation + window[held]))


def _spread(
    window: Floats,
    links: NDArray[np.int32],
    need: NDArray[np.float32],
    weights: Sequence[float],
    at: Places,
    amount: Any,
) -> None:
    """Put the words of some pieces into the windows of their neighbours on one side."""
    for weight in weights:
        linked = links[at] >= 0
        at, amount = links[at[linked]].astype(np.intp), amount[linked]
        np.add.at(window, at, weight * amount * need[at])
