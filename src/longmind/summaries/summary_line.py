"""Lines of a summary, their text form, and the parser of that form.

A summary is stored as text. The next refresh parses it into lines again, so rendering and parsing have to agree; texts
that a model or a host wrote in another form become lines without day and speaker.
"""

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
class SummaryLine:
    """One sentence, with its speaker and day."""

    day: str
    """The day in words, such as "7 May 2026"; empty if it is unknown."""
    speaker: str
    text: str


def render_lines(lines: Iterable[SummaryLine]) -> str:
    """Return the lines as text: each day once, and below it the sentences of each speaker."""
    parts: list[str] = []
    day = ""
    # Grouping keeps the order, so an interrupted speaker appears twice.
    for (said_on, speaker), said in groupby(lines, key=lambda line: (line.day, line.speaker)):
        if said_on and said_on != day:
            parts.append(said_on)
            day = said_on
        words = " ".join(line.text for line in said)
        parts.append(f"{speaker}: {words}" if speaker else words)
    return "\n".join(parts)


def parse_lines(summary: str) -> Iterator[SummaryLine]:
    """Yield the lines of a summary, sentence by sentence, in whatever form it is written."""
    day = ""
    for paragraph in summary.splitlines():
        paragraph = paragraph.strip()
        if _DAY.fullmatch(paragraph):
            day = paragraph
            continue
        # A name before a colon is a speaker only at the start of a line and with text behind it.
        spoken = _SPOKEN.match(paragraph)
        words = paragraph[spoken.end() :] if spoken else paragraph
        for sentence in split_sentences(words) if words else ():
            yield SummaryLine(day, spoken[1] if spoken else "", sentence)
