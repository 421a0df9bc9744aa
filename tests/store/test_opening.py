"""Opening a database: what an address means, and what is said when it cannot be opened."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import longmind
from harness.postgres import PostgresServer, as_role, free_port
from longmind.store.migrations import load_migrations
from tests.embedder import WordsEmbedder
from tests.store.schema import sqlite_description

NEWEST = load_migrations("sqlite")[-1].version
SECRET = "opensesame"
NOBODY = 65534


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and a home folder beside it, with nothing set in the environment."""
    for variable in [name for name in os.environ if name.startswith("LONGMIND_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("LONGMIND_OFFLINE", "1")
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def remember(engine: longmind.Engine, title: str = "Kept") -> None:
    engine.context(tenant_id="acme", app_id="support", user_id="ada").conversations.create_conversation(
        "daily-checkin", title=title
    )


def titles(engine: longmind.Engine) -> list[str | None]:
    ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    return [conversation.title for conversation in ada.conversations.list_conversations()]


def refused(url: Any, kind: type[longmind.LongmindError], **settings: Any) -> longmind.LongmindError:
    """Open an address that cannot be opened, and check what every refusal has in common."""
    threads = set(threading.enumerate())
    with pytest.raises(longmind.LongmindError) as caught:
        longmind.open(url, **settings)
    error = caught.value
    assert type(error) is kind, f"{type(error).__name__}: {error}"
    assert error.message
    assert error.hint
    assert set(threading.enumerate()) <= threads
    for words in everything_said(error):
        assert SECRET not in words
    return error


def everything_said(error: BaseException | None) -> Iterator[str]:
    """What the error says in any way it can be shown, and those it comes from."""
    while error is not None:
        yield from (str(error), repr(error), "".join(traceback.format_exception(error)))
        if error.__cause__ is not None and error.__context__ is not error.__cause__:
            yield from everything_said(error.__context__)
        error = error.__cause__ or error.__context__


# --- what an address means -------------------------------------------------------------------


def test_three_slashes_lead_to_a_file_in_the_working_folder(here: Path) -> None:
    with longmind.open("sqlite:///memory.db") as engine:
        remember(engine)
    assert [path.name for path in here.iterdir()] == ["memory.db"]
    with longmind.open("sqlite:///./memory.db") as engine:
        assert titles(engine) == ["Kept"]


def test_four_slashes_lead_to_a_file_anywhere(here: Path, tmp_path: Path) -> None:
    longmind.open(f"sqlite:///{tmp_path}/elsewhere.db").close()
    assert (tmp_path / "elsewhere.db").is_file()
    assert list(here.iterdir()) == []


def test_a_change_of_the_working_folder_does_not_lead_to_another_file(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with longmind.open("sqlite:///memory.db") as engine:
        monkeypatch.chdir(tmp_path / "home")
        remember(engine)
        assert titles(engine) == ["Kept"]
    assert list((tmp_path / "home").iterdir()) == []


def test_a_tilde_is_the_home_folder(here: Path, tmp_path: Path) -> None:
    longmind.open("sqlite:///~/memory.db").close()
    assert (tmp_path / "home" / "memory.db").is_file()


@pytest.mark.parametrize("name", ["büro 🗂.db", "a b.db", "%41.db", "with'quote.db", "a:b@c.db", ".hidden"])
def test_the_name_of_a_file_is_taken_as_it_is(name: str, here: Path) -> None:
    longmind.open(f"sqlite:///{name}").close()
    assert [path.name for path in here.iterdir()] == [name]


def test_a_database_in_memory_leaves_no_file_and_is_nobody_elses(here: Path) -> None:
    with longmind.open("sqlite:///:memory:") as engine, longmind.open("sqlite:///:memory:") as other:
        remember(engine)
        assert titles(engine) == ["Kept"]
        assert titles(other) == []
    assert list(here.iterdir()) == []


def test_missing_folders_are_made_for_the_owner_alone(here: Path) -> None:
    longmind.open("sqlite:///deep/down/memory.db").close()
    assert stat.S_IMODE((here / "deep" / "down").stat().st_mode) == 0o700


def test_a_new_file_is_for_the_owner_alone_and_so_is_what_lies_beside_it(here: Path) -> None:
    before = os.umask(0)
    try:
        with longmind.open("sqlite:///memory.db") as engine:
            remember(engine)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in here.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}


def test_by_default_memory_is_kept_in_the_home_folder_for_the_owner_alone(here: Path, tmp_path: Path) -> None:
    with longmind.open() as engine:
        remember(engine)
    folder = tmp_path / "home" / ".longmind"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == ["longmind.db"]
    assert list(here.iterdir()) == []
    refused("", longmind.InvalidUrl)


def test_the_address_can_come_from_the_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGMIND_URL", "sqlite:///from-environment.db")
    longmind.open().close()
    longmind.open("sqlite:///from-caller.db").close()
    assert sorted(path.name for path in here.iterdir()) == ["from-caller.db", "from-environment.db"]


def test_both_spellings_of_postgresql_lead_to_the_server(postgres_url: str) -> None:
    with longmind.open(postgres_url) as engine:
        remember(engine)
    with longmind.open(postgres_url.replace("postgresql://", "postgres://")) as engine:
        assert titles(engine) == ["Kept"]


# --- addresses that cannot be understood -----------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://memory.db",
        "sqlite:memory.db",
        "sqlite:/memory.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///memory.db?mode=ro",
        "sqlite:///memory.db#part",
        "sqlite:///a\x00b.db",
        "sqlite:///half\ud800.db",
        "sqlite:///\x01memory.db",
        "sqlite:///memory.db\n",
        "sqlite:///memory\x85.db",
        "sqlite:///:memory: ",
        "sqlite:/// :memory:",
        "sqlite:///~nobody-of-that-name/memory.db",
        "SQLITE:///memory.db",
        " sqlite:///memory.db",
        "mysql://ada@localhost/memory",
        "http://localhost:5432/memory",
        "postgresql:ada@localhost/memory",
        "memory",
        "://",
        42,
        b"sqlite:///memory.db",
        Path("memory.db"),
    ],
)
def test_a_wrong_address_is_refused_and_nothing_is_made(url: Any, here: Path) -> None:
    error = refused(url, longmind.InvalidUrl)
    assert error.status == 400
    assert isinstance(error, ValueError)
    assert list(here.iterdir()) == []


