"""Which sentences of a message become one memory, and which stand by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longmind.extraction.rules.rewritten_sentence import RewrittenSentence
from longmind.language.numbers import has_number
from longmind.language.speech_acts import SpeechAct
from longmind.language.statement import parse_statement

_MOST_CHARACTERS = 1_000


def group_sentences(lines: Sequence[RewrittenSentence]) -> list[list[RewrittenSentence]]:
    """The lines of each memory, in order.

    What a message tells of one thing stays together: many small memories of it would keep others out of what is
    recalled. Rules and preferences, what concerns health, and facts that may change one day stand by themselves: the
    rest must outlive them when they change or are to be forgotten.
    """
    rest: list[RewrittenSentence] = []
    apart: list[list[RewrittenSentence]] = []
    last: list[RewrittenSentence] | None = None
    for line in lines:
        if _is_apart(line) and line.stands_alone:
            last = [line]
            apart.append(last)
        elif last is not None and _leans_on(line, last[0]):
            last.append(line)
        else:
            rest.append(line)
            last = None
    only_questions = all(line.act is SpeechAct.QUESTION for line in rest)
    if only_questions and len(apart) == 1 and not _may_change(apart[0][0]):
        # A question beside a single fact is what the fact was said for.
        return [list(lines)]
    return [part for whole in (rest, *apart) if whole for part in _of_size(whole)]


def _is_apart(line: RewrittenSentence) -> bool:
    told = line.sort.kind == "PREFERENCE" or line.sort.category == "health"
    return told or _may_change(line)


def _may_change(line: RewrittenSentence) -> bool:
    """Whether something else may take the place of what a line tells: then its question has to outlive it."""
    return line.sort.kind == "RULE" or line.slot is not None or _gives_a_value(line)


def _gives_a_value(line: RewrittenSentence) -> bool:
    """Whether a number, a time of day or a day of the week is what somebody tells of how things stand."""
    return (
        line.act is SpeechAct.STATEMENT
        and (has_number(line.said) or ("day" in line.said and _WEEKDAY.search(line.said) is not None))
        and any(not measure.is_explanation for measure in parse_statement(line.text).measures)
    )


_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)


def _leans_on(line: RewrittenSentence, fact: RewrittenSentence) -> bool:
    return not line.stands_alone and line.slot is None and line.act is SpeechAct.STATEMENT and fact.sort.kind != "RULE"


def _of_size(lines: list[RewrittenSentence]) -> list[list[RewrittenSentence]]:
    parts: list[list[RewrittenSentence]] = [[]]
    size = 0
    for line in lines:
        if parts[-1] and size + len(line.text) > _MOST_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line.text) + 1
    return parts
