"""Sources of an import: a document or an archive, refused unless it is whole and an export of a user.

The file comes from outside and is not trusted. Nothing of an archive is unpacked to the disk, no name in it is used as
a path, and its size in memory is bounded before it is read: lines, manifest and documents by their size, packed files
by how much they may grow. Files that overlap are refused.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar, cast

from longmind.admin.export_sections import SECTIONS, TENANT_SECTIONS
from longmind.admin.user_export import (
    FORMAT,
    FORMER_FORMAT,
    KNOWN_VERSIONS,
    MANIFEST,
    RECORDS,
    decode_row,
    hash_document,
)
from longmind.errors import InvalidInput
from longmind.scope import Scope
from longmind.store.whole_tables.user_tables import TENANT_TABLES, USER_TABLE_BY_NAME

if TYPE_CHECKING:
    from longmind.admin.service import ImportSource

T = TypeVar("T")

_LINE_LIMIT = 64 * 1024 * 1024
"""Most bytes of one row. The largest that an export has, segments of the search index, have a few million."""
_DOCUMENT_LIMIT = 512 * 1024 * 1024
"""Most bytes of a document, which is in memory as a whole. Larger exports are archives."""
_MANIFEST_LIMIT = 1024 * 1024
_MOST_PACKED = 300
"""Bytes that one byte of an archive may become. Human text reaches a tenth of it, a bomb three times as many."""
_SMALL = 16 * 1024 * 1024
"""Files below this size may be packed at any rate."""
_HINT = "Export the user again, and import the file unchanged."


class ImportedRecords(Protocol):
    """Rows to import, and the scope that they were exported from."""

    scope: Scope

    def columns(self, table: str) -> list[str]:
        """Return the columns that the rows of a table have; an empty list when the export lacks the table."""

    def rows(self, table: str) -> Iterator[list[Any]]:
        """Yield the rows of a table."""


@contextmanager
def open_source(source: ImportSource) -> Iterator[ImportedRecords]:
    """Yield the records of an export, after all of it was found to be whole.

    source: a document as a dict, a path, or a file that is open for reading and can be rewound.
    """
    if isinstance(source, Mapping):
        yield _read_whole(lambda: ExportDocument(dict(source)))
    elif isinstance(source, str | Path):
        with ExitStack() as stack:
            try:
                file = stack.enter_context(Path(source).open("rb"))
            except OSError as error:
                raise InvalidInput(
                    f"{str(source)!r} cannot be read: {error.strerror}.", hint="Check the path and its permissions."
                ) from error
            yield stack.enter_context(_open_file(file))
    elif hasattr(source, "read") and hasattr(source, "seek"):
        with _open_file(source) as records:
            yield records
    else:
        raise InvalidInput(
            f"source must be an export, a path or a binary file, not {type(source).__name__}.",
            hint="Pass the result of export_user_data, a path, or a file opened with mode 'rb'.",
        )


@contextmanager
def _open_file(file: IO[bytes]) -> Iterator[ImportedRecords]:
    """Yield the records of an open file, whichever of the two kinds of export it is."""
    # A ZIP archive begins with PK, a document with a brace.
    begin = file.read(4)
    file.seek(0)
    if begin.lstrip()[:1] == b"{":
        text = _read_whole(lambda: file.read(_DOCUMENT_LIMIT + 1))
        if len(text) > _DOCUMENT_LIMIT:
            raise InvalidInput(
                f"The document has more than {_DOCUMENT_LIMIT:,} bytes.",
                hint="Export the user as an archive, which is read row by row.",
            )
        yield _read_whole(lambda: ExportDocument(_decode_object(text)))
        return
    with _read_whole(lambda: zipfile.ZipFile(file)) as zip:
        yield _read_whole(lambda: ExportArchive(zip))


def _read_whole(read: Callable[[], T]) -> T:
    """Return what a function reads; raise InvalidInput if that has another shape than an export."""
    try:
        return read()
    except InvalidInput:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise InvalidInput("The file is neither a JSON document nor a complete ZIP archive.", hint=_HINT) from error
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidInput("The export has an unknown structure.", hint=_HINT) from error


def _decode_object(text: bytes) -> dict[str, Any]:
    """Return the JSON object that a text is; raise InvalidInput for any other text."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The export is not complete JSON.", hint=_HINT) from error
    if not isinstance(content, dict):
        raise InvalidInput("The export is not a JSON object.", hint=_HINT)
    return cast(dict[str, Any], content)


def _read_scope(content: dict[str, Any]) -> Scope:
    """Return the user of an export, after its format, its version and its hash were checked."""
    if content.get("format") not in (FORMAT, FORMER_FORMAT):
        raise InvalidInput("The file is not an export of a user.", hint=_HINT)
    if content.get("version") not in KNOWN_VERSIONS:
        known = " and ".join(map(str, KNOWN_VERSIONS))
        raise InvalidInput(
            f"The export has version {content.get('version')!r}; this Longmind reads versions {known}.",
            hint="Import it with the version that exported it, or a newer one.",
        )
    try:
        whole = content.get("sha256") == hash_document(content)
    except (ValueError, RecursionError, UnicodeEncodeError):
        whole = False
    if not whole:
        raise InvalidInput("The export is incomplete or was changed.", hint=_HINT)
    owner = content.get("scope")
    if not isinstance(owner, dict):
        raise InvalidInput("The export does not name its user.", hint=_HINT)
    return Scope(owner["tenantId"], owner["appId"], owner["userId"])