def test_two_slashes_are_explained(here: Path) -> None:
    assert "three slashes" in refused("sqlite://memory.db", longmind.InvalidUrl).hint


@pytest.mark.parametrize("path", ["memory.db", "./memory.sqlite", "/var/lib/memory.sqlite3"])
def test_a_bare_path_is_answered_with_the_address_that_was_meant(path: str, here: Path) -> None:
    assert f"Did you mean sqlite:///{path}?" in refused(path, longmind.InvalidUrl).hint
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("file:memory.db", "sqlite:///memory.db"),
        ("file:/var/lib/memory.db", "sqlite:////var/lib/memory.db"),
        ("file:///var/lib/memory.db", "sqlite:////var/lib/memory.db"),
    ],
)
def test_an_address_as_sqlite_writes_it_is_answered_with_ours(url: str, meant: str, here: Path) -> None:
    assert f"Did you mean {meant}?" in refused(url, longmind.InvalidUrl).hint


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://ada:{SECRET}@localhost/memory",
        f"postgresql:/ada:{SECRET}@localhost/memory",
        f"postgresql:ada:{SECRET}@localhost/memory.db",
        f"ada:{SECRET}@localhost/memory",
        f"ada:{SECRET}@localhost/memory.db",
        f"POSTGRESQL://ada:{SECRET}@localhost/memory",
        f"postgresql://ada:{SECRET}@[::1/memory",
        f"postgresql://ada:{SECRET}",
        f"postgresql://ada:{SECRET}%zz@localhost/memory",
        f"postgresql://ada:x@{SECRET}@localhost/memory",
        f"postgresql://ada:{SECRET}@x@localhost/memory",
        f"postgresql://ada:x/{SECRET}@localhost/memory",
        f"postgresql://ada:{SECRET}/x@localhost/memory",
        f"postgresql://ada:{SECRET}@localhost:port/memory",
        f"postgresql://ada:{SECRET}@localhost/memory?no_such_option=1",
        f"postgresql://ada:{SECRET}@localhost/mem\x00ory",
    ],
)
def test_a_password_in_a_wrong_address_is_never_shown(url: str, here: Path) -> None:
    assert refused(url, longmind.InvalidUrl).status == 400


