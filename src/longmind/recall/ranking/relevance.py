"""The weights of what a question and a memory have in common, and the probability that comes of them.

The total of a memory is a sum of weighted evidence, in deviations of the likeness of vectors. A logistic curve turns it
into the probability that the memory is about the question. The curve depends on what is the same for all memories of a
space: how many there are, since the best of many unrelated ones is more alike than the best of a few; whether the
question asks for somebody's words or for a time, which many unrelated memories fit; and whether there are vectors.

The numbers were fitted on all development sets together by `./dev bench relevance-fit`, which prints how much worse
each set does when the others alone are fitted. Set by hand, since no set has enough questions for them, are `opposite`,
`BORROWED` and `BY_SHARED_WORDS`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from longmind.recall.kernels.numpy_kernels import Scale
from longmind.recall.question import Question


class EvidenceWeights(NamedTuple):
    """The weights of evidence for one kind of query, in standard deviations of the likeness of vectors."""

    words: float
    statement: float
    """The weight of the logarithm of the number of words outside of questions."""
    speaker: float
    date: float
    opposite: float = -0.9
    """The weight of saying the opposite: "Which meetings does she like?" asks less for those that she dislikes."""


class Curve(NamedTuple):
    """The logistic curve from a total to a probability, as a line for its logarithm of odds."""

    slope: float
    level: float
    """The logarithm of odds of a total of 0."""
    by_count: float
    """The weight of the logarithm of the number of memories."""
    speaker: float = 0.0
    """Added where the question asks about somebody's words: half of all memories may be theirs."""
    date: float = 0.0
    """Added where the question names a time."""


class Relevance(NamedTuple):
    """The weights and curves for one kind of memory."""

    question: EvidenceWeights
    message: EvidenceWeights
    """A message names many things in passing, so its words say less about what it is about than its meaning does."""
    by_meaning: Curve
    by_words: Curve

    def weigh(self, question: Question) -> EvidenceWeights:
        """Return the weights of evidence for a question."""
        return self.question if question.is_plain else self.message


FACTS = Relevance(
    question=EvidenceWeights(words=2.5, statement=0.0, speaker=2.4, date=2.0),
    message=EvidenceWeights(words=1.5, statement=0.0, speaker=2.4, date=2.0),
    by_meaning=Curve(slope=1.11, level=-1.72, by_count=-0.76, speaker=-2.54, date=-1.44),
    by_words=Curve(slope=1.89, level=-1.75, by_count=-0.61, speaker=-4.22, date=-2.68),
)
"""Facts are short and say one thing, so their vectors alone say much."""
PASSAGES = Relevance(
    question=EvidenceWeights(words=3.0, statement=0.15, speaker=3.2, date=2.6),
    message=EvidenceWeights(words=1.0, statement=0.0, speaker=3.2, date=2.6),
    by_meaning=Curve(slope=0.94, level=-2.98, by_count=-0.56, speaker=-2.67, date=-1.42),
    by_words=Curve(slope=1.29, level=-1.31, by_count=-0.47, speaker=-4.56, date=-2.61),
)
BORROWED = -1.5
"""The weight of having no word of the question, only those of messages around, where words alone decide."""
BY_SHARED_WORDS = Curve(slope=10.0, level=-4.0, by_count=0.0)
"""The curve for the share of common words, where the host has chosen no embedder."""


def make_scale(question: Question, weights: EvidenceWeights, curve: Curve, count: int) -> Scale:
    """Return the scale of a question to `count` memories."""
    level = curve.level + curve.by_count * math.log(max(count, _FEWEST))
    if question.speakers is not None:
        level += curve.speaker
    if question.dates:
        level += curve.date
    return Scale(weights.words, -level / curve.slope, 1 / curve.slope)


_FEWEST = 2
"""A single memory is no more certain than the better of two."""
