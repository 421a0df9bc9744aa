"""Numbered migrations, applied in order when a database is opened."""

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
    version: int
    name: str
    text: str
    when: str | None = None
    """A question whose answer is 1 where the text is to be run: SQLite has no IF NOT EXISTS for a column."""


_WHEN = re.compile(r"^-- when: (.+)$", re.MULTILINE)


def load_migrations(engine: EngineName) -> list[Migration]:
    found = []
    for file in (SQL / "migrations" / engine).iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        text = file.read_text("utf-8")
        when = _WHEN.search(text)
        found.append(Migration(int(number), name, text, when[1] if when else None))
    return sorted(found, key=lambda migration: migration.version)


def check_version(applied: list[int], known: list[Migration]) -> None:
    """Refuse a database that has been through migrations this code does not know."""
    newest = known[-1].version
    if applied and max(applied) > newest:
        raise SchemaTooNew(
            f"The database has schema version {max(applied)}, and this Longmind knows versions up to {newest}."
        )


def describe_unwritable_upgrade(applied: list[int], known: list[Migration]) -> StoreReadOnly:
    """What to say of an older database in a place where it cannot be brought up to date."""
    return StoreReadOnly(
        f"The database has schema version {max(applied, default=0)}, this Longmind needs {known[-1].version}, "
        "and the database cannot be written from here.",
        hint="Run `longmind migrate apply` once from where it can be written, or read it with the older version.",
    )
