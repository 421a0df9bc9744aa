"""Check of a database's integrity by the database itself."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import psycopg


def find_damage(url: str) -> Iterator[str]:
    """Yield the damage that SQLite or PostgreSQL finds in a database; nothing when it is sound."""
    if url.startswith("sqlite:///"):
        yield from _damage_of_file(url.removeprefix("sqlite:///"))
    else:
        yield from _damage_of_server(url)


def _damage_of_file(path: str) -> Iterator[str]:
    connection = apsw.Connection(path)
    try:
        yield from (str(found) for (found,) in connection.execute("PRAGMA integrity_check") if found != "ok")
        yield from (f"broken reference: {row}" for row in connection.execute("PRAGMA foreign_key_check"))
    finally:
        connection.close()


def _damage_of_server(url: str) -> Iterator[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
        relations = connection.execute(
            "SELECT oid, relname, relkind FROM pg_class "
            "WHERE relnamespace = 'longmind'::regnamespace AND relkind IN ('i', 'r')"
        ).fetchall()
        if {kind for *_, kind in relations} != {"i", "r"}:
            yield "there are no tables, or no indexes"
        for relation, name, kind in relations:
            try:
                if kind == "i":
                    # Raises an error for every fault, including a row that the index lacks.
                    connection.execute("SELECT bt_index_check(%s::regclass, heapallindexed => true)", (relation,))
                    continue
                found = connection.execute("SELECT * FROM verify_heapam(%s::regclass)", (relation,)).fetchall()
                yield from (f"{name}: {row}" for row in found)
            except psycopg.Error as error:
                yield f"{name}: {error}"
