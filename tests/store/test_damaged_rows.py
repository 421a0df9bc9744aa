"""Rows that something else has changed: reading them is an error of the store that says so."""

from __future__ import annotations

from collections.abc import Callable

import apsw
import psycopg
import pytest

import longmind
from tests.embedder import WordsEmbedder

Read = Callable[[longmind.Engine, longmind.Context, dict[str, str]], object]

READS: dict[tuple[str, str], Read] = {
    ("conversations", "metadata"): lambda _, ctx, ids: ctx.conversations.get_conversation(ids["conversation"]),
    ("events", "content"): lambda _, ctx, ids: ctx.conversations.get_messages(ids["conversation"]),
    ("events", "usage"): lambda _, ctx, ids: ctx.conversations.get_messages(ids["conversation"]),
    ("events", "data"): lambda engine, _, __: list(engine.follow()),
    ("spaces", "metadata"): lambda _, ctx, ids: ctx.memory.get_memory_space(ids["space"]),
    ("entities", "attributes"): lambda _, ctx, ids: ctx.memory.get_entity(ids["entity"]),
    ("atoms", "tags"): lambda _, ctx, ids: ctx.memory.recall_by_topic(ids["space"], "tea"),
    ("atoms", "source_message_ids"): lambda _, ctx, ids: ctx.memory.get_atom(ids["atom"]),
    ("atoms", "entity_ids"): lambda _, ctx, ids: ctx.memory.list_atoms(ids["space"]),
    ("jobs", "payload"): lambda _, ctx, ids: ctx.jobs.get_job(ids["job"]),
    ("jobs", "result"): lambda _, ctx, ids: ctx.jobs.list_jobs(),
}
TORN = '[{"type": "tool_use", "id'
OF_ANOTHER_KIND = {
    "content": ["7", "[[]]", '[{"type":"tool_use"}]', '[{"type":"text"}]', "{}"],
    "usage": ["7", '{"inputTokens":"many"}'],
    # A handler may have given back anything.
    "result": [],
}


def damage(url: str, table: str, column: str, written: str) -> None:
    """Change a column of all rows that have it, as somebody with the file, or with the server, can."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS NOT NULL", (written,))
        connection.close()
        return
    with psycopg.connect(url) as postgres:
        postgres.execute(f"UPDATE longmind.{table} SET {column} = %s WHERE {column} IS NOT NULL".encode(), (written,))


@pytest.mark.parametrize(("table", "column"), READS)
def test_damaged_json_is_an_error_of_the_store(database_url: str, table: str, column: str) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        ids = {"space": ctx.memory.create_memory_space("main", metadata={"a": 1}).id}
        ids["entity"] = ctx.memory.create_entity(ids["space"], "OBJECT", "Tea", attributes={"a": 1}).id
        ids["conversation"] = ctx.conversations.create_conversation("daily").id
        use = {"type": "tool_use", "id": "u1", "name": "look", "arguments": {"a": 1}}
        ctx.conversations.append_assistant_turn(ids["conversation"], [use], usage={"inputTokens": 1})
        atom = {"text": "tea", "category": {"name": "notes", "kind": "FACT"}, "tags": ["a"]}
        ids["atom"] = ctx.memory.add_atom(ids["space"], {**atom, "entity_ids": [ids["entity"]]}).id
        engine.register_job("tests.brew", lambda run: {"a": 1})
        ids["job"] = ctx.jobs.enqueue("tests.brew", {"a": 1}).id
        assert engine.work().succeeded == 1
        assert READS[table, column](engine, ctx, ids)
    for written in (TORN, *OF_ANOTHER_KIND.get(column, ["7"])):
        damage(database_url, table, column, written)
        with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
            ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
            with pytest.raises(longmind.StoreError, match="cannot be read") as failed:
                READS[table, column](engine, ctx, ids)
            assert "backup" in failed.value.hint
