"""A look at a database from outside: nothing is made, migrated or changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import apsw

from recollect.clock import Micros
from recollect.settings import Settings
from recollect.store.opening import engine_of, sqlite_path
from recollect.store.queries import EngineName
from recollect.store.sqlite import translate


@dataclass(frozen=True)
class Look:
    engine: EngineName
    version: str
    """Of SQLite, or of the server."""
    applied: list[int] | None
    """The migrations that it has been through; None when there is no database of ours yet."""
    clock_off: Micros | None = None
    """By how much at least its clock differs from this machine's, where it may be another machine."""


def look(settings: Settings) -> Look:
    """What there is at the address; errors are the ones that opening it would give."""
    if engine_of(settings.url) == "sqlite":
        return _look_at_file(sqlite_path(settings.url))
    from recollect.store.postgres_setup import look_at_server

    return Look("postgres", *look_at_server(settings))


def _look_at_file(path: str) -> Look:
    version = apsw.sqlite_lib_version()
    if not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return Look("sqlite", version, None)
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'recollect_schema'").fetchone()
            rows = connection.execute("SELECT version FROM recollect_schema").fetchall() if known else []
        finally:
            connection.close()
    except apsw.Error as error:
        raise translate(error, path=path) from error
    return Look("sqlite", version, [int(str(number)) for (number,) in rows] if known else None)
