"""States: snapshots of a value under a key."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import longmind
from longmind.scope import Level
from tests.events.samples import context_of


class Mood(Enum):
    GOOD = "good"


@dataclass
class Plan:
    step: str
    seen: set[int] = field(default_factory=set)
    inner: Any = None


class Config(BaseModel):
    temperature: float
    since: date


Point = namedtuple("Point", "x y")


@pytest.mark.conforms("D4.1")
def test_a_state_is_recorded(ctx: longmind.Context) -> None:
    event = ctx.events.record_state(
        "session_config", {"temperature": 0.2, "b": 1}, tags=["runtime"], meta={"source": "bootstrap"}, severity=1
    )
    assert (event.kind, event.severity) == ("state.snapshot", 1)
    assert event.tags == ["state", "state:session_config", "runtime"]
    value = {"temperature": 0.2, "b": 1}
    assert event.data == {"key": "session_config", "value": value, "meta": {"source": "bootstrap"}}
    assert event.text == 'state:session_config {"b": 1, "temperature": 0.2}'
    other = ctx.events.record_state("k", 1, kind="custom.state", stage="end", signal=0.75)
    assert (other.kind, other.stage, other.signal) == ("custom.state", "end", 0.75)
    assert ctx.events.recent() == [event, other]


@pytest.mark.conforms("D4.1")
def test_values_of_python_become_plain_json(ctx: longmind.Context) -> None:
    value = {
        "plan": Plan("draft", {3, 1, 2}, Plan("inner")),
        "config": Config(temperature=0.5, since=date(2026, 1, 2)),
        "point": Point(1, 2),
        "mood": Mood.GOOD,
        "when": datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        "names": frozenset({"b", "a"}),
        7: (1, None, True),
    }
    event = ctx.events.record_state("planner", value)
    expected = {
        "plan": {"step": "draft", "seen": [1, 2, 3], "inner": {"step": "inner", "seen": [], "inner": None}},
        "config": {"temperature": 0.5, "since": "2026-01-02"},
        "point": [1, 2],
        "mood": "good",
        "when": "2026-03-01T09:30:00+00:00",
        "names": ["a", "b"],
        "7": [1, None, True],
    }
    assert ctx.events.latest_state("planner") == expected
    assert event.data is not None
    assert "kept_as_text" not in event.data


@pytest.mark.conforms("D4.1")
def test_what_can_only_be_kept_as_text_is_said_in_the_payload(ctx: longmind.Context) -> None:
    class Odd:
        def __repr__(self) -> str:
            return "an odd\x00 thing"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    ring: list[Any] = [1]
    ring.append(ring)
    value = {"odd": [1, Odd()], "nan": float("nan"), "ring": ring, "clash": {1: "a", "1": "b"}, "broken": Broken()}
    event = ctx.events.record_state("planner", value, meta={"by": Odd()})
    assert event.data is not None
    assert event.data["kept_as_text"] == [
        "value.odd[1]",
        "value.nan",
        "value.ring[1]",
        "value.clash",
        "value.broken",
        "meta.by",
    ]
    assert event.data["value"] == {
        "odd": [1, {"__repr__": "an odd\\x00 thing"}],
        "nan": {"__repr__": "nan"},
        "ring": [1, {"__repr__": "[1, [...]]"}],
        "clash": {"__repr__": "{1: 'a', '1': 'b'}"},
        "broken": {"__repr__": "<Broken>"},
    }
    assert ctx.events.recent() == [event]


@pytest.mark.conforms("D4.2", "V1")
def test_the_latest_state_of_a_key_is_the_newest(ctx: longmind.Context) -> None:
    for number in range(3):
        ctx.events.record_state("planner", {"step": number})
        ctx.events.record_state("planner:2", {"other": number})
    for persisted in (False, True):
        assert ctx.events.latest_state("planner", user_persistence=persisted) == {"step": 2}
        assert ctx.events.latest_state("planner", use_persistence=persisted) == {"step": 2}
    assert ctx.events.latest_state(" planner ") == {"step": 2}
    assert ctx.events.latest_state("unknown") is None
    ctx.events.record_state("planner", None)
    assert ctx.events.latest_state("planner") is None
    for key in ("", " ", None, "x" * 250):
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match="key"):
            ctx.events.record_state(key, 1)  # type: ignore[arg-type]


@pytest.mark.conforms("D4.3", "D4.5")
def test_the_history_of_a_key_is_in_order_and_has_all_of_the_tags(ctx: longmind.Context) -> None:
    for number in range(4):
        ctx.events.record_state("planner", number, tags=["even"] if number % 2 == 0 else ["odd", "late"])
    history = ctx.events.state_history("planner", limit=2)
    assert [event.data["value"] for event in history if event.data] == [2, 3]
    for persisted in (False, True):
        odd = ctx.events.state_history("planner", tags=["odd", "late"], use_persistence=persisted)
        assert [event.data["value"] for event in odd if event.data] == [1, 3]
    assert ctx.events.state_history("planner", tags=["odd", "even"]) == []
    assert ctx.events.latest_state("planner", tags=["even"]) == 2
    assert ctx.events.latest_state("planner", tags=["even", "late"]) is None
    assert ctx.events.latest_state("planner", kind="custom.state") is None
    ctx.events.record_state("planner", "own", kind="custom.state")
    assert ctx.events.latest_state("planner", kind="custom.state") == "own"
    assert ctx.events.latest_state("planner") == 3


@pytest.mark.conforms("D4.2", "D1.7")
def test_a_state_is_read_at_its_level(engine: longmind.Engine) -> None:
    for run in ("r1", "r2"):
        context_of(engine, session_id="s1", run_id=run).events.record_state("planner", run)
    first = context_of(engine, session_id="s1", run_id="r1").events
    levels: tuple[Level, ...] = ("session", "user", "org", "scope")
    assert [first.latest_state("planner", level=level) for level in levels] == ["r2"] * 4
    assert first.latest_state("planner", level="run") == "r1"
    assert first.latest_state("planner", level="run", user_persistence=True) == "r1"


def test_a_snapshot_that_was_recorded_by_its_tags_is_a_state_too(ctx: longmind.Context) -> None:
    base = {"kind": "state.snapshot", "tags": ["state", "state:planner"], "data": {"key": "planner", "value": 5}}
    ctx.events.record_raw(base=base)
    assert ctx.events.latest_state("planner") == 5


EXAMPLES = count()

plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('ab"\\é', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.conforms("D4.1", "D4.2")
@given(values=st.lists(plain_values, min_size=1, max_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_plain_value_is_read_back_as_it_was(values: list[Any], ctx: longmind.Context) -> None:
    key = f"key {next(EXAMPLES)}"
    for value in values:
        ctx.events.record_state(key, value)
    assert ctx.events.latest_state(key) == values[-1]
    history = ctx.events.state_history(key, use_persistence=True)
    assert [event.data["value"] for event in history if event.data] == values


@pytest.mark.conforms("D4.1")
def test_a_number_that_is_too_long_to_be_written_is_kept_as_text(ctx: longmind.Context) -> None:
    huge = 16**5000
    event = ctx.events.record_state("count", {"n": huge, "m": 16**3000})
    assert ctx.events.latest_state("count") == {"n": {"__repr__": hex(huge)}, "m": 16**3000}
    assert (event.data or {})["kept_as_text"] == ["value.n"]
    assert (ctx.events.record_state("count", {huge: 1}).data or {})["kept_as_text"] == ["value"]


@pytest.mark.conforms("D4.4")
def test_a_key_is_the_same_key_with_blanks_around_it(ctx: longmind.Context) -> None:
    event = ctx.events.record_state(" planner ", "draft")
    assert ctx.events.latest_state("planner") == "draft"
    for key in ("planner", " planner "):
        assert [found.event for found in ctx.events.search_state("draft", key=key)] == [event]
    with pytest.raises(longmind.InvalidInput, match="key is blank"):
        ctx.events.search_state("draft", key=" ")
