"""The recorded databases of earlier versions: what is in them, and copies to open."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg

from prove.upgrades.recorder import RECORDED

_ROLE = """
DO $$ BEGIN CREATE ROLE recollect_app NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$
"""


@dataclass(frozen=True)
class RecordedDatabase:
    """A database that one version has filled on one engine."""

    version: str
    engine: str
    folder: Path = RECORDED

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the data that the version reported."""
        found: dict[str, Any] = json.loads(self._content("json"))
        return found

    def put_into(self, url: str) -> None:
        """Fill the empty database of an address, which need not exist on SQLite, with a copy."""
        if self.engine == "sqlite":
            Path(path_of(url)).write_bytes(self._content("db"))
            return
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_ROLE)
            connection.execute(self._content("sql"))

    def _content(self, kind: str) -> bytes:
        name = "sqlite" if self.engine == "sqlite" else "postgres"
        return gzip.decompress((self.folder / self.version / f"{name}.{kind}.gz").read_bytes())


def path_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


def list_applied(url: str) -> list[int]:
    """Return the migrations that a database records as applied."""
    name = name_in(url)
    query = f"SELECT version FROM {name}_schema ORDER BY version"
    if url.startswith("sqlite:"):
        connection = apsw.Connection(path_of(url), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return [version for (version,) in connection.execute(query)]
        finally:
            connection.close()
    with psycopg.connect(url, options=f"-c search_path={name}") as postgres:
        return [version for (version,) in postgres.execute(query.encode())]


def name_in(url: str) -> str:
    """Return the product's name that a database carries: the present one, or that of version 0.2 and before."""
    if url.startswith("sqlite:"):
        connection = apsw.Connection(path_of(url), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'longmind_schema'").fetchone()
        finally:
            connection.close()
        return "longmind" if found else "recollect"
    with psycopg.connect(url) as postgres:
        found = postgres.execute("SELECT to_regclass('longmind.longmind_schema')").fetchone()
        return "recollect" if found == (None,) else "longmind"