# --- a server that cannot be used ------------------------------------------------------------


@pytest.fixture
def closed_port() -> int:
    return free_port()


@pytest.mark.parametrize(
    "user_info", [f"ada:{SECRET}", f"ada:{SECRET}#1", f"ada:{SECRET}?1", f"ada:1?{SECRET}", f"ada:1:{SECRET}"]
)
def test_a_server_that_does_not_answer(user_info: str, closed_port: int) -> None:
    url = f"postgresql://{user_info}@127.0.0.1:{closed_port}/memory"
    error = refused(url, longmind.StoreUnavailable, connect_timeout_seconds=2)
    assert error.status == 503
    assert f"127.0.0.1:{closed_port}" in error.message


def test_a_password_given_as_an_option_is_not_shown_either(closed_port: int) -> None:
    url = f"postgresql://127.0.0.1:{closed_port}/memory?user=ada&password={SECRET}"
    assert refused(url, longmind.StoreUnavailable).status == 503


def test_a_socket_that_is_not_there(tmp_path: Path) -> None:
    error = refused(f"postgresql://ada:{SECRET}@/memory?host={tmp_path}/none", longmind.StoreUnavailable)
    assert error.status == 503
    assert f"{tmp_path}/none" in error.message


def test_a_database_that_is_not_there(postgres_server: PostgresServer) -> None:
    error = refused(postgres_server.url("no_such_database"), longmind.StoreUnavailable)
    assert error.status == 503
    assert "no_such_database" in error.message


def test_a_user_that_is_not_there(postgres_url: str) -> None:
    error = refused(as_role(postgres_url, f"nobody_here:{SECRET}"), longmind.StoreUnavailable)
    assert error.status == 503
    assert "nobody_here" in error.message


def test_a_wrong_password() -> None:
    with PostgresServer(tcp=True) as server:
        right = server.url().split(":")[2].partition("@")[0]
        wrong = refused(server.url().replace(right, SECRET), longmind.StoreUnavailable)
        assert wrong.status == 503
        assert "password" in wrong.message
        with longmind.open(server.url()) as engine:
            assert right not in repr(engine.settings)
            assert titles(engine) == []


def test_a_user_who_may_not_make_the_schema(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        try:
            error = refused(as_role(postgres_url, "guest"), longmind.StoreError)
            assert error.status == 500
            assert "permission denied" in error.message
        finally:
            connection.execute("DROP ROLE guest")
    assert schemas(postgres_url) == []


def test_a_server_without_any_extension(postgres_url: str) -> None:
    # There the server looks for the files of extensions.
    database = postgres_url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} SET extension_control_path = '/nonexistent'".encode())
    with longmind.open(postgres_url, embedder=WordsEmbedder()) as engine:
        memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
        space = memory.create_memory_space("notes")
        memory.add_atom(space.id, {"text": "Ada likes green tea.", "category": {"name": "taste", "kind": "FACT"}})
        assert [hit.atom.text for hit in memory.recall_by_topic(space.id, "green tea").hits] == ["Ada likes green tea."]
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT extname FROM pg_extension").fetchall() == [("plpgsql",)]


def test_another_programs_database_is_left_as_it_is(here: Path) -> None:
    other = apsw.Connection("other.db")
    other.execute("CREATE TABLE conversations (subject TEXT); INSERT INTO conversations VALUES ('not ours')")
    other.close()
    before = (here / "other.db").read_bytes()
    refused("sqlite:///other.db", longmind.NotADatabase)
    assert (here / "other.db").read_bytes() == before
    assert [path.name for path in here.iterdir()] == ["other.db"]


def test_a_file_too_short_to_be_a_database_is_left_as_it_is(here: Path) -> None:
    (here / "note.txt").write_bytes(b"x")
    refused("sqlite:///note.txt", longmind.NotADatabase)
    assert (here / "note.txt").read_bytes() == b"x"


