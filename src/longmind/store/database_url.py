"""Addresses of databases, and the way from an address to a database that is ready for use."""

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
    """Open the database of `settings.url`, create it if it is a new file, and bring its schema up to date."""
    try:
        return _open(settings, publisher)
    except OSError as error:
        # Opening also reads files of the package, which fails in a process at its limit of open files.
        raise translate_disk_error(error, error.filename or "the database") from error


def _open(settings: Settings, publisher: Publisher) -> Database:
    url = settings.url
    if engine_of(url) == "sqlite":
        database: SqliteDatabase | PostgresDatabase = SqliteDatabase(sqlite_path(url), settings, publisher)
    else:
        # The driver is optional, and programs that keep memory in a file should not wait for it to load.
        from longmind.store.postgres.database import PostgresDatabase

        database = PostgresDatabase(url, settings, publisher)
    try:
        database.migrate(load_migrations(database.engine))
    except BaseException:
        database.close()
        raise
    return database


def engine_of(url: str) -> EngineName:
    """Return the engine of an address; raise InvalidUrl if there is none, ExtensionMissing if its driver is missing."""
    try:
        validate_text("The database URL", url)
    except InvalidInput as error:
        raise InvalidUrl(error.message) from None
    if url.startswith("sqlite:"):
        return "sqlite"
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidUrl(f"{_scheme_of(url)} is not a known kind of database URL.", hint=_hint_for(url))
    for driver in ("psycopg", "psycopg_pool"):
        if find_spec(driver) is None:
            raise ExtensionMissing(
                f"PostgreSQL needs the driver psycopg, and {driver} is not installed.",
                hint="Install Longmind with its extra 'postgres', or psycopg[binary,pool] itself.",
            )
    return "postgres"


def sqlite_path(url: str) -> str:
    """Return the absolute path in `sqlite:///file` (relative) or `sqlite:////file` (absolute)."""
    path = url.removeprefix("sqlite:///")
    if path == url or not path:
        raise InvalidUrl(
            f"{url!r} is not the URL of a file.",
            hint="Write three slashes before a relative path, and four before an absolute one.",
        )
    if "?" in path or "#" in path:
        raise InvalidUrl(f"{url!r} has a '?' or '#', and takes no options.")
    if any(unicodedata.category(character) == "Cc" for character in path):
        raise InvalidUrl(f"{url!r} has a control character.", hint="Remove it from the name of the file.")
    if path != MEMORY and path.strip() == MEMORY:
        raise InvalidUrl(f"{url!r} has blanks around {MEMORY}.", hint=f"Write sqlite:///{MEMORY} without them.")
    try:
        # Absolute at once: later connections may be made from another working folder.
        return path if path == MEMORY else str(Path(path).expanduser().absolute())
    except RuntimeError:
        raise InvalidUrl(f"{url!r} names the home folder of an unknown user.", hint="Write the whole path.") from None


def _scheme_of(url: str) -> str:
    # The rest of the address may contain a password.
    scheme, colon, _ = url.partition("://")
    return repr(f"{scheme}://…") if colon else repr("…" + url[url.rindex("@") :] if "@" in url else url)


def _hint_for(url: str) -> str | None:
    if url.startswith(("http://", "https://")):
        return "This is the address of a server: use longmind.Client for it."
    # SQLite's own form of an address: file:relative.db or file:///absolute.db
    path = url.removeprefix("file://" if url.startswith("file:///") else "file:")
    if "://" not in path and "@" not in path and path.endswith((".db", ".sqlite", ".sqlite3")):
        return f"Did you mean sqlite:///{path}?"
    return None
