"""The second wall on PostgreSQL: what a statement sees that forgot to bind the scope."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import TupleRow

import longmind
from harness.postgres import PostgresServer, as_role
from longmind.recall.index.storage import SMALL
from longmind.store.tables import erasures, spend
from longmind.store.tables.messages import NewMessage
from longmind.store.tables.spend import SpendAmount
from longmind.store.triggers.conversation_writes import begin_turn
from longmind.store.triggers.job_policy import JobPolicy
from tests.embedder import WordsEmbedder
from tests.store.schema import postgres_columns, postgres_tables, postgres_user_tables

Connection = psycopg.Connection[TupleRow]

ADA = longmind.Scope("acme", "support", "ada")
BOB = longmind.Scope("acme", "support", "bob")


@dataclass(frozen=True)
class Walled:
    """A database with rows of Ada and Bob in every user table, and a way in that ought to be walled."""

    url: str
    administrator_url: str
    role: str | None

    @contextmanager
    def enter(self, scope: longmind.Scope | None = None) -> Iterator[Connection]:
        """A connection outside of the engine, as a statement of ours with a mistake in it would find it."""
        with psycopg.connect(self.url, options="-c search_path=longmind", autocommit=True) as connection:
            if self.role is not None:
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(self.role)))
            if scope is not None:
                connection.execute("SELECT set_config('longmind.scope', %s, false)", (scope.id,))
                connection.execute("SELECT set_config('longmind.app', %s, false)", (scope.app_key,))
            yield connection

    def tables(self) -> list[str]:
        with psycopg.connect(self.administrator_url) as connection:
            return sorted(postgres_user_tables(connection))

    def rows(self, table: str, scope: longmind.Scope) -> list[str]:
        """All there is, seen by a superuser, whom no wall holds."""
        query = sql.SQL("SELECT to_jsonb(t)::text FROM longmind.{} AS t WHERE scope_id = %s ORDER BY 1")
        with psycopg.connect(self.administrator_url) as connection:
            return [row for (row,) in connection.execute(query.format(sql.Identifier(table)), (scope.id,))]


@pytest.fixture(params=["a superuser who stepped down", "the ordinary owner of the database"])
def walled(request: pytest.FixtureRequest) -> Iterator[Walled]:
    server: PostgresServer = request.getfixturevalue("postgres_server")
    if request.param == "a superuser who stepped down":
        url = request.getfixturevalue("postgres_url")
        fill(url)
        yield Walled(url, url, "longmind_app")
    else:
        with ordinary_owner(server) as (url, administrator_url):
            fill(url)
            yield Walled(url, administrator_url, None)


@contextmanager
def ordinary_owner(server: PostgresServer, rights: str = "NOSUPERUSER NOBYPASSRLS") -> Iterator[tuple[str, str]]:
    """A database that belongs to an ordinary role: its address for that role, and for a superuser."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE landlord LOGIN {rights}".encode())
        connection.execute("CREATE DATABASE property OWNER landlord")
        administrator_url = server.url("property")
        try:
            yield as_role(administrator_url, "landlord"), administrator_url
        finally:
            server.drop_database("property")
            connection.execute("DROP OWNED BY landlord")
            connection.execute("DROP ROLE landlord")


def fill(url: str) -> None:
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        for scope in (ADA, BOB):
            context = engine.context(tenant_id=scope.tenant_id, app_id=scope.app_id, user_id=scope.user_id)
            conversation = context.conversations.create_conversation("daily-checkin")
            context.conversations.append_user_message(conversation.id, f"I am {scope.user_id}, a nurse.")
            context.conversations.append_assistant_turn(conversation.id, "Noted.")
            context.conversations.refresh_rolling_summary(conversation.id)
            context.jobs.enqueue("extract", unique_key="once")
            engine._database.write(scope, erasures.raise_epoch)
            engine._database.write(scope, spend.reserve, scope, "2026-03", SpendAmount(1), SpendAmount(2, 2), 0)
            remember(context)
            binding = extract(context)
            share(context, BOB if scope is ADA else ADA)
            decide(context)
            note(context)
            leave_running(engine, scope, conversation)
            quote(context, binding)
            engine.reindex()
            context.tools.memory_store("fact", f"It is about {scope.user_id}.")
            # What is said in a conversation is an event as well, and has a vector once it was searched.
            assert context.events.search("a nurse")


