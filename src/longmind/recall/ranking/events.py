"""From a query to the events of a timeline that answer it best.

Meaning and words are measured as they are for atoms; what is made of them is what whoever searches asks for: one of the
two alone, or both with fixed weights.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.timeline_index import TimelineIndex
from longmind.recall.kernels.numpy_best import Floats, Mask, Places, find_not_below
from longmind.recall.kernels.numpy_totals import measure_usual
from longmind.recall.ranking.atoms import USUAL_ATOMS, WORDS_WEIGHT

MEANING_SHARE = 0.6
WORDS_SHARE = 0.4
NEAR = 1.6
"""How far above what is usual a similarity is, in standard deviations, that speaks for itself, with no word in common.
Of texts that have nothing to do with a question hardly any of a few reaches it; of thousands always some do."""
UNKNOWN_USUAL = (0.1, 0.12)
"""The mean and deviation of the similarity of what is not related, for an embedder of which they are not known. After
some dozens of events those of the timeline itself tell."""


class EventQuery(NamedTuple):
    terms: tuple[int, ...]
    vector: NDArray[np.float32] | None = None
    """None where words alone are asked for, or there is no embedder."""
    usual: tuple[float, float] | None = None


class RankedEvents(NamedTuple):
    places: Places
    """Best first; of equals the newest."""
    scores: Floats
    """From 0 to 1, in the same order."""


def select_newest(index: TimelineIndex, passed: Mask, limit: int) -> RankedEvents:
    places = passed.nonzero()[0]
    if len(places) > limit:
        places = places[find_not_below(index.ts.values[places], limit)]
    order = np.lexsort((index.position.values[places], index.ts.values[places]))[::-1][:limit]
    return RankedEvents(places[order], np.zeros(len(order)))


def rank_events(index: TimelineIndex, passed: Mask, asked: EventQuery, limit: int, *, hybrid: bool) -> RankedEvents:
    """The best of the events that pass the filters and have to do with the query; none when there is none.

    They are ranked by words where there is no vector to compare, or else by meaning or, as a hybrid, by both.
    """
    words = index.word_scores(asked.terms) if asked.terms else np.zeros(index.atoms)
    likeness = None if asked.vector is None else index.similarity(asked.vector)
    if likeness is None:
        places = (passed & (words > 0)).nonzero()[0]
        # What holding every word of the query without end would give is at most the root of their number.
        return _select_best(index, places, words[places] / math.sqrt(max(len(asked.terms), 1)), limit)
    meaning = likeness.astype(np.float64)
    mean, deviation = measure_usual(index.compared, meaning, asked.usual or UNKNOWN_USUAL, USUAL_ATOMS)
    # An event that has no vector yet is taken to be as alike as one is on the whole that has so many words in common.
    meaning = np.where(np.isnan(meaning), mean + deviation * WORDS_WEIGHT * words, meaning)
    places = (passed & ((words > 0) | (meaning >= mean + NEAR * deviation))).nonzero()[0]
    if not hybrid:
        return _select_best(index, places, meaning[places], limit)
    scores = MEANING_SHARE * _from_0_to_1(meaning[places]) + WORDS_SHARE * _from_0_to_1(words[places])
    return _select_best(index, places, scores, limit)


def _from_0_to_1(values: Floats) -> Floats:
    """The highest value is 1 and the lowest 0; where all are the same they are 1 if there is anything to them."""
    if not len(values):
        return values
    least, most = float(values.min()), float(values.max())
    return (values - least) / (most - least) if most > least else (values > 0).astype(np.float64)


def _select_best(index: TimelineIndex, places: Places, scores: Floats, limit: int) -> RankedEvents:
    if len(places) > limit:
        kept = find_not_below(scores, limit)
        places, scores = places[kept], scores[kept]
    order = np.lexsort((index.position.values[places], index.ts.values[places], scores))[::-1][:limit]
    return RankedEvents(places[order], scores[order].clip(0.0, 1.0))
