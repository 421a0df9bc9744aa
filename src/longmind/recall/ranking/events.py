"""Ranking of the events of a timeline against a query.

Likeness and words are measured as they are for atoms, and so is the score: the probability that an event is about the
query. The order is that of the scores, unless the mode of the search asks for words or likeness alone, or for both with
fixed weights.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.recall.index.timeline_index import TimelineIndex
from longmind.recall.kernels.numpy_best import Floats, Mask, Places, find_not_below
from longmind.recall.kernels.numpy_totals import measure_usual, zero_missing
from longmind.recall.question import Question
from longmind.recall.ranking.atoms import USUAL_ATOMS, measure_nearness
from longmind.recall.ranking.relevance import PASSAGES, make_scale

RankOrder = Literal["relevance", "semantic", "lexical", "hybrid"]
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

    question: Question
    vector: NDArray[np.float32] | None = None
    """None where words alone are asked for, or there is no embedder."""
    usual: tuple[float, float] | None = None


class RankedEvents(NamedTuple):
    """The best events of a timeline."""

    places: Places
    """Best first; of equals the newest."""
    scores: Floats
    """The probabilities, from 0 to 1, that the events are about the query; 0 without a query."""


def select_newest(index: TimelineIndex, passed: Mask, limit: int) -> RankedEvents:
    """Return the newest events that pass the filters."""
    places = passed.nonzero()[0]
    if len(places) > limit:
        places = places[find_not_below(index.ts.values[places], limit)]
    order = np.lexsort((index.position.values[places], index.ts.values[places]))[::-1][:limit]
    return RankedEvents(places[order], np.zeros(len(order)))


def rank_events(
    index: TimelineIndex, passed: Mask, asked: EventQuery, limit: int, order: RankOrder, min_score: float = 0.0
) -> RankedEvents:
    """Return the best of the events that pass the filters and have to do with the query; none if none has.

    Without a vector they are ranked by words, whatever the order.
    """
    terms = asked.question.terms
    words = index.word_scores(terms) if terms else np.zeros(index.atoms)
    likeness = None if asked.vector is None else index.similarity(asked.vector)
    if likeness is None:
        scores = _measure_relevance(index, asked.question, words, None)
        places = (passed & (words > 0) & (scores >= min_score)).nonzero()[0]
        return _select_best(index, places, words, scores, limit)
    meaning = likeness.astype(np.float64)
    mean, deviation = measure_usual(index.compared, meaning, asked.usual or UNKNOWN_USUAL, USUAL_ATOMS)
    # An event without a vector gets the likeness that its shared words suggest.
    meaning = np.where(np.isnan(meaning), mean + deviation * PASSAGES.question.words * words, meaning)
    scores = _measure_relevance(index, asked.question, words, zero_missing((likeness - mean) / deviation))
    is_near = (words > 0) | (meaning >= mean + NEAR * deviation)
    places = (passed & is_near & (scores >= min_score)).nonzero()[0]
    if order == "relevance":
        return _select_best(index, places, scores, scores, limit)
    if order == "hybrid":
        meaning[places] = MEANING_SHARE * _scale_to_unit(meaning[places]) + WORDS_SHARE * _scale_to_unit(words[places])
    return _select_best(index, places, meaning, scores, limit)


def _measure_relevance(index: TimelineIndex, question: Question, words: Floats, standing: Floats | None) -> Floats:
    """Return the probability that each event is about a question.

    standing: the likeness, in deviations above the mean; None without vectors.
    """
    # Most events are messages, or as long as one.
    weights, curve = PASSAGES.weigh(question), PASSAGES.by_words if standing is None else PASSAGES.by_meaning
    total = weights.words * words + weights.statement * np.log1p(index.statements.values.astype(np.float64))
    if question.dates:
        total += weights.date * measure_nearness(index.ts.values, question.dates)
    if standing is not None:
        total += standing
    scale = make_scale(question, weights, curve, index.atoms)
    # The logistic function in a form that cannot overflow.
    probabilities: Floats = 0.5 + 0.5 * np.tanh((total - scale.middle) / (2 * scale.spread))
    return probabilities


def _scale_to_unit(values: Floats) -> Floats:
    """Return values scaled so that the highest is 1 and the lowest 0; equal values become 1, or 0 if not positive."""
    if not len(values):
        return values
    least, most = float(values.min()), float(values.max())
    return (values - least) / (most - least) if most > least else (values > 0).astype(np.float64)


def _select_best(index: TimelineIndex, places: Places, ranks: Floats, scores: Floats, limit: int) -> RankedEvents:
    """Return the events with the highest ranks of those at `places`."""
    if len(places) > limit:
        places = places[find_not_below(ranks[places], limit)]
    order = np.lexsort((index.position.values[places], index.ts.values[places], ranks[places]))[::-1][:limit]
    return RankedEvents(places[order], scores[places[order]])
