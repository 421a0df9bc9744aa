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

_DAY = r"(?:\w*day|night|morning|afternoon|evening)"
_NAMES_ALL = re.compile(
    # What stands before a word is checked after the word, which is faster.
    r"\b(?:all(?<!\bafter all)(?<!\bat all)(?<!\bfirst of all)"
    rf"(?! (?:right|along|alone|over|the (?:time|way|same)|{_DAY})\b)"
    rf"|every(?! (?:other|week|month|year|{_DAY})\b)|each(?! (?:other|say|do|think|want)\b)"
    r"|everything|everyone|everybody|how many|how often|list|in total|altogether|overall"
    r"|total (?:number|amount|cost|distance|time)|in (?:what |which )?order|the order (?:of|in)|order in which"
    r"|chronological\w*|summar\w+|overview|throughout)\b",
    re.IGNORECASE,
)
"""Words that name all of something, but not "all right", "after all", "each other" or "every morning"."""
_VERB = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might)\b"
_WORD = rf" (?!{_VERB})[\w-]+"
_SINGULAR = r"(?:news|gas|lens|physics|politics)\b"
_PLURAL = rf" (?!{_VERB}|{_SINGULAR})(?:[\w-]*[^\Wsui]s|people|children|men|women)(?: of [\w-]+)?"
_ASKS_IN_PLURAL = re.compile(
    rf"\b(?:which|what)(?:{_WORD}){{0,2}}?{_PLURAL} {_VERB}|\b(?:what|which|who) (?:are|were) (?!(?:you|we|they)\b)"
    r"|\bwho (?:else|came|attended|joined|participated)\b",
    re.IGNORECASE,
)
"""A question for several: "which books have", "what are my", "who came to"."""


def asks_for_all(query: str) -> bool:
    """Return whether a question asks for a list, a count, an order or a summary."""
    return _NAMES_ALL.search(query) is not None or _ASKS_IN_PLURAL.search(query) is not None


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
