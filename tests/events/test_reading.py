"""Reading events back: the hot log, the whole timeline, and one by its id."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from tests.clock import SettableClock
from tests.events.samples import context_of, texts

# Every example of a property has a timeline of its own.
EXAMPLES = count()


@pytest.mark.conforms("D1.6")
def test_the_last_events_come_newest_last(ctx: longmind.Context, clock: SettableClock) -> None:
    for number in range(5):
        ctx.events.record("note", f"Note {number}.")
        clock.advance(1)
    assert texts(ctx.events.recent()) == [f"Note {number}." for number in range(5)]
    assert texts(ctx.events.recent(limit=2)) == ["Note 3.", "Note 4."]


@pytest.mark.conforms("D1.6")
def test_filters_apply_before_the_limit(ctx: longmind.Context) -> None:
    for number in range(6):
        ctx.events.record("rare" if number < 2 else "usual", f"{number}")
    assert texts(ctx.events.recent(kinds=["rare"], limit=2)) == ["0", "1"]
    assert texts(ctx.events.recent(kinds=["usual", "rare"], limit=5)) == ["1", "2", "3", "4", "5"]
    assert ctx.events.recent(kinds=[]) == []
    assert ctx.events.recent(kinds=["unknown"]) == []


@pytest.mark.conforms("D1.14")
def test_an_event_is_found_by_its_id(ctx: longmind.Context, engine: longmind.Engine) -> None:
    event = ctx.events.record("note", {"a": [1, 2]}, tags=["x"], metrics={"seconds": 0.5})
    assert ctx.events.get_event(event.event_id) == event
    assert ctx.events.recent() == [event]
    assert ctx.events.recent_persisted() == [event]
    assert ctx.events.get_event("evt_missing") is None
    assert context_of(engine, user_id="bob").events.get_event(event.event_id) is None


@pytest.mark.conforms("D1.9", "V1", "V2")
def test_the_newest_are_kept_and_as_many_newer_ones_skipped_as_asked(ctx: longmind.Context) -> None:
    ctx.events.record_many([{"kind": "note", "text": f"{number}"} for number in range(5)])
    assert texts(ctx.events.recent_persisted(limit=2)) == ["3", "4"]
    assert texts(ctx.events.recent_persisted(limit=2, offset=2)) == ["1", "2"]
    assert texts(ctx.events.recent_persisted(kinds=["note", "chat.turn"], limit=2, offset=3)) == ["0", "1"]
    assert ctx.events.recent_persisted(offset=5) == []


@pytest.mark.conforms("D1.9", "V5")
def test_bounds_of_time_are_included_and_may_be_texts_or_datetimes(ctx: longmind.Context, clock: SettableClock) -> None:
    recorded = []
    for number in range(4):
        recorded.append(ctx.events.record("note", f"{number}"))
        clock.advance(60)
    second, third = recorded[1].ts, recorded[2].ts
    assert ctx.events.recent_persisted(since=second, until=third) == recorded[1:3]
    assert ctx.events.recent_persisted(since=datetime.fromisoformat(second)) == recorded[1:]
    assert ctx.events.recent_persisted(until="2026-03-01T10:31:00+01:00") == recorded[:2]
    assert ctx.events.recent_persisted(since="2026-03-01", until="2026-03-02", limit=1) == recorded[3:]
    assert ctx.events.recent_persisted(since=third, until=second) == []
    assert ctx.events.recent_persisted(kinds=["note"], since=third, limit=1, offset=1) == [recorded[2]]


@pytest.mark.conforms("D1.9")
def test_an_event_must_have_all_of_the_tags(ctx: longmind.Context) -> None:
    for tags in (["a"], ["b", "a"], ["a", "b", "c"], ["ab"], [], ['a"', "\\", ",", "é"]):
        ctx.events.record("note", "/".join(tags), tags=tags)
    assert texts(ctx.events.recent_persisted(tags=["a", "b"])) == ["b/a", "a/b/c"]
    assert texts(ctx.events.recent_persisted(tags=["a"], limit=1)) == ["a/b/c"]
    for odd in ('a"', "\\", ",", "é"):
        assert texts(ctx.events.recent_persisted(tags=[odd])) == ['a"/\\/,/é']
    assert len(ctx.events.recent_persisted(tags=[])) == 6


@pytest.mark.conforms("D1.10")
def test_an_event_can_be_had_as_a_dict(ctx: longmind.Context) -> None:
    event = ctx.events.record("note", {"a": 1}, tags=["x"], metrics={"seconds": 1.5})
    keys = (
        "event_id ts kind stage text tags data metrics tool topic severity signal inputs outputs run_id scope_id"
        " session_id graph_id node_id user_id org_id client_id"
    ).split()
    expected = {key: getattr(event, key) for key in keys}
    assert ctx.events.recent(return_event=False) == [expected]
    assert ctx.events.recent_persisted(return_event=False) == [expected]
    ctx.events.record_tool_result(tool="search")
    (result,) = ctx.events.recent_tool_results(tool="search", return_event=False)
    assert list(result) == keys


def test_messages_of_conversations_are_events_of_the_same_timeline(ctx: longmind.Context) -> None:
    ctx.events.record("note", "before")
    conversation = ctx.conversations.create_conversation("daily-checkin")
    turn = ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Good day"})
    ctx.conversations.append_system_message(conversation.id, "unseen", visibility="hidden")
    ctx.events.record("note", "after")
    assert texts(ctx.events.recent()) == ["before", "Hello", "Good day", "after"]
    message = ctx.events.get_event(turn.user_message.id)
    assert message is not None
    assert (message.kind, message.stage, message.tags, message.session_id) == ("chat.turn", "user", ["chat"], "s1")
    assert message.data == {
        "role": "user",
        "text": "Hello",
        "conversation_id": conversation.id,
        "turn_id": turn.turn_id,
        "sequence": 1,
    }
    assert ctx.events.recent(kinds=["chat.turn"], limit=2)[0] == message


def test_what_is_hidden_and_what_is_a_change_is_no_event(engine: longmind.Engine, ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("daily-checkin")
    hidden = ctx.conversations.append_system_message(conversation.id, "unseen", visibility="hidden")
    change = next(each for each in engine.follow() if each.kind == "conversation.created")
    assert ctx.events.recent() == []
    assert ctx.events.get_event(hidden.id) is None
    assert ctx.events.get_event(change.event_id) is None


def test_what_cannot_be_asked_is_refused_with_its_reason(ctx: longmind.Context) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("limit", {"limit": 0}),
        ("limit", {"limit": 10_001}),
        ("limit", {"limit": "5"}),
        ("offset", {"offset": -1}),
        ("offset", {"offset": True}),
        ("kinds", {"kinds": "note"}),
        (r"kinds\[1\]", {"kinds": ["note", 5]}),
        ("tags", {"tags": "ui"}),
        ("level", {"level": "galaxy"}),
        ("since", {"since": "yesterday"}),
        ("until", {"until": 5}),
    ]
    for said, arguments in asked:
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=said):
            ctx.events.recent_persisted(**arguments)


KINDS = ("note", "call", "chat.turn")
TAGS = ("a", "b", "c")

recorded_events = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(KINDS),
            "tags": st.lists(st.sampled_from(TAGS), unique=True, max_size=3),
            "ts": st.integers(0, 6).map(lambda minute: f"2026-03-01T09:{minute:02}:00Z"),
            "signal": st.sampled_from([0.0, 0.5]),
        }
    ),
    max_size=12,
)
minutes = st.none() | st.integers(0, 6).map(lambda minute: f"2026-03-01T09:{minute:02}:00Z")


@pytest.mark.conforms("D1.9", "V1")
@given(
    given_events=recorded_events,
    kinds=st.none() | st.lists(st.sampled_from(KINDS), max_size=3),
    tags=st.lists(st.sampled_from(TAGS), max_size=2),
    since=minutes,
    until=minutes,
    limit=st.integers(1, 6),
    offset=st.integers(0, 4),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_timeline_reads_like_a_list_that_is_sorted_and_filtered(
    given_events: list[dict[str, Any]],
    kinds: list[str] | None,
    tags: list[str],
    since: str | None,
    until: str | None,
    limit: int,
    offset: int,
    ctx: longmind.Context,
) -> None:
    log = ctx.events.at(bucket=f"example {next(EXAMPLES)}")
    recorded = sorted(log.record_many(given_events), key=lambda event: event.ts)
    wanted = [
        event
        for event in recorded
        if (kinds is None or event.kind in kinds)
        and {*tags} <= {*(event.tags or [])}
        and (since is None or event.ts[:19] >= since[:19])
        and (until is None or event.ts[:19] <= until[:19])
    ]
    expected = wanted[::-1][offset : offset + limit][::-1]
    found = log.recent_persisted(kinds=kinds, tags=tags, since=since, until=until, limit=limit, offset=offset)
    assert found == expected
    assert log.recent(kinds=kinds, limit=limit) == [e for e in recorded if kinds is None or e.kind in kinds][-limit:]
