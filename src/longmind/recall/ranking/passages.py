"""Ranking of the pieces of a user's messages against a query.

Evidence is weighed as for atoms, with two differences. A word also counts, less, in the messages around it: what
answers a question often does not repeat its words, as in "He hissed at him". And a message does not lose relevance
with age.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longmind.models.atom import Trust
from longmind.recall import kernels as kernel
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.passage_index import ROLES, PassageIndex
from longmind.recall.index.segments import AMOUNTS, LONG_TEXT, NEAR_WEIGHTS, damage_error
from longmind.recall.index.text_index import SATURATION, WORTH, to_contiguous
from longmind.recall.kernels import numpy_kernels
from longmind.recall.kernels.numpy_best import Columns, Floats, Mask, Weights
from longmind.recall.question import Question
from longmind.recall.ranking.atoms import USUAL_ATOMS, measure_nearness
from longmind.recall.ranking.relevance import BORROWED, PASSAGES, make_scale

_AMOUNTS = np.tile(AMOUNTS, 2).astype(np.float64)
SHARES = (NEAR_WEIGHTS[0], NEAR_WEIGHTS[2])
"""The share of the words of the messages next to one, and of those beyond them."""
SHARES_ALONE = (0.3, 0.1)
"""Smaller shares where words alone decide: nothing else shows then that "Thank you." is not about what it answers."""
_UNWEIGHED = Weights(np.zeros(1), np.ones(2), 1.0, 0.0, 1.0)
"""Messages have no kind and no importance."""


class PassageQuery(NamedTuple):
    """A question as it is understood by the index of a user's messages."""

    question: Question
    vector: NDArray[np.float32] | None
    """None without an embedder, or while the messages have no vectors of its model."""
    usual: tuple[float, float] | None
    instant: int | None = None
    """Only what was said by this instant counts; None for all."""
    trust: tuple[Trust, ...] | None = None
    """The roles whose messages may be found; None for all."""


class RankedPieces(NamedTuple):
    """The best pieces, in order."""

    rows: list[int]
    scores: list[float]


class PieceEvidence(NamedTuple):
    """The evidence for each piece of an index, as its score adds it up."""

    passing: Mask
    """The pieces that may be found."""
    likeness: Floats | None
    """NaN for a piece without a vector; None for a query without one."""
    words: Floats
    """The score by words, those of the messages around a piece included."""
    own_words: Mask
    """The pieces that have a word of the question themselves."""
    spoken: Mask
    """The pieces that were said by somebody whom the question asks about."""
    nearness: Floats
    """The nearness of each piece to the dates of the question, from 0 to 1."""
    opposite: Mask
    """The pieces that say the opposite of what is asked for."""


def measure_evidence(index: PassageIndex, query: PassageQuery, there: Mask) -> PieceEvidence:
    """Return the evidence for the pieces of a space one by one, to explain the scores of `rank_pieces`."""
    question, known = query.question, mask_known(index, query.instant, there)
    passing = known if query.trust is None else known & _mask_trusted(index, query.trust)
    asked = [index.speakers[name] for name in question.speakers or () if name in index.speakers]
    return PieceEvidence(
        passing,
        None if query.vector is None else index.similarity(query.vector),
        score_words(index, question, known, _choose_shares(query)),
        index.mask_holding(question.terms),
        np.isin(index.speaker.values, asked),
        measure_nearness(index.said_at.values, question.dates),
        index.mask_holding(question.opposed),
    )


