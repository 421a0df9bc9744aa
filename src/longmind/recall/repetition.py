"""Removal of repetition among what was found: a fact often repeats the message that it was learned from.

A fact that says all that a quote says stands for it, with the higher of the two scores. A quote that says more stays
beside it. A record of a message, which the reader has only put into the third person, gives way to its quote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from longmind.language.words import READER_WORDS, STOP_WORDS, stem_of, words_of
from longmind.models.atom import Atom
from longmind.models.recall import WEAK_BELOW, Hit, Passage

MOSTLY = 0.6
"""The share of the content words of a text from which others count as saying the same."""
_MOST_OF_RECORD = 2
"""The highest importance of an atom that only records what was said."""


class SaidOnce(NamedTuple):
    """Hits and passages that do not repeat each other."""

    hits: list[Hit]
    passages: list[Passage]


def say_once(hits: Sequence[Hit], passages: Sequence[Passage], limit: int) -> SaidOnce:
    """Return hits and passages without repetition, both best first; at most `limit` passages."""
    quoted = {message.id for passage in passages for message in passage.messages}
    facts = [hit for hit in hits if not (is_record(hit.atom) and not quoted.isdisjoint(hit.atom.source_message_ids))]
    citing: dict[str, list[int]] = {}
    for number, hit in enumerate(facts):
        for message_id in hit.atom.source_message_ids:
            citing.setdefault(message_id, []).append(number)
    raised: dict[int, float] = {}
    kept = []
    for passage in passages:
        numbers = sorted({number for message in passage.messages for number in citing.get(message.id, ())})
        if not numbers or not repeats_words(passage.text, [facts[number].atom.text for number in numbers]):
            kept.append(passage)
        elif passage.score > facts[numbers[0]].score:
            # Of several facts that say it together, the most relevant one.
            raised[numbers[0]] = max(passage.score, raised.get(numbers[0], 0.0))
    if not raised:
        return SaidOnce(facts, kept[:limit])
    facts = [_raise_score(hit, raised[number]) if number in raised else hit for number, hit in enumerate(facts)]
    # Sorting is stable: equal scores keep the order of the ranking.
    return SaidOnce(sorted(facts, key=lambda hit: -hit.score), kept[:limit])


def is_record(atom: Atom) -> bool:
    """Return whether an atom only records what was said, rather than states what is known."""
    return (
        atom.category.kind == "EPISODE"
        and atom.importance <= _MOST_OF_RECORD
        and atom.origin == "extraction"
        and bool(atom.source_message_ids)
    )


def list_content_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the content words of some texts together."""
    words = {word for text in texts for word in words_of(text)}
    return frozenset(stem_of(word) for word in words if word not in STOP_WORDS and word not in READER_WORDS)


def repeats_words(text: str, others: Iterable[str]) -> bool:
    """Return whether other texts together say nearly all content words of a text."""
    own = list_content_words((text,))
    return len(own & list_content_words(others)) >= MOSTLY * len(own)


def _raise_score(hit: Hit, score: float) -> Hit:
    update: dict[str, object] = {"score": score, "weak": score < WEAK_BELOW}
    if hit.explanation is not None:
        reason = f"stands for a quote that it cites, with the quote's higher score ({score:.0%})"
        reasons = [*hit.explanation.reasons, reason]
        update["explanation"] = hit.explanation.model_copy(update={"reasons": reasons})
    return hit.model_copy(update=update)