def test_an_empty_file_may_become_a_database(here: Path) -> None:
    (here / "memory.db").touch()
    with longmind.open("sqlite:///memory.db") as engine:
        remember(engine)
        assert titles(engine) == ["Kept"]


WITHOUT_THE_DRIVER = """
import sys
for name in ("psycopg", "psycopg_pool"):
    sys.modules[name] = None  # what Python does with a module that is known to be missing
import longmind
longmind.open("sqlite:///:memory:").close()
try:
    longmind.open("postgresql://ada@127.0.0.1/memory")
except longmind.ExtensionMissing as error:
    print(error.status, error)
"""


def test_without_the_driver_sqlite_works_and_postgresql_says_what_to_install() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_DRIVER], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert answer.startswith("500 PostgreSQL needs the driver psycopg")
    assert "Install Longmind with its extra 'postgres', or psycopg[binary,pool] itself." in answer
    # The name belongs to somebody else on the public index.
    assert "pip install" not in answer


def test_a_failed_opening_leaves_no_connection_behind(postgres_url: str, postgres_server: PostgresServer) -> None:
    longmind.open(postgres_url).close()
    execute(postgres_url, "INSERT INTO longmind.longmind_schema VALUES (9999, 'future')")
    refused(postgres_url, longmind.SchemaTooNew)
    assert connections(postgres_server, postgres_url) == 0


def test_a_closed_engine_leaves_no_connection_and_no_thread_behind(
    database_url: str, request: pytest.FixtureRequest
) -> None:
    threads = set(threading.enumerate())
    with longmind.open(database_url) as engine:
        remember(engine)
        assert titles(engine) == ["Kept"]
        engine.start_workers(2)
    assert set(threading.enumerate()) <= threads
    if database_url.startswith("postgresql"):
        server: PostgresServer = request.getfixturevalue("postgres_server")
        assert connections(server, database_url) == 0


def connections(server: PostgresServer, url: str) -> int:
    database = url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(server.url()) as administrator:
        # The server needs a moment to see that the other end has gone.
        for _ in range(6_000):
            (count,) = administrator.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (database,)
            ).fetchone() or (0,)
            if count == 0:
                break
            administrator.execute("SELECT pg_sleep(0.01)")
            administrator.rollback()
        return int(count)


def schemas(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute("SELECT nspname FROM pg_namespace WHERE nspname = 'longmind'")]


def execute(url: str, statement: str) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute(statement)
        connection.close()
    else:
        with psycopg.connect(url) as postgres:
            postgres.execute(statement.encode())


# --- a file that cannot be used --------------------------------------------------------------


def test_a_folder_is_not_a_file(here: Path) -> None:
    (here / "folder").mkdir()
    error = refused("sqlite:///folder", longmind.StoreUnavailable)
    assert error.status == 503
    assert list((here / "folder").iterdir()) == []


def test_a_file_is_not_a_folder(here: Path) -> None:
    (here / "file").write_text("mine")
    error = refused("sqlite:///file/memory.db", longmind.StoreUnavailable)
    assert error.status == 503
    assert (here / "file").read_text() == "mine"


@pytest.mark.parametrize("path", ["a" * 300 + ".db", "a" * 300 + "/memory.db"])
def test_a_name_that_is_too_long(path: str, here: Path) -> None:
    assert refused(f"sqlite:///{path}", longmind.StoreUnavailable).status == 503
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [b"hi", b"Dear diary,\n" * 1000, bytes(range(256)) * 64, b"SQLite format 3\x00" + bytes(range(256)) * 64],
    ids=["two bytes", "a text", "something else", "something that pretends"],
)
def test_a_file_that_is_not_a_database_is_left_as_it_is(content: bytes, here: Path) -> None:
    (here / "memory.db").write_bytes(content)
    error = refused("sqlite:///memory.db", longmind.NotADatabase)
    assert error.status == 500
    assert "memory.db" in error.message
    assert (here / "memory.db").read_bytes() == content
    assert [path.name for path in here.iterdir()] == ["memory.db"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:100],
        lambda content: content[:4096] + bytes(len(content) - 4096),
        lambda content: content[:100] + b"\xff" * (len(content) - 100),
    ],
    ids=["half of it", "its header", "zeros after the first page", "garbage after the header"],
)
def test_a_damaged_database_is_recognised_and_left_as_it_is(damage: Any, here: Path) -> None:
    with longmind.open("sqlite:///memory.db") as engine:
        for number in range(50):
            remember(engine, f"{number}" * 100)
    damaged = damage((here / "memory.db").read_bytes())
    (here / "memory.db").write_bytes(damaged)
    assert refused("sqlite:///memory.db", longmind.NotADatabase).status == 500
    assert (here / "memory.db").read_bytes() == damaged


