"""Where events can be found: in the files that mirror them, or by an address of their own. Nothing here is written."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from longmind.clock import to_micros
from longmind.errors import InvalidInput
from longmind.events.bound import Bound
from longmind.events.mirror.folder import MirrorFolder, file_name
from longmind.events.summary import document_id, is_summary
from longmind.models.event import Event
from longmind.scope import timeline_of


class Addresses(Bound):
    def uri_of(self, event: Event) -> str:
        """The address of an event of this user's: `file://…`, ending in `#` and its id, where events are mirrored.

        Without a mirror it is `longmind://mem/<timeline>/events/<event id>`, and for a summary the place where it is
        filed, `longmind://mem/<scope id>/summaries/<tag>/<ts>#<event id>`.
        """
        if not isinstance(event, Event):
            raise InvalidInput(f"event must be an event, not {type(event).__name__}.")
        timeline_id = timeline_of(self._scope, event.scope_id or "")
        event_id = quote(event.event_id, safe="")
        if self._folder is None and is_summary(event):
            return f"longmind://{document_id(event)}#{event_id}"
        if self._folder is None:
            return f"longmind://mem/{file_name(timeline_id)}/events/{event_id}"
        return f"{self._folder.file(self._scope.id, timeline_id, to_micros(event.ts)).as_uri()}#{event_id}"

    def jsonl_files(self) -> list[Path]:
        """The files that mirror this timeline, by day; none where events are not mirrored."""
        if self._folder is None or self._timeline.id is None:
            return []
        return self._folder.files(self._scope.id, self._timeline.id)

    @cached_property
    def _folder(self) -> MirrorFolder | None:
        root = self._settings.events_jsonl_dir
        return MirrorFolder(Path(root)) if root else None
