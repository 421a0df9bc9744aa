"""Reads of a timeline go by its indexes: what is older, and what is of another kind, is not touched."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
import pytest

import longmind
from longmind.store.database import Row, Transaction
from longmind.store.postgres.transaction import PostgresTransaction
from longmind.store.sqlite.writer import SqliteTransaction
from longmind.store.tables.events import EventWindow, _to_role_values, _to_values
from tests.events.samples import context_of

TIMELINE = "org:acme|session:s1"
# A statement, what is asked for beside the window, the indexes it has to go by, and how many rows it may look at.
ASKED: list[tuple[str, dict[str, Any], set[str], int]] = [
    ("newest_events", {"limit": 10, "offset": 0}, {"events_recorded", "events_said"}, 12),
    ("newest_events_of_kind", {"kind": "rare", "limit": 10, "offset": 0}, {"events_of_kind"}, 3),
    ("newest_chat", {**_to_role_values(None), "limit": 10, "offset": 0}, {"events_said"}, 2),
    ("newest_events_on_topic", {"topic": "x", "kind": "tool_result", "limit": 10, "offset": 0}, {"events_on_topic"}, 1),
    ("newest_states", {"state_key": "k", "kind": "state.snapshot", "limit": 10, "offset": 0}, {"events_of_state"}, 1),
    ("hot_log_floor", {"kept": 9}, {"events_recorded", "events_said"}, 12),
    ("hot_log_versions", {"limit": 10, "known": 0}, {"events_recorded", "events_said"}, 12),
    ("hot_log_rows", {"limit": 10}, {"events_recorded", "events_said"}, 12),
]


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database that nobody has filled before: what is left of deleted rows would count when a plan is made."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def ctx(engine: longmind.Engine, database_url: str) -> longmind.Context:
    ctx = context_of(engine, session_id="s1")
    ctx.events.record_many([{"kind": "rare"}] * 3)
    ctx.events.record_chat_user("Hello")
    ctx.events.record_tool_result(tool="x")
    ctx.events.record_state("k", 1)
    conversation = ctx.conversations.create_conversation("daily-checkin")
    ctx.conversations.append_user_message(conversation.id, "Hello")
    for _ in range(3):
        ctx.events.record_many([{"kind": "usual", "text": "x"}] * 1000)
    if database_url.startswith("postgresql"):
        # The server counts for itself now and then, and must not have done so when the table was almost empty.
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("ANALYZE longmind.events")
    return ctx


@pytest.mark.conforms("D0.2")
def test_reads_of_a_timeline_go_by_its_indexes(engine: longmind.Engine, ctx: longmind.Context) -> None:
    for query, more, indexes, most in ASKED:

        def explained(run: Transaction, query: str = query, more: dict[str, Any] = more) -> tuple[set[str], int]:
            values = {**_to_values(run, EventWindow(TIMELINE), filtered=True), **more, "scope_id": run.scope_id}
            return _sqlite_plan(run, query, values) if isinstance(run, SqliteTransaction) else _plan(run, query, values)

        used, read = engine._database.read(ctx.scope, explained)
        assert used == indexes, query
        assert read <= most, query


def _sqlite_plan(run: SqliteTransaction, query: str, values: dict[str, Any]) -> tuple[set[str], int]:
    statement = run._queries[query]
    rows = run._execute(f"EXPLAIN QUERY PLAN {statement.text}", [values[name] for name in statement.names])
    steps = [row[3] for row in rows]
    assert not [step for step in steps if "TEMP B-TREE" in step or "SCAN events" in step], query
    # Rows that replaced an answer are looked up by an index that is almost empty.
    searched = [re.findall(r"SEARCH events USING (?:COVERING )?INDEX (\w+) \(scope_id=", step) for step in steps]
    return {name for names in searched for name in names}, 0


def _plan(run: Transaction, query: str, values: dict[str, Any]) -> tuple[set[str], int]:
    assert isinstance(run, PostgresTransaction)
    statement = run._queries[query]
    text = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}"
    rows: list[Row] = run._connection.run_statement(text, [values[name] for name in statement.names]).all()
    explained = rows[0][0] if not isinstance(rows[0][0], str) else json.loads(rows[0][0])
    nodes = list(_nodes(explained[0]["Plan"]))
    assert not [node for node in nodes if node["Node Type"] == "Seq Scan"], query
    scans = [node for node in nodes if node.get("Relation Name") == "events" and node.get("Alias") != "later"]
    read = sum(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in scans)
    return {node["Index Name"] for node in scans}, int(read)


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for inner in plan.get("Plans", []) for node in _nodes(inner))]
