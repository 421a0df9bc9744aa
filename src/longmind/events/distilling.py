"""Operations that distill events into summaries, which are events too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from longmind.errors import InvalidInput
from longmind.events.addresses import Addresses
from longmind.events.digest import digested, gathered, told_by
from longmind.events.elsewhere import Elsewhere
from longmind.events.recording import Recording
from longmind.events.summary import (
    LLM,
    SUMMARY,
    hydration_of,
    is_made_of_events,
    kept,
    summary_of,
    time_window_of,
    validate_tag,
)
from longmind.events.validation import validate_kind, validate_names, validate_signal, validate_tags
from longmind.models.event import Event
from longmind.providers.language_model import LanguageModel
from longmind.scope import Level
from longmind.store.erasure_fence import fenced
from longmind.store.tables import events as store
from longmind.validation.annotated import LIMIT, Label
from longmind.validation.identifiers import validate_count

if TYPE_CHECKING:
    from longmind.summaries.distiller import Distiller

SUMMARIES_LIMIT = 200
"""How many summaries one call may read."""
_LONG_TERM_SIGNAL = 0.7
_META_SIGNAL = 0.8


class Distilling(Recording, Addresses, Elsewhere):
    def distill_long_term(
        self,
        scope_id: str | None = None,
        *,
        summary_tag: str = "session",
        summary_kind: str = "long_term_summary",
        include_kinds: Sequence[str] | None = None,
        include_tags: Sequence[str] | None = None,
        max_events: int = 200,
        min_signal: float | None = None,
        use_llm: bool = False,
        level: Level | None = None,
        model: Label | LanguageModel | None = None,
    ) -> dict[str, Any]:
        """Make a summary of the newest events, record it as an event, and give it back; `{}` if there are none.

        Without `use_llm` it is a digest that needs no model. An event must have all of the tags, and at least the
        signal. Summaries and what tells of loaded ones are left out, unless their kind is named and another one than
        is made here.
        """
        tag, kind = validate_tag("summary_tag", summary_tag), validate_kind(summary_kind, "summary_kind")
        kinds, tags = validate_names(include_kinds, "include_kinds"), validate_tags(include_tags, "include_tags")
        most = LIMIT.check("max_events", max_events)
        least = self._least_signal(min_signal)
        distiller = self._distiller(use_llm, model)
        own = (kind, hydration_of(kind))

        def left_out(event: Event) -> bool:
            return is_made_of_events(event) and (kinds is None or event.kind in own)

        with fenced(self._database, self._scope):
            sources: list[Event] = []
            for timeline in self._told_under(scope_id) if kinds != () else ():
                window = timeline._window(level, all_tags=tags, min_signal=least)
                if window is not None and not sources:
                    # It reads page by page, and what others record meanwhile must not move the pages.
                    sources = self._database.read_snapshot(
                        self._scope, store.newest_sources, self._scope, window, most, kinds, left_out
                    )
            if not sources:
                return {}
            limit = self._settings.rolling_summary_characters
            summary = kept(
                sources,
                kind,
                tag,
                (sources[0].ts, sources[-1].ts),
                num_events=len(sources),
                included_kinds=list(kinds or dict.fromkeys(event.kind for event in sources)),
                included_tags=list(tags),
                include_kinds=None if kinds is None else list(kinds),
                include_tags=None if include_tags is None else list(tags),
                min_signal=least,
                **(digested(sources, limit) if distiller is None else told_by(distiller, sources, limit)),
            )
            return self._filed_under(scope_id)._record_summary(summary, distiller, "summary", _LONG_TERM_SIGNAL)

    def distill_meta_summary(
        self,
        scope_id: str | None = None,
        *,
        source_kind: str = "long_term_summary",
        source_tag: str = "session",
        summary_kind: str = "meta_summary",
        summary_tag: str = "meta",
        max_summaries: int = 20,
        min_signal: float | None = None,
        use_llm: bool = True,
        level: Level | None = None,
        model: Label | LanguageModel | None = None,
    ) -> dict[str, Any]:
        """Make one summary of the newest summaries of a kind and a tag, record it, and give it back; `{}` without any.

        With `use_llm=False` it is a digest that needs no model.
        """
        tag, kind = validate_tag("summary_tag", summary_tag), validate_kind(summary_kind, "summary_kind")
        from_tag, from_kind = validate_tag("source_tag", source_tag), validate_kind(source_kind, "source_kind")
        distiller = self._distiller(use_llm, model)
        if from_kind == kind and from_tag in _tags(tag, distiller):
            raise InvalidInput(
                f"The summaries {kind!r} of the tag {tag!r} would be made of themselves.",
                hint="Give what is made another summary_kind or summary_tag than its sources have.",
            )
        most = validate_count("max_summaries", max_summaries, most=SUMMARIES_LIMIT)
        least = self._least_signal(min_signal)
        place = self._filed_under(scope_id)
        window = place._window(level, all_tags=(SUMMARY, from_tag), min_signal=least)
        if window is None:
            return {}
        with fenced(self._database, self._scope):
            sources = self._read(store.newest, window, most, 0, (from_kind,))
            if not sources:
                return {}
            limit = self._settings.rolling_summary_characters
            windows = [time_window_of(source) for source in sources]
            summary = kept(
                sources,
                kind,
                tag,
                (min(start for start, _ in windows), max(end for _, end in windows)),
                num_source_summaries=len(sources),
                source_kind=from_kind,
                source_tag=from_tag,
                min_signal=least,
                **(gathered(sources, limit) if distiller is None else told_by(distiller, sources, limit)),
            )
            return place._record_summary(summary, distiller, "meta_summary", _META_SIGNAL)

    def _distiller(self, use_llm: bool, model: str | LanguageModel | None) -> Distiller | None:
        """Who distills with a model. Who has none is told so before anything is read."""
        if use_llm:
            return self._distillers.choose(model)
        if model is not None:
            raise InvalidInput("A model is given, and none is to be asked.", hint="Give use_llm=True with it.")
        return None

    def _least_signal(self, min_signal: float | None) -> float:
        return self._settings.distill_min_signal if min_signal is None else validate_signal(min_signal, "min_signal")

    def _record_summary(
        self, summary: dict[str, Any], distiller: Distiller | None, stage: str, signal: float
    ) -> dict[str, Any]:
        """Record a summary on this timeline. All that can fail slowly has been done before."""
        by_model = distiller is not None
        recorded = self.record_raw(
            base={
                "kind": summary["summary_kind"],
                "stage": f"{stage}_llm" if by_model else stage,
                "tags": _tags(summary["summary_tag"], distiller),
                "signal": signal if by_model else None,
                "data": summary,
            },
            text=summary["summary"],
        )
        return summary_of(recorded, self.uri_of(recorded))


def _tags(summary_tag: str, distiller: Distiller | None) -> list[str]:
    """The tags of a summary that is made now."""
    return [SUMMARY, summary_tag, *([] if distiller is None else [LLM])]
