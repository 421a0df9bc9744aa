"""All that belongs to a user as one document, or as an archive that is written row by row.

Both have two halves: what a person reads, and under `records` the rows as they are, by which it can be imported. Both
are the same bytes as long as nothing was changed: they tell no time and nothing else of the export itself.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from longmind.admin.export_sections import SECTIONS, canonical, nested
from longmind.errors import InvalidInput
from longmind.runtime.durable_files import new_file, translate_disk_error
from longmind.scope import Scope
from longmind.store.database import Database, Row, Transaction
from longmind.store.whole_tables import rows as moving
from longmind.store.whole_tables.rows import TableColumns, UserTableColumns

FORMAT = "longmind.user"
FORMER_FORMAT = "recollect.user"
"""The format's name up to version 0.2."""
VERSION = 2
"""With 2, vectors came to have 16 bits a number."""
KNOWN_VERSIONS = (1, VERSION)
MANIFEST = "manifest.json"
RECORDS = "records/"
_BYTES = "$bytes"
# The first day that the format knows: the file must not depend on when it was made.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def document(database: Database, tables: UserTableColumns, scope: Scope) -> dict[str, Any]:
    """One JSON document. All of it is in memory."""
    found = tables.all
    told = database.read_snapshot(scope, _document, scope, list(found.values()))
    return {**told, "sha256": digest_of(told)}


def digest_of(document: dict[str, Any]) -> str:
    """What the document says of itself, to tell whether it is whole."""
    return hashlib.sha256(canonical({name: part for name, part in document.items() if name != "sha256"})).hexdigest()


def archive(database: Database, tables: UserTableColumns, scope: Scope, file: IO[bytes]) -> dict[str, int]:
    """Write a ZIP archive, a few rows at a time; gives how many lines each of its files has."""
    found = tables.all
    return database.read_snapshot(scope, _archive, scope, list(found.values()), file)


@contextmanager
def written_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file for an export, for its owner alone. It is whole and on disk at the end of the block, or gone."""
    made = False
    try:
        with new_file(path) as file:
            made = True
            yield file
    except OSError as error:
        if made and not isinstance(error, FileExistsError):
            raise translate_disk_error(error, path) from error
        raise InvalidInput(
            f"{str(path)!r} cannot be made: {error.strerror}.", hint="Check the folder and its permissions."
        ) from error


def encoded(row: Row) -> list[Any]:
    return [{_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value for value in row]


def decoded(row: Iterable[Any]) -> list[Any]:
    return [base64.b64decode(value[_BYTES], validate=True) if isinstance(value, dict) else value for value in row]


def _head(scope: Scope) -> dict[str, Any]:
    whose = {"tenantId": scope.tenant_id, "appId": scope.app_id, "userId": scope.user_id}
    return {"format": FORMAT, "version": VERSION, "scope": whose}


def _document(run: Transaction, scope: Scope, tables: list[TableColumns]) -> dict[str, Any]:
    sections = {name: list(section(run, scope)) for name, section in SECTIONS.items()}
    records = {
        table.name: {"columns": list(table.columns), "rows": list(map(encoded, moving.read_rows(run, table, scope)))}
        for table in tables
    }
    return {**_head(scope), **nested(sections), "records": records}


def _archive(run: Transaction, scope: Scope, tables: list[TableColumns], file: IO[bytes]) -> dict[str, int]:
    files: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zip:
        for name, section in SECTIONS.items():
            files[f"{name}.jsonl"] = _put(zip, f"{name}.jsonl", section(run, scope))
        for table in tables:
            rows = (encoded(row) for row in moving.read_rows(run, table, scope))
            name = f"{RECORDS}{table.name}.jsonl"
            files[name] = {**_put(zip, name, rows), "columns": list(table.columns)}
        told = {**_head(scope), "files": files}
        # Last, since only now it is known what the others are. A file that was cut off has none.
        _put(zip, MANIFEST, [{**told, "sha256": digest_of(told)}])
    return {name: each["lines"] for name, each in files.items()}


def _put(zip: zipfile.ZipFile, name: str, items: Iterable[Any]) -> dict[str, Any]:
    digest, size, lines = hashlib.sha256(), 0, 0
    with zip.open(_entry(name), "w", force_zip64=True) as out:
        for line in _lines(items):
            out.write(line)
            digest.update(line)
            size += len(line)
            lines += 1
    return {"lines": lines, "bytes": size, "sha256": digest.hexdigest()}


def _lines(items: Iterable[Any]) -> Iterator[bytes]:
    return (canonical(item) + b"\n" for item in items)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry
