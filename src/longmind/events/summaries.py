"""Summaries of a timeline: distils events into them, and loads them again.

A summary is an event too, filed on the timeline of its scope id. It is looked for in the whole timeline, because
summaries outlive the hot log. Distillation reads its sources in one transaction, thinks outside of any, and records the
result in another one; the erasure fence around it makes sure that nothing of an erased user is recorded late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from longmind.errors import InvalidInput
from longmind.events.digest import digest_events, digest_summaries, distill_with_model
from longmind.events.event_addresses import EventAddresses
from longmind.events.summary_event import (
    HYDRATE,
    LLM,
    SUMMARY,
    build_summary_data,
    is_derived,
    name_hydration_kind,
    read_time_window,
    to_summary,
    validate_tag,
)
from longmind.events.timeline import TimelineLog, is_bucket_name
from longmind.events.validation import validate_kind, validate_names, validate_signal, validate_tags
from longmind.models.event import Event
from longmind.providers.language_model import LanguageModel
from longmind.scope import Level
from longmind.store.erasure_fence import fence_erasures
from longmind.store.tables import events as store
from longmind.summaries.distiller_registry import Distillers
from longmind.validation.identifiers import validate_count
from longmind.validation.parameter_limits import LIMIT

if TYPE_CHECKING:
    from longmind.summaries.distiller import Distiller

SUMMARIES_LIMIT = 200
"""Most summaries that one call may read."""
_LONG_TERM_SIGNAL = 0.7
_META_SIGNAL = 0.8
_HYDRATION_SIGNAL = 0.4


class TimelineSummaries:
    """The summaries of one timeline."""

    def __init__(self, log: TimelineLog, addresses: EventAddresses, distillers: Distillers) -> None:
        self._log = log
        self._addresses = addresses
        self._distillers = distillers

    def distill_events(
        self,
        scope_id: str | None,
        *,
        summary_tag: str,
        summary_kind: str,
        include_kinds: Sequence[str] | None,
        include_tags: Sequence[str] | None,
        max_events: int,
        min_signal: float | None,
        use_llm: bool,
        level: Level | None,
        model: str | LanguageModel | None,
    ) -> dict[str, Any]:
        """Record a summary of the newest events and return it; see `Events.distill_long_term`."""
        tag, kind = validate_tag("summary_tag", summary_tag), validate_kind(summary_kind, "summary_kind")
        kinds, tags = validate_names(include_kinds, "include_kinds"), validate_tags(include_tags, "include_tags")
        limit = LIMIT.check("max_events", max_events)
        least_signal = self._choose_signal(min_signal)
        distiller = self._choose_distiller(use_llm, model)
        own_kinds = (kind, name_hydration_kind(kind))

        def is_left_out(event: Event) -> bool:
            return is_derived(event) and (kinds is None or event.kind in own_kinds)

        with fence_erasures(self._log.database, self._log.scope):
            sources: list[Event] = []
            for log in self._list_sources(scope_id) if kinds != () else ():
                window = log.build_window(level, all_tags=tags, min_signal=least_signal)
                if window is not None and not sources:
                    # Read as one snapshot: the query pages, and concurrent records must not shift the pages.
                    sources = self._log.database.read_snapshot(
                        self._log.scope, store.list_newest_sources, self._log.scope, window, limit, kinds, is_left_out
                    )
            if not sources:
                return {}
            size = self._log.settings.rolling_summary_characters
            summary = build_summary_data(
                sources,
                kind,
                tag,
                (sources[0].ts, sources[-1].ts),
                num_events=len(sources),
                included_kinds=list(kinds or dict.fromkeys(event.kind for event in sources)),
                included_tags=list(tags),
                include_kinds=None if kinds is None else list(kinds),
                include_tags=None if include_tags is None else list(tags),
                min_signal=least_signal,
                **(digest_events(sources, size) if distiller is None else distill_with_model(distiller, sources, size)),
            )
            return self._record(self._log.find_filed(scope_id), summary, distiller, "summary", _LONG_TERM_SIGNAL)

    def distill_summaries(
        self,
        scope_id: str | None,
        *,
        source_kind: str,
        source_tag: str,
        summary_kind: str,
        summary_tag: str,
        max_summaries: int,
        min_signal: float | None,
        use_llm: bool,
        level: Level | None,
        model: str | LanguageModel | None,
    ) -> dict[str, Any]:
        """Record one summary of the newest summaries and return it; see `Events.distill_meta_summary`."""
        tag, kind = validate_tag("summary_tag", summary_tag), validate_kind(summary_kind, "summary_kind")
        from_tag, from_kind = validate_tag("source_tag", source_tag), validate_kind(source_kind, "source_kind")
        distiller = self._choose_distiller(use_llm, model)
        # Such a summary would be distilled again and again, each time from its own words.
        if from_kind == kind and from_tag in _list_tags(tag, distiller):
            raise InvalidInput(
                f"Summaries of kind {kind!r} with the tag {tag!r} would summarise themselves.",
                hint="Pass a summary_kind or summary_tag that the sources do not have.",
            )
        limit = validate_count("max_summaries", max_summaries, most=SUMMARIES_LIMIT)
        least_signal = self._choose_signal(min_signal)
        log = self._log.find_filed(scope_id)
        window = log.build_window(level, all_tags=(SUMMARY, from_tag), min_signal=least_signal)
        if window is None:
            return {}
        with fence_erasures(self._log.database, self._log.scope):
            sources = self._log.read(store.list_newest, window, limit, 0, (from_kind,))
            if not sources:
                return {}
            size = self._log.settings.rolling_summary_characters
            windows = [read_time_window(source) for source in sources]
            summary = build_summary_data(
                sources,
                kind,
                tag,
                (min(start for start, _ in windows), max(end for _, end in windows)),
                num_source_summaries=len(sources),
                source_kind=from_kind,
                source_tag=from_tag,
                min_signal=least_signal,
                **(
                    digest_summaries(sources, size)
                    if distiller is None
                    else distill_with_model(distiller, sources, size)
                ),
            )
            return self._record(log, summary, distiller, "meta_summary", _META_SIGNAL)

    def load_recent(self, scope_id: str | None, summary_tag: str, limit: int) -> list[dict[str, Any]]:
        """Return the newest summaries of a tag, newest last."""
        limit = validate_count("limit", limit, most=SUMMARIES_LIMIT)
        return [self._to_summary(event) for event in self.read_newest(scope_id, summary_tag, limit)]

    def load_last(
        self, scope_id: str | None, summary_tag: str, summary_kind: str, level: Level | None
    ) -> dict[str, Any] | None:
        """Return the newest summary of a kind and a tag, or None."""
        tag, kind = validate_tag("summary_tag", summary_tag), validate_kind(summary_kind, "summary_kind")
        window = self._log.find_filed(scope_id).build_window(level, all_tags=(SUMMARY, tag))
        if window is None:
            return None
        found = self._log.read(store.list_newest, window, 1, 0, (kind,))
        return self._to_summary(found[0]) if found else None

    def hydrate_last(
        self, scope_id: str | None, summary_tag: str, summary_kind: str, level: Level | None
    ) -> dict[str, Any] | None:
        """Load the newest summary and record the loading on this timeline."""
        with fence_erasures(self._log.database, self._log.scope):
            summary = self.load_last(scope_id, summary_tag, summary_kind, level)
            if summary is not None:
                self._log.record(
                    {
                        "kind": name_hydration_kind(summary_kind),
                        "stage": HYDRATE,
                        "tags": [SUMMARY, HYDRATE, summary_tag],
                        "severity": 1,
                        "signal": _HYDRATION_SIGNAL,
                        "data": {"summary": summary},
                    },
                    f"Loaded the summary {summary['document_id']}",
                )
            return summary

    def read_newest(self, scope_id: str | None, summary_tag: str, limit: int) -> list[Event]:
        """Return the events of the newest summaries of a tag, newest last."""
        tag = validate_tag("summary_tag", summary_tag)
        window = self._log.find_filed(scope_id).build_window(None, all_tags=(SUMMARY, tag))
        return [] if window is None else self._log.read(store.list_newest_summaries, window, limit)

    def _list_sources(self, scope_id: str | None) -> list[TimelineLog]:
        """Return the logs whose events are distilled, by preference.

        A scope id means its own timeline. Under a name of the caller's own that timeline comes first, and where it has
        no events, this one: the name may only say where to file.
        """
        filed = self._log.find_filed(scope_id)
        return [filed, self._log] if is_bucket_name(scope_id) else [filed]

    def _choose_distiller(self, use_llm: bool, model: str | LanguageModel | None) -> Distiller | None:
        """Return the distiller of a model, or None for the digest; a missing model is an error before any read."""
        if use_llm:
            return self._distillers.choose(model)
        if model is not None:
            raise InvalidInput("model is given, but use_llm is False.", hint="Pass use_llm=True with a model.")
        return None

    def _choose_signal(self, min_signal: float | None) -> float:
        if min_signal is None:
            return self._log.settings.distill_min_signal
        return validate_signal(min_signal, "min_signal")

    def _record(
        self, log: TimelineLog, summary: dict[str, Any], distiller: Distiller | None, stage: str, signal: float
    ) -> dict[str, Any]:
        """Record a summary on a timeline. Everything slow, and everything that may fail slowly, is done before."""
        by_model = distiller is not None
        event = log.record(
            {
                "kind": summary["summary_kind"],
                "stage": f"{stage}_llm" if by_model else stage,
                "tags": _list_tags(summary["summary_tag"], distiller),
                "signal": signal if by_model else None,
                "data": summary,
            },
            summary["summary"],
        )
        return self._to_summary(event)

    def _to_summary(self, event: Event) -> dict[str, Any]:
        return to_summary(event, self._addresses.build_uri(event))


def _list_tags(summary_tag: str, distiller: Distiller | None) -> list[str]:
    """Return the tags of a new summary."""
    return [SUMMARY, summary_tag, *([] if distiller is None else [LLM])]