class ExportDocument:
    """An export that is in memory as a whole."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.scope = _read_scope(content)
        self._records = content["records"]
        _refuse_unknown(self._records)

    def columns(self, table: str) -> list[str]:
        return list(self._records[table]["columns"]) if table in self._records else []

    def rows(self, table: str) -> Iterator[list[Any]]:
        return map(decode_row, self._records[table]["rows"])


@dataclass(frozen=True)
class _ArchivedFile:
    """Size and hash of a file, as the manifest states them."""

    lines: int
    bytes: int
    sha256: str


class ExportArchive:
    """An export in a ZIP archive. It is read twice: once to check that it is whole, and once to import it."""

    def __init__(self, zip: zipfile.ZipFile) -> None:
        self._zip = zip
        names = [entry.filename for entry in zip.infolist()]
        known = {
            MANIFEST,
            *(f"{name}.jsonl" for name in (*SECTIONS, *TENANT_SECTIONS)),
            *(_name_file(name) for name in (*USER_TABLE_BY_NAME, *TENANT_TABLES)),
        }
        strange = [name for name in names if name not in known]
        if strange or len(set(names)) != len(names) or MANIFEST not in names:
            what = f"has the unknown file {strange[0]!r}" if strange else "lacks its manifest, or has a file twice"
            raise InvalidInput(f"The file is not an export of a user: the archive {what}.", hint=_HINT)
        for entry in zip.infolist():
            _refuse_bomb(entry)
        _refuse_overlaps(zip)
        content = _decode_object(self._manifest())
        self.scope = _read_scope(content)
        self._files = content["files"]
        if self._files.keys() != set(names) - {MANIFEST}:
            raise InvalidInput("Files of the archive are missing.", hint=_HINT)
        for name, each in self._files.items():
            self._check(name, _ArchivedFile(each["lines"], each["bytes"], each["sha256"]))

    def columns(self, table: str) -> list[str]:
        return list(self._files.get(_name_file(table), {"columns": []})["columns"])

    def rows(self, table: str) -> Iterator[list[Any]]:
        with self._zip.open(_name_file(table)) as file:
            for line in file:
                yield decode_row(json.loads(line))

    def _manifest(self) -> bytes:
        with self._zip.open(MANIFEST) as file:
            text = file.read(_MANIFEST_LIMIT + 1)
        if len(text) > _MANIFEST_LIMIT:
            raise InvalidInput("The manifest of the archive is too large.", hint=_HINT)
        return text

    def _check(self, name: str, stated: _ArchivedFile) -> None:
        digest, size, lines = hashlib.sha256(), 0, 0
        with self._zip.open(name) as file:
            while line := file.readline(_LINE_LIMIT):
                digest.update(line)
                size += len(line)
                lines += 1
                if len(line) == _LINE_LIMIT:
                    raise InvalidInput(
                        f"The file {name!r} in the archive has a line of more than {_LINE_LIMIT:,} bytes.", hint=_HINT
                    )
                # Longer than its manifest says: the rest need not be read to know that it was changed.
                if size > stated.bytes:
                    break
        if stated != _ArchivedFile(lines, size, digest.hexdigest()):
            raise InvalidInput(f"The file {name!r} in the archive was changed.", hint=_HINT)


def _name_file(table: str) -> str:
    return f"{RECORDS}{table}.jsonl"


def _refuse_unknown(records: Mapping[str, Any]) -> None:
    strange = [table for table in records if table not in USER_TABLE_BY_NAME and table not in TENANT_TABLES]
    if strange:
        raise InvalidInput(
            f"The export has records of the unknown table {strange[0]!r}.",
            hint="Import it with the version that exported it, or a newer one.",
        )


def _refuse_overlaps(archive: zipfile.ZipFile) -> None:
    """Raise InvalidInput if files share bytes, by which a small archive could expand to any size."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    ends = [*(entry.header_offset for entry in entries[1:]), archive.start_dir]
    if any(entry.header_offset + entry.compress_size > end for entry, end in zip(entries, ends, strict=True)):
        raise InvalidInput("Files of the archive overlap.", hint="Import an archive that Longmind exported.")


def _refuse_bomb(entry: zipfile.ZipInfo) -> None:
    """Raise InvalidInput for a file that would become far larger than any export, or is packed in another way."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Other methods may take gigabytes of memory before the first byte is unpacked.
        raise InvalidInput(
            f"The file {entry.filename!r} in the archive is compressed by an unknown method.", hint=_HINT
        )
    if entry.flag_bits & 0x1:
        raise InvalidInput("The archive is encrypted.", hint="Import the archive unchanged.")
    if entry.file_size > _SMALL and entry.file_size > _MOST_PACKED * entry.compress_size:
        raise InvalidInput(
            f"The file {entry.filename!r} in the archive would expand from {entry.compress_size:,} to"
            f" {entry.file_size:,} bytes.",
            hint="Import an archive that Longmind exported.",
        )
