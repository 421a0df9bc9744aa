"""Scores of a ranked list of memories, given the turns that hold the answer.

A memory counts as all turns it cites and takes one place in the list. Means come with a 95 % interval: from resampled
questions for scores, after Wilson for shares.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.evaluation.dataset import Question

CUTOFFS = (5, 10, 50)
TOKEN_BUDGET = 1000
ALL = "ALL"
ADVERSARIAL = "adversarial"
APART = frozenset((ADVERSARIAL,))
"""Categories whose questions have no answer, and that are excluded from ALL."""
_RESAMPLES = 1000
_SEED = 20_240_229
_DEVIATIONS = 1.96
"""The number of standard deviations that hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Memory:
    """One entry of a ranked list: the turns it cites, its length in tokens, and its score if it is a probability."""

    turns: tuple[str, ...]
    tokens: int
    score: float = 0.0


Row = dict[str, float]
COVERED = f"covered in {TOKEN_BUDGET} tokens"
TOKENS_TO_COVER = "tokens to cover"


def score_question(question: Question, ranked: Sequence[Memory], session_of: Mapping[str, str]) -> Row:
    """Return all scores of one question, by name."""
    gold = question.gold
    turns = [memory.turns for memory in ranked]
    row: Row = {}
    for cutoff in CUTOFFS:
        found = _count_covered(turns, gold, cutoff)
        row[f"R@{cutoff}"] = found / len(gold)
        row[f"any@{cutoff}"] = float(found > 0)
        row[f"all@{cutoff}"] = float(found == len(gold))
    row["NDCG@10"] = _compute_ndcg(turns, gold, 10)
    sessions = _list_sessions(turns, session_of)
    row["session R@5"] = _count_covered(sessions, question.gold_sessions, 5) / len(question.gold_sessions)
    row[COVERED] = _measure_coverage_within(ranked, gold, TOKEN_BUDGET)
    row[TOKENS_TO_COVER] = _count_tokens_to_cover(ranked, gold)
    return row


def _count_covered(turns: Sequence[Iterable[str]], gold: frozenset[str], cutoff: int) -> int:
    return len(gold & {turn for memory in turns[:cutoff] for turn in memory})


def _compute_ndcg(turns: Sequence[Iterable[str]], gold: frozenset[str], cutoff: int) -> float:
    seen: set[str] = set()
    gain = 0.0
    for place, memory in enumerate(turns[:cutoff]):
        new = (gold & set(memory)) - seen
        seen |= new
        gain += bool(new) / math.log2(place + 2)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(cutoff, len(gold))))


def _list_sessions(turns: Sequence[Iterable[str]], session_of: Mapping[str, str]) -> list[tuple[str]]:
    order = dict.fromkeys(session_of[turn] for memory in turns for turn in memory)
    return [(session,) for session in order]


def _measure_coverage_within(ranked: Sequence[Memory], gold: frozenset[str], budget: int) -> float:
    spent = 0
    found: set[str] = set()
    for memory in ranked:
        spent += memory.tokens
        if spent > budget:
            break
        found |= gold & set(memory.turns)
    return len(found) / len(gold)


def _count_tokens_to_cover(ranked: Sequence[Memory], gold: frozenset[str]) -> float:
    """Return the tokens of the list up to the last gold turn; infinity if a gold turn is missing."""
    spent, missing = 0, set(gold)
    for memory in ranked:
        spent += memory.tokens
        missing -= set(memory.turns)
        if not missing:
            return float(spent)
    return math.inf


def summarise(questions: Sequence[Question], rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return the mean of every score by category and over all categories, each with its 95 % interval.

    Tokens to cover have a median and a 90th percentile instead, over all questions; None if too many questions are
    never covered.
    """
    groups: dict[str, list[Row]] = defaultdict(list)
    for question, row in zip(questions, rows, strict=True):
        groups[question.category].append(row)
        if question.category not in APART:
            groups[ALL].append(row)
    return {group: {"questions": len(members), **_compute_means(members)} for group, members in sorted(groups.items())}


def _compute_means(rows: Sequence[Row]) -> dict[str, object]:
    measures = [name for name in rows[0] if name != TOKENS_TO_COVER]
    values = np.array([[row[name] for name in measures] for row in rows])
    chosen = np.random.default_rng(_SEED).integers(0, len(rows), (_RESAMPLES, len(rows)))
    low, high = np.percentile(values[chosen].mean(axis=1), (2.5, 97.5), axis=0)
    setup: dict[str, object] = {
        name: {"mean": _round(mean), "interval": [_round(least), _round(most)]}
        for name, mean, least, most in zip(measures, values.mean(axis=0), low, high, strict=True)
    }
    needed = np.array([row[TOKENS_TO_COVER] for row in rows])
    # The inverted CDF returns a value that occurred, which also works with infinity.
    middle, most = np.percentile(needed, (50, 90), method="inverted_cdf")
    setup[TOKENS_TO_COVER] = {
        "median": _to_finite(middle),
        "p90": _to_finite(most),
        "never covered": _round(float(np.isinf(needed).mean())),
    }
    return setup


def compute_share(right: Sequence[bool]) -> dict[str, object]:
    """Return the share of right answers with its 95 % interval after Wilson.

    Resampling would report certainty if all answers are right.
    """
    number, mean = len(right), sum(right) / len(right)
    shrunk = 1 + _DEVIATIONS**2 / number
    middle = (mean + _DEVIATIONS**2 / (2 * number)) / shrunk
    reach = _DEVIATIONS * math.sqrt(mean * (1 - mean) / number + _DEVIATIONS**2 / (4 * number**2)) / shrunk
    return {"mean": _round(mean), "interval": [_round(max(0.0, middle - reach)), _round(min(1.0, middle + reach))]}


def _round(value: float) -> float:
    return round(float(value), 4)


def _to_finite(value: float) -> int | None:
    return None if math.isinf(value) else int(value)
