"""Export of a user as one document, or as an archive that is written row by row.

Both have two halves: sections for people to read, and under `records` the rows as they are, for an import. Both are the
same bytes as long as nothing was changed: they hold no time and nothing else about the export itself.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from longmind.admin.export_sections import encode_canonical, list_sections, nest_sections
from longmind.errors import InvalidInput
from longmind.runtime.durable_files import new_file, translate_disk_error
from longmind.scope import Scope
from longmind.store.database import Database, Row, Transaction
from longmind.store.whole_tables import user_rows as table_rows
from longmind.store.whole_tables.user_rows import TableColumns, UserTableColumns
from longmind.store.whole_tables.user_tables import TENANT_TABLES

FORMAT = "longmind.user"
FORMER_FORMAT = "recollect.user"
"""The format's name up to version 0.2."""
VERSION = 2
"""Since 2, vectors have 16 bits a number."""
KNOWN_VERSIONS = (1, VERSION)
MANIFEST = "manifest.json"
RECORDS = "records/"
_BYTES = "$bytes"
# The first day that ZIP knows: the file must not depend on when it was made.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


def export_document(database: Database, tables: UserTableColumns, scope: Scope) -> dict[str, Any]:
    """Return an export as one JSON document, which is in memory as a whole."""
    found = tables.all
    content = database.read_snapshot(scope, _make_document, scope, list(found.values()))
    return {**content, "sha256": hash_document(content)}


def hash_document(document: dict[str, Any]) -> str:
    """Return the hash of a document without its own hash, by which an import sees that it is whole."""
    return hashlib.sha256(
        encode_canonical({name: part for name, part in document.items() if name != "sha256"})
    ).hexdigest()


def export_archive(database: Database, tables: UserTableColumns, scope: Scope, file: IO[bytes]) -> dict[str, int]:
    """Write an export as a ZIP archive, a few rows at a time; return how many lines each of its files has."""
    found = tables.all
    return database.read_snapshot(scope, _write_archive, scope, list(found.values()), file)


@contextmanager
def new_export_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file for an export, for its owner alone. After the block it is complete and on disk, or gone."""
    created = False
    try:
        with new_file(path) as file:
            created = True
            yield file
    except OSError as error:
        if created and not isinstance(error, FileExistsError):
            raise translate_disk_error(error, path) from error
        exists = isinstance(error, FileExistsError)
        hint = (
            "Give another name: an export never replaces a file." if exists else "Check the folder and its permissions."
        )
        raise InvalidInput(f"{str(path)!r} cannot be created: {error.strerror}.", hint=hint) from error


def encode_row(row: Row) -> list[Any]:
    """Return a row ready for JSON, with its bytes in base 64."""
    return [{_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value for value in row]


def decode_row(row: Iterable[Any]) -> list[Any]:
    """Return a row as it was before `encode_row`; raise ValueError for bytes that are not in base 64."""
    return [base64.b64decode(value[_BYTES], validate=True) if isinstance(value, dict) else value for value in row]


def _make_head(scope: Scope) -> dict[str, Any]:
    owner = {"tenantId": scope.tenant_id, "appId": scope.app_id, "userId": scope.user_id}
    return {"format": FORMAT, "version": VERSION, "scope": owner}


# Both halves are read in one snapshot, so that they belong together.
def _make_document(run: Transaction, scope: Scope, tables: list[TableColumns]) -> dict[str, Any]:
    sections = {name: list(section(run, scope)) for name, section in list_sections(scope).items()}
    records = {
        name: {"columns": list(table.columns), "rows": list(map(encode_row, rows))}
        for name, table, rows in _read_tables(run, scope, tables)
    }
    return {**_make_head(scope), **nest_sections(sections), "records": records}


def _read_tables(
    run: Transaction, scope: Scope, tables: list[TableColumns]
) -> Iterator[tuple[str, TableColumns, Iterator[Row]]]:
    """Yield the name in the export, the columns and the rows of each table, which must be read one after another."""
    for table in tables:
        yield table.name, table, table_rows.read_rows(run, table, scope)
    owner = scope.block_owner
    if owner is not scope:
        table_by_name = {table.name: table for table in tables}
        with run.bind_scope(owner) as owner_run:
            for name, table_name in TENANT_TABLES.items():
                table = table_by_name[table_name]
                yield name, table, table_rows.read_rows(owner_run, table, owner)


def _write_archive(run: Transaction, scope: Scope, tables: list[TableColumns], file: IO[bytes]) -> dict[str, int]:
    files: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zip:
        for name, section in list_sections(scope).items():
            files[f"{name}.jsonl"] = _write_lines(zip, f"{name}.jsonl", section(run, scope))
        for table_name, table, rows in _read_tables(run, scope, tables):
            name = f"{RECORDS}{table_name}.jsonl"
            files[name] = {**_write_lines(zip, name, map(encode_row, rows)), "columns": list(table.columns)}
        content = {**_make_head(scope), "files": files}
        # The manifest is written last, with the hashes of all other files: an archive that was cut off has none.
        _write_lines(zip, MANIFEST, [{**content, "sha256": hash_document(content)}])
    return {name: each["lines"] for name, each in files.items()}


def _write_lines(zip: zipfile.ZipFile, name: str, items: Iterable[Any]) -> dict[str, Any]:
    digest, size, lines = hashlib.sha256(), 0, 0
    with zip.open(_make_entry(name), "w", force_zip64=True) as out:
        for line in _encode_lines(items):
            out.write(line)
            digest.update(line)
            size += len(line)
            lines += 1
    return {"lines": lines, "bytes": size, "sha256": digest.hexdigest()}


def _encode_lines(items: Iterable[Any]) -> Iterator[bytes]:
    return (encode_canonical(item) + b"\n" for item in items)


def _make_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry
