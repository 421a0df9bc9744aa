"""Inspection of a database from outside: nothing is created, migrated or changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import apsw

from longmind.clock import Micros
from longmind.settings import Settings
from longmind.store.database_url import engine_of, sqlite_path
from longmind.store.opening_needs import OpeningNeed, list_file_needs
from longmind.store.queries import EngineName
from longmind.store.sqlite.database import translate
from longmind.store.sqlite.versions import read_versions


@dataclass(frozen=True)
class DatabaseInspection:
    """Facts about a database, found without opening it as an engine does."""

    engine: EngineName
    version: str
    """The version of SQLite, or of the server."""
    applied: list[int] | None
    """The applied migrations; None if there is no database of ours yet."""
    clock_off: Micros | None = None
    """Least difference between its clock and this machine's; None if it is on this machine."""
    needs: tuple[OpeningNeed, ...] = ()
    """The needs of opening it, met or not."""


def inspect_database(settings: Settings) -> DatabaseInspection:
    """Return what is at the address; raises the errors that opening it would raise."""
    if engine_of(settings.url) == "sqlite":
        return _inspect_file(sqlite_path(settings.url))
    from longmind.store.postgres.server_inspection import inspect_server

    version, applied, clock_off, needs = inspect_server(settings)
    return DatabaseInspection("postgres", version, applied, clock_off, tuple(needs))


def _inspect_file(path: str) -> DatabaseInspection:
    version, needs = apsw.sqlite_lib_version(), tuple(list_file_needs(path))
    if not os.path.exists(path) or (os.path.isfile(path) and not os.path.getsize(path)):
        return DatabaseInspection("sqlite", version, None, needs=needs)
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            applied = read_versions(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise translate(error, path=path) from error
    return DatabaseInspection("sqlite", version, applied, needs=needs)
