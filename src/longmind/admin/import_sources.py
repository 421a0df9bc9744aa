"""Reads what is to be imported, a document or an archive, and refuses what is not whole or not ours.

Nothing of an archive is unpacked to the disk, and no name in it is ever used as a path.
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
from typing import IO, Any, Protocol, TypeVar, cast

from longmind.admin.export_sections import SECTIONS
from longmind.admin.user_export import FORMAT, FORMER_FORMAT, KNOWN_VERSIONS, MANIFEST, RECORDS, decoded, digest_of
from longmind.errors import InvalidInput
from longmind.scope import Scope
from longmind.store.whole_tables.user_tables import USER_TABLE_BY_NAME

T = TypeVar("T")

_LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one row. The largest that are written, parts of the search index, have a few."""
_DOCUMENT_LIMIT = 512 * 1024 * 1024
"""Bytes of a document, all of which is in memory: what is larger is exported as an archive."""
_MANIFEST_LIMIT = 1024 * 1024
_MOST_PACKED = 300
"""How many bytes one byte of an archive may become. Text of people reaches a tenth of it, a bomb three times."""
_SMALL = 16 * 1024 * 1024
"""Files below this size may be packed as well as they can be."""
_HINT = "Export it again: a file that is not whole, or was changed, is not imported."

Source = Mapping[str, Any] | str | Path | IO[bytes]


class Records(Protocol):
    """Rows to import, and whose they were."""

    scope: Scope

    def columns(self, table: str) -> list[str]:
        """The columns that the rows of a table have; none when there is no such table in it."""

    def rows(self, table: str) -> Iterator[list[Any]]: ...


@contextmanager
def opened(source: Source) -> Iterator[Records]:
    """What an export has in it, once all of it was found to be whole."""
    if isinstance(source, Mapping):
        yield _whole(lambda: Document(dict(source)))
    elif isinstance(source, str | Path):
        with ExitStack() as stack:
            try:
                file = stack.enter_context(Path(source).open("rb"))
            except OSError as error:
                raise InvalidInput(
                    f"{str(source)!r} cannot be read: {error.strerror}.", hint="Check the path and its permissions."
                ) from error
            yield stack.enter_context(_read(file))
    elif hasattr(source, "read") and hasattr(source, "seek"):
        with _read(source) as records:
            yield records
    else:
        raise InvalidInput("source is neither an export, nor a path, nor a file that can be read.")


@contextmanager
def _read(file: IO[bytes]) -> Iterator[Records]:
    begin = file.read(4)
    file.seek(0)
    if begin.lstrip()[:1] == b"{":
        text = _whole(lambda: file.read(_DOCUMENT_LIMIT + 1))
        if len(text) > _DOCUMENT_LIMIT:
            raise InvalidInput("The document is too large.", hint="Export it as an archive: that is read row by row.")
        yield _whole(lambda: Document(_json(text)))
        return
    with _whole(lambda: zipfile.ZipFile(file)) as zip:
        yield _whole(lambda: Archive(zip))


def _whole(read: Callable[[], T]) -> T:
    """What is read, if it has the shape that it ought to have."""
    try:
        return read()
    except InvalidInput:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise InvalidInput("This is no export: neither a JSON document nor a whole ZIP archive.", hint=_HINT) from error
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidInput("The export has not the shape of one.", hint=_HINT) from error


def _json(text: bytes) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The export is not whole JSON.", hint=_HINT) from error
    if not isinstance(told, dict):
        raise InvalidInput("The export is not a JSON object.", hint=_HINT)
    return cast(dict[str, Any], told)


def _scope_of(told: dict[str, Any]) -> Scope:
    if told.get("format") not in (FORMAT, FORMER_FORMAT):
        raise InvalidInput("This is no export of a user.", hint=_HINT)
    if told.get("version") not in KNOWN_VERSIONS:
        known = " and ".join(map(str, KNOWN_VERSIONS))
        raise InvalidInput(
            f"The export has version {told.get('version')!r}; this Longmind knows {known}.",
            hint="Import it with the version of Longmind that exported it, or a newer one.",
        )
    try:
        whole = told.get("sha256") == digest_of(told)
    except (ValueError, RecursionError, UnicodeEncodeError):
        whole = False
    if not whole:
        raise InvalidInput("The export is not whole, or was changed.", hint=_HINT)
    whose = told.get("scope")
    if not isinstance(whose, dict):
        raise InvalidInput("The export does not tell whose it is.", hint=_HINT)
    return Scope(whose["tenantId"], whose["appId"], whose["userId"])


