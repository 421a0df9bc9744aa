"""How far a database's schema is, without changing anything in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recollect.errors import InvalidUrl, NotADatabase, StoreUnavailable
from recollect.settings import Settings
from recollect.store.migrate import Migration, load_migrations
from recollect.store.opening import sqlite_path
from recollect.store.sqlite import MEMORY


@dataclass(frozen=True)
class SchemaState:
    """The migrations there are, and which of them the database has been through."""

    known: list[Migration]
    applied: list[int]
    """Empty for a database that is not there yet."""

    @property
    def missing(self) -> list[Migration]:
        return [migration for migration in self.known if migration.version not in self.applied]

    @property
    def too_new(self) -> list[int]:
        """What a newer Recollect has done to it."""
        return [version for version in self.applied if version > self.known[-1].version]


def schema_state(settings: Settings) -> SchemaState:
    """Look at the database of `settings.url`. One that does not exist is not made."""
    if settings.url.startswith("sqlite:"):
        return SchemaState(load_migrations("sqlite"), _of_file(sqlite_path(settings.url)))
    if settings.url.startswith(("postgresql://", "postgres://")):
        return SchemaState(load_migrations("postgres"), _of_server(settings))
    raise InvalidUrl("This is not an address Recollect knows.")


def _of_file(path: str) -> list[int]:
    import apsw

    if path == MEMORY or not Path(path).exists():
        return []
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if not list(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'recollect_schema'")):
                return []
            return [version for (version,) in connection.execute("SELECT version FROM recollect_schema ORDER BY 1")]
        finally:
            connection.close()
    except apsw.NotADBError as error:
        raise NotADatabase(f"{path} is not a SQLite database.") from error
    except apsw.Error as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}.") from error


def _of_server(settings: Settings) -> list[int]:
    import psycopg

    from recollect.store.postgres_line import connect_alone

    try:
        with connect_alone(settings) as connection:
            connection.read_only = True
            if connection.execute("SELECT to_regclass('recollect.recollect_schema')").fetchone() == (None,):
                return []
            rows = connection.execute("SELECT version FROM recollect.recollect_schema ORDER BY 1")
            return [version for (version,) in rows]
    except psycopg.Error as error:
        raise StoreUnavailable(f"The schema cannot be read: {str(error).strip()}") from error
