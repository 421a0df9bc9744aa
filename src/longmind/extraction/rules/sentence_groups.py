"""Groups of sentences that become one memory each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longmind.extraction.rules.sentence_rewriter import RewrittenSentence
from longmind.language.numbers import has_number
from longmind.language.speech_acts import SpeechAct
from longmind.language.statement import parse_statement

_MOST_CHARACTERS = 1_000
"""Characters of one memory."""


def group_sentences(sentences: Sequence[RewrittenSentence]) -> list[list[RewrittenSentence]]:
    """Return the sentences of each memory, in order.

    What a message says about one thing stays together: many small memories of it would crowd others out of a recall.
    Rules, preferences, health matters and facts that may change stand by themselves, so that the rest outlives them
    when they change or are forgotten.
    """
    rest: list[RewrittenSentence] = []
    apart: list[list[RewrittenSentence]] = []
    last: list[RewrittenSentence] | None = None
    for sentence in sentences:
        if _is_apart(sentence) and sentence.stands_alone:
            last = [sentence]
            apart.append(last)
        elif last is not None and _leans_on(sentence, last[0]):
            last.append(sentence)
        else:
            rest.append(sentence)
            last = None
    has_only_questions = all(each.act is SpeechAct.QUESTION for each in rest)
    if has_only_questions and len(apart) == 1 and not _may_change(apart[0][0]):
        # A question next to a single fact is the reason for which the fact was mentioned.
        return [list(sentences)]
    return [part for group in (rest, *apart) if group for part in _split_to_size(group)]


def _is_apart(sentence: RewrittenSentence) -> bool:
    """Return whether a sentence must be a memory of its own."""
    is_personal = sentence.sentence_class.kind == "PREFERENCE" or sentence.sentence_class.category == "health"
    return is_personal or _may_change(sentence)


def _may_change(sentence: RewrittenSentence) -> bool:
    """Return whether a later fact may replace a sentence, so that a question beside it has to outlive it."""
    return sentence.sentence_class.kind == "RULE" or sentence.slot is not None or _gives_value(sentence)


def _gives_value(sentence: RewrittenSentence) -> bool:
    """Return whether a statement gives a number, a time of day or a day of the week."""
    return (
        sentence.act is SpeechAct.STATEMENT
        and (
            has_number(sentence.original)
            or ("day" in sentence.original and _WEEKDAY.search(sentence.original) is not None)
        )
        and any(not measure.is_explanation for measure in parse_statement(sentence.text).measures)
    )


_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)


def _leans_on(sentence: RewrittenSentence, fact: RewrittenSentence) -> bool:
    """Return whether a sentence only adds to the fact before it: "I have a dog. It is a beagle."."""
    return (
        not sentence.stands_alone
        and sentence.slot is None
        and sentence.act is SpeechAct.STATEMENT
        and fact.sentence_class.kind != "RULE"
    )


def _split_to_size(group: list[RewrittenSentence]) -> list[list[RewrittenSentence]]:
    """Cut a group that is too long for one memory, between its sentences."""
    parts: list[list[RewrittenSentence]] = [[]]
    size = 0
    for sentence in group:
        if parts[-1] and size + len(sentence.text) > _MOST_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(sentence)
        size += len(sentence.text) + 1
    return parts
