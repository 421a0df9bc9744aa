"""Addresses of events: in the files that mirror them, or as `longmind://` URIs. Nothing here asks the database."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from longmind.clock import to_micros
from longmind.errors import InvalidInput
from longmind.events.mirror.folder import MirrorFolder, file_name
from longmind.events.summary_event import build_document_id, is_summary
from longmind.models.event import Event
from longmind.scope import Scope, timeline_of


class EventAddresses:
    """Addresses of the events of one user."""

    def __init__(self, scope: Scope, jsonl_folder: str | None) -> None:
        self._scope = scope
        self._folder = MirrorFolder(Path(jsonl_folder)) if jsonl_folder else None

    def build_uri(self, event: Event) -> str:
        """Return where an event can be found: in its mirror file, or else under a `longmind://` URI."""
        if not isinstance(event, Event):
            raise InvalidInput(f"event must be an event, not {type(event).__name__}.")
        timeline_id = timeline_of(self._scope, event.scope_id or "")
        event_id = quote(event.event_id, safe="")
        if self._folder is None and is_summary(event):
            return f"longmind://{build_document_id(event)}#{event_id}"
        if self._folder is None:
            return f"longmind://mem/{file_name(timeline_id)}/events/{event_id}"
        return f"{self._folder.file(self._scope.id, timeline_id, to_micros(event.ts)).as_uri()}#{event_id}"

    def list_files(self, timeline_id: str | None) -> list[Path]:
        """Return the mirror files of a timeline by day; none without a mirror or without a timeline."""
        if self._folder is None or timeline_id is None:
            return []
        return self._folder.files(self._scope.id, timeline_id)