def decide(context: longmind.Context) -> None:
    """Put rows into the tables of decisions."""
    space = context.memory.create_memory_space("habits")
    episode = {"text": "The user cancelled the Tuesday meeting.", "category": {"name": "event", "kind": "EPISODE"}}
    context.memory.add_atoms(space.id, [{**episode, "valid_from": f"2026-01-{day:02}"} for day in (6, 13, 20)])
    assert context.memory.mine_patterns(space.id)


def note(context: longmind.Context) -> None:
    """Put rows into the tables of blocks."""
    first = context.blocks.update("core", "before", None)
    context.blocks.update("core", f"I am {context.scope.user_id}.", first.updated_at)
    context.blocks.set_sleep_time(True)


def leave_running(engine: longmind.Engine, scope: longmind.Scope, conversation: longmind.Conversation) -> None:
    """Put a row into the table of turns that are being run, as a process that was killed leaves it."""
    asked = NewMessage(role="user", content='[{"type":"text","text":"Hello"}]', visibility="user", at=1)
    engine._database.write(scope, begin_turn, scope, conversation.id, "run_1", asked, [], 1, JobPolicy())


def extract(context: longmind.Context) -> longmind.Binding:
    """Put rows into the tables of bindings, and of what was extracted."""
    space = context.memory.create_memory_space("personal")
    scope = {"namespace": "bound", "userId": context.scope.user_id}
    binding = context.memory.create_binding(scope, [space.id])
    context.conversations.close_conversation(context.conversations.create_conversation("bound").id)
    return binding


def quote(context: longmind.Context, binding: longmind.Binding) -> None:
    """Put rows into the tables of passages: messages that lead to a space, one of them cited by a forgotten fact."""
    [space_id] = binding.memory_space_ids
    conversation = context.conversations.create_conversation("bound")
    context.conversations.append_user_message(conversation.id, "The key is under the mat.")
    cited = context.conversations.append_user_message(conversation.id, "No, it is under the pot.")
    fact = {"text": "The key is under the pot.", "category": {"name": "home", "kind": "FACT"}}
    context.memory.delete_atom(context.memory.add_atom(space_id, {**fact, "source_message_ids": [cited.id]}).id)


def share(context: longmind.Context, reader: longmind.Scope) -> longmind.MemorySpace:
    """Put a row into the table of grants."""
    space = context.memory.create_memory_space("handbook", kind="shared")
    context.memory.grant_space(space.id, reader.user_id)
    return space


def remember(context: longmind.Context) -> longmind.Atom:
    """Put rows into every table of memory; gives an atom."""
    memory = context.memory
    space = memory.create_memory_space("personal")
    place = memory.create_entity(space.id, "PLACE", "Graz")
    fact = {"category": {"name": "home", "kind": "FACT"}, "entity_ids": [place.id]}
    kept, deleted, *_ = memory.add_atoms(
        space.id,
        [
            {"text": f"{context.scope.user_id} lives in Graz.", **fact},
            {"text": "Not for long.", **fact},
            # As many as have their facts written in a segment.
            *({"text": f"Number {number}.", "category": fact["category"]} for number in range(SMALL)),
        ],
    )
    memory.delete_atom(deleted.id)
    return kept


def each_table(walled: Walled) -> list[str]:
    """The user tables, each with rows of both users: without them nothing would be proved."""
    for table in walled.tables():
        assert walled.rows(table, ADA), f"fill() has to put a row of each user into {table}"
        assert walled.rows(table, BOB), f"fill() has to put a row of each user into {table}"
    return walled.tables()


def statement(text: str, table: str) -> sql.Composed:
    return sql.SQL(text).format(sql.Identifier(table))


def insert(connection: Connection, table: str, row: str, **changed: Any) -> None:
    """Put a row in again that was read as JSON."""
    columns = sql.SQL(", ").join(map(sql.Identifier, postgres_columns(connection, table)))
    text = sql.SQL(
        "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE "
        "SELECT {columns} FROM jsonb_populate_record(NULL::{table}, %s::jsonb)"
    )
    values = json.dumps({**json.loads(row), **changed})
    connection.execute(text.format(table=sql.Identifier(table), columns=columns), (values,))


