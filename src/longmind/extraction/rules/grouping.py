"""Which sentences of a message become one memory, and which stand by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longmind.extraction.rules.rewritten_sentence import Line
from longmind.language.numbers import has_number
from longmind.language.speech_acts import Act
from longmind.language.statement import statement_of

_MOST_CHARACTERS = 1_000


def parts_of(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each memory, in order.

    What a message tells of one thing stays together: many small memories of it would keep others out of what is
    recalled. Rules and preferences, what concerns health, and facts that may change one day stand by themselves: the
    rest must outlive them when they change or are to be forgotten.
    """
    rest: list[Line] = []
    apart: list[list[Line]] = []
    last: list[Line] | None = None
    for line in lines:
        if _is_apart(line) and line.stands_alone:
            last = [line]
            apart.append(last)
        elif last is not None and _leans_on(line, last[0]):
            last.append(line)
        else:
            rest.append(line)
            last = None
    only_questions = all(line.act is Act.QUESTION for line in rest)
    if only_questions and len(apart) == 1 and not _may_change(apart[0][0]):
        # A question beside a single fact is what the fact was said for.
        return [list(lines)]
    return [part for whole in (rest, *apart) if whole for part in _of_size(whole)]


def _is_apart(line: Line) -> bool:
    told = line.sort.kind == "PREFERENCE" or line.sort.category == "health"
    return told or _may_change(line)


def _may_change(line: Line) -> bool:
    """Whether something else may take the place of what a line tells: then its question has to outlive it."""
    return line.sort.kind == "RULE" or line.slot is not None or _gives_a_value(line)


def _gives_a_value(line: Line) -> bool:
    """Whether a number, a time of day or a day of the week is what somebody tells of how things stand."""
    return (
        line.act is Act.STATEMENT
        and (has_number(line.said) or ("day" in line.said and _WEEKDAY.search(line.said) is not None))
        and any(not measure.aside for measure in statement_of(line.text).measures)
    )


_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.IGNORECASE)


def _leans_on(line: Line, fact: Line) -> bool:
    return not line.stands_alone and line.slot is None and line.act is Act.STATEMENT and fact.sort.kind != "RULE"


def _of_size(lines: list[Line]) -> list[list[Line]]:
    parts: list[list[Line]] = [[]]
    size = 0
    for line in lines:
        if parts[-1] and size + len(line.text) > _MOST_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += len(line.text) + 1
    return parts
