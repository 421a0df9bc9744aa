"""A line of a summary: a sentence with who said it and when; and how lines are written, and read back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from longmind.language.calendar import MONTHS
from longmind.language.sentences import split_sentences

_DAY = re.compile(rf"\d{{1,2}} (?:{'|'.join(month.capitalize() for month in MONTHS)}) \d{{4}}")
_SPOKEN = re.compile(r"([^\W\d_][^:\n]{0,60}): (?=\S)")


@dataclass(frozen=True)
class Line:
    day: str
    """The day on which it was said, in words; empty where it is not known."""
    speaker: str
    text: str


def written(lines: Iterable[Line]) -> str:
    """The lines as text: each day once, and under it what each speaker said."""
    parts: list[str] = []
    day = ""
    for (said_on, speaker), said in groupby(lines, key=lambda line: (line.day, line.speaker)):
        if said_on and said_on != day:
            parts.append(said_on)
            day = said_on
        words = " ".join(line.text for line in said)
        parts.append(f"{speaker}: {words}" if speaker else words)
    return "\n".join(parts)


def read_back(summary: str) -> Iterator[Line]:
    """The lines of a summary, sentence by sentence, whoever has written it."""
    day = ""
    for paragraph in summary.splitlines():
        paragraph = paragraph.strip()
        if _DAY.fullmatch(paragraph):
            day = paragraph
            continue
        spoken = _SPOKEN.match(paragraph)
        words = paragraph[spoken.end() :] if spoken else paragraph
        for sentence in split_sentences(words) if words else ():
            yield Line(day, spoken[1] if spoken else "", sentence)
