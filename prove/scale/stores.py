"""The two stores that are compared: one with all users, and one with a few of them alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw
import psycopg

from harness.postgres import PostgresServer
from prove.scale.population import Population, fill, select_measured

KEEP = "PROVE_KEEP"
"""Names a folder in which filled stores stay, so that a later run need not fill them again; it works on copies.

Its path has to be short, for a socket in it, and open to the account that root's PostgreSQL runs under.
"""
_STORE = "scale"


@dataclass(frozen=True)
class StorePair:
    """A store of many users, and one of the measured ones among them."""

    engine: str
    big: str
    small: str
    users: int
    filled: Population
    folder: Path

    @property
    def measured(self) -> list[int]:
        return select_measured(self.users)


@contextmanager
def filled_pair(engine: str, folder: Path, users: int) -> Iterator[StorePair]:
    kept = os.environ.get(KEEP)
    make = _sqlite if engine == "sqlite" else _postgres
    with make(folder, Path(kept) if kept else None, users) as pair:
        fill(pair.small, pair.measured)
        yield pair


@contextmanager
def _sqlite(folder: Path, kept: Path | None, users: int) -> Iterator[StorePair]:
    place = (kept or folder).absolute()
    place.mkdir(parents=True, exist_ok=True)
    filled = _fill_or_load(place, "sqlite", f"sqlite:///{place}/{_STORE}.db", users, is_kept=kept is not None)
    big = place / f"{_STORE}.db"
    if kept is not None:
        _empty_wal(big)
        big = Path(shutil.copy(big, folder / f"{_STORE}.db"))
    try:
        yield StorePair("sqlite", f"sqlite:///{big}", f"sqlite:///{folder}/small.db", filled.users, filled, folder)
    finally:
        for path in folder.glob("*.db*"):
            path.unlink()


@contextmanager
def _postgres(folder: Path, kept: Path | None, users: int) -> Iterator[StorePair]:
    place = None if kept is None else kept.absolute() / "postgresql"
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    with PostgresServer(kept=place) as server:
        if _is_missing(server, _STORE):
            server.create_database(_STORE)
        url = server.url(_STORE)
        filled = _fill_or_load(kept or folder, "postgresql", url, users, is_kept=kept is not None)
        if kept is not None:
            url = _copy_database(server, _STORE, "big")
        server.drop_database("small")
        try:
            yield StorePair("postgresql", url, server.create_database("small"), filled.users, filled, server.folder)
        finally:
            if kept is not None:
                server.drop_database("big")
                server.drop_database("small")


def _fill_or_load(folder: Path, engine: str, url: str, users: int, *, is_kept: bool) -> Population:
    note = folder / f"{engine}.json"
    if is_kept and note.exists():
        return Population(**json.loads(note.read_text("utf-8")))
    filled = fill(url, range(users))
    if is_kept:
        note.write_text(json.dumps(asdict(filled)), "utf-8")
    return filled


def _is_missing(server: PostgresServer, name: str) -> bool:
    with psycopg.connect(server.url()) as connection:
        return connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None


def _copy_database(server: PostgresServer, name: str, copy: str) -> str:
    server.drop_database(copy)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        # File by file, since the other strategy writes everything to the write-ahead log first.
        connection.execute(f"CREATE DATABASE {copy} TEMPLATE {name} STRATEGY FILE_COPY")
    return server.url(copy)


def _empty_wal(path: Path) -> None:
    """Move the WAL file into the database, so that one file holds everything."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


def path_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))
