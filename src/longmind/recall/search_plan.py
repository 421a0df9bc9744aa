"""The extent of a search: questions that ask for all collect everything relevant, and high effort reads more.

Ten hits answer "What is Ada's sister called?", but not "Which courses did I take?" or "How many trips were there?".
"""

from __future__ import annotations

import re

from longmind.models.recall import WEAK_BELOW
from longmind.recall.repetition import SaidOnce
from longmind.recall.request import TopicOptions
from longmind.recall.reranked_results import READ

EXHAUSTIVE_BUDGET = 200
"""The most hits, and the most passages, that a question for all collects."""

_ASKS_FOR_ALL = re.compile(
    r"\b(?:all|every|everything|everyone|everybody|each|how many|how often|list|in total|altogether|overall"
    r"|total (?:number|amount|cost|distance|time)|in order|the order|order in which|chronological\w*|summar\w+|overview"
    r"|throughout)\b",
    re.IGNORECASE,
)


def asks_for_all(query: str) -> bool:
    """Return whether a question asks for a list, a count, an order or a summary."""
    return _ASKS_FOR_ALL.search(query) is not None


def plan_search(query: str, options: TopicOptions) -> TopicOptions:
    """Return the options to search with: wider ones than those of the caller where the question needs it."""
    wanted = options
    if options.exhaustive or (options.exhaustive is None and asks_for_all(query)):
        wanted = wanted._replace(limit=max(EXHAUSTIVE_BUDGET, options.limit), exhaustive=True)
    if options.effort == "high":
        # The reranker changes scores, so the least one is applied after it.
        wanted = wanted._replace(limit=max(READ, wanted.limit), min_score=0.0)
    return wanted


def cut_search(found: SaidOnce, options: TopicOptions, wanted: TopicOptions) -> SaidOnce:
    """Return what the caller asked for: beyond the limit, only what is relevant, and only if all is asked for."""
    hits = [hit for hit in found.hits if hit.score >= options.min_score]
    passages = [passage for passage in found.passages if passage.score >= options.min_score]
    if not wanted.exhaustive:
        return SaidOnce(hits[: options.limit], passages[: options.limit])
    # Both are in the order of their scores.
    relevant_hits = sum(hit.score >= WEAK_BELOW for hit in hits)
    relevant_passages = sum(passage.score >= WEAK_BELOW for passage in passages)
    return SaidOnce(hits[: max(options.limit, relevant_hits)], passages[: max(options.limit, relevant_passages)])
