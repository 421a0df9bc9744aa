"""Recording events: what is filled in, what is brought into form, and what is refused."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.scope import Level
from tests.clock import SettableClock
from tests.events.samples import context_of, texts

storable = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(storable, max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(storable, max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.conforms("D1.1")
def test_a_raw_event_is_completed(engine: longmind.Engine) -> None:
    ctx = context_of(
        engine, session_id="s1", run_id="r1", client_id="c1", agent_id="planner", graph_id="g1", node_id="n1"
    )
    event = ctx.events.record_raw(base={"kind": "user_action", "severity": 2}, text="User clicked a button.")
    assert event.event_id.startswith("evt_")
    assert (event.kind, event.text, event.severity) == ("user_action", "User clicked a button.", 2)
    assert (event.org_id, event.app_id, event.user_id) == ("acme", "support", "ada")
    assert (event.session_id, event.run_id, event.client_id) == ("s1", "r1", "c1")
    assert (event.agent_id, event.graph_id, event.node_id) == ("planner", "g1", "n1")
    assert event.scope_id == "session:s1"
    assert event.signal > 0
    assert ctx.events.recent() == [event]
    assert ctx.events.recent_persisted() == [event]


@pytest.mark.conforms("D1.1", "D1.3")
def test_everything_that_was_given_is_read_back(ctx: longmind.Context) -> None:
    event = ctx.events.record_raw(
        base={
            "kind": "tool_call",
            "stage": "execution",
            "severity": 3,
            "signal": 0.25,
            "data": {"nested": {"list": [1, 2.5, None, True, "é\U0001f9e0"]}},
            "tags": ["a", "b"],
            "topic": "search",
            "inputs": [{"q": "status"}],
            "outputs": [{"ok": True}, "text", 5],
            "embedding": [0.5, -1],
            "pii_flags": {"email": True, "phone": False},
            "ts": "2026-02-01T00:00:00+01:00",
        },
        text="Tool executed successfully.",
        metrics={"latency": 0.123, "tokens_used": 45},
    )
    assert event.ts == "2026-01-31T23:00:00.000000Z"
    assert (event.metrics, event.embedding) == ({"latency": 0.123, "tokens_used": 45}, [0.5, -1.0])
    assert (event.inputs, event.outputs) == ([{"q": "status"}], [{"ok": True}, "text", 5])
    assert ctx.events.recent_persisted() == [event]
    assert ctx.events.get_event(event.event_id) == event


@pytest.mark.conforms("D1.1", "V11b")
def test_without_a_text_it_is_made_from_the_data(ctx: longmind.Context) -> None:
    assert ctx.events.record_raw(base={"kind": "note", "data": {"a": 1}}).text == '{"a":1}'
    assert ctx.events.record_raw(base={"kind": "note", "data": "Hello"}).text == "Hello"
    assert ctx.events.record_raw(base={"kind": "note", "text": "Given", "data": {"a": 1}}).text == "Given"
    assert ctx.events.record_raw(base={"kind": "note"}).text is None


@pytest.mark.conforms("D1.2")
def test_an_event_without_a_kind_is_misc(ctx: longmind.Context) -> None:
    assert ctx.events.record_raw(base={}).kind == "misc"
    assert ctx.events.record_raw(base={"kind": None}, text="Hello").kind == "misc"
    mistakes: list[Any] = [0, False, []]
    for wrong in mistakes:
        with pytest.raises(longmind.InvalidInput, match="kind"):
            ctx.events.record_raw(base={"kind": wrong})


@pytest.mark.conforms("D1.3")
def test_a_kind_and_data_make_an_event(ctx: longmind.Context) -> None:
    event = ctx.events.record(
        "tool_call",
        {"tool": "search", "query": "weather"},
        ["ui"],
        3,
        "start",
        [{"in": 1}],
        [{"out": 2}],
        {"latency": 0.5},
        0.9,
        "Searched.",
    )
    assert (event.kind, event.tags, event.severity, event.stage) == ("tool_call", ["ui"], 3, "start")
    assert (event.inputs, event.outputs, event.metrics) == ([{"in": 1}], [{"out": 2}], {"latency": 0.5})
    assert (event.signal, event.text, event.data) == (0.9, "Searched.", {"tool": "search", "query": "weather"})


@pytest.mark.conforms("D1.4")
@given(
    text=st.text("ab ", max_size=500),
    severity=st.integers(1, 3),
    metrics=st.dictionaries(st.sampled_from("ab"), st.floats(0, 9), max_size=2),
)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_signal_that_is_not_given_is_weighed(
    text: str, severity: int, metrics: dict[str, float], ctx: longmind.Context
) -> None:
    event = ctx.events.record("note", None, severity=severity, metrics=metrics, text=text)
    expected = 0.15 + 0.1 * severity + min(len(text) / 400, 0.4) + (0.2 if metrics else 0)
    assert event.signal == pytest.approx(min(expected, 1))
    assert ctx.events.record("note", None, signal=0.0, text=text).signal == 0


FORMS: list[tuple[Any, Any, str | None]] = [
    ({"a": 1}, {"a": 1}, '{"a":1}'),
    ("Hello", None, "Hello"),
    (None, None, None),
    ([1, "b"], {"value": [1, "b"]}, '[1,"b"]'),
    ((1, 2), {"value": [1, 2]}, "[1,2]"),
    (5, {"value": 5}, "5"),
    (False, {"value": False}, "false"),
    ({}, {}, "{}"),
    ({1: "a"}, {"1": "a"}, '{"1":"a"}'),
    ({1}, {"repr": "{1}"}, '{"repr":"{1}"}'),
    ({"a": {1}}, {"repr": "{'a': {1}}"}, '{"repr":"{\'a\': {1}}"}'),
    (float("nan"), {"repr": "nan"}, '{"repr":"nan"}'),
]


@pytest.mark.conforms("D1.5")
def test_data_is_brought_into_form(ctx: longmind.Context) -> None:
    recorded = [ctx.events.record("note", data) for data, _, _ in FORMS]
    assert [(event.data, event.text) for event in recorded] == [(kept, text) for _, kept, text in FORMS]
    assert ctx.events.recent() == recorded


@pytest.mark.conforms("D1.5")
def test_a_text_made_from_long_data_is_cut_and_says_so(ctx: longmind.Context) -> None:
    fits, long = ctx.events.record("note", "x" * 2000), ctx.events.record("note", {"a": "x" * 3000})
    assert fits.text == "x" * 2000
    assert long.text is not None
    assert len(long.text) == 2000
    assert long.text.endswith("…")
    assert long.data == {"a": "x" * 3000}
    assert ctx.events.record("note", {}, text="x" * 3000).text == "x" * 3000


@pytest.mark.conforms("D1.5")
def test_tags_are_stripped_and_said_once_in_their_order(ctx: longmind.Context) -> None:
    event = ctx.events.record("note", "x", tags=[" b ", "a", "", "  ", "b", "a "])
    assert event.tags == ["b", "a"]
    assert ctx.events.record("note", "x").tags == []
    assert [each.tags for each in ctx.events.recent()] == [["b", "a"], []]


@pytest.mark.conforms("D1.1", "D1.3")
@given(
    data=st.dictionaries(st.text(storable, max_size=8), json_values, max_size=4),
    inputs=st.lists(json_values, max_size=3),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_json_is_read_back_as_it_was_given(data: dict[str, Any], inputs: list[Any], ctx: longmind.Context) -> None:
    event = ctx.events.record("note", data, inputs_ref=inputs)
    assert (event.data, event.inputs) == (data, inputs)
    assert ctx.events.get_event(event.event_id) == event


def test_what_the_caller_does_to_its_data_afterwards_changes_no_event(ctx: longmind.Context) -> None:
    data: dict[str, Any] = {"list": [1]}
    event = ctx.events.record("note", data)
    data["list"].append(2)
    assert event.data == {"list": [1]}


OTHERS: dict[str, Any] = {
    "user_id": "bob",
    "org_id": "globex",
    "app_id": "sales",
    "client_id": "c2",
    "session_id": "s2",
    "run_id": "r2",
    "agent_id": "writer",
    "scope_id": "session:s2",
    "graph_id": "g2",
    "node_id": 5,
}


@pytest.mark.conforms("T26", "D1.2")
def test_an_event_cannot_claim_another_identity(engine: longmind.Engine) -> None:
    ctx = context_of(engine, session_id="s1", run_id="r1", client_id="c1", graph_id="g1", node_id="n1")
    for name, value in OTHERS.items():
        with pytest.raises(longmind.InvalidIdentity, match=name):
            ctx.events.record_raw(base={"kind": "note", name: value}, text="x")
        with pytest.raises(longmind.InvalidIdentity, match=name):
            ctx.events.record_many([{"kind": "note", "text": "x"}, {"kind": "note", name: value}])
    assert ctx.events.recent() == []


@pytest.mark.conforms("T26", "D1.2")
def test_an_event_may_repeat_the_identity_of_its_context(ctx: longmind.Context, engine: longmind.Engine) -> None:
    own = {"user_id": "ada", "org_id": "acme", "run_id": "r1", "session_id": "s1", "scope_id": "session:s1"}
    assert ctx.events.record_raw(base={"kind": "note", **own, "client_id": None}).run_id == "r1"
    # A context that runs for a whole graph may say which part of it something happened in.
    assert ctx.events.record_raw(base={"kind": "note", "node_id": "n7"}).node_id == "n7"
    with pytest.raises(longmind.InvalidIdentity, match="run_id"):
        context_of(engine).events.record_raw(base={"kind": "note", "run_id": "r1"})


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"kind": " "}, "kind is blank"),
    ({"kind": 5}, "kind must be a text"),
    ({"kind": "x" * 256}, "kind"),
    ({"tags": "ui"}, "tags must be a list"),
    ({"tags": [5]}, r"tags\[0\] must be a text"),
    ({"tags": ["x" * 256]}, r"tags\[0\]"),
    ({"tags": [f"{number}" for number in range(101)]}, "tags"),
    ({"text": "a\x00b"}, "NUL"),
    ({"data": "a\x00b"}, "NUL"),
    ({"data": {"a": "\ud800"}}, "surrogate"),
    ({"data": {"a": ["b\x00"]}}, "NUL"),
    ({"data": {"a": "x" * (1024 * 1024)}}, "data"),
    ({"inputs": "text"}, "inputs must be a list"),
    ({"outputs": [object()]}, r"outputs\[0\]"),
    ({"metrics": {"a": "fast"}}, "metrics.a"),
    ({"metrics": {"a": float("inf")}}, "metrics.a"),
    ({"metrics": [1]}, "metrics must be"),
    ({"embedding": ["a"]}, r"embedding\[0\]"),
    ({"pii_flags": {"email": "yes"}}, "pii_flags"),
    ({"version": 0}, "version"),
    ({"ts": "yesterday"}, "ts"),
    ({"ts": "2026-03-03T00:00:00Z"}, "future"),
    ({"event_id": "evt_mine"}, "event_id"),
    ({"colour": "red"}, "colour"),
]


def test_what_cannot_be_an_event_is_refused_with_its_reason(ctx: longmind.Context) -> None:
    for base, said in REFUSED:
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=said):
            ctx.events.record_raw(base=base)
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=said):
            ctx.events.record_many([{"text": "fine"}, base])
    assert ctx.events.recent() == []


def test_data_that_is_nested_too_deeply_is_refused(ctx: longmind.Context) -> None:
    deep: Any = 1
    for _ in range(90):
        deep = {"a": deep}
    event = ctx.events.record("note", deep)
    assert ctx.events.recent_persisted() == [event]
    with pytest.raises(longmind.LimitExceeded, match="depth"):
        ctx.events.record("note", [[[[[[[[[[[deep]]]]]]]]]]])
    with pytest.raises(longmind.InvalidInput, match="base must be a dict"):
        ctx.events.record_raw(base=[])  # type: ignore[arg-type]


def test_a_text_that_only_spells_a_nul_is_kept(ctx: longmind.Context) -> None:
    assert ctx.events.record("note", {"a": "\\u0000"}).data == {"a": "\\u0000"}
    assert [event.data for event in ctx.events.recent()] == [{"a": "\\u0000"}]


@pytest.mark.conforms("D1.3")
def test_many_events_are_recorded_at_once_in_their_order(ctx: longmind.Context) -> None:
    recorded = ctx.events.record_many([{"kind": "note", "text": f"{number}"} for number in range(200)])
    assert texts(recorded) == [f"{number}" for number in range(200)]
    assert ctx.events.recent(limit=1000) == recorded
    assert ctx.events.record_many([]) == []
    with pytest.raises(longmind.InvalidInput, match="list"):
        ctx.events.record_many({"kind": "note"})  # type: ignore[arg-type]
    with pytest.raises(longmind.LimitExceeded, match="events"):
        ctx.events.record_many([{}] * 10_001)


@pytest.mark.conforms("D1.1")
def test_many_events_of_all_sorts_are_kept_and_told_as_they_are(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    odd = ["", "NULL", '"', "\\", "{a,b}", "a\nb", "'", '{"x": "\\"}', "字", "\x01"]
    given: list[dict[str, Any]] = [
        {"kind": "note", "text": text, "tags": [f"t{text}"], "data": {"a": text}, "signal": 0.5} for text in odd
    ]
    given += [
        {},
        {"ts": "2026-02-27T00:00:00Z", "stage": "begin", "topic": "planner", "severity": 1, "metrics": {"a": 0.1}},
        {"inputs": [{"q": "\\"}], "outputs": [None], "embedding": [0.5, 1.0], "pii_flags": {"name": True}},
        {"tags": ["state", "state:plan"], "graph_id": "g1", "node_id": "n1", "version": 3},
    ]
    recorded = ctx.events.record_many(given + [{"text": f"{number}"} for number in range(600)])
    assert sorted(ctx.events.recent_persisted(limit=1000), key=lambda event: event.event_id) == sorted(
        recorded, key=lambda event: event.event_id
    )
    # The one from before comes first; the others are of one instant, and stand as they were given.
    assert ctx.events.recent_persisted(limit=1000)[1:] == [event for event in recorded if event.stage != "begin"]
    assert list(engine.follow()) == told
    assert [change.event_id for change in told] == [event.event_id for event in recorded]


def test_long_events_recorded_at_once_are_sent_apart(ctx: longmind.Context) -> None:
    long = "x" * 1_000_000
    recorded = ctx.events.record_many([{"kind": "note", "text": f"{number}{long}"} for number in range(18)])
    assert [(event.text or "")[:3] for event in ctx.events.recent()] == [(event.text or "")[:3] for event in recorded]


@pytest.mark.conforms("T25")
def test_names_may_be_long_in_any_script(engine: longmind.Engine) -> None:
    chosen = random.Random(7)

    def name() -> str:
        # From all of a large block, so that nothing can be made shorter by what is said twice.
        return "".join(chr(chosen.randrange(0x20000, 0x2A6D0)) for _ in range(249))

    ctx = context_of(engine, tenant_id=name(), user_id=name(), session_id=name(), run_id=name())
    for events in (*(ctx.events.at(level) for level in get_args(Level)), ctx.events.at(bucket=name())):
        state, kind, tool = name(), name(), name()
        recorded = events.record_state(state, 1, kind=kind)
        events.record_tool_result(tool=tool, message="Done.")
        events.record_chat_user("Hello")
        assert events.state_history(state, kind=kind) == [recorded]
        assert [event.text for event in events.recent_tool_results(tool=tool)] == ["Done."]
        assert [turn["text"] for turn in events.recent_chat()] == ["Hello"]
        # What names the timeline here names it elsewhere too.
        assert events.distill_long_term()["scope_id"] == events.scope_id()
        assert ctx.events.load_last_summary(events.scope_id()) == events.load_last_summary()


def test_events_recorded_at_once_are_all_there_or_none(ctx: longmind.Context) -> None:
    with pytest.raises(longmind.InvalidInput, match="severity"):
        ctx.events.record_many([{"text": "fine"}, {"severity": 7}])
    assert ctx.events.recent() == []


def test_something_older_is_brought_in_at_its_own_time(ctx: longmind.Context, clock: SettableClock) -> None:
    now = ctx.events.record("note", "now")
    old = ctx.events.record_raw(base={"kind": "note", "ts": datetime(2026, 2, 27, tzinfo=UTC)}, text="before")
    assert ctx.events.recent() == [old, now]
    assert ctx.events.recent_persisted(until="2026-02-28T00:00:00Z") == [old]


def test_recorded_events_are_announced_without_what_they_say(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append, kinds=["event.recorded"])
    # Even one that is named like a change of memory is told as what it is.
    event = ctx.events.record("atoms.added", {"secret": "words"}, stage="begin")
    chat = ctx.events.record_chat_user("secret words")
    (first, second) = told
    assert first.data == {"kind": "atoms.added", "stage": "begin", "timelineId": "org:acme|session:s1"}
    assert (first.event_id, second.event_id, second.data["kind"]) == (event.event_id, chat.event_id, "chat.turn")
    assert "secret" not in json.dumps([change.model_dump() for change in told])
    assert list(engine.follow()) == told