def test_a_statement_without_a_scope_sees_no_row(walled: Walled) -> None:
    with walled.enter() as connection:
        for table in each_table(walled):
            assert connection.execute(statement("SELECT * FROM {}", table)).fetchall() == []


def test_a_statement_with_a_blank_scope_sees_no_row(walled: Walled) -> None:
    with walled.enter() as connection:
        connection.execute("SET longmind.scope = ''")
        for table in each_table(walled):
            assert connection.execute(statement("SELECT * FROM {}", table)).fetchall() == []


def test_without_a_scope_nothing_can_be_changed(walled: Walled) -> None:
    with walled.enter() as connection:
        for table in each_table(walled):
            before = walled.rows(table, ADA)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                insert(connection, table, before[0])
            assert connection.execute(statement("UPDATE {} SET scope_id = scope_id", table)).rowcount == 0
            assert connection.execute(statement("DELETE FROM {}", table)).rowcount == 0
            assert walled.rows(table, ADA) == before


def test_with_a_scope_set_only_its_rows_are_seen_whatever_is_asked_for(walled: Walled) -> None:
    with walled.enter(ADA) as connection:
        for table in each_table(walled):
            everything = connection.execute(statement("SELECT to_jsonb(t)::text FROM {} AS t WHERE true", table))
            assert sorted(row for (row,) in everything) == walled.rows(table, ADA)
            theirs = connection.execute(statement("SELECT * FROM {} WHERE scope_id = %s", table), (BOB.id,))
            assert theirs.fetchall() == []


def test_with_a_scope_set_no_row_of_another_can_be_written(walled: Walled) -> None:
    with walled.enter(ADA) as connection:
        for table in each_table(walled):
            theirs = walled.rows(table, BOB)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                insert(connection, table, theirs[0])
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
                connection.execute(statement("UPDATE {} SET scope_id = %s", table), (BOB.id,))
            everybody = connection.execute(statement("UPDATE {} SET scope_id = scope_id", table))
            assert everybody.rowcount == len(walled.rows(table, ADA))
            connection.execute(statement("DELETE FROM {}", table))
            assert walled.rows(table, ADA) == []
            assert walled.rows(table, BOB) == theirs


def test_with_a_scope_set_its_own_rows_can_be_written(walled: Walled) -> None:
    with walled.enter(ADA) as connection:
        for table in each_table(walled):
            mine = walled.rows(table, ADA)
            connection.execute(statement("DELETE FROM {}", table))
            for row in mine:
                insert(connection, table, row)
            assert walled.rows(table, ADA) == mine


def test_what_belongs_to_an_app_is_seen_in_its_scopes_and_in_no_others(walled: Walled) -> None:
    elsewhere = [longmind.Scope("acme", "sales", "ada"), longmind.Scope("evil", "support", "ada")]
    for table in ("bindings", "binding_members", "space_grants"):
        for scope in (ADA, BOB):
            with walled.enter(scope) as connection:
                seen = connection.execute(statement("SELECT user_id FROM {} ORDER BY 1", table)).fetchall()
                assert seen == [("ada",), ("bob",)]
        for stranger in (None, *elsewhere):
            with walled.enter(stranger) as connection:
                assert connection.execute(statement("SELECT * FROM {}", table)).fetchall() == []
                assert connection.execute(statement("UPDATE {} SET user_id = 'eve'", table)).rowcount == 0
                assert connection.execute(statement("DELETE FROM {}", table)).rowcount == 0
        with walled.enter(ADA) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement("UPDATE {} SET app_key = %s", table), (elsewhere[0].app_key,))


