"""Format of a summary of events: an event of its own, and the dict that operations return for it."""

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
"""The stage, and a tag, of an event that records that a summary was loaded."""
LLM = "llm"
"""The tag of a summary that a language model wrote."""
STAGES = ("summary", "summary_llm", "meta_summary", "meta_summary_llm")
VERSION = 1


def is_summary(event: Event) -> bool:
    """Return whether an event is a summary, by its stage and tag, since callers choose its kind."""
    return event.stage in STAGES and SUMMARY in (event.tags or ())


def is_derived(event: Event) -> bool:
    """Return whether an event only repeats others: it is a summary, or records that one was loaded."""
    return is_summary(event) or (event.stage == HYDRATE and {SUMMARY, HYDRATE} <= set(event.tags or ()))


def validate_tag(where: str, tag: object) -> str:
    """Return a tag by which summaries are found, normalised as the tags of events are."""
    return validate_text(where, tag, limit=IDENTITY_LIMIT, blank=False).strip()


def name_hydration_kind(summary_kind: str) -> str:
    """Return the kind of the events that record the loading of summaries of a kind."""
    return f"{summary_kind}_hydrate"


def build_summary_data(
    sources: Sequence[Event], summary_kind: str, summary_tag: str, window: tuple[str, str], **fields: Any
) -> dict[str, Any]:
    """Return the data of a summary event: what it was made of, and further fields.

    The bounds of the time window stand under two names each: readers of either format find them.
    """
    start, end = window
    return {
        "type": summary_kind,
        "version": VERSION,
        "summary_kind": summary_kind,
        "summary_tag": summary_tag,
        "time_window": {"start": start, "end": end, "from": start, "to": end},
        "source_event_ids": [event.event_id for event in sources],
        **fields,
    }


def read_time_window(summary: Event) -> tuple[str, str]:
    """Return the time from the first to the last source of a summary; its own time where it names none."""
    window = (summary.data or {}).get("time_window")
    window = window if isinstance(window, dict) else {}
    return str(window.get("start") or summary.ts), str(window.get("end") or summary.ts)


def to_summary(event: Event, uri: str) -> dict[str, Any]:
    """Return the summary that an event holds, as operations return it."""
    return {
        "uri": uri,
        "document_id": build_document_id(event),
        "event_id": event.event_id,
        "scope_id": event.scope_id,
        "ts": event.ts,
        **(event.data or {}),
    }


def build_document_id(event: Event) -> str:
    """Return the path that a summary is filed under: its bucket, its tag and its time."""
    tag = str((event.data or {}).get("summary_tag", ""))
    # A bucket that the caller has named goes by that name alone.
    scope_id = (event.scope_id or "").removeprefix("bucket:")
    return f"mem/{scope_id}/summaries/{quote(tag, safe='')}/{event.ts}"


def read_summary_text(event: Event) -> str:
    """Return the words of a summary, whichever field its maker put them in."""
    data = event.data or {}
    return str(data.get("summary") or data.get("text") or event.text or "")
