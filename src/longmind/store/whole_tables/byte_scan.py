"""Looks for texts in the files of a database, byte by byte: what was erased must not be found there.

PostgreSQL may keep a long value compressed, where no text is found. So the rows that are there are read too, as they
are when they are not compressed; and of rows that were deleted it is known that they are gone once the table was
written into another file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from longmind.errors import StoreError
from longmind.store.database import Database

_PIECE = 8 * 1024 * 1024


@dataclass
class ByteScan:
    """What was looked at, and what was found where."""

    files: int = 0
    bytes: int = 0
    found: list[tuple[str, str]] = field(default_factory=list)
    """The file, and the text that is in it."""
    not_rewritten: list[str] = field(default_factory=list)
    """Tables that are still in the file that they were in when somebody was last erased."""

    @property
    def clean(self) -> bool:
        return not self.found and not self.not_rewritten

    def as_json(self) -> dict[str, Any]:
        found = [{"file": file, "text": text} for file, text in self.found]
        return {"files": self.files, "bytes": self.bytes, "found": found, "notRewritten": self.not_rewritten}


class SearchedTexts:
    """Texts in all the ways that they may be written in a file."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._ways: dict[bytes, str] = {way: text for text in texts if text for way in _list_encodings(text)}
        self._longest = max(map(len, self._ways), default=1)

    def search(self, name: str, pieces: Iterable[bytes], scan: ByteScan) -> None:
        """Look through the pieces of a file; a text may begin in one and end in the next."""
        scan.files += 1
        left = dict(self._ways)
        end = b""
        for piece in pieces:
            scan.bytes += len(piece)
            looked_at = end + piece
            for way in [way for way in left if way in looked_at]:
                scan.found.append((name, left.pop(way)))
            end = looked_at[-(self._longest - 1) :] if self._longest > 1 else b""
        scan.found = list(dict.fromkeys(scan.found))


def _list_encodings(text: str) -> set[bytes]:
    forms = {text, text.casefold()}
    forms |= {json.dumps(form, ensure_ascii=ascii)[1:-1] for form in list(forms) for ascii in (True, False)}
    # Rows that are read as text have their backslashes doubled.
    forms |= {form.replace("\\", "\\\\") for form in list(forms)}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def scan_sqlite(path: str, needles: SearchedTexts) -> ByteScan:
    """Look through the files of an SQLite database. No engine of this process may have it open.

    To close a file that was opened beside SQLite ends the locks that this process holds on it.
    """
    scan = ByteScan()
    for ending in ("", "-wal", "-journal", "-shm"):
        file = Path(path + ending)
        if file.is_file():
            with file.open("rb") as opened:
                needles.search(file.name, _read(opened), scan)
    return scan


def scan_folder(folder: Path, needles: SearchedTexts, scan: ByteScan) -> None:
    """Look through the files of a folder too, and through their names."""
    paths = sorted(folder.rglob("*"))
    names = [str(path.relative_to(folder)) for path in paths]
    if names:
        needles.search(f"names in {folder}", ["\n".join(names).encode("utf-8", "surrogateescape")], scan)
    for path, name in zip(paths, names, strict=True):
        if path.is_file():
            with path.open("rb") as opened:
                needles.search(name, _read(opened), scan)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _join_rows(rows: Iterable[bytes | bytearray | memoryview]) -> Iterator[bytes]:
    """Rows joined to pieces that are worth looking through."""
    held = bytearray()
    for row in rows:
        held += row
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def scan_postgres(url: str, database: Database, needles: SearchedTexts, *, wal: bool = False) -> ByteScan:
    """Look through the files of a PostgreSQL database, as the server sees them, and through its rows.

    It needs a superuser, or a member of pg_read_server_files. With `wal` the write-ahead log is looked through too.
    """
    import psycopg

    scan = ByteScan(not_rewritten=_list_not_rewritten(database))
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            for folder in ("base", *(("pg_wal",) if wal else ())):
                for name in _list_files(connection, folder):
                    needles.search(name, _read_pieces(connection, name), scan)
            for (table,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'longmind'"):
                with connection.cursor().copy(f"COPY (SELECT * FROM longmind.{table}) TO STDOUT") as rows:
                    needles.search(f"rows of {table}", _join_rows(rows), scan)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            "This role may not read the files of the server.",
            hint="Verify with the address of a superuser, or of a member of pg_read_server_files and pg_checkpoint.",
        ) from error
    except psycopg.Error as error:
        raise StoreError(f"The files of the server could not be read: {error}") from error
    return scan


def _list_files(connection: Any, folder: str) -> list[str]:
    if folder == "base":
        row = connection.execute("SELECT 'base/' || oid FROM pg_database WHERE datname = current_database()").fetchone()
        folder = row[0]
    names = connection.execute("SELECT name FROM pg_ls_dir(%s) AS name ORDER BY name", (folder,)).fetchall()
    return [f"{folder}/{name}" for (name,) in names if name not in ("archive_status", "summaries")]


def _read_pieces(connection: Any, name: str) -> Iterator[bytes]:
    offset = 0
    while True:
        # A file that is gone meanwhile is none any more.
        row = connection.execute("SELECT pg_read_binary_file(%s, %s, %s, true)", (name, offset, _PIECE)).fetchone()
        if not row or not row[0]:
            return
        yield row[0]
        offset += len(row[0])


def _list_not_rewritten(database: Database) -> list[str]:
    row = database.read(None, lambda run: run.one("last_erasure"))
    if row is None:
        return []
    before = json.loads(row[0]).get("details", {}).get("files", {})
    now: dict[str, int] = dict(database.read(None, lambda run: run.all("table_files")))
    return sorted(table for table, file in before.items() if now.get(table) == file)