def test_the_count_of_changes_to_the_bindings_of_an_app_is_seen_in_its_scopes_and_in_no_others(walled: Walled) -> None:
    elsewhere = longmind.Scope("evil", "support", "ada")
    for scope in (ADA, BOB):
        with walled.enter(scope) as connection:
            assert connection.execute("SELECT app_key FROM binding_revisions").fetchall() == [(ADA.app_key,)]
    for stranger in (None, elsewhere):
        with walled.enter(stranger) as connection:
            assert connection.execute("SELECT * FROM binding_revisions").fetchall() == []
            assert connection.execute("UPDATE binding_revisions SET revision = 0").rowcount == 0
            assert connection.execute("DELETE FROM binding_revisions").rowcount == 0
    with walled.enter(ADA) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("UPDATE binding_revisions SET app_key = %s", (elsewhere.app_key,))


@pytest.mark.conforms("T6")
def test_a_grant_opens_no_row_to_a_statement_in_the_scope_of_the_reader(walled: Walled) -> None:
    with walled.enter(BOB) as connection:
        granted = connection.execute("SELECT space_id FROM space_grants WHERE user_id = 'bob' AND owner_id = 'ada'")
        (space_id,) = granted.fetchone() or ("",)
        assert any(space_id in row for row in walled.rows("spaces", ADA))
        assert connection.execute("SELECT * FROM spaces WHERE id = %s", (space_id,)).fetchall() == []
        assert connection.execute("UPDATE spaces SET name = 'mine' WHERE id = %s", (space_id,)).rowcount == 0
    with longmind.open(walled.url, embedder=WordsEmbedder()) as engine:
        bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").memory
        # The engine reads it for Bob in the scope of Ada, whom it knows from the grant.
        assert [space.user_id for space in bob.list_shared_spaces()] == ["ada"]
        assert bob.recall_timeline(space_id).hits == []


def test_everything_works_for_the_ordinary_owner_of_a_database(postgres_server: PostgresServer) -> None:
    with ordinary_owner(postgres_server) as (url, _), longmind.open(url) as engine:
        use(engine)
        assert who_the_engine_is(engine) == ("landlord", False)


def test_a_superuser_can_open_what_an_ordinary_owner_has_made(postgres_server: PostgresServer) -> None:
    with ordinary_owner(postgres_server) as (url, administrator_url):
        longmind.open(url).close()
        with longmind.open(administrator_url) as engine:
            use(engine)
            assert who_the_engine_is(engine) == ("longmind_app", False)


def test_a_role_that_bypasses_the_wall_without_being_superuser_steps_down_too() -> None:
    # On a server of its own: whether this role can make the one to step down to depends on who came first.
    with (
        PostgresServer() as server,
        ordinary_owner(server, "NOSUPERUSER BYPASSRLS CREATEROLE") as (url, _),
        longmind.open(url) as engine,
    ):
        use(engine)
        assert who_the_engine_is(engine) == ("longmind_app", False)


def test_a_role_that_may_only_use_the_tables_can_use_them_and_no_more(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_server.url(), autocommit=True) as administrator:
        administrator.execute("CREATE ROLE tenant LOGIN IN ROLE longmind_app")
        try:
            tenant_url = as_role(postgres_url, "tenant")
            with longmind.open(tenant_url) as engine:
                use(engine)
                assert who_the_engine_is(engine) == ("tenant", False)
            with psycopg.connect(tenant_url, autocommit=True) as connection:
                for forbidden in (
                    "ALTER TABLE longmind.events DISABLE ROW LEVEL SECURITY",
                    "DROP POLICY own_scope ON longmind.events",
                    "TRUNCATE longmind.events",
                    "CREATE TABLE longmind.notes (id integer)",
                    "INSERT INTO longmind.longmind_schema VALUES (9999, 'future')",
                ):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(forbidden.encode())
        finally:
            administrator.execute("DROP ROLE tenant")


def test_nobody_sees_or_makes_keys_from_inside_a_scope(walled: Walled) -> None:
    with longmind.open(walled.url) as engine:
        engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")
    for scope in (ADA, BOB, None):
        with walled.enter(scope) as connection:
            assert connection.execute("SELECT count(*) FROM access_keys").fetchone() == (0,)
            assert connection.execute("UPDATE access_keys SET user_id = 'bob'").rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    "INSERT INTO access_keys (id, name, tenant_id, app_id, access, digest, created_at) "
                    "VALUES ('rk_2', '', 'acme', 'support', 'admin', 'abc', 0)"
                )


