"""A disk that is full below PostgreSQL, as the server tells of it; `prove/disk` fills real ones."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

import longmind

FULL = """
CREATE FUNCTION longmind.full_disk() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON longmind.{table} FOR EACH ROW EXECUTE FUNCTION longmind.full_disk();
"""
ROOM = "DROP FUNCTION longmind.full_disk() CASCADE"


@pytest.fixture
def ctx(postgres_url: str) -> Iterator[longmind.Context]:
    # One connection, so that whatever an error does to it is met by all that follows.
    with longmind.open(postgres_url, pool_size=1, embedder=None) as engine:
        yield engine.context(tenant_id="acme", app_id="support", user_id="ada", session_id="desk")


def tell_server(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


@pytest.mark.parametrize("failures", [1, 4, 7])
def test_a_connection_works_again_after_writes_that_failed(
    ctx: longmind.Context, postgres_url: str, failures: int
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    tell_server(postgres_url, FULL.format(table="events"))
    for _ in range(failures):
        with pytest.raises(longmind.StoreFull, match="No space left"):
            ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Hi"})
    tell_server(postgres_url, ROOM)
    for number in range(10):
        ctx.conversations.append_turn(conversation.id, user_content=str(number), assistant={"content": "Hi"})
    assert len(ctx.conversations.get_raw_turns(conversation.id)) == 20


def test_a_tool_says_that_there_is_no_room_and_that_it_may_be_tried_again(
    ctx: longmind.Context, postgres_url: str
) -> None:
    tell_server(postgres_url, FULL.format(table="atoms"))
    with pytest.raises(longmind.ToolError, match="no room left") as caught:
        ctx.tools.memory_store("fact", "Uses pnpm.")
    assert (caught.value.code, caught.value.retriable) == ("PLUGIN_UNAVAILABLE", True)
    tell_server(postgres_url, ROOM)
    assert ctx.tools.memory_store("fact", "Uses pnpm.").content == "Uses pnpm."


def test_an_engine_is_not_ready_while_writes_find_no_room(postgres_url: str) -> None:
    with longmind.open(postgres_url, embedder=None) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        engine.check_database()
        tell_server(postgres_url, FULL.format(table="conversations"))
        with pytest.raises(longmind.StoreFull):
            ada.conversations.create_conversation("chat")
        with pytest.raises(longmind.StoreFull):
            engine.check_database()
        tell_server(postgres_url, ROOM)
        ada.conversations.create_conversation("chat")
        engine.check_database()
