"""Numbered migrations, applied in order when a database is opened."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.errors import SchemaTooNew
from recollect.store.queries import SQL, EngineName


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    text: str


def load_migrations(engine: EngineName) -> list[Migration]:
    found = []
    for file in (SQL / "migrations" / engine).iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        found.append(Migration(int(number), name, file.read_text("utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def check_version(applied: list[int], known: list[Migration]) -> None:
    """Refuse a database that has been through migrations this code does not know."""
    newest = known[-1].version
    if applied and max(applied) > newest:
        raise SchemaTooNew(
            f"The database has schema version {max(applied)}, and this Recollect knows versions up to {newest}."
        )
