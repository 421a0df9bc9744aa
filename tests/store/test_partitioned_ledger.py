"""The ledger can be kept in partitions, as the page on scale says, and nothing else has to know."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

import longmind

SCALE = Path(__file__).parents[2] / "docs" / "explanation" / "scale.md"


def partition(url: str) -> None:
    [statements] = re.findall(r"```sql\n(.*?)```", SCALE.read_text("utf-8"), re.DOTALL)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statements)


def people(engine: longmind.Engine) -> list[longmind.Context]:
    return [engine.context(tenant_id="acme", app_id="support", user_id=f"user {number}") for number in range(12)]


def use(context: longmind.Context) -> str:
    conversation = context.conversations.create_conversation("daily").id
    context.conversations.append_turn(conversation, user_content="I moved to Graz.", assistant={"content": "Noted."})
    context.events.record("note", {"about": "moving"}, tags=["home"])
    return conversation


@pytest.fixture
def partitioned(postgres_url: str) -> str:
    """A store with twelve users whose ledger was put into partitions afterwards."""
    with longmind.open(postgres_url, embedder=None) as engine:
        for context in people(engine):
            use(context)
        before = [context.admin.export_user_data() for context in people(engine)]
    partition(postgres_url)
    with longmind.open(postgres_url, embedder=None) as engine:
        assert [context.admin.export_user_data() for context in people(engine)] == before
    return postgres_url


def test_a_partitioned_ledger_is_used_like_a_whole_one(partitioned: str) -> None:
    with longmind.open(partitioned, embedder=None) as engine:
        ada, bob, *_ = people(engine)
        told = engine.last_cursor()
        conversation = use(ada)
        once, again = (
            ada.conversations.append_user_message(conversation, "Once.", idempotency_key="k") for _ in range(2)
        )
        assert (again.id, again.replayed) == (once.id, True)
        assert [event.text for event in ada.events.search("Graz", mode="lexical")] == ["I moved to Graz."] * 2
        assert len(ada.events.recent(kinds=["note"])) == 2
        # Read, kept, and shown from memory.
        assert [ada.events.recent() for _ in range(3)] == [ada.events.recent_persisted()] * 3
        assert engine.last_cursor() > told
        assert bob.admin.delete_user_data(confirm=True)["deleted"]["messages"] == 2
        assert bob.events.recent_persisted() == []


def test_the_wall_stands_around_each_partition_too(partitioned: str) -> None:
    with psycopg.connect(partitioned, autocommit=True) as connection:
        connection.execute("SET ROLE longmind_app")
        rows = connection.execute("SELECT relname FROM pg_class WHERE relname ~ '^events_[0-9]+$' AND relkind = 'r'")
        parts = [name for (name,) in rows]
        counts = [connection.execute(f"SELECT COUNT(*) FROM longmind.{part}").fetchone() for part in parts]
    assert len(parts) == 16
    assert set(counts) == {(0,)}
