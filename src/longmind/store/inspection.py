"""A look at a database from outside: nothing is made, migrated or changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import apsw

from longmind.clock import Micros
from longmind.settings import Settings
from longmind.store.database_url import engine_of, sqlite_path
from longmind.store.queries import EngineName
from longmind.store.sqlite.database import translate
from longmind.store.sqlite.versions import read_versions


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
    from longmind.store.postgres.roles import inspect_server

    return Look("postgres", *inspect_server(settings))


def _look_at_file(path: str) -> Look:
    version = apsw.sqlite_lib_version()
    if not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return Look("sqlite", version, None)
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            applied = read_versions(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise translate(error, path=path) from error
    return Look("sqlite", version, applied)
