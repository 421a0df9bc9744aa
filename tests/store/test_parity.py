"""Both engines answer the same questions, and a database that grew with the versions is like one made today."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import psycopg
import pytest

import longmind
from longmind.change_feed import ChangeFeed
from longmind.recall.index.passage_entries import PassageEntries
from longmind.scope import TenantScope
from longmind.settings import Settings
from longmind.store.migrations import Migration, load_migrations
from longmind.store.postgres.database import PostgresDatabase
from longmind.store.queries import SHARED, SQL, load_queries
from longmind.store.sqlite.database import SqliteDatabase
from tests.embedder import WordsEmbedder
from tests.store.schema import (
    HOST_TABLES,
    postgres_app_tables,
    postgres_columns,
    postgres_description,
    postgres_tables,
    postgres_user_tables,
    sqlite_columns,
    sqlite_description,
    sqlite_tables,
)

# Names that one engine alone answers: its own way to know that no gap in the ledger can be filled any more.
ON_POSTGRES_ONLY = {"insert_atom", "ledger_writers"}
# What the engine itself adds to the parameters of a statement for many rows: the values that all rows share.
BOUND_BY_POSTGRES = {"insert_atoms": {"same"}, "insert_many_recorded": {"same"}}

MIGRATIONS = load_migrations("sqlite")
ADA = longmind.Scope("acme", "support", "ada")

# Segments of the search index as they were written: of one atom, and of the place of one that was deleted.
WORDS = (
    "57524453010000000200000003000000030000003707a80b5c6ef61caf2c0f536887708d0100000001000000010000000400"
    "000000000000d8d8d8"
)
VECTORS = "56435453010002000200000000000000000000004e8a6b2ea069ce3b000000005f7f0000"
PASSAGES = PassageEntries.from_texts([1], ["I live in Graz."]).encode().hex()
EVENT_VECTORS = "45565453010002000100000000000000000000007c4c1c060400000000000000a069ce3b5f7f"
FACTS = (
    "4643545301000000020000001a00000000000000d1c009ab5b5b22686f6d65225d2c5b5d2c7b2263697479223a5b305d7d5d"
    "0100010400000000ffffffff40420f0000000000ffffffffffffff7fffffffffffffff7f80841e0000000000ffffffffffff"
    "ff7fffffffffffffff7f40420f000000000061746f6d5f310000000000000000000000000000000000000000000000000000"
    "000000000000000000ffffffffffffffff000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000"
)

# What a database of each version may hold, in words that both engines understand. A new migration adds its rows here.
ROWS = {
    1: [
        f"""INSERT INTO conversations (
            scope_id, id, tenant_id, app_id, user_id, namespace, title, status, metadata, next_sequence, turn_id,
            attempt, rolling_summary_until_seq, created_at, updated_at
        ) VALUES (
            '{ADA.id}', 'conv_1', 'acme', 'support', 'ada', 'daily-checkin', 'Kept', 'open', '{{"mood":"good"}}', 2,
            'turn_1', 1, 0, 1000000, 2000000
        )""",
        f"""INSERT INTO events (
            scope_id, event_id, tenant_id, app_id, user_id, ts, kind, stage, conversation_id, sequence, turn_id,
            attempt, visibility, content, idempotency_key, fingerprint
        ) VALUES (
            '{ADA.id}', 'msg_1', 'acme', 'support', 'ada', 2000000, 'chat.turn', 'user', 'conv_1', 1, 'turn_1', 1,
            'user', '[{{"type":"text","text":"I moved to Graz."}}]', 'key-1', 'fingerprint'
        )""",
    ],
    2: [
        f"""INSERT INTO jobs (
            scope_id, id, tenant_id, app_id, user_id, kind, status, payload, attempts, max_attempts, unique_key,
            fencing_token, epoch, due_at, created_at, updated_at
        ) VALUES (
            '{ADA.id}', 'job_1', 'acme', 'support', 'ada', 'extract', 'queued', '{{"n":1}}', 0, 5, 'once', 0, 3,
            1000000, 1000000, 1000000
        )""",
        f"INSERT INTO erasures (scope_id, epoch) VALUES ('{ADA.id}', 3)",
    ],
    3: [
        f"""INSERT INTO spaces (
            scope_id, id, tenant_id, app_id, user_id, name, kind, metadata, revision, next_position, vector_model,
            created_at, updated_at
        ) VALUES (
            '{ADA.id}', 'ms_1', 'acme', 'support', 'ada', 'personal', 'user', '{{"colour":"red"}}', 3, 2, 'test:tiny@2',
            1000000, 2000000
        )""",
        f"""INSERT INTO atoms (
            scope_id, space_id, position, id, tenant_id, app_id, user_id, text, search_context, category_name, kind,
            importance, confidence, valid_from, status, source_conversation_id, source_message_ids, entity_ids, tags,
            origin, trust, created_at, updated_at, revision
        ) VALUES (
            '{ADA.id}', 'ms_1', 0, 'atom_1', 'acme', 'support', 'ada', 'Ada lives in Graz.', '[]', 'home', 'FACT',
            4, 0.5, 1000000, 'ACTIVE', 'conv_1', '["msg_1"]', '["ent_1"]', '["city"]', 'app', 'app', 2000000, 2000000, 1
        )""",
        f"INSERT INTO atom_removals (scope_id, space_id, atom_id, position, revision) "
        f"VALUES ('{ADA.id}', 'ms_1', 'atom_2', 1, 3)",
        f"""INSERT INTO entities (
            scope_id, id, space_id, tenant_id, app_id, user_id, type, canonical_name, description, attributes,
            first_seen_at, last_seen_at, created_at, updated_at
        ) VALUES (
            '{ADA.id}', 'ent_1', 'ms_1', 'acme', 'support', 'ada', 'PLACE', 'Graz', 'A city', '{{}}', 1000000, 1000000,
            1000000, 1000000
        )""",
        f"INSERT INTO entity_names (scope_id, space_id, type, folded, name, entity_id) "
        f"VALUES ('{ADA.id}', 'ms_1', 'PLACE', 'graz', 'Graz', 'ent_1')",
        f"INSERT INTO atom_entities (scope_id, entity_id, atom_id) VALUES ('{ADA.id}', 'ent_1', 'atom_1')",
        f"INSERT INTO term_segments (scope_id, space_id, first, atoms, body) "
        f"VALUES ('{ADA.id}', 'ms_1', 0, 2, X'{WORDS}')",
        f"INSERT INTO vector_segments (scope_id, space_id, model, first, atoms, body) "
        f"VALUES ('{ADA.id}', 'ms_1', 'test:tiny@2', 0, 2, X'{VECTORS}')",
    ],
    4: [
        f"""UPDATE spaces SET names_revision = 2 WHERE scope_id = '{ADA.id}' AND id = 'ms_1'""",
    ],
    5: [
        f"INSERT INTO fact_segments (scope_id, space_id, first, atoms, revision, body) "
        f"VALUES ('{ADA.id}', 'ms_1', 0, 2, 3, X'{FACTS}')",
    ],
    6: [
        f"INSERT INTO model_spend (scope_id, month, tenant_id, app_id, microdollars, tokens, calls, updated_at) "
        f"VALUES ('{TenantScope.from_scope(ADA).id}', '2026-03', 'acme', 'support', 1500000, 9000, 3, 2000000)",
    ],
    7: [
        f"""INSERT INTO bindings (
            app_key, id, tenant_id, app_id, user_id, conversation_scope, spaces, extraction_version, on_closed,
            windowed, window_turns, enabled, created_at, updated_at
        ) VALUES (
            '{ADA.app_key}', 'bind_1', 'acme', 'support', 'ada', '{{"namespace":"other","user_id":"ada"}}',
            '[{{"id":"ms_1","name":"personal"}}]', 'v1', 1, 0, 0, 1, 1000000, 1000000
        )""",
        f"INSERT INTO binding_members (app_key, user_id, namespace, binding_id, on_closed, window_turns) "
        f"VALUES ('{ADA.app_key}', 'ada', 'other', 'bind_1', 1, 0)",
        f"INSERT INTO extraction_marks "
        f"(scope_id, conversation_id, binding_id, space_id, until_sequence, requested_sequence) "
        f"VALUES ('{ADA.id}', 'conv_1', 'bind_1', 'ms_1', 1, 1)",
        f"INSERT INTO tombstones (scope_id, space_id, hash, fact) VALUES ('{ADA.id}', 'ms_1', 'abc', 'def')",
    ],
    8: [
        f"UPDATE atoms SET evidence = '[]' WHERE scope_id = '{ADA.id}' AND id = 'atom_1'",
    ],
    10: [
        f"INSERT INTO space_grants (app_key, space_id, user_id, owner_id, created_at) "
        f"VALUES ('{ADA.app_key}', 'ms_1', '*', 'ada', 2000000)",
    ],
    9: [
        f"INSERT INTO rolling_summaries (scope_id, conversation_id, until_sequence, text, made_by, created_at) "
        f"VALUES ('{ADA.id}', 'conv_1', 1, 'User: I moved to Graz.', 'extractive@1', 3000000)",
    ],
    19: [
        f"INSERT INTO running_turns (scope_id, conversation_id, id, turn_id, alive_at) "
        f"VALUES ('{ADA.id}', 'conv_1', 'run_1', 'turn_1', 3000000)",
    ],
    13: [
        f"INSERT INTO entity_names (scope_id, space_id, type, folded, name, entity_id, created_at) "
        f"VALUES ('{ADA.id}', 'ms_1', 'PLACE', 'gratz', 'Gratz', 'ent_1', 3000000)",
    ],
    11: [
        f"""INSERT INTO blocks (
            scope_id, agent_id, block_type, id, tenant_id, app_id, user_id, content, line_times, written_by, version,
            created_at, updated_at
        ) VALUES (
            '{ADA.id}', '', 'core', 'blk_1', 'acme', 'support', 'ada', 'Lives in Graz.', '[1000000]', 'app', 2, 1000000,
            2000000
        )""",
        f"""INSERT INTO block_revisions (
            scope_id, agent_id, block_type, version, content, written_by, updated_at, replaced_at, shrunk
        ) VALUES ('{ADA.id}', '', 'core', 1, 'Lives in Wien.', 'tool', 1000000, 2000000, 0)""",
        f"INSERT INTO sleep_time (scope_id, agent_id, enabled, idle, updated_at) "
        f"VALUES ('{ADA.id}', '', 0, 600000000, 1000000)",
        f"UPDATE conversations SET slept_until = 1 WHERE scope_id = '{ADA.id}' AND id = 'conv_1'",
    ],
    12: [
        f'INSERT INTO tool_quotas (scope_id, "group", session_id, stores, supersedes, deletes, updated_at) '
        f"VALUES ('{ADA.id}', 'default', 'session-1', 3, 1, 0, 2000000)",
        f'INSERT INTO tool_audit (scope_id, "group", seq, at, correlation, topic, outcome, body, hash) '
        f"VALUES ('{ADA.id}', 'default', 1, 2000000, 'call_1', 'tool.invoke.memory_brief', 'routed', '{{}}', 'abc')",
        f'INSERT INTO tool_audit_heads (scope_id, "group", tenant_id, app_id, user_id, seq, hash) '
        f"VALUES ('{ADA.id}', 'default', 'acme', 'support', 'ada', 1, 'abc')",
    ],
    14: [f"UPDATE tool_audit_heads SET seal = 'def' WHERE scope_id = '{ADA.id}'"],
    15: [
        f"UPDATE tool_audit_heads SET anchor_seq = 1, anchor_hash = 'abc', anchor_file = 'audit.jsonl', "
        f"anchor_digest = 'def', anchor_seal = 'ghi' WHERE scope_id = '{ADA.id}'"
    ],
    16: [
        f"""INSERT INTO events (
            scope_id, event_id, tenant_id, app_id, user_id, timeline_id, ts, kind, text, tags, data, state_key,
            embedding, pii_flags
        ) VALUES (
            '{ADA.id}', 'evt_1', 'acme', 'support', 'ada', 'org:acme|org:acme:user:ada', 3000000, 'state.snapshot',
            'state:planner 1', '["state","state:planner"]', '{{"key":"planner","value":1}}', 'planner', '[0.5]',
            '{{"email":true}}'
        )""",
    ],
    17: [
        f"INSERT INTO event_vectors (scope_id, timeline_id, model, first, last, events, body) "
        f"VALUES ('{ADA.id}', 'org:acme|org:acme:user:ada', 'test:tiny@2', 4, 4, 1, X'{EVENT_VECTORS}')",
    ],
    18: [
        """INSERT INTO access_keys (
            id, name, tenant_id, app_id, access, user_id, digest, rate, created_at, expires_at, revoked_at, last_used_at
        ) VALUES (
            'rk_1', 'phone', 'acme', 'support', 'user', 'ada', 'abc', '5/minute', 1000000, 2000000, NULL, 1500000
        )""",
    ],
    20: [],
    21: [f"UPDATE conversations SET asked_again = 1 WHERE scope_id = '{ADA.id}' AND id = 'conv_1'"],
    22: [],
    23: [],
    24: [],
    25: [
        f"INSERT INTO passage_segments (scope_id, model, first, last, messages, body) "
        f"VALUES ('{ADA.id}', 'test:tiny@2', 1, 1, 1, X'{PASSAGES}')",
        f"INSERT INTO unquotable_messages (scope_id, message_id) VALUES ('{ADA.id}', 'msg_9')",
        f"INSERT INTO passage_revisions (scope_id, forgotten, stored) VALUES ('{ADA.id}', 1, 1)",
        f"INSERT INTO binding_revisions (app_key, revision) VALUES ('{ADA.app_key}', 1)",
    ],
    26: [
        f"""INSERT INTO decisions (
            scope_id, id, space_id, revision, ordinal, action, atom_id, because, source_message_ids, decided_at, atoms
        ) VALUES (
            '{ADA.id}', 'dec_1', 'ms_1', 1, 0, 'add', 'atom_1', 'Nothing similar was known.', '["evt_9"]', 1000000, 1
        )""",
        f"INSERT INTO decision_atoms (scope_id, decision_id, atom_id, changes) "
        f"VALUES ('{ADA.id}', 'dec_1', 'atom_1', '{{}}')",
    ],
    27: [
        f"""UPDATE atoms SET metadata = '{{"source":"survey"}}', key = 'home'
        WHERE scope_id = '{ADA.id}' AND id = 'atom_1'"""
    ],
    28: [
        f"INSERT INTO agents (app_key, name, tenant_id, app_id, definition, created_at, updated_at) "
        f"VALUES ('{ADA.app_key}', 'helper', 'acme', 'support', '{{\"name\":\"helper\",\"model\":\"m\"}}', 1, 1)",
    ],
}


def test_both_engines_answer_the_same_names() -> None:
    sqlite, postgres = load_queries("sqlite"), load_queries("postgres")
    assert postgres.keys() - sqlite.keys() == ON_POSTGRES_ONLY
    assert sqlite.keys() - postgres.keys() == set()


def test_no_two_files_that_both_engines_read_give_a_name_to_different_queries() -> None:
    sources = [(SQL / f"{source}.sql").read_text("utf-8") for source in SHARED]
    names = Counter(name for source in sources for name in re.findall(r"^-- (?:name|fragment): (\w+)", source, re.M))
    assert [name for name, times in names.items() if times > 1] == []
    assert names["get_conversation"] == 1


def test_a_name_takes_the_same_parameters_on_both_engines() -> None:
    sqlite, postgres = load_queries("sqlite"), load_queries("postgres")
    shared = sqlite.keys() & postgres.keys()
    assert {name: set(sqlite[name].names) for name in shared} == {
        name: set(postgres[name].names) - BOUND_BY_POSTGRES.get(name, set()) for name in shared
    }
    assert any(len(sqlite[name].names) > 1 for name in shared)


def test_every_parameter_of_a_statement_has_a_number_and_every_number_a_parameter() -> None:
    for query in load_queries("postgres").values():
        numbers = {int(number) for number in re.findall(r"\$(\d+)", query.text)}
        assert numbers == set(range(1, len(query.names) + 1)), query.name


def test_both_engines_have_the_same_migrations() -> None:
    postgres = load_migrations("postgres")
    assert [(each.version, each.name) for each in MIGRATIONS] == [(each.version, each.name) for each in postgres]
    assert [each.version for each in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_both_engines_have_the_same_tables_and_columns(sqlite_url: str, postgres_url: str) -> None:
    longmind.open(sqlite_url).close()
    longmind.open(postgres_url).close()
    sqlite = apsw.Connection(path_of(sqlite_url))
    with psycopg.connect(postgres_url) as postgres:
        tables = postgres_tables(postgres)
        assert sqlite_tables(sqlite) == tables
        for table in tables:
            assert set(sqlite_columns(sqlite, table)) == set(postgres_columns(postgres, table))
    sqlite.close()


def test_postgres_does_not_try_to_compress_vectors(postgres_url: str) -> None:
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_url) as postgres:
        found = postgres.execute(
            "SELECT attrelid::regclass::text FROM pg_attribute WHERE attname = 'body' AND attstorage = 'e' ORDER BY 1"
        ).fetchall()
    assert found == [
        ("longmind.event_vectors",),
        ("longmind.passage_segments",),
        ("longmind.vector_segments",),
    ]


def test_each_version_has_rows_to_try_it_with() -> None:
    assert ROWS.keys() == {migration.version for migration in MIGRATIONS}


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_an_older_database_becomes_like_a_new_one_and_keeps_its_rows(
    version: int, empty_url: str, second_url: str
) -> None:
    grow_to(empty_url, version)
    before = rows_of(empty_url)
    assert bool(before) == (version > 0)
    assert all(before.values()), "a table is tried without rows"
    longmind.open(empty_url).close()
    longmind.open(second_url).close()
    assert description_of(empty_url) == description_of(second_url)
    after = rows_of(empty_url)
    for table, rows in before.items():
        # A later version may have added columns; what was there is there.
        assert [row | old for row, old in zip(after[table], rows, strict=True)] == after[table]


def test_what_older_versions_wrote_is_read_by_this_one(empty_url: str) -> None:
    grow_to(empty_url, len(MIGRATIONS))
    with longmind.open(empty_url) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        (conversation,) = ada.conversations.list_conversations()
        assert (conversation.title, conversation.metadata) == ("Kept", {"mood": "good"})
        assert [message.text for message in ada.conversations.get_messages("conv_1")] == ["I moved to Graz."]
        assert ada.conversations.append_user_message("conv_1", "And like it.").sequence == 2
        (job,) = ada.jobs.list_jobs()
        assert (job.kind, job.payload, job.status) == ("extract", {"n": 1}, "queued")
        (event,) = ada.events.recent_persisted(kinds=["state.snapshot"])
        assert (event.kind, event.embedding, event.pii_flags) == ("state.snapshot", [0.5], {"email": True})
        assert ada.events.latest_state("planner", use_persistence=True) == 1
        (block,) = ada.blocks.list()
        assert (block.content, block.version, block.updated_at) == ("Lives in Graz.", 2, "1970-01-01T00:00:02.000000Z")
        assert ada.blocks.restore("core", 1, block.updated_at).content == "Lives in Wien."


def test_memory_that_older_versions_wrote_is_found_by_this_one(empty_url: str) -> None:
    grow_to(empty_url, len(MIGRATIONS))
    with longmind.open(empty_url, embedder=WordsEmbedder("test:tiny", dimension=2)) as engine:
        memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
        (space,) = memory.list_memory_spaces()
        assert (space.name, space.metadata, space.atom_count) == ("personal", {"colour": "red"}, 1)
        (hit,) = memory.recall_by_topic(space.id, "Who lives in Graz?", explain=True).hits
        assert (hit.atom.text, hit.atom.tags, hit.atom.source_message_ids) == (
            "Ada lives in Graz.",
            ["city"],
            ["msg_1"],
        )
        assert hit.explanation is not None
        assert hit.explanation.lexical > 0
        assert hit.explanation.dense is not None
        assert [each.atom.id for each in memory.recall_by_entity(space.id, "GRAZ").hits] == ["atom_1"]
        added = memory.add_atom(space.id, {"text": "Graz has trams.", "category": {"name": "city", "kind": "FACT"}})
        assert {each.atom.id for each in memory.recall_by_topic(space.id, "Graz").hits} == {"atom_1", added.id}
        again = {"text": "ADA lives in  Graz", "category": {"name": "home", "kind": "FACT"}}
        assert memory.add_atom(space.id, again).id == "atom_1"


def test_opening_an_up_to_date_database_changes_nothing(database_url: str) -> None:
    longmind.open(database_url).close()
    before = description_of(database_url)
    longmind.open(database_url).close()
    assert description_of(database_url) == before


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_a_migration_that_fails_leaves_the_version_before_it(version: int, empty_url: str, second_url: str) -> None:
    grow_to(empty_url, version - 1)
    before = description_of(empty_url)
    broken = Migration(version, "broken", "CREATE TABLE half_done (id INTEGER); INSERT INTO no_such_table VALUES (1);")
    with opened(empty_url) as database, pytest.raises(longmind.StoreError, match="no_such_table"):
        database.migrate([*load_migrations(database.engine)[: version - 1], broken])
    assert description_of(empty_url) == before
    longmind.open(empty_url).close()
    longmind.open(second_url).close()
    assert description_of(empty_url) == description_of(second_url)


def test_every_user_table_on_postgres_is_behind_the_second_wall(postgres_url: str) -> None:
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        walls = connection.execute(
            """
            SELECT relname, relrowsecurity, relforcerowsecurity, polcmd, polpermissive, polroles::text,
                pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)
            FROM pg_class LEFT JOIN pg_policy ON polrelid = pg_class.oid
            WHERE relnamespace = 'longmind'::regnamespace AND relkind IN ('r', 'p')
            """
        ).fetchall()
        tables, app_tables = postgres_user_tables(connection), postgres_app_tables(connection)
    behind = {}
    for table, *wall in walls:
        # One policy each: a second one that permits would open the wall as far as the two together.
        assert table not in behind
        behind[table] = wall
    assert behind.pop("longmind_schema")[:2] == [False, False]
    assert behind.keys() == tables | app_tables | HOST_TABLES
    for table in HOST_TABLES:
        enabled, forced, *_, seen, written = behind.pop(table)
        assert (enabled, forced, written) == (True, True, None)
        assert "'*'" in seen
        assert "scope_id" not in seen
    for table, (enabled, forced, command, _, roles, seen, written) in behind.items():
        assert (enabled, forced, command, roles) == (True, True, "*", "{0}")
        assert ("longmind.app" if table in app_tables else "longmind.scope") in seen
        assert ("app_key" if table in app_tables else "scope_id") in seen
        # No rule of its own for writes: then what may be seen is what may be written.
        assert written is None


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


@contextmanager
def opened(url: str) -> Iterator[SqliteDatabase | PostgresDatabase]:
    """A database before its migrations, which `longmind.open()` would apply all at once."""
    settings = Settings(url=url)
    database = (
        SqliteDatabase(path_of(url), settings, ChangeFeed())
        if url.startswith("sqlite")
        else PostgresDatabase(url, settings, ChangeFeed())
    )
    try:
        yield database
    finally:
        database.close()


def grow_to(url: str, version: int) -> None:
    """Apply the migrations one by one, as the versions came out, and use the database in between."""
    for number in range(1, version + 1):
        with opened(url) as database:
            database.migrate(load_migrations(database.engine)[:number])
        for statement in ROWS[number]:
            execute(url, statement)


def execute(url: str, statement: str) -> list[dict[str, Any]]:
    if url.startswith("sqlite"):
        connection = apsw.Connection(path_of(url))
        cursor = connection.execute(statement)
        found = [dict(zip([name for name, _ in cursor.get_description()], row, strict=True)) for row in cursor]
        connection.close()
        return found
    with psycopg.connect(url, options="-c search_path=longmind") as postgres:
        # SQLite writes bytes as X'00ff', and PostgreSQL as '\\x00ff'.
        answer = postgres.execute(re.sub(r"X'([0-9a-f]+)'", r"'\\x\1'", statement).encode())
        names = [column.name for column in answer.description or []]
        return [dict(zip(names, row, strict=True)) for row in answer] if names else []


def rows_of(url: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables that hold something of somebody's."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(path_of(url))
        tables = sqlite_tables(connection)
        connection.close()
    else:
        with psycopg.connect(url) as postgres:
            tables = postgres_tables(postgres)
    return {table: execute(url, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}


def description_of(url: str) -> object:
    return sqlite_description(path_of(url)) if url.startswith("sqlite") else postgres_description(url)
