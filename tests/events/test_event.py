"""What an event is: its fields, their defaults, its id and its time."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

import longmind
from tests.clock import SettableClock

FIELDS = (
    "event_id ts run_id scope_id user_id org_id client_id session_id kind stage text tags data metrics graph_id node_id"
    " tool topic severity signal inputs outputs app_id agent_id embedding pii_flags version"
).split()


@pytest.mark.conforms("D0.1")
def test_an_event_has_all_its_fields_and_their_defaults() -> None:
    event = longmind.Event(event_id="evt_1", ts="2026-03-01T09:30:00.000000Z")
    assert set(longmind.Event.model_fields) == set(FIELDS)
    assert (event.kind, event.severity, event.signal, event.version) == ("misc", 2, 0.0, 2)
    others = set(FIELDS) - {"event_id", "ts", "kind", "severity", "signal", "version"}
    assert {name: getattr(event, name) for name in others} == dict.fromkeys(others)


@pytest.mark.conforms("D0.1")
def test_an_event_cannot_be_changed_and_its_json_has_the_names_of_its_attributes() -> None:
    event = longmind.Event(event_id="evt_1", ts="2026-03-01T09:30:00.000000Z", session_id="s1")
    with pytest.raises(ValidationError):
        event.text = "other"
    written = json.loads(event.model_dump_json())
    assert set(written) == set(FIELDS)
    assert longmind.Event.model_validate(written) == event


@pytest.mark.conforms("D0.1")
def test_a_severity_is_1_to_3_and_a_signal_0_to_1(ctx: longmind.Context) -> None:
    for name, value in (("severity", 0), ("severity", 4), ("signal", 1.5), ("signal", -0.1)):
        with pytest.raises(ValidationError):
            longmind.Event.model_validate({"event_id": "evt_1", "ts": "2026-03-01T09:30:00.000000Z", name: value})
        with pytest.raises(longmind.InvalidInput, match=name):
            ctx.events.record_raw(base={"kind": "note", name: value})
    assert ctx.events.recent() == []


@pytest.mark.conforms("D0.1")
def test_tool_is_another_name_of_topic(ctx: longmind.Context) -> None:
    by_tool = ctx.events.record_raw(base={"kind": "call", "tool": "search"})
    by_topic = ctx.events.record_raw(base={"kind": "call", "topic": "search"})
    for event in (by_tool, by_topic, *ctx.events.recent(), longmind.Event(event_id="e", ts="t", tool="search")):
        assert (event.tool, event.topic) == ("search", "search")
    with pytest.raises(longmind.InvalidInput, match="topic"):
        ctx.events.record_raw(base={"kind": "call", "topic": "search", "tool": "planner"})
    with pytest.raises(ValidationError, match="topic"):
        longmind.Event(event_id="e", ts="t", tool="search", topic="planner")


@pytest.mark.conforms("V4", "D1.1")
def test_equal_texts_in_the_same_microsecond_have_ids_of_their_own(ctx: longmind.Context) -> None:
    one_by_one = [ctx.events.record_chat_user("Hello") for _ in range(20)]
    at_once = ctx.events.record_many([{"kind": "chat.turn", "stage": "user", "text": "Hello"}] * 20)
    every = [*one_by_one, *at_once]
    assert len({event.ts for event in every}) == 1
    assert len({event.event_id for event in every}) == 40
    assert [event.event_id for event in ctx.events.recent()] == [event.event_id for event in every]


@pytest.mark.conforms("V3", "T23")
def test_an_instant_is_the_same_text_wherever_an_event_comes_from(ctx: longmind.Context, clock: SettableClock) -> None:
    clock.advance(0.12)
    event = ctx.events.record("note", "Hello")
    assert event.ts == "2026-03-01T09:30:00.120000Z"
    found = ctx.events.get_event(event.event_id)
    rows = ctx.events.recent(return_event=False) + ctx.events.recent_persisted(return_event=False)
    every = [found, *ctx.events.recent(), *ctx.events.recent_persisted()]
    assert [each.ts for each in every if each] == [event.ts] * 3
    assert [row["ts"] for row in rows] == [event.ts] * 2
