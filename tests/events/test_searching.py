"""Search: what is found, by which mode, and what filters leave out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import longmind
from longmind.clock import to_iso
from longmind.models.event_search import SearchMode
from longmind.scope import Level
from tests.clock import SettableClock
from tests.events.samples import context_of, texts
from tests.events.synonym_embedder import MeaningEmbedder

MODES: tuple[SearchMode, ...] = ("auto", "semantic", "lexical", "hybrid")


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=MeaningEmbedder(), clock=clock) as engine:
        yield engine


@pytest.fixture
def log(ctx: longmind.Context, clock: SettableClock) -> longmind.Context:
    """A timeline on which a few things have happened, a minute apart."""
    for kind, text, tags in (
        ("note", "the blue car is in the garage", ["home", "vehicle"]),
        ("note", "I drink tea in the morning", ["home"]),
        ("deploy", "deployment failure on host alpha", ["ops", "error"]),
        ("deploy", "deployment done on host beta", ["ops"]),
        ("note", "the garage door is open", ["home"]),
    ):
        ctx.events.record(kind, text, tags=tags)
        clock.advance(60)
    return ctx


@pytest.mark.conforms("D1.11", "D1.12")
def test_meaning_finds_what_shares_no_word_with_the_query(log: longmind.Context) -> None:
    for mode in ("auto", "semantic", "hybrid", None):
        assert texts(log.events.search("automobile", mode=mode)) == ["the blue car is in the garage"]
        assert texts(log.events.search("the rollout crashed", mode=mode, limit=1)) == [
            "deployment failure on host alpha"
        ]
    assert log.events.search("automobile", mode="lexical") == []
    assert log.events.search("automobile", use_embedding=False) == []


@pytest.mark.conforms("D1.12")
def test_words_are_found_without_an_embedder_whatever_the_mode(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        ctx = context_of(engine, session_id="s1")
        for text in ("a timeout on host alpha", "all is well", "timeouts are rare"):
            ctx.events.record("note", text)
        for mode in MODES:
            assert set(texts(ctx.events.search("timeout", mode=mode))) == {
                "a timeout on host alpha",
                "timeouts are rare",
            }
        assert ctx.events.search("automobile") == []


@pytest.mark.conforms("D1.12")
def test_hybrid_weighs_meaning_and_words_and_each_alone_ranks_by_itself(ctx: longmind.Context) -> None:
    close, wordy = "rollout crashed", "deployment deployment deployment notes and of the of the of the"
    ctx.events.record("note", close)
    ctx.events.record("note", wordy)
    ctx.events.record("note", "nothing of the kind")
    assert texts(ctx.events.search("deployment failure", mode="semantic"))[0] == close
    assert texts(ctx.events.search("deployment failure", mode="lexical")) == [wordy]
    # Meaning has the greater share: the one that is nearest has 0.6, the one that has all words 0.4.
    assert texts(ctx.events.search("deployment failure", mode="hybrid")) == [close, wordy]


@pytest.mark.conforms("D1.11", "D1.12")
def test_without_a_query_the_newest_events_come_first(log: longmind.Context) -> None:
    everything = texts(reversed(log.events.recent(limit=10)))
    asked: list[tuple[str | None, SearchMode | None]] = [
        (None, None), ("", "semantic"), ("  \n", "hybrid"), ("garage", "structural")
    ]  # fmt: skip
    for query, mode in asked:
        assert texts(log.events.search(query, mode=mode)) == everything
        assert texts(log.events.search(query, mode=mode, limit=2)) == everything[:2]
        assert texts(log.events.search(query, mode=mode, tags=["home"], limit=2)) == [
            "the garage door is open",
            "I drink tea in the morning",
        ]
    assert texts(log.events.search(kinds=["deploy"], limit=1)) == ["deployment done on host beta"]
    assert texts(log.events.search(kinds=["deploy"], tags=["error"])) == ["deployment failure on host alpha"]


@pytest.mark.conforms("D1.11")
@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_filters_are_applied_before_the_limit(ctx: longmind.Context, clock: SettableClock, mode: Any) -> None:
    ctx.events.record("rare", "deployment failure", tags=["a", "b"])
    clock.advance(3600)
    # All of these answer the query better, and would fill any limit.
    ctx.events.record_many([{"kind": "common", "text": "failure", "tags": ["a"]} for _ in range(150)])
    narrowed: list[dict[str, Any]] = [{"kinds": ["rare"]}, {"tags": ["b"]}, {"tags": ["a", "b"]}]
    for filters in narrowed:
        assert texts(ctx.events.search("failure", mode=mode, limit=1, **filters)) == ["deployment failure"]
    assert len(ctx.events.search("failure", mode=mode)) == 100
    assert len(ctx.events.search("failure", mode=mode, time_window="30m", limit=1000)) == 150
    assert ctx.events.search("failure", mode=mode, tags=["a", "none"]) == []
    assert ctx.events.search("failure", mode=mode, kinds=[]) == []


@pytest.mark.conforms("D1.11")
def test_an_event_that_left_the_hot_log_is_found(database_url: str, clock: SettableClock) -> None:
    with longmind.open(database_url, embedder=None, clock=clock, hot_log_events=2, hot_log_days=1) as engine:
        events = context_of(engine, session_id="s1").events
        events.record("note", "zebra")
        clock.advance(30 * 24 * 3600)
        events.record_many([{"kind": "note", "text": "horse"} for _ in range(5)])
        assert "zebra" not in texts(events.recent(limit=50))
        assert texts(events.search("zebra")) == ["zebra"]


@pytest.mark.conforms("D1.15", "V8")
def test_when_nothing_has_to_do_with_the_query_nothing_is_found(log: longmind.Context) -> None:
    for mode in (*MODES, None):
        for use_embedding in (True, False):
            assert log.events.search("zebra quokka", mode=mode, use_embedding=use_embedding) == []
    assert log.events.search_state("garage") == []


STRANGE = (
    "!!! ??", "...", '"', "'", "don't use C++", "a AND", "AND OR NOT", "user-id", "(", "*", "%", "\\", "--", ";",
    "NEAR/2 x", "col:x", "日本語", "日", "สวัสดี", "\u0301", "🎉🎉", "\x00", "\ud800", "x" * 20_000, "a\nb\tc", "0",
)  # fmt: skip


@pytest.mark.conforms("V11", "V12")
def test_any_text_can_be_asked_for(log: longmind.Context) -> None:
    for query in STRANGE:
        for mode in MODES:
            assert len(log.events.search(query, mode=mode)) < 5, query
        assert log.events.search_state(query) == []


@pytest.mark.conforms("V11")
def test_signs_alone_find_nothing_and_other_scripts_find_their_words(log: longmind.Context) -> None:
    log.events.record("note", "明日は東京で会議があります")
    for mode in MODES:
        assert log.events.search("!!! ?? ...", mode=mode) == []
        assert texts(log.events.search("東京", mode=mode)) == ["明日は東京で会議があります"]
        assert texts(log.events.search('"garage door"', mode=mode))[0] == "the garage door is open"


@pytest.mark.conforms("D1.13")
def test_a_window_reaches_back_from_now(log: longmind.Context) -> None:
    for window, found in {"90s": 1, " 2 m ": 2, "3m": 3, "1h": 5, "7d": 5, "0s": 0, "9" * 30 + "d": 5}.items():
        within = log.events.search(time_window=window)
        assert len(within) == found
        about = log.events.search("garage", mode="lexical", time_window=window)
        assert len(about) == sum("garage" in str(event.text) for event in within)


@pytest.mark.conforms("D1.13")
def test_a_window_that_cannot_be_read_is_a_value_error(log: longmind.Context) -> None:
    windows: list[Any] = ["", "7", "d", "7w", "-1d", "1.5h", "1h30m", "7D", 7, b"7d"]
    for window in windows:
        for call in (log.events.search, log.events.search_state):
            with pytest.raises(ValueError, match="time_window") as refused:
                call("garage", time_window=window)
            assert isinstance(refused.value, longmind.InvalidInput)
            assert "15m" in refused.value.hint


def test_what_cannot_be_meant_is_refused(log: longmind.Context) -> None:
    mistakes: list[dict[str, Any]] = [
        {"mode": "fuzzy"}, {"limit": 0}, {"limit": True}, {"query": 7}, {"tags": "ops"}, {"level": "planet"},
        {"kinds": "note"},
    ]  # fmt: skip
    for mistake in mistakes:
        with pytest.raises(longmind.InvalidInput):
            log.events.search(**{"query": "garage", **mistake})
    instants: list[Any] = ["yesterday", True, float("nan"), [], b"1"]
    for instant in instants:
        with pytest.raises(longmind.InvalidInput, match="created_at_min"):
            log.events.search_state("x", created_at_min=instant)
    assert log.events.search_state("garage", created_at_min=10**400) == []


@pytest.mark.conforms("D1.11", "T20")
def test_a_level_narrows_to_the_session_or_the_run_and_fails_closed(engine: longmind.Engine) -> None:
    for session, run in (("s1", "r1"), ("s1", "r2"), ("s2", "r3")):
        here = context_of(engine, session_id=session, run_id=run).events.at("user")
        here.record("note", f"failure in {session} {run}", tags=["x"])
    everything = {"failure in s1 r1", "failure in s1 r2", "failure in s2 r3"}
    events = context_of(engine, session_id="s1", run_id="r2").events.at("user")
    nowhere = context_of(engine).events
    narrow: dict[Level, set[str]] = {"session": {"failure in s1 r1", "failure in s1 r2"}, "run": {"failure in s1 r2"}}
    wide: tuple[Level | None, ...] = (None, "scope", "user", "org")
    for query in ("failure", None):
        for level in wide:
            assert set(texts(events.search(query, level=level))) == everything
        for level, found in narrow.items():
            assert set(texts(events.search(query, level=level))) == found
            assert nowhere.search(query, level=level) == []
            assert nowhere.at(level).search(query) == []


def test_each_timeline_and_each_user_is_searched_apart(engine: longmind.Engine) -> None:
    ada, bob = context_of(engine, session_id="s1"), context_of(engine, session_id="s1", user_id="bob")
    ada.events.record("note", "the zebra of ada")
    bob.events.record("note", "the zebra of bob")
    ada.events.at("user").record("note", "another zebra")
    assert texts(ada.events.search("zebra")) == ["the zebra of ada"]
    assert texts(ada.events.at("user").search("zebra")) == ["another zebra"]
    assert context_of(engine, session_id="s2").events.search("zebra") == []


def test_messages_of_conversations_are_found_as_they_stand(engine: longmind.Engine) -> None:
    ctx = context_of(engine, session_id="s1")
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_turn(
        conversation.id, user_content="Where is the zebra?", assistant={"content": "In the zoo."}, idempotency_key="k"
    )
    assert texts(ctx.events.search("zebra zoo", mode="lexical")) == ["In the zoo.", "Where is the zebra?"]
    # Another answer to the same question takes the place of the first.
    ctx.conversations.append_user_message(conversation.id, "Where is the zebra?", idempotency_key="q")
    for answer in ("At the quay.", "At the lake."):
        ctx.conversations.append_user_message(conversation.id, "Where is the zebra?", idempotency_key="q")
        ctx.conversations.append_assistant_turn(conversation.id, answer)
        assert texts(ctx.events.search(answer, kinds=["chat.turn"], mode="lexical")) == [answer]
    assert ctx.events.search("quay", mode="lexical") == []
    assert "At the quay." not in texts(ctx.events.search(tags=[], level="session", limit=50))


@pytest.mark.conforms("D4.4", "D4.5")
def test_states_are_found_by_query_key_tags_and_time(ctx: longmind.Context, clock: SettableClock) -> None:
    events = ctx.events
    events.record("note", "the temperature is high", tags=["state-of-mind"])
    before = clock.now
    events.record_state("room", {"temperature": 21}, tags=["north"])
    clock.advance(3600)
    events.record_state("room", {"temperature": 23}, tags=["north", "warm"])
    events.record_state("oven", {"temperature": 180}, tags=["warm"])
    events.record_state("lamp", {"on": True})

    def values(**more: Any) -> list[Any]:
        return [(result.event.data or {})["value"] for result in events.search_state("temperature", **more)]

    assert {str(value) for value in values()} == {"{'temperature': 21}", "{'temperature': 23}", "{'temperature': 180}"}
    assert values(key="oven") == [{"temperature": 180}]
    assert values(key="room", top_k=1) == [{"temperature": 23}]
    assert values(key="room", tags=["warm"]) == [{"temperature": 23}]
    assert values(tags=["north", "warm"]) == [{"temperature": 23}]
    assert values(key="none") == values(tags=["none"]) == []
    assert values(key="room", time_window="30m") == [{"temperature": 23}]
    # A bound that is given wins over the window's.
    at = datetime.fromtimestamp(before / 1_000_000, UTC)
    for first in (to_iso(before), at, before / 1_000_000):
        assert len(values(key="room", time_window="30m", created_at_min=first)) == 2
        assert values(key="room", created_at_max=first) == [{"temperature": 21}]
    assert values(created_at_min=to_iso(clock.now + 1)) == []


@pytest.mark.conforms("D4.4")
def test_a_state_that_was_found_comes_with_its_item_and_its_score(ctx: longmind.Context) -> None:
    recorded = ctx.events.record_state("planner", {"mode": "fast"}, tags=["k"])
    ctx.events.record_state("session_config", {"planner": "slow", "much": "more", "than": "that"})
    first, second = ctx.events.search_state("planner fast")
    assert first.event == recorded
    assert (first.item.item_id, first.item.corpus, first.item.score) == (recorded.event_id, "event", first.score)
    assert 1 >= first.score > second.score > 0
    assert first.item.metadata["kind"] == "state.snapshot"
    assert first.item.metadata["tags"] == ["state", "state:planner", "k"]
    assert [result.score for result in ctx.events.search_state("")] == [0.0, 0.0]
