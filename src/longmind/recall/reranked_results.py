"""Reranking of what was found by a cross-encoder, which reads the question and a text together.

It takes some hundred milliseconds, so only recalls with high effort do it. Its opinion is added to the odds of the
first ranking and never replaces them. As a group, the texts that it reads neither gain nor lose: the sum of their
probabilities stays the same, so that scores mean the same with either effort.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from longmind.models.recall import WEAK_BELOW, Hit, Passage
from longmind.providers.reranker import CheckedReranker

READ = 30
"""The texts that the reranker reads, for the best hits and passages."""
_WEIGHT = 0.25
"""The weight of its log odds among those of the first ranking."""
_WORDS_BESIDE = 25
"""Words of the message before, and of that after, which it reads with a passage: an answer often makes sense only after
its question, and a question names what the answer is about."""
_CHARACTERS = 900
"""Characters of a text that it reads; longer ones take too long."""
_LEAST, _MOST = 1e-9, 1 - 1e-9
_FARTHEST = 40.0
_HALVINGS = 60


class Surroundings(NamedTuple):
    """The messages before and after one in its conversation; empty where there is none, or none known."""

    before: str
    after: str


_NOTHING_BESIDE = Surroundings("", "")


def rerank_found(
    query: str,
    hits: Sequence[Hit],
    passages: Sequence[Passage],
    around: Mapping[str, Surroundings],
    reranker: CheckedReranker,
) -> tuple[list[Hit], list[Passage]]:
    """Return hits and passages with new scores, each best first.

    For a fact whose message was found too, the reranker reads the message: it says more.

    around: what stands beside the messages of passages, by message id.
    """
    merged: list[Hit | Passage] = sorted([*hits, *passages], key=lambda each: -each.score)
    texts, places = _choose_texts(merged, passages, around)
    if len(texts) < 2:
        return list(hits), list(passages)
    opinions = reranker.score(query, texts)
    read, rest = merged[: len(places)], merged[len(places) :]
    odds = [_to_odds(each.score) + _WEIGHT * opinions[place] for each, place in zip(read, places, strict=True)]
    shift = _find_shift(odds, sum(each.score for each in read))
    scored = [
        _change_score(each, _to_probability(own - shift), opinions[place])
        for each, own, place in zip(read, odds, places, strict=True)
    ]
    # Sorting is stable: equal scores keep the order of the first ranking.
    ordered = sorted([*scored, *rest], key=lambda each: -each.score)
    return [each for each in ordered if isinstance(each, Hit)], [each for each in ordered if isinstance(each, Passage)]


def _choose_texts(
    merged: Sequence[Hit | Passage], passages: Sequence[Passage], around: Mapping[str, Surroundings]
) -> tuple[list[str], list[int]]:
    """Return the texts to read, and for each of the first results the place of the text that is read for it."""
    # In reverse, so that of several passages with a message the best one is kept.
    quote_of = {message.id: passage for passage in reversed(passages) for message in passage.messages}
    place_of: dict[str, int] = {}
    texts: list[str] = []
    places = []
    for each in merged:
        read = _find_quote(each, quote_of) or each if isinstance(each, Hit) else each
        key = read.atom.id if isinstance(read, Hit) else read.messages[0].id
        if key not in place_of:
            if len(texts) == READ:
                break
            place_of[key] = len(texts)
            texts.append(_put_into_context(read, around))
        places.append(place_of[key])
    return texts, places


def _find_quote(hit: Hit, quote_of: Mapping[str, Passage]) -> Passage | None:
    """Return the best quote of the messages that a fact cites."""
    quotes = [quote_of[id] for id in hit.atom.source_message_ids if id in quote_of]
    return max(quotes, key=lambda quote: quote.score, default=None)


def _put_into_context(found: Hit | Passage, around: Mapping[str, Surroundings]) -> str:
    if isinstance(found, Hit):
        return found.atom.text[:_CHARACTERS]
    beside = around.get(found.messages[0].id, _NOTHING_BESIDE)
    before, after = beside.before.split()[-_WORDS_BESIDE:], beside.after.split()[:_WORDS_BESIDE]
    return " ".join([*before, found.text, *after])[:_CHARACTERS]


def _to_odds(score: float) -> float:
    """Return the logarithm of the odds of a probability."""
    score = min(max(score, _LEAST), _MOST)
    return math.log(score / (1 - score))


def _to_probability(odds: float) -> float:
    # Beyond the bounds nothing changes but that the exponential overflows.
    return 1 / (1 + math.exp(-min(max(odds, -_FARTHEST), _FARTHEST)))


def _find_shift(odds: Sequence[float], total: float) -> float:
    """Return what to take from odds so that their probabilities add up to a total."""
    # With the first bound all are nearly certain, with the second nearly impossible, so the total lies in between.
    low, high = min(odds) - _FARTHEST, max(odds) + _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(_to_probability(each - middle) for each in odds) > total:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _change_score(found: Hit | Passage, changed: float, opinion: float) -> Hit | Passage:
    update: dict[str, object] = {"score": changed, "weak": changed < WEAK_BELOW}
    if found.explanation is not None:
        reasons = [*found.explanation.reasons, f"the reranker gave it {opinion:+.1f}"]
        update["explanation"] = found.explanation.model_copy(update={"rerank": opinion, "reasons": reasons})
    return found.model_copy(update=update)
