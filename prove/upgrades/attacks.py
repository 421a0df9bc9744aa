"""Attacks on the moment of upgrading: a kill in its middle, other openers at the same time, and a newer version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg

import longmind
from harness.crew import Child, Line, start_process, wait_until
from prove.upgrades.checks import open_now
from prove.upgrades.recordings import list_applied, name_in, path_of

_MIDDLE = "in the middle"
_WAITS = """
SELECT count(*) FROM pg_locks
WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def open_and_stop(line: Line, url: str) -> int:
    """Open an old database; on SQLite stop after the first of the missing migrations."""

    def watch(connection: apsw.Connection) -> None:
        def at(cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
            if statement.startswith("INSERT INTO longmind_schema"):
                connection.exec_trace = None
                line.say(_MIDDLE)
                line.hear()
            return True

        connection.exec_trace = at

    if url.startswith("sqlite:"):
        apsw.connection_hooks.append(watch)
    return _open(url)


def open_plainly(line: Line, url: str) -> int:
    line.say("begins")
    return _open(url)


def _open(url: str) -> int:
    with open_now(url) as engine:
        engine.check_database()
        return len(list_applied(url))


@contextmanager
def half_upgraded(url: str) -> Iterator[tuple[Child, Callable[[], None]]]:
    """A process that has applied some of the missing migrations and committed none, and a function to resume it."""
    if url.startswith("sqlite:"):
        with start_process(open_and_stop, url) as child:
            heard = child.hear()
            assert heard == _MIDDLE, heard
            yield child, lambda: child.say("go on")
        return
    with psycopg.connect(url) as holder, start_process(open_and_stop, url) as child:
        # The table can be read, but no migration can be recorded in it.
        name = name_in(url)
        holder.execute(f"LOCK TABLE {name}.{name}_schema IN SHARE MODE".encode())
        wait_until(lambda: _count_waiting(url) == 1)
        yield child, holder.rollback


def _count_waiting(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(_WAITS).fetchone()
        assert row is not None
        return int(row[0])


def _count_pollers(url: str) -> int:
    """Return the number of sessions that wait for their turn to upgrade."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND (query LIKE '%pg_try_advisory_xact_lock%' OR query LIKE '%FROM pg_locks%')"
        ).fetchone()
        assert row is not None
        return int(row[0])


def kill_upgrade(url: str) -> list[str]:
    """Kill the upgrading process and open the database again: no part may be visible, and the upgrade must finish."""
    before = list_applied(url)
    with half_upgraded(url) as (child, _):
        child.kill()
        if list_applied(url) != before:
            return [f"a part of the migrations was seen before they were whole: {list_applied(url)}"]
    with start_process(open_plainly, url) as second:
        count = second.result()
    return [] if count > len(before) else [f"{count} migrations are applied, as before"]


def open_during_upgrade(url: str) -> list[str]:
    """Open the database again during the upgrade: the second process waits, and finds it done."""
    with half_upgraded(url) as (first, let_go_on), start_process(open_plainly, url) as second:
        assert second.hear() == "begins"
        if not url.startswith("sqlite:"):
            # SQLite does not show who waits for a file; a process that does not wait ends with an error.
            wait_until(lambda: _count_pollers(url) > 0)
        let_go_on()
        counts = {first.result(), second.result()}
    return [] if len(counts) == 1 else [f"they ended with {counts} migrations"]


def open_newer_schema(url: str) -> list[str]:
    """Open a database of a later version: it must be refused with advice, and stay unchanged to the byte."""
    _execute(url, f"INSERT INTO {{}}{name_in(url)}_schema VALUES (9999, 'of the future')")
    before = _content(url)
    problems = []
    try:
        open_now(url).close()
        problems.append("it was opened")
    except longmind.SchemaTooNew as error:
        if "9999" not in str(error) or "Upgrade" not in error.hint:
            problems.append(f"it says only: {error}")
    if _content(url) != before:
        problems.append("it was changed")
    return problems


def _execute(url: str, statement: str) -> None:
    if url.startswith("sqlite:"):
        connection = apsw.Connection(path_of(url))
        connection.execute(statement.format(""))
        connection.close()
        return
    with psycopg.connect(url) as postgres:
        postgres.execute(statement.format(f"{name_in(url)}.").encode())


def _content(url: str) -> object:
    if url.startswith("sqlite:"):
        path = Path(path_of(url))
        return path.read_bytes(), sorted(each.name for each in path.parent.glob(f"{path.name}*"))
    with psycopg.connect(url) as postgres:
        name = name_in(url)
        found = postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", (name,))
        tables = [str(table) for (table,) in found]
        rows = [sorted(map(repr, postgres.execute(f"SELECT * FROM {name}.{table}".encode()))) for table in tables]
        return tables, rows
