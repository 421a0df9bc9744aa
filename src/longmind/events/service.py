"""The operations on events, for one timeline of one scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from longmind.clock import Instant, to_micros
from longmind.errors import InvalidInput
from longmind.events import hot_log
from longmind.events.event_addresses import EventAddresses
from longmind.events.event_builder import validate_state_key
from longmind.events.prompts import PromptReader
from longmind.events.recorder import EventRecorder
from longmind.events.search import EventSearch
from longmind.events.summaries import TimelineSummaries
from longmind.events.timeline import TimelineLog
from longmind.events.validation import validate_kind, validate_names, validate_tool
from longmind.models.event import STATE_SNAPSHOT, TOOL_RESULT, ChatRole, Event, EventUsage
from longmind.models.event_search import EventSearchResult, SearchMode
from longmind.providers.language_model import LanguageModel
from longmind.recall.index.cache import IndexCache
from longmind.scope import Level
from longmind.store.tables import events as store
from longmind.summaries.distiller_registry import Distillers
from longmind.validation.identifiers import validate_id
from longmind.validation.parameter_limits import LIMIT, HistoryLimit, Label, Limit, Score
from longmind.validation.text import quote_value

if TYPE_CHECKING:
    from longmind.events.search_index import EventRetriever

_MAX_OFFSET = 2**53


class Events(EventRecorder):
    """The log of a timeline of the current user: events are recorded once and never changed.

    By default the timeline is the session's, or the user's if the context has no session; `at` chooses another one. It
    holds only events of this user, even the timeline of the level `org`. Events are ordered by their time, and those of
    one instant by their commits. The hot log is the newest part of a timeline.
    """

    def __init__(
        self, log: TimelineLog, indexes: IndexCache, retriever: Callable[[], EventRetriever], distillers: Distillers
    ) -> None:
        super().__init__(log)
        self._indexes = indexes
        self._retriever = retriever
        self._distillers = distillers

    def __repr__(self) -> str:
        return f"Events({self._log.scope!r}, timeline={self.timeline()!r})"

    def recent(
        self,
        *,
        kinds: Sequence[str] | None = None,
        limit: Limit = 50,
        level: Level | None = None,
        return_event: bool = True,
    ) -> list[Any]:
        """Return the last events of the hot log, newest last.

        The hot log is the newest part of the timeline; `recent_persisted` also finds older events. A level admits only
        what was recorded in the same session or run, and nothing if the context has none.

        kinds: only events of these kinds; None means all. limit: at most that many, 1 to 10,000. level: `session`,
        `run`, `user`, `org` or `scope`; None and the last three admit all. return_event: with False, each event is a
        plain dict.
        """
        found = self._read_newest(kinds, limit, 0, self._log.build_window(level, hot=True))
        return _to_rows(found, return_event)

    def recent_persisted(
        self,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: Limit = 50,
        level: Level | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        offset: int = 0,
        return_event: bool = True,
    ) -> list[Any]:
        """Return the last events of the whole timeline, newest last, leaving out the `offset` newest ones.

        An event must have all of the tags. `since` and `until` are included.

        kinds, limit, level, return_event: as in `recent`. tags: at most 100. since, until: without a zone they are UTC;
        None means no bound. offset: from 0.
        """
        if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset <= _MAX_OFFSET:
            raise InvalidInput(f"offset is {quote_value(offset)}.", hint="Pass a whole number, 0 or more.")
        bounds: dict[str, Any] = {
            name: to_micros(instant, name)
            for name, instant in (("since", since), ("until", until))
            if instant is not None
        }
        found = self._read_newest(kinds, limit, offset, self._log.build_window(level, all_tags=tags, **bounds))
        return _to_rows(found, return_event)

    def recent_chat(
        self,
        *,
        limit: Limit = 50,
        roles: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        level: Level | None = None,
        use_persistence: bool = False,
        return_event: bool = False,
    ) -> list[Any]:
        """Return the last chat turns, newest last: recorded turns and messages of conversations on the timeline.

        Of several answers to one message the last one counts, and hidden messages are left out. A turn must have at
        least one of the tags. Each is a dict of ts, role, text and tags, or with `return_event` an event.

        limit: at most that many, 1 to 10,000. roles: some of `user`, `assistant`, `system` and `tool`; None means all.
        level: as in `recent`. use_persistence: read the whole timeline instead of the hot log.
        """
        limit = LIMIT.check("limit", limit)
        names = validate_names(roles, "roles")
        known_roles = None if names is None else tuple(name for name in names if name in get_args(ChatRole))
        window = self._log.build_window(level, any_tags=tags, hot=not use_persistence)
        # Unknown roles match no turn: if no known one is left, the answer is empty.
        if window is None or known_roles == ():
            return []
        turns = self._log.read(store.list_newest_chat, window, limit, known_roles)
        if return_event:
            return turns
        return [{"ts": turn.ts, "role": turn.stage, "text": turn.text, "tags": turn.tags} for turn in turns]

    def recent_tool_results(self, *, tool: str, limit: Limit = 10, return_event: bool = True) -> list[Any]:
        """Return the last results of one tool in the hot log, newest last.

        tool: the name of the tool. limit: at most that many, 1 to 10,000. return_event: with False, each event is a
        plain dict.
        """
        limit = LIMIT.check("limit", limit)
        topic = validate_tool(tool)
        window = self._log.build_window(None, hot=True)
        if window is None:
            return []
        return _to_rows(self._log.read(store.list_newest_on_topic, window, limit, TOOL_RESULT, topic), return_event)

    def latest_state(
        self,
        key: str,
        *,
        tags: Sequence[str] | None = None,
        level: Level | None = None,
        user_persistence: bool = False,
        use_persistence: bool = False,
        kind: str = STATE_SNAPSHOT,
    ) -> Any:
        """Return the newest value under a key; None if there is none.

        It is read from the hot log, or with `use_persistence`, also spelled `user_persistence`, from the whole
        timeline. A snapshot must have all of the tags.

        key: the name of the state, at most 249 characters. level: as in `recent`. kind: the kind that the state was
        recorded with.
        """
        hot = not (use_persistence or user_persistence)
        found = self._read_states(key, tags, 1, level, kind, hot=hot)
        return (found[0].data or {}).get("value") if found else None

    def state_history(
        self,
        key: str,
        *,
        tags: Sequence[str] | None = None,
        limit: Limit = 50,
        level: Level | None = None,
        kind: str = STATE_SNAPSHOT,
        use_persistence: bool = False,
    ) -> list[Event]:
        """Return the last snapshots under a key, newest last, with everything recorded along with the value.

        key, level, kind: as in `latest_state`. tags: tags that a snapshot must all have. limit: at most that many, 1 to
        10,000. use_persistence: read the whole timeline instead of the hot log.
        """
        return self._read_states(key, tags, limit, level, kind, hot=not use_persistence)

    def get_event(self, event_id: str) -> Event | None:
        """Return one event of the user, on whichever timeline it is; None if there is none.

        event_id: the id of the event.
        """
        return self._log.read(store.get, validate_id("event_id", event_id))

    def usage(self, *, since: Instant | None = None) -> list[EventUsage]:
        """Count the user's events by kind on all timelines: those since an instant, or all."""
        first = 0 if since is None else to_micros(since, "since")
        scope = self._log.scope
        return [
            EventUsage(
                tenant_id=scope.tenant_id,
                app_id=scope.app_id,
                user_id=scope.user_id,
                kind=kind,
                meter=f"memory.{kind}",
                events=events,
            )
            for kind, events in self._log.database.read(scope, store.count_by_kind, first)
        ]

    def search(
        self,
        query: str | None = None,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        limit: Limit = 100,
        use_embedding: bool = True,
        level: Level | None = None,
        time_window: str | None = None,
        mode: SearchMode | None = None,
        min_score: Score | None = None,
    ) -> list[Event]:
        """Find events of the whole timeline about a query, best first; without a query, the newest first.

        `semantic` ranks by meaning, `lexical` by words, `hybrid` by both, `structural` by time alone; `auto` is
        structural without a query, and semantic with one. Without an embedder, or with `use_embedding=False`, words
        decide. An event must have all of the tags, and lie in the time window, such as `90s`, `15m`, `12h` or `7d`. If
        no event is related to the query, the list is empty. Messages that a forgotten fact has cited are in listings,
        but not found here. min_score: the least probability, from 0 to 1, that an event is about the query, whatever
        the mode.

        query: the first 10,000 characters count. kinds: only events of these kinds; None means all. limit: at most that
        many, 1 to 10,000. level: as in `recent`. time_window: the time until now; None means all time.
        """
        return self._search.search(query, kinds, tags, limit, use_embedding, level, time_window, mode, min_score)

    def search_state(
        self,
        query: str,
        *,
        key: str | None = None,
        tags: Sequence[str] | None = None,
        top_k: int = 10,
        time_window: str | None = None,
        created_at_min: str | datetime | float | None = None,
        created_at_max: str | datetime | float | None = None,
        min_score: Score | None = None,
    ) -> list[EventSearchResult]:
        """Find snapshots of states about a query, best first, of one key or of all.

        A snapshot must have all of the tags. `created_at_min` and `created_at_max` are included, as ISO 8601, a
        datetime or seconds since 1970, and take precedence over the bounds of the time window. As in recall, a score is
        the probability that a snapshot is about the query, and min_score the least one.

        query: the first 10,000 characters count. top_k: at most that many, 1 to 10,000. time_window: as in `search`;
        None means all time.
        """
        return self._search.search_states(
            query, key, tags, top_k, time_window, created_at_min, created_at_max, min_score
        )

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
        """Summarise the newest events, record the summary as an event, and return it; `{}` if there are no events.

        Without `use_llm` it is a digest that needs no model. An event must have all of the tags, and at least the
        signal. Summaries and records of loaded ones are left out, unless `include_kinds` names their kind and it is
        not `summary_kind`.

        scope_id: the timeline to read and to file on, a bucket or a name of the caller's own; None means this one.
        summary_tag, summary_kind: the tag and the kind of the new summary. include_kinds, include_tags: the kinds and
        the tags of the events; None means all. max_events: at most that many, 1 to 10,000. min_signal: from 0 to 1;
        None means the setting `distill_min_signal`. level: as in `recent`. model: the model for `use_llm`; by default
        that of the engine's summariser.
        """
        return self._summaries.distill_events(
            scope_id,
            summary_tag=summary_tag,
            summary_kind=summary_kind,
            include_kinds=include_kinds,
            include_tags=include_tags,
            max_events=max_events,
            min_signal=min_signal,
            use_llm=use_llm,
            level=level,
            model=model,
        )

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
        """Summarise the newest summaries of a kind and a tag, record and return the result; `{}` if there are none.

        With `use_llm=False` it is a digest that needs no model.

        scope_id: as in `distill_long_term`. source_kind, source_tag: those of the summaries to read. summary_kind,
        summary_tag: those of the new one; at least one of the two must differ. max_summaries: at most that many, 1 to
        200. min_signal, level, model: as in `distill_long_term`.
        """
        return self._summaries.distill_summaries(
            scope_id,
            source_kind=source_kind,
            source_tag=source_tag,
            summary_kind=summary_kind,
            summary_tag=summary_tag,
            max_summaries=max_summaries,
            min_signal=min_signal,
            use_llm=use_llm,
            level=level,
            model=model,
        )

    def load_recent_summaries(
        self, scope_id: str | None = None, *, summary_tag: str = "session", limit: Limit = 3
    ) -> list[dict[str, Any]]:
        """Return the newest summaries of a tag, of every kind, newest last.

        scope_id: where they were filed, a bucket or a name of the caller's own; None means this timeline. summary_tag:
        the tag. limit: at most that many, 1 to 200.
        """
        return self._summaries.load_recent(scope_id, summary_tag, limit)

    def load_last_summary(
        self,
        scope_id: str | None = None,
        *,
        summary_tag: str = "session",
        summary_kind: str = "long_term_summary",
        level: Level | None = "scope",
    ) -> dict[str, Any] | None:
        """Return the newest summary of a kind and a tag; None if there is none.

        scope_id, summary_tag: as in `load_recent_summaries`. summary_kind: the kind. level: as in `recent`.
        """
        return self._summaries.load_last(scope_id, summary_tag, summary_kind, level)

    def soft_hydrate_last_summary(
        self,
        scope_id: str | None = None,
        *,
        summary_tag: str = "session",
        summary_kind: str = "long_term_summary",
        level: Level | None = "scope",
    ) -> dict[str, Any] | None:
        """Load the newest summary and record on this timeline that it was loaded; None, and no record, without one.

        scope_id, summary_tag, summary_kind, level: as in `load_last_summary`.
        """
        return self._summaries.hydrate_last(scope_id, summary_tag, summary_kind, level)

    def chat_history_for_llm(
        self,
        *,
        limit: HistoryLimit = 20,
        include_system_summary: bool = True,
        summary_tag: str = "session",
        summary_scope_id: str | None = None,
        max_summaries: int = 3,
    ) -> dict[str, Any]:
        """Return the last messages in the form that chat models take, after a system message with the newest summaries.

        `summary` is the text of that system message, or empty where there is none.

        limit: at most that many messages, 0 to 10,000. include_system_summary: with False, there is no system message.
        summary_tag, summary_scope_id: the tag of the summaries, and where they were filed; None means this timeline.
        max_summaries: at most that many, 0 to 200.
        """
        summaries = max_summaries if include_system_summary else 0
        return self._prompts.build_history(limit, summary_scope_id, summary_tag, summaries)

    def build_prompt_segments(
        self,
        *,
        recent_chat_limit: int = 12,
        include_long_term: bool = True,
        summary_tag: str = "session",
        max_summaries: int = 3,
        include_recent_tools: bool = False,
        tool: str | None = None,
        tool_limit: int = 10,
    ) -> dict[str, Any]:
        """Return material for a prompt: the newest summaries, the last messages, and the last results of tools.

        Texts are sanitised: each is on one line and cannot be taken for a part of the prompt around it.

        recent_chat_limit, tool_limit: at most that many messages and results of tools, each 0 to 10,000.
        include_long_term, include_recent_tools: with False, summaries or results are left out. summary_tag: the tag of
        the summaries. max_summaries: at most that many, 0 to 200. tool: only the results of this tool; None means all
        tools.
        """
        summaries = max_summaries if include_long_term else 0
        results = tool_limit if include_recent_tools else 0
        return self._prompts.build_segments(recent_chat_limit, summary_tag, summaries, tool, results)

    def uri_of(self, event: Event) -> str:
        """Return the address of an event of this user: `file://…`, ending in `#` and its id, if events are mirrored.

        Without a mirror it is `longmind://mem/<timeline>/events/<event id>`, and for a summary the place where it is
        filed, `longmind://mem/<scope id>/summaries/<tag>/<ts>#<event id>`.
        """
        return self._addresses.build_uri(event)

    def jsonl_files(self) -> list[Path]:
        """Return the files that mirror this timeline, by day; none where events are not mirrored."""
        return self._addresses.list_files(self._log.timeline.id)

    def _read_newest(
        self, kinds: Sequence[str] | None, limit: int, offset: int, window: store.EventWindow | None
    ) -> list[Event]:
        """Return the newest events; those of the unfiltered hot log come from the cache."""
        limit = LIMIT.check("limit", limit)
        names = validate_names(kinds, "kinds")
        if window is None or names == ():
            return []
        if window.kept is not None:
            # The hot log has no more events than this, however many are requested.
            limit = min(limit, window.kept)
            if names is None and not window.narrows:
                return self._log.read(hot_log.read_newest, self._indexes, window, limit)
        return self._log.read(store.list_newest, window, limit, offset, names)

    def _read_states(
        self, key: str, tags: Sequence[str] | None, limit: int, level: Level | None, kind: str, *, hot: bool
    ) -> list[Event]:
        key, kind = validate_state_key(key), validate_kind(kind)
        limit = LIMIT.check("limit", limit)
        window = self._log.build_window(level, all_tags=tags, hot=hot)
        return [] if window is None else self._log.read(store.list_newest_states, window, limit, kind, key)

    @cached_property
    def _addresses(self) -> EventAddresses:
        return EventAddresses(self._log.scope, self._log.settings.events_jsonl_dir)

    @property
    def _search(self) -> EventSearch:
        return EventSearch(self._log, self._retriever)

    @property
    def _summaries(self) -> TimelineSummaries:
        return TimelineSummaries(self._log, self._addresses, self._distillers)

    @property
    def _prompts(self) -> PromptReader:
        return PromptReader(self._log, self._summaries)


def _to_rows(events: list[Event], return_event: bool) -> list[Any]:
    return events if return_event else [event.as_row() for event in events]
