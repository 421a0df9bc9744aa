"""What the tests of memory have in common: facts to remember, and ways to look at all there is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import apsw
import psycopg

import longmind
from longmind.memory import Memory
from tests.store.schema import postgres_user_tables, sqlite_user_tables

T = TypeVar("T")


def fact(text: str = "Ada lives in Graz.", kind: str = "FACT", name: str = "notes", **fields: Any) -> dict[str, Any]:
    return {"text": text, "category": {"name": name, "kind": kind}, **fields}


def found(memory: Memory, space_id: str, query: str) -> list[str]:
    """The texts that a recall finds, best first."""
    return [hit.atom.text for hit in memory.recall_by_topic(space_id, query).hits]


def looked_up(memory: Memory, atom: longmind.Atom) -> longmind.Atom:
    """The atom as it is now."""
    now = memory.get_atom(atom.id)
    assert now is not None
    return now


def administrator(engine: longmind.Engine) -> Memory:
    """The same user's memory, in the hands of somebody who may restore."""
    return engine.context(tenant_id="acme", app_id="support", user_id="ada", capabilities={"admin"}).memory


def kinds_since(engine: longmind.Engine, cursor: int) -> list[str]:
    return [change.kind for change in engine.follow(cursor)]


def at_once(count: int, work: Callable[[int], T]) -> list[T]:
    """Run a function in threads that begin at one moment, and collect what they return."""
    gate = threading.Barrier(count)

    def begin(index: int) -> T:
        gate.wait()
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def rows_of(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables of users, as somebody with the file, or with the server, sees them."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        tables = sqlite_user_tables(connection)
        rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
        connection.close()
        return rows
    with psycopg.connect(url) as postgres:
        return {
            table: postgres.execute(f"SELECT * FROM longmind.{table}".encode()).fetchall()
            for table in postgres_user_tables(postgres)
        }