class Document:
    """An export in memory."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.scope = _scope_of(told)
        self._records = told["records"]
        _refuse_unknown(self._records)

    def columns(self, table: str) -> list[str]:
        return list(self._records[table]["columns"]) if table in self._records else []

    def rows(self, table: str) -> Iterator[list[Any]]:
        return map(decoded, self._records[table]["rows"])


@dataclass(frozen=True)
class _File:
    lines: int
    bytes: int
    sha256: str


class Archive:
    """An export in a ZIP archive. It is read twice: once to see that it is whole, and once to import it."""

    def __init__(self, zip: zipfile.ZipFile) -> None:
        self._zip = zip
        names = [entry.filename for entry in zip.infolist()]
        known = {
            MANIFEST,
            *(f"{name}.jsonl" for name in SECTIONS),
            *(f"{RECORDS}{name}.jsonl" for name in USER_TABLE_BY_NAME),
        }
        strange = [name for name in names if name not in known]
        if strange or len(set(names)) != len(names) or MANIFEST not in names:
            what = f"has the file {strange[0]!r}" if strange else "lacks its manifest, or has a file twice"
            raise InvalidInput(f"This is no export of a user: the archive {what}.", hint=_HINT)
        for entry in zip.infolist():
            _refuse_bomb(entry)
        _refuse_overlaps(zip)
        told = _json(self._manifest())
        self.scope = _scope_of(told)
        self._files = told["files"]
        if self._files.keys() != set(names) - {MANIFEST}:
            raise InvalidInput("Files of the archive are missing.", hint=_HINT)
        for name, each in self._files.items():
            self._check(name, _File(each["lines"], each["bytes"], each["sha256"]))

    def columns(self, table: str) -> list[str]:
        return list(self._files.get(_name(table), {"columns": []})["columns"])

    def rows(self, table: str) -> Iterator[list[Any]]:
        with self._zip.open(_name(table)) as file:
            for line in file:
                yield decoded(json.loads(line))

    def _manifest(self) -> bytes:
        with self._zip.open(MANIFEST) as file:
            text = file.read(_MANIFEST_LIMIT + 1)
        if len(text) > _MANIFEST_LIMIT:
            raise InvalidInput("The manifest of the archive is too large.", hint=_HINT)
        return text

    def _check(self, name: str, told: _File) -> None:
        digest, size, lines = hashlib.sha256(), 0, 0
        with self._zip.open(name) as file:
            while line := file.readline(_LINE_LIMIT):
                digest.update(line)
                size += len(line)
                lines += 1
                if len(line) == _LINE_LIMIT:
                    raise InvalidInput(f"{name!r} of the archive has a line that is too long.", hint=_HINT)
                if size > told.bytes:
                    break
        if told != _File(lines, size, digest.hexdigest()):
            raise InvalidInput(f"{name!r} of the archive is not as it was written.", hint=_HINT)


def _name(table: str) -> str:
    return f"{RECORDS}{table}.jsonl"


def _refuse_unknown(records: Mapping[str, Any]) -> None:
    strange = [table for table in records if table not in USER_TABLE_BY_NAME]
    if strange:
        raise InvalidInput(f"The export has records of {strange[0]!r}, which this Longmind does not know.")


def _refuse_overlaps(archive: zipfile.ZipFile) -> None:
    """Refuse files that share their bytes with others: a small archive could become as large as it likes by that."""
    entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    ends = [*(entry.header_offset for entry in entries[1:]), archive.start_dir]
    if any(entry.header_offset + entry.compress_size > end for entry, end in zip(entries, ends, strict=True)):
        raise InvalidInput("Files of the archive overlap.", hint="No export is packed like that; it is not read.")


def _refuse_bomb(entry: zipfile.ZipInfo) -> None:
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Other methods may ask for gigabytes before the first byte is there.
        raise InvalidInput(f"{entry.filename!r} of the archive is packed in a way that no export is.", hint=_HINT)
    if entry.flag_bits & 0x1:
        raise InvalidInput("The archive is encrypted.", hint="Import it as it was exported.")
    if entry.file_size > _SMALL and entry.file_size > _MOST_PACKED * entry.compress_size:
        raise InvalidInput(
            f"{entry.filename!r} of the archive would become {entry.file_size:,} bytes out of {entry.compress_size:,}.",
            hint="No export is packed like that; it is not read.",
        )
