"""Search for texts in the files of a database, byte by byte: what was erased must not be found there.

PostgreSQL may store a long value compressed, where no text can be found. So the rows that exist are read too, which
decompresses them; and deleted rows are certainly gone once their table was rewritten into another file, which is
compared with the file that the receipt of the last erasure names.
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
    """The result of a scan: the files that were read, and the texts that were found in them."""

    files: int = 0
    bytes: int = 0
    found: list[tuple[str, str]] = field(default_factory=list)
    """Each file with a text that is in it."""
    not_rewritten: list[str] = field(default_factory=list)
    """Tables that are still in the file that they were in at the last erasure."""

    @property
    def clean(self) -> bool:
        """True if no text was found, and every table was rewritten."""
        return not self.found and not self.not_rewritten

    def as_json(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        found = [{"file": file, "text": text} for file, text in self.found]
        return {"files": self.files, "bytes": self.bytes, "found": found, "notRewritten": self.not_rewritten}


class SearchedTexts:
    """Texts to search for, in all the encodings in which a file may have them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._ways: dict[bytes, str] = {way: text for text in texts if text for way in _list_encodings(text)}
        self._longest = max(map(len, self._ways), default=1)

    def search(self, name: str, pieces: Iterable[bytes], scan: ByteScan) -> None:
        """Search the pieces of a file, and add what is found to the scan; a text may cross from one to the next."""
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
    # COPY doubles the backslashes of rows that it returns as text.
    forms |= {form.replace("\\", "\\\\") for form in list(forms)}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def scan_sqlite(path: str, needles: SearchedTexts) -> ByteScan:
    """Search the files of an SQLite database. No engine of this process may have it open.

    On POSIX systems, closing a file ends all locks that the process holds on it, those of SQLite included.
    """
    scan = ByteScan()
    for ending in ("", "-wal", "-journal", "-shm"):
        file = Path(path + ending)
        if file.is_file():
            with file.open("rb") as opened:
                needles.search(file.name, _read(opened), scan)
    return scan


def scan_folder(folder: Path, needles: SearchedTexts, scan: ByteScan) -> None:
    """Search the files of a folder and their names, and add what is found to a scan."""
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
    """Yield rows joined to large pieces."""
    held = bytearray()
    for row in rows:
        held += row
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def scan_postgres(url: str, database: Database, needles: SearchedTexts, *, wal: bool = False) -> ByteScan:
    """Search the files of a PostgreSQL database, as the server sees them, and its rows.

    It needs a superuser, or a member of pg_read_server_files and pg_checkpoint. With `wal` the write-ahead log is
    searched too.
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
            hint="Use the URL of a superuser, or of a member of pg_read_server_files and pg_checkpoint.",
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
        # The fourth argument: a file that was removed since it was listed is no error.
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
