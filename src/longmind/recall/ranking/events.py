"""Ranking of the events of a timeline against a query.

Likeness and words are measured as they are for atoms. The mode of the search decides what counts: one of the two alone,
or both with fixed weights.
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
"""The likeness, in deviations above the mean, that makes an event a hit without a shared word. Few of some dozens of
unrelated texts reach it, but some of thousands always do."""
UNKNOWN_USUAL = (0.1, 0.12)
"""The mean and deviation of the likeness of unrelated texts, for an embedder of which they are unknown. From some
dozens of events on, those of the timeline itself prevail."""


class EventQuery(NamedTuple):
    """A query to a timeline."""

    terms: tuple[int, ...]
    vector: NDArray[np.float32] | None = None
    """None where words alone are asked for, or there is no embedder."""
    usual: tuple[float, float] | None = None


class RankedEvents(NamedTuple):
    """The best events of a timeline."""

    places: Places
    """Best first; of equals the newest."""
    scores: Floats
    """Scores from 0 to 1, in the same order."""


def select_newest(index: TimelineIndex, passed: Mask, limit: int) -> RankedEvents:
    """Return the newest events that pass the filters."""
    places = passed.nonzero()[0]
    if len(places) > limit:
        places = places[find_not_below(index.ts.values[places], limit)]
    order = np.lexsort((index.position.values[places], index.ts.values[places]))[::-1][:limit]
    return RankedEvents(places[order], np.zeros(len(order)))


def rank_events(index: TimelineIndex, passed: Mask, asked: EventQuery, limit: int, *, hybrid: bool) -> RankedEvents:
    """Return the best of the events that pass the filters and have to do with the query; none if none has.

    Without a vector they are ranked by words; with one by likeness or, as a hybrid, by both.
    """
    words = index.word_scores(asked.terms) if asked.terms else np.zeros(index.atoms)
    likeness = None if asked.vector is None else index.similarity(asked.vector)
    if likeness is None:
        places = (passed & (words > 0)).nonzero()[0]
        # The root of the number of words bounds the score of a text that is full of them.
        return _select_best(index, places, words[places] / math.sqrt(max(len(asked.terms), 1)), limit)
    meaning = likeness.astype(np.float64)
    mean, deviation = measure_usual(index.compared, meaning, asked.usual or UNKNOWN_USUAL, USUAL_ATOMS)
    # An event without a vector gets the likeness that its shared words suggest.
    meaning = np.where(np.isnan(meaning), mean + deviation * WORDS_WEIGHT * words, meaning)
    places = (passed & ((words > 0) | (meaning >= mean + NEAR * deviation))).nonzero()[0]
    if not hybrid:
        return _select_best(index, places, meaning[places], limit)
    scores = MEANING_SHARE * _scale_to_unit(meaning[places]) + WORDS_SHARE * _scale_to_unit(words[places])
    return _select_best(index, places, scores, limit)


def _scale_to_unit(values: Floats) -> Floats:
    """Return values scaled so that the highest is 1 and the lowest 0; equal values become 1, or 0 if not positive."""
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
