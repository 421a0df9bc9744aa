"""The migrations that a database has been through, read without changing anything in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from longmind.errors import InvalidUrl, NotADatabase, StoreUnavailable
from longmind.settings import Settings
from longmind.store.database_url import sqlite_path
from longmind.store.migrations import Migration, load_migrations
from longmind.store.sqlite.database import MEMORY


@dataclass(frozen=True)
class SchemaState:
    """The migrations of an engine, and the numbers of those that a database has been through."""

    known: list[Migration]
    applied: list[int]
    """Empty for a database that does not exist yet."""

    @property
    def missing(self) -> list[Migration]:
        """The migrations that are still to be applied."""
        return [migration for migration in self.known if migration.version not in self.applied]

    @property
    def too_new(self) -> list[int]:
        """The numbers of migrations that only a newer Longmind knows."""
        return [version for version in self.applied if version > self.known[-1].version]


def read_schema_state(settings: Settings) -> SchemaState:
    """Return the state of the database at `settings.url`. One that does not exist is not made."""
    if settings.url.startswith("sqlite:"):
        return SchemaState(load_migrations("sqlite"), _read_file(sqlite_path(settings.url)))
    if settings.url.startswith(("postgresql://", "postgres://")):
        return SchemaState(load_migrations("postgres"), _read_server(settings))
    raise InvalidUrl("The database URL is of an unknown kind.")


def _read_file(path: str) -> list[int]:
    import apsw

    from longmind.store.sqlite.versions import read_versions

    # A read-only connection would fail for a file that does not exist.
    if path == MEMORY or not Path(path).exists():
        return []
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return read_versions(connection) or []
        finally:
            connection.close()
    except apsw.NotADBError as error:
        raise NotADatabase(f"{path} is not a SQLite database.") from error
    except apsw.Error as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}.") from error


def _read_server(settings: Settings) -> list[int]:
    import psycopg

    from longmind.store.postgres.keepalive import connect_unpooled
    from longmind.store.postgres.product_rename import read_versions

    try:
        with connect_unpooled(settings) as connection:
            # Nothing may be changed, also by a mistake in here.
            connection.read_only = True
            return read_versions(connection) or []
    except psycopg.Error as error:
        raise StoreUnavailable(f"The schema cannot be read: {str(error).strip()}") from error
