"""Numbered migrations, applied in order when a database is opened.

They stand in `sql/migrations/` by engine and are never changed once released: a database notes the numbers that it has
been through. A test proves that a migrated database has the schema of a new one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.errors import SchemaTooNew, StoreReadOnly
from longmind.store.queries import SQL, EngineName

VERSION_TABLE = "longmind_schema"
"""The table of applied migrations."""
FORMER_VERSION_TABLE = "recollect_schema"
"""The name of that table up to version 0.2. It is renamed when the database is opened for writing."""


@dataclass(frozen=True)
class Migration:
    """One migration, with its number, name and statements."""

    version: int
    name: str
    text: str
    when: str | None = None
    """A query that returns 1 if the statements are to be run: SQLite has no IF NOT EXISTS for a column."""


_WHEN = re.compile(r"^-- when: (.+)$", re.MULTILINE)


def load_migrations(engine: EngineName) -> list[Migration]:
    """Return the migrations of an engine, in their order."""
    found = []
    # A file is named by its number and its name: 0019_running_turns.sql.
    for file in (SQL / "migrations" / engine).iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        text = file.read_text("utf-8")
        when = _WHEN.search(text)
        found.append(Migration(int(number), name, text, when[1] if when else None))
    return sorted(found, key=lambda migration: migration.version)


def check_version(applied: list[int], known: list[Migration]) -> None:
    """Raise SchemaTooNew for a database that has been through migrations which this code does not know."""
    newest = known[-1].version
    if applied and max(applied) > newest:
        raise SchemaTooNew(
            f"The database has schema version {max(applied)}, and this Longmind knows versions up to {newest}."
        )


def describe_unwritable_upgrade(applied: list[int], known: list[Migration]) -> StoreReadOnly:
    """Return the error for an older database that cannot be migrated from here."""
    return StoreReadOnly(
        f"The database has schema version {max(applied, default=0)}, this Longmind needs {known[-1].version}, "
        "and the database cannot be written from here.",
        hint="Run `longmind migrate apply` once from where it can be written, or read it with the older version.",
    )
