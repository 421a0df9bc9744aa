"""From an address to a database that is ready for use."""

from __future__ import annotations

import unicodedata
from importlib.util import find_spec
from pathlib import Path

from longmind.errors import ExtensionMissing, InvalidInput, InvalidUrl
from longmind.runtime.durable_files import translate_disk_error
from longmind.settings import Settings
from longmind.store.database import Database, Publisher
from longmind.store.migrations import load_migrations
from longmind.store.queries import EngineName
from longmind.store.sqlite.database import MEMORY, SqliteDatabase
from longmind.validation.text import validate_text


def open_database(settings: Settings, publisher: Publisher) -> Database:
    """Open the database of `settings.url` and bring its schema up to date."""
    try:
        return _open(settings, publisher)
    except OSError as error:
        # Files of our own are read for it as well, which a process that may open no more cannot do.
        raise translate_disk_error(error, error.filename or "the database") from error


def _open(settings: Settings, publisher: Publisher) -> Database:
    url = settings.url
    if engine_of(url) == "sqlite":
        database: SqliteDatabase | PostgresDatabase = SqliteDatabase(sqlite_path(url), settings, publisher)
    else:
        # The driver is an optional part, and nobody should wait for it to load who keeps memory in a file.
        from longmind.store.postgres.database import PostgresDatabase

        database = PostgresDatabase(url, settings, publisher)
    try:
        database.migrate(load_migrations(database.engine))
    except BaseException:
        database.close()
        raise
    return database


def engine_of(url: str) -> EngineName:
    """Which engine an address is for; refused when there is none, or its driver is not here."""
    try:
        validate_text("The address", url)
    except InvalidInput as error:
        raise InvalidUrl(error.message) from None
    if url.startswith("sqlite:"):
        return "sqlite"
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidUrl(f"{_scheme_of(url)} is not an address Longmind knows.", hint=_hint_for(url))
    for driver in ("psycopg", "psycopg_pool"):
        if find_spec(driver) is None:
            raise ExtensionMissing(
                f"PostgreSQL needs the driver psycopg, and {driver} is not installed.",
                hint="Install Longmind with its extra 'postgres', or psycopg[binary,pool] itself.",
            )
    return "postgres"


def sqlite_path(url: str) -> str:
    """The file of `sqlite:///file` (relative) or `sqlite:////file` (absolute)."""
    path = url.removeprefix("sqlite:///")
    if path == url or not path:
        raise InvalidUrl(
            f"{url!r} is not an address of a file.",
            hint="A file takes three slashes, or four when its path is absolute.",
        )
    if "?" in path or "#" in path:
        raise InvalidUrl(f"{url!r} has a '?' or '#', and takes no options.")
    if any(unicodedata.category(character) == "Cc" for character in path):
        raise InvalidUrl(f"{url!r} has a control character.", hint="Remove it; it is hardly part of the file's name.")
    if path != MEMORY and path.strip() == MEMORY:
        raise InvalidUrl(f"{url!r} has blanks around {MEMORY}.", hint=f"Write sqlite:///{MEMORY} without them.")
    try:
        # Made absolute at once: connections are made later too, when the working folder may be another.
        return path if path == MEMORY else str(Path(path).expanduser().absolute())
    except RuntimeError:
        raise InvalidUrl(f"{url!r} names the home folder of nobody known here.", hint="Write the path out.") from None


def _scheme_of(url: str) -> str:
    # Only the part before the first colon is shown: what comes after may hold a password.
    scheme, colon, _ = url.partition("://")
    return repr(f"{scheme}://…") if colon else repr("…" + url[url.rindex("@") :] if "@" in url else url)


def _hint_for(url: str) -> str | None:
    # What SQLite itself calls an address: file:relative.db or file:///absolute.db
    path = url.removeprefix("file://" if url.startswith("file:///") else "file:")
    if "://" not in path and "@" not in path and path.endswith((".db", ".sqlite", ".sqlite3")):
        return f"Did you mean sqlite:///{path}?"
    return None
