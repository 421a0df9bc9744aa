"""Every statement over user data is bound to the scope, every key begins with it, and there is no other SQL."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

import longmind
from longmind.store.queries import SHARED, EngineName, NamedQuery, load_queries
from tests.store.schema import (
    HOST_TABLES,
    Key,
    migrated_in_memory,
    postgres_app_tables,
    postgres_keys,
    postgres_tables,
    postgres_user_tables,
    sqlite_app_tables,
    sqlite_keys,
    sqlite_tables,
    sqlite_user_tables,
)
from tests.store.scope_binding import unbound

ENGINES: tuple[EngineName, ...] = ("sqlite", "postgres")
USER_TABLES = sqlite_user_tables(migrated_in_memory())
APP_TABLES = sqlite_app_tables(migrated_in_memory())

# Statements that are meant to see all scopes. Adding one is a decision: nothing but review keeps it from leaking.
SYSTEM_STATEMENTS = {
    "any_access_key",
    "atoms_heard_from",
    "audit_chains",
    "begin_copy",
    "changes_after",
    "claim_jobs",
    "copy_begun",
    "count_access_keys",
    "count_unbound_conversations",
    "dead_by_kind",
    "due_kinds",
    "entries_to_purge",
    "find_access_key",
    "forget_access_keys",
    "forget_marks_of",
    "hasten_jobs",
    "insert_access_key",
    "job_of_any_scope",
    "jobs_of_all_scopes",
    "last_erasure",
    "last_position",
    "ledger_writers",
    "list_access_keys",
    "list_owners",
    "mirrored_rows",
    "mirrored_timelines",
    "mirrored_users",
    "newest_place",
    "note_key_use",
    "oldest_passages_job",
    "owners_of_covered_conversations",
    "owners_of_stale_conversations",
    "queue_by_kind",
    "recent_lags",
    "recent_passage_lags",
    "revoke_access_key",
    "shared_spaces_of_others",
    "spaces_lacking_vectors",
    "users_of_app",
}

FILES = {*SHARED, "sqlite", "postgres"}

PACKAGE = Path(longmind.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


@dataclass(frozen=True)
class Block:
    """A named statement or fragment, as it stands in its file."""

    file: str
    kind: str
    name: str
    comments: tuple[str, ...]
    text: str

    @property
    def reasons(self) -> list[str]:
        """What the marks say that exempt it from the scope."""
        marks = (re.match(r"--\s*system\b:?(.*)", comment) for comment in self.comments)
        return [mark[1].strip() for mark in marks if mark]


def read_blocks() -> list[Block]:
    """Every block of every file of queries, found without the loader, so that nothing can slip past it."""
    blocks: list[Block] = []
    for path in sorted(PACKAGE.rglob("*.sql")):
        if "migrations" not in path.parts:
            blocks.extend(_blocks_of(path))
    return blocks


def _blocks_of(path: Path) -> Iterator[Block]:
    comments: list[str] = []
    opening: re.Match[str] | None = None
    above: tuple[str, ...] = ()
    body: list[str] = []
    for line in [*path.read_text("utf-8").splitlines(), "-- name: end"]:
        named = re.match(r"\s*--\s*(name|fragment)\s*:\s*(\w+)", line)
        if named:
            if opening:
                yield Block(path.name, opening[1], opening[2], above, "\n".join(body))
            opening, above, comments, body = named, tuple(comments), [], []
        elif line.lstrip().startswith("--"):
            comments.append(line.strip())
        elif line.strip():
            assert opening, f"{path.name} has a line outside of any block: {line}"
            comments = []
            body.append(line)
        else:
            comments = []


def queries() -> Iterator[tuple[EngineName, NamedQuery]]:
    for engine in ENGINES:
        for query in load_queries(engine).values():
            yield engine, query


def as_written(query: NamedQuery, engine: EngineName) -> str:
    """The text with the placeholders of the .sql files, whatever the driver wants."""
    if engine == "sqlite":
        return query.text
    return re.sub(r"\$(\d+)", lambda found: f":{query.names[int(found[1]) - 1]}", query.text)


def test_every_statement_in_the_files_is_one_the_engines_load() -> None:
    blocks = read_blocks()
    for block in blocks:
        assert block.file.removesuffix(".sql") in FILES
    named = [(block.file, block.name) for block in blocks]
    assert len(named) == len(set(named)), "a file has two blocks of one name, and one of them hides the other"
    used: set[tuple[str, str]] = set()
    for engine in ENGINES:
        loaded = {query.name: " ".join(as_written(query, engine).split()) for query in load_queries(engine).values()}
        # The engine's own file comes last, and what it says goes before what all say.
        own = [block for file in (*SHARED, engine) for block in blocks if block.file == f"{file}.sql"]
        fragments = {block.name: block.text for block in own if block.kind == "fragment"}
        said = {block.name: block for block in own if block.kind == "name"}
        assert loaded == {name: _one_line(block.text, fragments) for name, block in said.items()}
        used |= {(block.file, block.name) for block in said.values()}
    assert used == {(block.file, block.name) for block in blocks if block.kind == "name"}


def _one_line(text: str, fragments: dict[str, str]) -> str:
    for name, fragment in fragments.items():
        text = text.replace("{" + name + "}", fragment)
    return " ".join(text.split()).removesuffix(";")


@pytest.mark.conforms("A0.3", "A0.4")
@pytest.mark.parametrize(
    ("engine", "query"), [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in queries()]
)
def test_a_statement_over_user_data_binds_the_scope(engine: EngineName, query: NamedQuery) -> None:
    complaints = unbound(as_written(query, engine), engine, USER_TABLES, APP_TABLES)
    if query.system:
        assert query.name in SYSTEM_STATEMENTS
    else:
        assert complaints == [], f"{query.name}: {complaints}"


def test_the_statements_over_all_scopes_are_the_known_ones_and_say_why() -> None:
    marked = [block for block in read_blocks() if block.reasons]
    assert {block.name for block in marked} == SYSTEM_STATEMENTS
    assert {query.name for _, query in queries() if query.system} == SYSTEM_STATEMENTS
    for block in marked:
        assert all(len(reason.split()) >= 4 for reason in block.reasons), f"{block.name} does not say why"


def test_what_belongs_to_the_host_is_asked_for_by_statements_over_all_scopes_alone() -> None:
    touching = [query for _, query in queries() if any(table in query.text for table in HOST_TABLES)]
    assert touching
    assert [query.name for query in touching if not query.system] == []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM conversations",
        "SELECT id FROM conversations WHERE id = :id",
        "SELECT id FROM conversations WHERE scope_id = :scope_id OR id = :id",
        "SELECT id FROM conversations WHERE id = :id AND (scope_id = :scope_id OR :scope_id IS NULL)",
        "SELECT id FROM conversations WHERE NOT (scope_id = :scope_id)",
        "SELECT id FROM conversations WHERE NOT scope_id = :scope_id",
        "SELECT id FROM conversations WHERE scope_id <> :scope_id",
        "SELECT id FROM conversations WHERE scope_id >= :scope_id",
        "SELECT id FROM conversations WHERE scope_id LIKE :scope_id",
        "SELECT id FROM conversations WHERE scope_id = 'somebody'",
        "SELECT id FROM conversations WHERE scope_id = :id",
        "SELECT id FROM conversations WHERE scope_id = scope_id",
        "SELECT id FROM conversations WHERE :scope_id = :scope_id",
        "SELECT id FROM conversations WHERE id = :scope_id",
        "SELECT id FROM conversations ORDER BY scope_id = :scope_id",
        "SELECT id, scope_id = :scope_id FROM conversations",
        "SELECT id FROM longmind.conversations WHERE id = :id",
        'SELECT id FROM "conversations" WHERE id = :id',
        "SELECT id FROM CONVERSATIONS WHERE id = :id",
        # One table is bound, and the other, or the one within, is not.
        "SELECT 1 FROM conversations AS c, events AS e WHERE c.scope_id = :scope_id AND e.conversation_id = c.id",
        "SELECT 1 FROM conversations AS c JOIN events AS e ON e.conversation_id = c.id WHERE c.scope_id = :scope_id",
        "SELECT 1 FROM conversations AS c JOIN events AS e ON e.scope_id = c.scope_id WHERE c.scope_id = :scope_id",
        "SELECT 1 FROM conversations AS c JOIN events AS e ON c.id = e.conversation_id WHERE scope_id = :scope_id",
        "SELECT 1 FROM jobs AS j FULL JOIN events AS e ON e.scope_id = :scope_id WHERE j.scope_id = :scope_id",
        """SELECT 1 FROM events AS message WHERE message.scope_id = :scope_id AND EXISTS (
            SELECT 1 FROM events AS later WHERE message.scope_id = :scope_id AND later.turn_id = message.turn_id)""",
        "SELECT 1 FROM events WHERE scope_id = :scope_id AND turn_id IN (SELECT turn_id FROM events)",
        "SELECT 1 FROM atoms WHERE scope_id = :scope_id AND space_id IN (SELECT id FROM spaces WHERE kind = 'user')",
        "SELECT 1 FROM atoms WHERE id = :id AND space_id IN (SELECT id FROM spaces WHERE scope_id = :scope_id)",
        "SELECT id FROM conversations WHERE scope_id = :scope_id UNION SELECT id FROM jobs",
        "WITH mine AS (SELECT id FROM jobs) SELECT id FROM mine WHERE scope_id = :scope_id",
        "WITH jobs AS (SELECT 1 AS id) SELECT id FROM jobs WHERE scope_id = :scope_id",
        "SELECT id FROM (SELECT scope_id, id FROM jobs) AS inner_jobs WHERE scope_id = :scope_id",
        "UPDATE jobs SET status = 'dead'",
        "UPDATE jobs SET status = 'dead' WHERE id = :id",
        "UPDATE jobs SET status = 'dead' WHERE scope_id = :scope_id OR id = :id",
        "UPDATE jobs SET scope_id = :scope_id WHERE id = :id",
        "UPDATE jobs SET scope_id = :other WHERE scope_id = :scope_id",
        "UPDATE jobs SET status = 'dead' FROM events WHERE jobs.id = events.event_id AND events.scope_id = :scope_id",
        "DELETE FROM events",
        "DELETE FROM events WHERE conversation_id = :id",
        "DELETE FROM events WHERE conversation_id IN (SELECT id FROM conversations WHERE scope_id = :scope_id)",
        "INSERT INTO erasures (scope_id, epoch) VALUES (:other, 1)",
        "INSERT INTO erasures (scope_id, epoch) VALUES ('somebody', 1)",
        "INSERT INTO erasures (scope_id, epoch) VALUES (:scope_id, 1), (:other, 1)",
        "INSERT INTO erasures (epoch) VALUES (:scope_id)",
        "INSERT INTO erasures VALUES (:scope_id, 1)",
        "INSERT INTO erasures (scope_id, epoch) SELECT scope_id, 1 FROM jobs WHERE scope_id = :scope_id",
        "INSERT INTO erasures (scope_id, epoch) SELECT :scope_id, epoch FROM jobs",
        "INSERT INTO erasures (scope_id, epoch) SELECT :scope_id, 1 UNION ALL SELECT 'somebody', 1",
        "INSERT INTO jobs (scope_id, id) VALUES (:scope_id, 1) ON CONFLICT (id) DO UPDATE SET kind = 'x'",
        """INSERT INTO erasures (scope_id, epoch) VALUES (:scope_id, 1)
            ON CONFLICT (scope_id) DO UPDATE SET scope_id = 'somebody'""",
        "DROP TABLE events",
        "TRUNCATE TABLE events",
        "SELECT 1; SELECT id FROM jobs",
        # What belongs to an app is bound to its key, and to nothing else.
        "SELECT id FROM bindings WHERE scope_id = :scope_id",
        "SELECT id FROM bindings WHERE app_key = :scope_id",
        "SELECT id FROM bindings WHERE id = :id",
        "SELECT 1 FROM jobs WHERE scope_id = :scope_id AND EXISTS (SELECT 1 FROM binding_members WHERE user_id = '*')",
        "INSERT INTO bindings (app_key, id) VALUES (:scope_id, :id)",
        "UPDATE bindings SET app_key = :other WHERE app_key = :app_key",
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_check_finds_a_statement_that_is_not_bound(engine: EngineName, statement: str) -> None:
    assert unbound(statement, engine, USER_TABLES, APP_TABLES) != []


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SELECT version FROM longmind_schema",
        "SELECT id FROM conversations AS c WHERE (c.scope_id = :scope_id) AND (id = :id OR :id IS NULL)",
        "SELECT id FROM conversations WHERE :scope_id = scope_id",
        """SELECT 1 FROM conversations AS c LEFT JOIN events AS e ON e.scope_id = :scope_id AND e.conversation_id = c.id
            WHERE c.scope_id = :scope_id""",
        "WITH mine AS (SELECT id FROM jobs WHERE scope_id = :scope_id) SELECT id FROM mine",
        """SELECT 1 FROM atoms WHERE scope_id = :scope_id
            AND space_id IN (SELECT id FROM spaces WHERE scope_id = :scope_id AND deleted_at IS NULL)""",
        "DELETE FROM events WHERE scope_id = :scope_id",
        "SELECT id FROM bindings WHERE app_key = :app_key",
        "INSERT INTO erasures (epoch, scope_id) SELECT 1, :scope_id",
        "INSERT INTO erasures (scope_id, epoch) VALUES (:scope_id, 1) ON CONFLICT (scope_id) DO UPDATE SET epoch = 2",
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_check_lets_a_bound_statement_pass(engine: EngineName, statement: str) -> None:
    assert unbound(statement, engine, USER_TABLES, APP_TABLES) == []


def test_every_table_with_user_data_has_a_scope_on_both_engines(postgres_url: str) -> None:
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        assert postgres_user_tables(connection) == USER_TABLES
        assert (
            postgres_app_tables(connection)
            == APP_TABLES
            == {
                "agents",
                "bindings",
                "binding_members",
                "binding_revisions",
                "space_grants",
            }
        )
        assert postgres_tables(connection) == USER_TABLES | APP_TABLES | HOST_TABLES
    assert sqlite_tables(migrated_in_memory()) == USER_TABLES | APP_TABLES | HOST_TABLES
    assert {"conversations", "events", "spaces", "atoms", "entities", "vector_segments"} <= USER_TABLES


@pytest.mark.conforms("A0.3")
def test_every_key_begins_with_the_scope(postgres_url: str) -> None:
    sqlite = migrated_in_memory()
    tables = USER_TABLES | APP_TABLES
    on_sqlite = {key for table in tables for key in sqlite_keys(sqlite, table)}
    longmind.open(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        on_postgres = {key for table in tables for key in postgres_keys(connection, table)}
    # On SQLite the number of a row is the order of commits, and that order needs a key of its own.
    commit_order = Key("events", ("position",))
    assert commit_order in on_sqlite
    for keys in (on_sqlite - {commit_order}, on_postgres):
        assert {key.table for key in keys} == tables
        begins_with = {table: "app_key" if table in APP_TABLES else "scope_id" for table in tables}
        assert [key for key in keys if key.columns[0] != begins_with[key.table]] == []


def test_the_drivers_are_imported_by_the_store_alone() -> None:
    importers = {path.relative_to(PACKAGE).parts[0] for path in SOURCES if _imports(path) & _DRIVERS}
    assert importers == {"store"}


_DRIVERS = {"apsw", "psycopg", "psycopg_pool", "sqlite3"}


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


# Beside plain text, this is all that may be run: the blocks of the .sql files, and the migrations.
RUN_BY_NAME = {
    "self._queries[query].text",
    "expand_rows(self._queries[query], _ROWS_OF_A_STATEMENT, len(same))",
    "migration.text",
    "migration.when",
    # Texts without a value in them, which rename what version 0.2 has made.
    "_RENAME_SETTINGS",
    "_RENAME_CONSTRAINTS",
    "_REVOKE",
    # Literals of `doctor`, which asks a server before there is a schema.
    "statement",
    "_GUARD",
}
# And this is all that may be put into such a text: names and numbers of our own, nothing that a caller has said.
PUT_INTO_TEXT = {
    "APP_ROLE",
    "VERSION_TABLE",
    "FORMER_VERSION_TABLE",
    "_FORMER_SCHEMA_TABLE",
    "lock_timeout",
    "each",
    "table",
    "'FULL' if settings.durability == 'full' else 'NORMAL'",
    "'on' if self._settings.durability == 'full' else 'off'",
}


def test_no_statement_is_built_from_what_a_caller_said() -> None:
    for path in SOURCES:
        for call in _executions(path):
            place = f"{path.relative_to(PACKAGE)}:{call.lineno}"
            assert path.is_relative_to(PACKAGE / "store"), f"{place} runs SQL outside of the store"
            statement = call.args[0]
            if ast.unparse(statement).endswith(".encode()") and isinstance(statement, ast.Call):
                # Some texts go to the driver as bytes, since it takes only literals as text.
                statement = statement.func.value if isinstance(statement.func, ast.Attribute) else statement
            parts = _interpolated(statement)
            if parts is None:
                assert ast.unparse(statement) in RUN_BY_NAME, f"{place} runs {ast.unparse(statement)}"
            else:
                assert parts <= PUT_INTO_TEXT, f"{place} puts {parts - PUT_INTO_TEXT} into a statement"


def _executions(path: Path) -> list[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and re.fullmatch(r"_?(run_statement|execute|executemany|executescript|stream|copy)", call.func.attr)
        and call.args
    ]


def _interpolated(statement: ast.expr) -> set[str] | None:
    """What is put into a text that stands in the code, nothing for a plain one; None for anything else."""
    if isinstance(statement, ast.Constant):
        return set()
    if isinstance(statement, ast.JoinedStr):
        return {ast.unparse(part.value) for part in statement.values if isinstance(part, ast.FormattedValue)}
    return None


def test_statements_are_found_however_they_are_run(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text(
        "a.execute(f'SELECT {name}')\na._execute('SELECT ' + name)\na.executemany(text, rows)\na.execute('SELECT 1')\n"
    )
    found = sorted((call.lineno, _interpolated(call.args[0])) for call in _executions(source))
    assert found == [(1, {"name"}), (2, None), (3, None), (4, set())]


def test_no_statement_is_written_outside_of_the_store() -> None:
    statement = re.compile(
        r"\s*(SELECT\s|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s|DROP\s|ALTER\s|PRAGMA\s)"
    )
    for path in SOURCES:
        if path.is_relative_to(PACKAGE / "store"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not statement.match(node.value), f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
