"""The newest events come from memory when they are asked for again, and yet are as they are in the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any, get_args

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.clock import to_iso
from longmind.scope import Level
from longmind.store.queries import load_queries
from prove.hostile_input.archives import reseal
from tests.clock import SettableClock
from tests.events.samples import context_of, texts

KEPT, DAYS = 6, 2
RICH: dict[str, Any] = {
    "kind": "note",
    "data": {"deep": {"list": [1, {"x": None}]}, "flag": True},
    "tags": ["a", "b"],
    "metrics": {"ms": 1.5},
    "inputs": [{"in": 1}],
    "outputs": ["out"],
    "embedding": [0.5, 0.25],
    "pii_flags": {"name": True},
    "stage": "plan",
    "topic": "t",
    "signal": 1.0,
}
# Every example of a property has a user of its own.
EXAMPLES = count()


@pytest.fixture
def engines(database_url: str, clock: SettableClock) -> Iterator[list[longmind.Engine]]:
    """Two that share a database, and nothing in memory."""
    bounds: dict[str, Any] = {"hot_log_events": KEPT, "hot_log_days": DAYS}
    with (
        longmind.open(database_url, embedder="none", clock=clock, **bounds) as one,
        longmind.open(database_url, embedder="none", clock=clock, **bounds) as other,
    ):
        yield [one, other]


@dataclass(frozen=True)
class Step:
    engine: int
    run: str
    what: str
    number: int


steps = st.builds(
    Step,
    engine=st.integers(0, 1),
    run=st.sampled_from(["r1", "r2"]),
    what=st.sampled_from(["one", "one", "many", "rich", "older", "turn", "turn", "hidden", "later", "erase", "return"]),
    number=st.integers(1, 5),
)


@pytest.mark.patient
@pytest.mark.conforms("D0.2", "D1.6", "D1.7")
@given(taken=st.lists(steps, min_size=4, max_size=14), limit=st.integers(1, KEPT + 2))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whoever_writes_the_newest_events_are_those_of_the_database(
    engines: list[longmind.Engine], clock: SettableClock, taken: list[Step], limit: int
) -> None:
    user = f"example {next(EXAMPLES)}"
    opened: dict[str, str] = {}
    for step in taken:
        take(step, engines[step.engine], clock, user, opened)
        for engine in engines:
            compare(engine, clock, user, limit)


def take(step: Step, engine: longmind.Engine, clock: SettableClock, user: str, opened: dict[str, str]) -> None:
    ctx = context_of(engine, user_id=user, session_id="s1", run_id=step.run)
    match step.what:
        case "one":
            ctx.events.record("note", f"note {step.number}", tags=["a"])
        case "many":
            ctx.events.record_many([{"text": f"{number}"} for number in range(step.number * 2)])
        case "rich":
            ctx.events.record_raw(base=RICH)
        case "older":
            past = to_iso(clock.now - step.number * 9 * 3600 * 1_000_000)
            ctx.events.record_raw(base={"ts": past}, text="older")
        case "turn":
            # One of the same key replaces the answer that was given before.
            answer = {"content": f"answer {step.number}"}
            ctx.conversations.append_turn(
                conversation(ctx, opened), user_content="Hello", assistant=answer, idempotency_key=f"{step.number % 2}"
            )
        case "hidden":
            ctx.conversations.append_system_message(conversation(ctx, opened), "Unseen", visibility="hidden")
        case "later":
            clock.advance(step.number * 6 * 3600)
        case _:
            document = ctx.admin.export_user_data()
            ctx.admin.delete_user_data(confirm=True)
            opened.clear()
            if step.what == "return":
                bring_back(engine, user, document, f"returned {step.number}")


def conversation(ctx: longmind.Context, opened: dict[str, str]) -> str:
    if "id" not in opened:
        opened["id"] = ctx.conversations.create_conversation("daily-checkin").id
    return opened["id"]


def bring_back(engine: longmind.Engine, user: str, document: dict[str, Any], text: str) -> None:
    """Import what was exported, under the ids it had, after somebody has changed what it says."""
    document = json.loads(json.dumps(document))
    events = document["records"]["events"]
    place = events["columns"].index("text")
    for row in events["rows"]:
        row[place] = text if row[place] else row[place]
    root = context_of(engine, user_id="root", capabilities={"admin"})
    root.admin.import_user_data(reseal(document), user)


def compare(engine: longmind.Engine, clock: SettableClock, user: str, limit: int) -> None:
    ctx = context_of(engine, user_id=user, session_id="s1", run_id="r1")
    since = to_iso(clock.now - DAYS * 24 * 3600 * 1_000_000)
    hot = ctx.events.recent_persisted(limit=KEPT, since=since)
    for level in (None, *get_args(Level)):
        named = {"session": "session_id", "run": "run_id"}.get(level or "")
        there = [event for event in hot if named is None or getattr(event, named) == getattr(ctx.scope, named)]
        found = ctx.events.recent(limit=limit, level=level)
        assert found == there[-limit:]
        assert [list(vars(event)) for event in found] == [list(longmind.Event.model_fields)] * len(found)
        assert all(type(event.signal) is float for event in found)


def test_what_a_caller_does_to_an_event_is_not_seen_by_the_next(ctx: longmind.Context) -> None:
    recorded = [ctx.events.record("note", {"plain": 1}, tags=["a"]), ctx.events.record_raw(base=RICH)]
    expected = [event.model_copy(deep=True) for event in recorded]
    for _ in range(4):
        plain, rich = found = ctx.events.recent()
        assert found == expected
        for event in (plain, rich):
            event.tags.append("spilled")
            event.data["more"] = "spilled"
        rich.data["deep"]["list"].clear()
        rich.metrics["ms"] = 0
        rich.inputs[0]["in"] = rich.outputs[0] = "spilled"
        rich.embedding.clear()
        rich.pii_flags.clear()
    for row in ctx.events.recent(return_event=False):
        row["data"].clear()
    assert ctx.events.recent() == expected


def test_a_row_of_postgres_that_was_changed_by_hand_is_shown_as_it_is(postgres_url: str) -> None:
    with longmind.open(postgres_url, embedder="none") as engine:
        events = context_of(engine).events
        events.record_many([{"text": f"{number}"} for number in range(5)])
        for _ in range(3):
            assert texts(events.recent()) == ["0", "1", "2", "3", "4"]
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("UPDATE longmind.events SET text = 'redacted' WHERE text = '3'")
            connection.execute("DELETE FROM longmind.events WHERE text = '1'")
        assert texts(events.recent()) == ["0", "2", "redacted", "4"]


@pytest.mark.parametrize("engine_name", ["sqlite", "postgres"])
def test_no_statement_changes_an_event_of_a_timeline(engine_name: Any) -> None:
    """On SQLite an event that is kept is not read again: one that changed would stay as it was."""
    changing = [query for query in load_queries(engine_name).values() if "UPDATE events" in query.text]
    assert [query.name for query in changing] == ["put_change_data"]
    assert all("timeline_id IS NULL" in query.text for query in changing)


@pytest.mark.conforms("A9.4")
def test_nothing_is_kept_in_memory_of_an_erased_user(
    engine: longmind.Engine, ctx: longmind.Context, database_url: str, clock: SettableClock
) -> None:
    ctx.events.record_many([{"text": "secret" * 100} for _ in range(50)])
    with longmind.open(database_url, embedder="none", clock=clock) as other:
        elsewhere = context_of(other, session_id="s1", run_id="r1")
        for context in (ctx, elsewhere):
            assert len(context.events.recent()) == len(context.events.recent()) == 50
        assert engine.measures().cached_bytes > 50 * 600 < other.measures().cached_bytes
        ctx.admin.delete_user_data(confirm=True)
        assert engine.measures().cached_bytes == 0
        # Another process learns of it with its next look.
        assert elsewhere.events.recent() == []
        assert other.measures().cached_bytes < 5_000


def test_hot_logs_take_no_more_memory_than_the_cache_may(database_url: str) -> None:
    with longmind.open(database_url, embedder="none", cache_megabytes=0.5) as engine:
        for number in range(30):
            events = context_of(engine, user_id=f"user {number}").events
            events.record_many([{"text": f"{number} " + "x" * 1000} for _ in range(50)])
            assert events.recent() == events.recent() == events.recent()
            assert engine.measures().cached_bytes <= 0.5 * 1024 * 1024
        assert engine.measures().cached_spaces < 30


def test_events_too_large_to_be_kept_are_read_each_time(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.events.record_many([{"text": f"{number}"} for number in range(10)])
    assert ctx.events.recent() == ctx.events.recent()
    small = engine.measures().cached_bytes
    assert small > 10 * 600
    for number in range(30):
        text = f"{number}" + "x" * 500_000
        ctx.events.record("note", {}, text=text)
        assert ctx.events.recent()[-1].text == text
        assert engine.measures().cached_bytes < 9 * 1024 * 1024
    assert engine.measures().cached_bytes < small
    assert ctx.events.recent() == ctx.events.recent_persisted()


def test_a_timeline_that_is_looked_at_once_takes_next_to_no_memory(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    ctx.events.record_many([{"text": "x" * 1000} for _ in range(50)])
    ctx.events.recent()
    assert engine.measures().cached_bytes < 5_000
    ctx.events.recent()
    assert 50_000 < engine.measures().cached_bytes < 200_000


def test_events_that_newer_ones_have_pushed_out_are_let_go(engine: longmind.Engine, ctx: longmind.Context) -> None:
    for number in range(300):
        ctx.events.record("note", f"{number} " + "x" * 1000)
        assert (ctx.events.recent(limit=1 + number % 4)[-1].text or "").startswith(f"{number} ")
    assert engine.measures().cached_bytes < 40_000


def test_threads_that_share_a_timeline_each_find_what_they_have_recorded(ctx: longmind.Context) -> None:
    def record_and_look(thread: int) -> None:
        for number in range(15):
            mine = ctx.events.record("note", {"thread": thread, "number": number})
            found = ctx.events.recent(limit=200)
            assert [event.event_id for event in found].count(mine.event_id) == 1
            assert [event for event in found if event.event_id == mine.event_id] == [mine]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(record_and_look, range(4)))
    assert len(ctx.events.recent(limit=200)) == 60