def rank_pieces(index: PassageIndex, query: PassageQuery, there: Mask, limit: int) -> RankedPieces:
    """Return the best of the pieces of a space.

    there: the pieces that the space has.
    """
    known = mask_known(index, query.instant, there)
    passing = known if query.trust is None else known & _mask_trusted(index, query.trust)
    count = int(np.count_nonzero(known))
    curve = PASSAGES.by_words if query.vector is None else PASSAGES.by_meaning
    scale = make_scale(query.question, PASSAGES.weigh(query.question), curve, count)
    rest = score_words(index, query.question, known, _choose_shares(query))
    if query.vector is None:
        # A vector makes every message more or less alike; by words, most have nothing in common with the question.
        passing = passing & (rest > 0)
    rest *= scale.words_weight
    if query.vector is None:
        rest += BORROWED * ~index.mask_holding(query.question.terms)
    rest += _sum_context(index, query.question)
    vector = None if query.vector is None else to_contiguous(query.vector)
    roughly = index.rough_similarity(vector) if vector is not None and not kernel.knows_processor else None
    compared = index.compared
    try:
        best, _ = kernel.loops.rank(
            index.derive("held", lambda: _hold_arrays(index)),
            (),
            vector,
            roughly,
            None,
            count,
            known if compared is None else compared & known,
            query.usual,
            rest,
            passing,
            # No entities, no confirmations and no age: these weigh facts, and not what was said.
            None,
            1.0,
            FOREVER,
            0,
            limit,
            scale,
        )
    except ValueError as error:
        raise damage_error() from error
    return RankedPieces(best[0], best[5])


def mask_known(index: PassageIndex, instant: int | None, there: Mask) -> Mask:
    """Return the pieces that were said, and not replaced by another answer, as of an instant."""
    if instant is None:
        known: Mask = there & index.derive("unreplaced", lambda: index.replaced_at.values == FOREVER)
    else:
        known = there & (index.said_at.values <= instant) & (index.replaced_at.values > instant)
    return known


def _mask_trusted(index: PassageIndex, trust: tuple[Trust, ...]) -> Mask:
    mask: Mask = np.isin(index.role.values, [code for code, role in enumerate(ROLES) if role in trust])
    return mask


def _choose_shares(query: PassageQuery) -> tuple[float, float]:
    return SHARES_ALONE if query.vector is None else SHARES


def score_words(index: PassageIndex, question: Question, known: Mask, shares: tuple[float, float]) -> Floats:
    """Return the part of the words of a question that each piece has, by itself and from the messages around it."""
    scores = np.zeros(index.atoms)
    if question.terms:
        count = int(np.count_nonzero(known))
        need = index.derive("need", lambda: _measure_need(index))
        links = index.previous.values, index.next.values
        postings = index.searched[0]
        try:
            kernel.loops.window_scores(
                postings, question.terms, _AMOUNTS, *links, need, SATURATION, shares, known, count, scores
            )
        except ValueError as error:
            raise damage_error() from error
    return scores


def _measure_need(index: PassageIndex) -> NDArray[np.float32]:
    """Return by piece the share that words around it count: a long one says by itself what it is about."""
    need: NDArray[np.float32] = np.minimum(1.0, LONG_TEXT / np.maximum(index.own_terms, 1.0)).astype(np.float32)
    return need


def _hold_arrays(index: PassageIndex) -> numpy_kernels.SpaceArrays:
    runs, rows, finer, scales = index.searched
    nothing = np.zeros(index.atoms, np.uint8)
    instants = index.said_at.values
    # Among equals the later message comes first, and then the one that stands first in the ledger. The kernels compare
    # ids as bytes, and only big-endian ones are in the order of the numbers.
    ids = index.position.values.astype(">i8").view("S8")
    columns = Columns(nothing, nothing, instants, instants, ids)
    return kernel.loops.hold(runs, WORTH, rows, finer, scales, np.zeros(index.atoms), USUAL_ATOMS, columns, _UNWEIGHED)


def _sum_context(index: PassageIndex, question: Question) -> Floats:
    """Return the part of the totals that depends neither on words nor on vectors: statements, speakers and dates."""
    weights, speakers = PASSAGES.weigh(question), question.speakers
    context: Floats = np.zeros(index.atoms)
    if weights.statement:
        np.multiply(index.derive("stated", lambda: _weigh_statements(index)), weights.statement, out=context)
    if speakers is not None:
        worth = np.array([weights.speaker * speakers.get(speaker, 0.0) for speaker in index.speakers])
        context += worth.take(index.speaker.values)
    if question.dates:
        context += weights.date * measure_nearness(index.said_at.values, question.dates)
    if question.opposed:
        context += weights.opposite * index.mask_holding(question.opposed)
    return context


def _weigh_statements(index: PassageIndex) -> Floats:
    return np.log1p(index.statements.values.astype(np.float64))
