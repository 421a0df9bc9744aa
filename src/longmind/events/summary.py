"""What a summary of events is: an event of its own, and the dict that callers are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from longmind.models.event import Event
from longmind.scope import IDENTITY_LIMIT
from longmind.validation.text import validate_text

SUMMARY = "summary"
"""The tag of every summary."""
HYDRATE = "hydrate"
"""The stage, and a tag, of an event that tells of a summary that was loaded."""
LLM = "llm"
STAGES = ("summary", "summary_llm", "meta_summary", "meta_summary_llm")
VERSION = 1


def is_summary(event: Event) -> bool:
    return event.stage in STAGES and SUMMARY in (event.tags or ())


def is_made_of_events(event: Event) -> bool:
    """Whether an event only tells again what others have told: a summary, or that one was loaded."""
    return is_summary(event) or (event.stage == HYDRATE and {SUMMARY, HYDRATE} <= set(event.tags or ()))


def validate_tag(where: str, tag: object) -> str:
    """A tag that summaries are told apart by, as tags of events are kept."""
    return validate_text(where, tag, limit=IDENTITY_LIMIT, blank=False).strip()


def hydration_of(summary_kind: str) -> str:
    """The kind of the events that tell of a loaded summary."""
    return f"{summary_kind}_hydrate"


def kept(
    sources: Sequence[Event], summary_kind: str, summary_tag: str, window: tuple[str, str], **told: Any
) -> dict[str, Any]:
    """What is kept of a summary, under all the names that its parts go by."""
    start, end = window
    return {
        "type": summary_kind,
        "version": VERSION,
        "summary_kind": summary_kind,
        "summary_tag": summary_tag,
        "time_window": {"start": start, "end": end, "from": start, "to": end},
        "source_event_ids": [event.event_id for event in sources],
        **told,
    }


def time_window_of(summary: Event) -> tuple[str, str]:
    """From when to when the events were that a summary was made of; one that does not say so has its own time."""
    window = (summary.data or {}).get("time_window")
    window = window if isinstance(window, dict) else {}
    return str(window.get("start") or summary.ts), str(window.get("end") or summary.ts)


def summary_of(event: Event, uri: str) -> dict[str, Any]:
    """The summary that an event holds."""
    return {
        "uri": uri,
        "document_id": document_id(event),
        "event_id": event.event_id,
        "scope_id": event.scope_id,
        "ts": event.ts,
        **(event.data or {}),
    }


def document_id(event: Event) -> str:
    """Under what a summary is filed."""
    tag = str((event.data or {}).get("summary_tag", ""))
    # A bucket that the caller has named goes by its name.
    scope_id = (event.scope_id or "").removeprefix("bucket:")
    return f"mem/{scope_id}/summaries/{quote(tag, safe='')}/{event.ts}"


def words_of_summary(event: Event) -> str:
    """What a summary says in words."""
    told = event.data or {}
    return str(told.get("summary") or told.get("text") or event.text or "")
