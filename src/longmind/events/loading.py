"""Operations that find summaries again. They are looked for in the whole timeline: they outlive the hot log."""

from __future__ import annotations

from typing import Any

from longmind.events.addresses import Addresses
from longmind.events.distilling import SUMMARIES_LIMIT
from longmind.events.elsewhere import Elsewhere
from longmind.events.recording import Recording
from longmind.events.summary import HYDRATE, SUMMARY, hydration_of, summary_of, validate_tag
from longmind.events.validation import validate_kind
from longmind.models.event import Event
from longmind.scope import Level
from longmind.store.erasure_fence import fenced
from longmind.store.tables import events as store
from longmind.validation.annotated import Limit
from longmind.validation.identifiers import validate_count

_HYDRATED_SIGNAL = 0.4


class Loading(Recording, Addresses, Elsewhere):
    def load_recent_summaries(
        self, scope_id: str | None = None, *, summary_tag: str = "session", limit: Limit = 3
    ) -> list[dict[str, Any]]:
        """The newest summaries of a tag, of whatever kind, newest last."""
        most = validate_count("limit", limit, most=SUMMARIES_LIMIT)
        return [summary_of(event, self.uri_of(event)) for event in self._newest_summaries(scope_id, summary_tag, most)]

    def load_last_summary(
        self,
        scope_id: str | None = None,
        *,
        summary_tag: str = "session",
        summary_kind: str = "long_term_summary",
        level: Level | None = "scope",
    ) -> dict[str, Any] | None:
        """The newest summary of a kind and a tag; None if there is none."""
        tag, kind = validate_tag("summary_tag", summary_tag), validate_kind(summary_kind, "summary_kind")
        window = self._filed_under(scope_id)._window(level, all_tags=(SUMMARY, tag))
        if window is None:
            return None
        found = self._read(store.newest, window, 1, 0, (kind,))
        return summary_of(found[0], self.uri_of(found[0])) if found else None

    def soft_hydrate_last_summary(
        self,
        scope_id: str | None = None,
        *,
        summary_tag: str = "session",
        summary_kind: str = "long_term_summary",
        level: Level | None = "scope",
    ) -> dict[str, Any] | None:
        """Load the newest summary and record on this timeline that it was loaded; None, and nothing, without one."""
        with fenced(self._database, self._scope):
            summary = self.load_last_summary(scope_id, summary_tag=summary_tag, summary_kind=summary_kind, level=level)
            if summary is not None:
                self.record_raw(
                    base={
                        "kind": hydration_of(summary_kind),
                        "stage": HYDRATE,
                        "tags": [SUMMARY, HYDRATE, summary_tag],
                        "severity": 1,
                        "signal": _HYDRATED_SIGNAL,
                        "data": {"summary": summary},
                    },
                    text=f"Loaded the summary {summary['document_id']}",
                )
            return summary

    def _newest_summaries(self, scope_id: str | None, summary_tag: str, most: int) -> list[Event]:
        tag = validate_tag("summary_tag", summary_tag)
        window = self._filed_under(scope_id)._window(None, all_tags=(SUMMARY, tag))
        if window is None:
            return []
        return self._read(store.newest_summaries, window, most)