def test_damage_that_is_found_later_is_named_too(here: Path) -> None:
    with longmind.open("sqlite:///memory.db") as engine:
        remember(engine, "x" * 1000)
    inside = apsw.Connection("memory.db")
    query = "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = 'conversations'"
    root, size = (int(str(number)) for number in inside.execute(query).fetchall()[0])
    inside.close()
    content = bytearray((here / "memory.db").read_bytes())
    content[(root - 1) * size : root * size] = b"\xff" * size
    (here / "memory.db").write_bytes(content)
    with longmind.open("sqlite:///memory.db") as engine:
        with pytest.raises(longmind.NotADatabase) as caught:
            titles(engine)
        assert caught.value.status == 500
        with pytest.raises(longmind.NotADatabase):
            remember(engine)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every account of the machine can enter; pytest's own are private."""
    folder = Path(tempfile.mkdtemp(prefix="longmind-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


AS_SOMEBODY_ELSE = f"""
import json, os, sys
import longmind
# Everything is imported before the rights to read it are given up.
longmind.open("sqlite:///:memory:").close()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
try:
    with longmind.open(sys.argv[1]) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        read = [conversation.title for conversation in ada.conversations.list_conversations()]
        print(json.dumps({{"read": read}}), flush=True)
        ada.conversations.create_conversation("daily-checkin")
except longmind.LongmindError as error:
    print(json.dumps({{"kind": type(error).__name__, "status": error.status, "hint": error.hint}}))
"""


def open_as_somebody_else(path: Path) -> list[dict[str, Any]]:
    """What another account reads there, and the error it gets; root's rights would hide what is forbidden."""
    answer = subprocess.run(
        [sys.executable, "-c", AS_SOMEBODY_ELSE, f"sqlite:///{path}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


@contextmanager
def closed(path: Path, mode: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


@pytest.mark.parametrize("name", ["memory.db", "deep/memory.db"])
def test_a_folder_that_may_not_be_written(name: str, public_folder: Path) -> None:
    with closed(public_folder, 0o555):
        (answer,) = open_as_somebody_else(public_folder / name)
    assert (answer["kind"], answer["status"]) == ("StoreUnavailable", 503)
    assert "can be written" in answer["hint"] or "Create it" in answer["hint"]
    assert list(public_folder.iterdir()) == []


@pytest.mark.parametrize("name", ["memory.db", "deep/memory.db", "deep/down/memory.db"])
def test_a_folder_that_may_not_be_entered(name: str, public_folder: Path) -> None:
    private = public_folder / "private"
    (private / "deep").mkdir(parents=True)
    with closed(private, 0o000):
        (answer,) = open_as_somebody_else(private / name)
    assert (answer["kind"], answer["status"]) == ("StoreUnavailable", 503)
    assert answer["hint"]
    assert [path.name for path in private.rglob("*")] == ["deep"]


def test_a_database_in_a_folder_that_may_not_be_written(public_folder: Path) -> None:
    path = public_folder / "memory.db"
    longmind.open(f"sqlite:///{path}").close()
    path.chmod(0o444)
    before = path.read_bytes()
    with closed(public_folder, 0o555):
        (answer,) = open_as_somebody_else(path)
    assert (answer["kind"], answer["status"]) == ("StoreReadOnly", 503)
    assert "owner of the file" in answer["hint"]
    assert path.read_bytes() == before
    assert [each.name for each in public_folder.iterdir()] == ["memory.db"]


def test_a_database_that_may_not_be_written_can_still_be_read(public_folder: Path) -> None:
    path = public_folder / "memory.db"
    with longmind.open(f"sqlite:///{path}") as engine:
        remember(engine)
    path.chmod(0o444)
    before = path.read_bytes()
    with closed(public_folder, 0o777):
        found, refusal = open_as_somebody_else(path)
    assert found == {"read": ["Kept"]}
    assert (refusal["kind"], refusal["status"]) == ("StoreReadOnly", 503)
    assert path.read_bytes() == before


# --- a database of another version -----------------------------------------------------------


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(empty_url: str) -> None:
    with longmind.open(empty_url) as engine:
        remember(engine)
    prefix = "" if empty_url.startswith("sqlite") else "longmind."
    execute(empty_url, f"INSERT INTO {prefix}longmind_schema VALUES (9999, 'future')")
    error = refused(empty_url, longmind.SchemaTooNew)
    assert error.status == 500
    assert "9999" in error.message
    assert str(NEWEST) in error.message
    assert error.hint == "Upgrade Longmind to the version that made it, or a newer one."
    execute(empty_url, f"DELETE FROM {prefix}longmind_schema WHERE version = 9999")
    with longmind.open(empty_url) as engine:
        assert titles(engine) == ["Kept"]


# --- a full disk -----------------------------------------------------------------------------


def fill_up(engine: longmind.Engine) -> int:
    """Write until there is no room; how often it went well."""
    written: list[str] = []

    def write_on() -> None:
        while len(written) < 10_000:
            title = f"{len(written)}".ljust(1000, "x")
            remember(engine, title)
            written.append(title)

    with pytest.raises(longmind.StoreFull) as caught:
        write_on()
    assert caught.value.status == 507
    assert caught.value.hint
    return len(written)


def test_a_full_database_says_so_keeps_what_it_has_and_goes_on_when_there_is_room(sqlite_url: str) -> None:
    with longmind.open(sqlite_url) as engine:
        writer: apsw.Connection = engine._database._writer.own_connection()  # type: ignore[attr-defined]
        taken: Any = writer.execute("PRAGMA page_count").fetchall()[0][0]
        writer.execute(f"PRAGMA max_page_count = {taken + 10}").fetchall()
        written = fill_up(engine)
        assert written > 0
        assert len(titles(engine)) == written
        with pytest.raises(longmind.StoreFull):
            remember(engine, "y" * 1000)
        writer.execute("PRAGMA max_page_count = 100000").fetchall()
        remember(engine, "There is room again.")
        assert titles(engine)[0] == "There is room again."
        assert len(titles(engine)) == written + 1


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("Mounting a disk is not allowed here.")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(300_000))
        with longmind.open(f"sqlite:///{disk}/memory.db") as engine:
            written = fill_up(engine)
            assert written > 0
            assert len(titles(engine)) == written
            ballast.unlink()
            remember(engine, "There is room again.")
        with longmind.open(f"sqlite:///{disk}/memory.db") as engine:
            assert titles(engine)[0] == "There is room again."
            assert len(titles(engine)) == written + 1


def test_a_disk_without_room_for_a_new_database(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1024 * 1024 - 16384))
        assert refused(f"sqlite:///{disk}/memory.db", longmind.StoreFull).status == 507
        ballast.unlink()
        with longmind.open(f"sqlite:///{disk}/memory.db") as engine:
            remember(engine)
            assert titles(engine) == ["Kept"]


# --- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize(("settings", "level"), [({}, 2), ({"durability": "full"}, 2), ({"durability": "normal"}, 1)])
def test_what_was_written_is_on_disk_unless_asked_otherwise(
    settings: dict[str, Any], level: int, sqlite_url: str
) -> None:
    with longmind.open(sqlite_url, **settings) as engine:
        writer: apsw.Connection = engine._database._writer.own_connection()  # type: ignore[attr-defined]
        assert writer.execute("PRAGMA synchronous").fetchall() == [(level,)]
        assert writer.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
        assert writer.execute("PRAGMA secure_delete").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("settings", "level"), [({}, "on"), ({"durability": "full"}, "on"), ({"durability": "normal"}, "off")]
)
def test_a_server_commits_to_disk_unless_asked_otherwise(
    settings: dict[str, Any], level: str, postgres_url: str
) -> None:
    with longmind.open(postgres_url, **settings) as engine:
        pool = engine._database._connections.open_pool()  # type: ignore[attr-defined]
        with pool.connection() as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == (level,)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LONGMIND_POOL_SIZE", "abc"),
        ("LONGMIND_POOL_SIZE", "1.5"),
        ("LONGMIND_POOL_SIZE", "0"),
        ("LONGMIND_POOL_SIZE", "-1"),
        ("LONGMIND_BUSY_TIMEOUT_SECONDS", "soon"),
        ("LONGMIND_BUSY_TIMEOUT_SECONDS", "nan"),
        ("LONGMIND_BUSY_TIMEOUT_SECONDS", "inf"),
        ("LONGMIND_JOB_ATTEMPTS", "101"),
        ("LONGMIND_DURABILITY", "mostly"),
    ],
)
def test_a_wrong_setting_in_the_environment_is_named(
    variable: str, value: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    error = refused("sqlite:///memory.db", longmind.InvalidInput)
    assert error.status == 400
    assert variable.removeprefix("LONGMIND_").lower() in error.message.lower()
    assert value in error.message
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [{"pool_size": "many"}, {"pool_size": []}, {"durability": 1}, {"no_such_setting": 1}],
)
def test_a_wrong_setting_of_the_caller_is_named(settings: dict[str, Any], here: Path) -> None:
    error = refused("sqlite:///memory.db", longmind.InvalidInput, **settings)
    assert error.status == 400
    assert next(iter(settings)) in error.message
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "wrong", "bounds"),
    [
        ("pool_size", [0, -1, 1001, 2.9, float("inf"), float("nan"), True, 10**5000], "from 1 to 1,000"),
        ("job_attempts", [0, 101, 1.5, 10**5000], "from 1 to 100"),
        *(
            (
                name,
                [0, -1.0, 31_536_001, float("inf"), float("nan"), True, 10**5000],
                "above 0 and not above 31,536,000",
            )
            for name in (
                "busy_timeout_seconds",
                "connect_timeout_seconds",
                "silence_seconds",
                "job_lease_seconds",
                "job_retry_seconds",
                "job_retry_cap_seconds",
                "worker_poll_seconds",
            )
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_setting_beyond_its_bounds_is_refused_with_them(name: str, wrong: list[Any], bounds: str, here: Path) -> None:
    for value in wrong:
        error = refused("sqlite:///memory.db", longmind.InvalidInput, **{name: value})
        assert error.message.startswith(f"{name} is ")
        assert bounds in error.message
        with pytest.raises(longmind.InvalidInput, match=bounds):
            longmind.Settings(**{name: value})
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "settings", [{"pool_size": 1000, "job_attempts": 100}, {"pool_size": 2.0}, {"worker_poll_seconds": 31_536_000}]
)
def test_a_setting_at_its_bounds_is_taken(settings: dict[str, Any], here: Path) -> None:
    with longmind.open("sqlite:///memory.db", **settings) as engine:
        for name, value in settings.items():
            assert getattr(engine.settings, name) == value


def test_settings_come_from_the_environment_and_the_caller_wins(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGMIND_POOL_SIZE", "7")
    monkeypatch.setenv("LONGMIND_JOB_ATTEMPTS", "3")
    monkeypatch.setenv("LONGMIND_DURABILITY", "")
    with longmind.open("sqlite:///memory.db", job_attempts=9) as engine:
        assert (engine.settings.pool_size, engine.settings.job_attempts) == (7, 9)
        assert engine.settings.durability == "full"


def test_a_very_long_patience_is_possible(empty_url: str) -> None:
    with longmind.open(empty_url, busy_timeout_seconds=365 * 24 * 3600) as engine:
        remember(engine)
        assert titles(engine) == ["Kept"]


def test_opening_twice_at_once_is_possible(empty_url: str) -> None:
    with longmind.open(empty_url) as first, longmind.open(empty_url) as second:
        remember(first)
        assert titles(second) == ["Kept"]


def test_nothing_is_added_to_a_file_by_opening_it_again(here: Path) -> None:
    longmind.open("sqlite:///memory.db").close()
    before = sqlite_description("memory.db"), (here / "memory.db").stat().st_size
    longmind.open("sqlite:///memory.db").close()
    assert (sqlite_description("memory.db"), (here / "memory.db").stat().st_size) == before