def test_the_connections_of_the_engine_are_held_by_the_wall(postgres_url: str) -> None:
    with longmind.open(postgres_url) as engine:
        assert who_the_engine_is(engine) == ("longmind_app", False)


def test_the_role_of_the_engine_owns_nothing_and_cannot_log_in(postgres_url: str) -> None:
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication "
            "FROM pg_roles WHERE rolname = 'longmind_app'"
        ).fetchall() == [(False,) * 6]
        owned = connection.execute(
            "SELECT count(*) FROM pg_shdepend WHERE refobjid = 'longmind_app'::regrole AND deptype = 'o'"
        )
        assert owned.fetchone() == (0,)
        assert connection.execute("SELECT has_schema_privilege('longmind_app', 'longmind', 'CREATE')").fetchone() == (
            False,
        )
        for table in postgres_tables(connection):
            rights = connection.execute(
                "SELECT array_agg(privilege_type::text ORDER BY privilege_type) "
                "FROM information_schema.role_table_grants "
                "WHERE grantee = 'longmind_app' AND table_schema = 'longmind' AND table_name = %s",
                (table,),
            )
            assert rights.fetchone() == (["DELETE", "INSERT", "SELECT", "UPDATE"],)


def test_one_connection_serves_many_scopes_and_mixes_none_of_them(postgres_url: str) -> None:
    with longmind.open(postgres_url, pool_size=1) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
        of_ada = ada.conversations.create_conversation("daily-checkin")
        for step in range(3):
            # A write that fails is undone by the server, with the change of scope it began with.
            with pytest.raises(longmind.NotFound):
                bob.conversations.append_user_message(of_ada.id, "Let me in.", idempotency_key=f"key-{step}")
            assert scope_of_the_connection(engine) != BOB.id
            assert bob.conversations.list_conversations() == []
            assert scope_of_the_connection(engine) == BOB.id
            assert ada.conversations.append_user_message(of_ada.id, "It is mine.").sequence == step + 1
            assert scope_of_the_connection(engine) == ADA.id
            with pytest.raises(longmind.NotFound):
                ada.conversations.close_conversation("conv_none")
            assert [each.id for each in ada.conversations.list_conversations()] == [of_ada.id]


def use(engine: longmind.Engine) -> None:
    """A little of everything: rows of every table are written and read."""
    ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    conversation = ada.conversations.create_conversation("daily-checkin")
    ada.conversations.append_turn(conversation.id, user_content="Hello.", assistant={"content": "Hello!"})
    assert [message.text for message in ada.conversations.get_messages(conversation.id)] == ["Hello.", "Hello!"]
    assert bob.conversations.list_conversations() == []
    engine.register_job("greet", lambda run: run.scope.user_id)
    job = ada.jobs.enqueue("greet")
    assert engine.work().succeeded == 1
    done = ada.jobs.get_job(job.id)
    assert done is not None
    assert (done.status, done.result) == ("succeeded", "ada")
    engine._database.write(ADA, erasures.raise_epoch)
    atom = remember(ada)
    remember(bob)
    assert [hit.atom for hit in ada.memory.recall_by_topic(atom.memory_space_id, "Graz", limit=1).hits] == [atom]
    assert bob.memory.get_atom(atom.id) is None
    assert ada.conversations.close_conversation(conversation.id).status == "closed"
    assert [change.kind for change in engine.follow()][-1] == "conversation.closed"
    assert engine.close_stale(0) == 0


def inside(engine: longmind.Engine, question: str) -> Any:
    """What the engine's own connection answers to a question that no query of ours asks."""
    connections: Callable[[], Any] = engine._database._connections.open_pool  # type: ignore[attr-defined]
    with connections().connection() as connection:
        return connection.execute(question).fetchone()


def who_the_engine_is(engine: longmind.Engine) -> tuple[str, bool]:
    """Its role, and whether that sees through the wall."""
    role, sees_through = inside(
        engine, "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    )
    return role, sees_through


def scope_of_the_connection(engine: longmind.Engine) -> str:
    (scope_id,) = inside(engine, "SELECT current_setting('longmind.scope', true)")
    return scope_id or ""
