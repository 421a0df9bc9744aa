"""What is left of many events without a model: a line for each, and of too many lines those that tell most."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from longmind.assembly.sanitiser import one_line
from longmind.clock import to_micros
from longmind.events.summary import words_of_summary
from longmind.extraction.candidate import SourceMessage
from longmind.models.event import CHAT_TURN, Event

if TYPE_CHECKING:
    from longmind.summaries.distiller import Distiller
    from longmind.summaries.summary_line import Line

NAME = "digest@1"
LINE_LIMIT = 500
"""Characters of an event's text that its line has."""
DIGEST_LIMIT = 100_000
"""Characters of all lines together; the oldest are let go of first."""

_Role = Literal["user", "assistant", "tool"]
_SPEAKERS: dict[str | None, _Role] = {"user": "user", "assistant": "assistant"}


def digested(events: Sequence[Event], limit: int) -> dict[str, Any]:
    """What events tell: a line for each of them, and a summary of at most so many characters."""
    lines = digest_of(events)
    return _told(NAME, "\n".join(lines), _shortened(lines, events, limit))


def gathered(summaries: Sequence[Event], limit: int) -> dict[str, Any]:
    """What summaries tell together, each line once: the events that they were made of overlap."""
    texts = [words_of_summary(summary) for summary in summaries]
    lines = list(dict.fromkeys(line for text in texts for line in text.split("\n") if line.strip()))
    return _told(NAME, "\n".join(digest_of(summaries)), _shortened_summaries(lines, texts, limit))


def told_by(distiller: Distiller, events: Sequence[Event], limit: int) -> dict[str, Any]:
    """What a model makes of the events. What it leaves unsaid altogether, the digest says."""
    distilled = distiller.distill(records_of(events), limit)
    summary = distilled.summary or digested(events, limit)["summary"]
    return _told(distiller.name, summary, summary, distilled.key_facts, distilled.open_loops)


def _told(
    made_by: str, text: str, summary: str, key_facts: Sequence[str] = (), open_loops: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "made_by": made_by,
        "text": text,
        "summary": summary,
        "key_facts": list(key_facts),
        "open_loops": list(open_loops),
    }


def digest_of(events: Sequence[Event]) -> list[str]:
    """A line for each event, oldest first: `[role] text`."""
    lines: list[str] = []
    room = DIGEST_LIMIT
    for event in reversed(events):
        line = f"[{_role(event)}] {_words(event)[:LINE_LIMIT]}".rstrip()
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines[::-1]


def records_of(events: Sequence[Event]) -> list[SourceMessage]:
    """The events as a summariser reads them: the two sides of a talk as they speak, all else as what was noted."""
    return [record for record in map(_record, events) if record.text]


def _record(event: Event) -> SourceMessage:
    speaker = _speaker(event)
    # The paragraphs of what was said tell where its sentences end.
    text = f"[{_role(event)}] {_words(event)}".rstrip() if speaker == "tool" else (event.text or "").strip()
    return SourceMessage(event.event_id, speaker, text, to_micros(event.ts))


def _role(event: Event) -> str:
    """Who speaks in an event, or what it is."""
    return one_line(event.stage or event.kind)


def _speaker(event: Event) -> _Role:
    return _SPEAKERS.get(event.stage, "tool") if event.kind == CHAT_TURN else "tool"


def _words(event: Event) -> str:
    """What an event says, on one line; one that only has data says it as JSON."""
    said = event.text or ""
    if not said.strip():
        told = event.data or event.outputs or event.inputs
        said = json.dumps(told, ensure_ascii=False) if told else ""
    return one_line(said)


def _shortened(lines: Sequence[str], events: Sequence[Event], limit: int) -> str:
    """All lines, if they are short enough; else the sentences of the events that together tell most."""
    if _length(lines) <= limit and len(lines) == len(events):
        return "\n".join(lines)
    # The rules of English are loaded only where there is too much to be shown whole.
    from longmind.summaries.extractive import pick
    from longmind.summaries.summary_line import written

    return written(pick(list(_telling(events)), limit)) or _newest(lines, limit)


def _shortened_summaries(lines: Sequence[str], texts: Sequence[str], limit: int) -> str:
    if _length(lines) <= limit:
        return "\n".join(lines)
    from longmind.summaries.extractive import pick
    from longmind.summaries.summary_line import read_back, written

    return written(pick([line for text in texts for line in read_back(text)], limit)) or _newest(lines, limit)


def _telling(events: Sequence[Event]) -> Iterator[Line]:
    """The sentences of what was said, and whole lines of what was noted, in their order."""
    from longmind.summaries.sentence_selection import day_of, telling_lines
    from longmind.summaries.summary_line import Line

    for is_talk, some in groupby(events, key=lambda event: _speaker(event) != "tool"):
        if is_talk:
            yield from telling_lines(records_of(list(some)))
        else:
            yield from (Line(day_of(to_micros(each.ts)), _role(each), _words(each)[:LINE_LIMIT]) for each in some)


def _newest(lines: Sequence[str], limit: int) -> str:
    """The last lines that there is room for, where none of them tells more than another."""
    first = len(lines)
    while first and _length(lines[first - 1 :]) <= limit:
        first -= 1
    return "\n".join(lines[first:]) or lines[-1][:limit]


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines) - 1
