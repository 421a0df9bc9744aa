"""Digest of many events without a model: a line for each, and where that is too much, the most informative lines.

The rules of English that choose sentences take long to load, so they are imported only where lines have to be chosen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from longmind.assembly.sanitiser import one_line
from longmind.clock import to_micros
from longmind.events.summary_event import read_summary_text
from longmind.extraction.candidate import SourceMessage
from longmind.models.event import CHAT_TURN, Event

if TYPE_CHECKING:
    from longmind.summaries.distiller import Distiller
    from longmind.summaries.summary_line import SummaryLine

DIGEST_NAME = "digest@1"
LINE_LIMIT = 500
"""Characters of an event's text in its line."""
DIGEST_LIMIT = 100_000
"""Characters of all lines together; the oldest are dropped first."""

_Role = Literal["user", "assistant", "tool"]
_SPEAKERS: dict[str | None, _Role] = {"user": "user", "assistant": "assistant"}


def digest_events(events: Sequence[Event], limit: int) -> dict[str, Any]:
    """Return the digest of events: a line for each, and a summary of at most `limit` characters."""
    lines = list_lines(events)
    return _build_fields(DIGEST_NAME, "\n".join(lines), _shorten_lines(lines, events, limit))


def digest_summaries(summaries: Sequence[Event], limit: int) -> dict[str, Any]:
    """Return the digest of summaries, with each line once: the events that they were made of overlap."""
    texts = [read_summary_text(summary) for summary in summaries]
    lines = list(dict.fromkeys(line for text in texts for line in text.split("\n") if line.strip()))
    return _build_fields(DIGEST_NAME, "\n".join(list_lines(summaries)), _shorten_summaries(lines, texts, limit))


def distill_with_model(distiller: Distiller, events: Sequence[Event], limit: int) -> dict[str, Any]:
    """Return a model's summary of events; where the model says nothing at all, the summary of the digest."""
    distilled = distiller.distill(to_source_messages(events), limit)
    summary = distilled.summary or digest_events(events, limit)["summary"]
    return _build_fields(distiller.name, summary, summary, distilled.key_facts, distilled.open_loops)


def _build_fields(
    made_by: str, text: str, summary: str, key_facts: Sequence[str] = (), open_loops: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "made_by": made_by,
        "text": text,
        "summary": summary,
        "key_facts": list(key_facts),
        "open_loops": list(open_loops),
    }


def list_lines(events: Sequence[Event]) -> list[str]:
    """Return a line for each event, oldest first: `[role] text`."""
    lines: list[str] = []
    room = DIGEST_LIMIT
    for event in reversed(events):
        line = f"[{_read_role(event)}] {_read_words(event)[:LINE_LIMIT]}".rstrip()
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return lines[::-1]


def to_source_messages(events: Sequence[Event]) -> list[SourceMessage]:
    """Return events as a summariser reads them: chat turns as they were said, everything else as notes of a tool."""
    return [message for message in map(_to_source_message, events) if message.text]


def _to_source_message(event: Event) -> SourceMessage:
    speaker = _read_speaker(event)
    # A chat turn keeps its paragraphs, which show where sentences end.
    text = f"[{_read_role(event)}] {_read_words(event)}".rstrip() if speaker == "tool" else (event.text or "").strip()
    return SourceMessage(event.event_id, speaker, text, to_micros(event.ts))


def _read_role(event: Event) -> str:
    """Return the speaker of an event, or else its kind."""
    return one_line(event.stage or event.kind)


def _read_speaker(event: Event) -> _Role:
    return _SPEAKERS.get(event.stage, "tool") if event.kind == CHAT_TURN else "tool"


def _read_words(event: Event) -> str:
    """Return the text of an event on one line; an event without text has its data as JSON."""
    text = event.text or ""
    if not text.strip():
        values = event.data or event.outputs or event.inputs
        text = json.dumps(values, ensure_ascii=False) if values else ""
    return one_line(text)


def _shorten_lines(lines: Sequence[str], events: Sequence[Event], limit: int) -> str:
    """Return all lines if they are short enough, and else the most informative sentences of the events."""
    if _count_characters(lines) <= limit and len(lines) == len(events):
        return "\n".join(lines)
    from longmind.summaries.extractive import pick_lines
    from longmind.summaries.summary_line import render_lines

    return render_lines(pick_lines(list(_to_summary_lines(events)), limit)) or _take_newest(lines, limit)


def _shorten_summaries(lines: Sequence[str], texts: Sequence[str], limit: int) -> str:
    if _count_characters(lines) <= limit:
        return "\n".join(lines)
    from longmind.summaries.extractive import pick_lines
    from longmind.summaries.summary_line import parse_lines, render_lines

    return render_lines(pick_lines([line for text in texts for line in parse_lines(text)], limit)) or _take_newest(
        lines, limit
    )


def _to_summary_lines(events: Sequence[Event]) -> Iterator[SummaryLine]:
    """Yield the sentences of chat turns, and each note as one line of at most `LINE_LIMIT` characters, in order."""
    from longmind.summaries.sentence_selection import format_day, select_lines
    from longmind.summaries.summary_line import SummaryLine

    for is_chat, group in groupby(events, key=lambda event: _read_speaker(event) != "tool"):
        if is_chat:
            yield from select_lines(to_source_messages(list(group)))
        else:
            yield from (
                SummaryLine(format_day(to_micros(each.ts)), _read_role(each), _read_words(each)[:LINE_LIMIT])
                for each in group
            )


def _take_newest(lines: Sequence[str], limit: int) -> str:
    """Return the last lines that fit, for lines of which none is more informative than another."""
    first = len(lines)
    while first and _count_characters(lines[first - 1 :]) <= limit:
        first -= 1
    return "\n".join(lines[first:]) or lines[-1][:limit]


def _count_characters(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines) - 1
