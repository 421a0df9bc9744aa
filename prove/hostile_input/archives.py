"""Harmful archives and documents: bombs, escaping paths, forged rows, other users' data."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from longmind.admin.user_export import VERSION, hash_document

Files = dict[str, bytes]

PATHS = (
    "../../etc/cron.d/evil", "/etc/passwd", "C:\\Windows\\evil.dll", "..\\..\\evil", "records/../../evil",
    "\\\\host\\share",
    "records/atoms.jsonl/../x", "nul\x00.jsonl", "MANIFEST.JSON", "Records/atoms.jsonl", "records/atoms.jsonl ", "",
    "records/", "./manifest.json", "manifest.json/", "file:///etc/passwd", "~/.ssh/authorized_keys",
    "\u202emanifest.json",
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, -1, 2**63, -(2**63), 10**300, 1.5, 1e308, "", "x", "\x00", "\ud800", "null", "[]", "{}", "[[1]]", "NaN",
    '{"a":' * 200 + "1" + "}" * 200, "[" * 5_000, [1], {"a": 1}, {"$bytes": "!!"}, {"$bytes": "AAAA"}, {"$bytes": None},
    "9" * 400, '[{"type": "text"}]', "SYSTEM",
)  # fmt: skip
"""Values that a column hardly ever holds."""


XML_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">'
    + "".join(f'<!ENTITY lol{level} "{f"&lol{level - 1};" * 10}">' for level in range(1, 10))
    + '<!ENTITY outside SYSTEM "file:///etc/passwd">]><lolz>&lol9;&outside;</lolz>'
).encode()
YAML_LAUGHS = "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}' if level else 'lol'] * 9)}]\n" for level in range(9)
).encode()
JSON_LAUGHS = b'{"$ref": "#", "a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
"""Texts that are small, and become endless for a parser that expands names."""
LAUGHS = {"XML entities": XML_LAUGHS, "YAML anchors": YAML_LAUGHS, "JSON without end": JSON_LAUGHS}
LINES = {
    "laughing lines of XML": XML_LAUGHS.replace(b"\n", b" "),
    "laughing lines of JSON": JSON_LAUGHS,
    "a line of brackets": b"[" * 1_000_000,
    "a line of one number": b"[" + b"9" * 900_000 + b"]",
    "a line that is no JSON": b"\xff\xfe",
    "a line that is an object": b'{"id": "x"}',
    "a line that is too short": b"[]",
    "a line with half a character": b'["\\ud800"]',
}


def files_of(archive: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(archive)) as zip:
        return {name: zip.read(name) for name in zip.namelist()}


def pack(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as zip:
        for name, text in files.items():
            zip.writestr(name, text)
    return made.getvalue()


def reseal(told: dict[str, Any]) -> dict[str, Any]:
    """Return a document or manifest with a correct hash, which a forger could compute as well."""
    try:
        return {**told, "sha256": hash_document(told)}
    except (UnicodeEncodeError, ValueError):
        return told


def make_broken_archives(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield broken archives, each with a description of its defect."""
    files = files_of(whole)
    yield from (
        ("nothing", b""),
        ("no archive", b"PK\x03\x04" + b"\xff" * 64),
        ("cut in half", whole[: len(whole) // 2]),
        ("without its end", whole[:-10]),
        ("only its end", whole[-22:]),
    )
    for name, text in LAUGHS.items():
        yield f"that is none, but {name}", text
        yield f"that has {name} for its manifest", pack({**files, "manifest.json": text})
    for name, line in LINES.items():
        for table in ("atoms", "events"):
            text = seal_file(files, f"records/{table}.jsonl", line + b"\n")
            yield f"whose hashes are right, with {name} among its {table}", text
    yield "with an archive in it", seal_file(files, "records/atoms.jsonl", whole)
    yield "with twenty thousand names", _with_many(files)
    for path in PATHS:
        yield f"with the file {path!r}", _with_extra(whole, path, b"x")
    for name, mode in (("symbolic link", stat.S_IFLNK), ("device", stat.S_IFBLK), ("pipe", stat.S_IFIFO)):
        yield f"with a {name}", _with_extra(whole, "evil", b"/etc/passwd", mode | 0o777)
    yield "with a file twice", _with_extra(whole, "records/atoms.jsonl", files["records/atoms.jsonl"])
    for name, content in _change_files(files):
        yield name, pack(content)
    for name, method in (("bzip2", zipfile.ZIP_BZIP2), ("LZMA", zipfile.ZIP_LZMA)):
        yield f"packed with {name}", pack(files, method)
    yield "with LZMA that asks for 4 GB", _change_method(whole, zipfile.ZIP_LZMA)
    yield "with an unknown method", _change_method(whole, 99)
    yield "encrypted", _flag_as_encrypted(whole)
    yield "with files that share their bytes", make_overlapping(files)
    yield (
        "with a bomb that lies about its size",
        _understate_sizes({**files, "records/atoms.jsonl": b"\0" * 40_000_000}),
    )


def seal_file(files: Files, name: str, text: bytes) -> bytes:
    """Return the archive with one file replaced, and a manifest that matches it."""
    manifest = json.loads(files["manifest.json"])
    digest = hashlib.sha256(text).hexdigest()
    lines = io.BytesIO(text).readlines()
    entry = {**manifest["files"][name], "lines": len(lines), "bytes": len(text), "sha256": digest}
    manifest = reseal({**manifest, "files": {**manifest["files"], name: entry}})
    return pack({**files, name: text, "manifest.json": json.dumps(manifest).encode()})


def _with_many(files: Files) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as zip:
        for name, text in (*files.items(), *((f"records/{number}.jsonl", b"") for number in range(20_000))):
            zip.writestr(name, text)
    return made.getvalue()


def _change_files(files: Files) -> Iterator[tuple[str, Files]]:
    atoms, manifest = files["records/atoms.jsonl"], json.loads(files["manifest.json"])
    yield "with another row", {**files, "records/atoms.jsonl": atoms.replace(b"1", b"2", 1)}
    yield "with a row less", {**files, "records/atoms.jsonl": b"\n".join(atoms.split(b"\n")[1:])}
    yield "with a file less", {name: text for name, text in files.items() if name != "records/atoms.jsonl"}
    yield "without a manifest", {name: text for name, text in files.items() if name != "manifest.json"}
    yield "with a bomb for a file", {**files, "records/atoms.jsonl": b"\0" * 40_000_000}
    yield "with a bomb for a manifest", {**files, "manifest.json": b" " * 40_000_000 + files["manifest.json"]}
    encode = json.dumps
    for name, changed in {
        "a hash that is wrong": {**manifest, "sha256": "0" * 64},
        "a version of tomorrow": reseal({**manifest, "version": VERSION + 1}),
        "the scope of nobody": reseal({**manifest, "scope": {"tenantId": "", "appId": None, "userId": "*"}}),
        "no scope": reseal({**manifest, "scope": 7}),
        "files that are a list": reseal({**manifest, "files": []}),
        "sizes that are texts": reseal({**manifest, "files": dict.fromkeys(manifest["files"], "x")}),
        "an endless number": {**manifest, "version": 10**4_000},
    }.items():
        yield f"with a manifest that has {name}", {**files, "manifest.json": encode(changed).encode()}
    yield (
        "with a manifest a thousand levels deep",
        {**files, "manifest.json": b'{"a":' * 100_000 + b"1" + b"}" * 100_000},
    )
    yield "with a manifest of numbers without end", {**files, "manifest.json": b'{"a":' + b"9" * 900_000 + b"}"}


def make_overlapping(files: Files) -> bytes:
    """Return an archive in which every name refers to the same packed bytes, to be unpacked once for each name."""
    body = b"\0" * 15_000_000
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as zip:
        zip.writestr("atoms.jsonl", body)
        first = zip.infolist()[0]
        for name in files:
            if name != "atoms.jsonl":
                again = zipfile.ZipInfo(name)
                again.compress_type, again.CRC = first.compress_type, first.CRC
                again.compress_size, again.file_size, again.header_offset = first.compress_size, first.file_size, 0
                zip.filelist.append(again)
                zip.NameToInfo[name] = again
    return made.getvalue()


def forge_documents(document: dict[str, Any], dice: Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the document endlessly, each time with one value changed and its hash corrected."""
    tables = [name for name, part in document["records"].items() if part["rows"]]
    while True:
        table = dice.choice(tables)
        part = document["records"][table]
        column = dice.randrange(len(part["columns"]))
        place = dice.randrange(len(part["rows"]))
        value = dice.choice(VALUES)
        rows = [list(row) for row in part["rows"]]
        rows[place][column] = value
        records = {**document["records"], table: {**part, "rows": rows}}
        yield f"{table}.{part['columns'][column]} = {value!r:.60}", reseal({**document, "records": records})


def _with_extra(whole: bytes, name: str, text: bytes, mode: int = 0o600) -> bytes:
    changed = io.BytesIO(whole)
    with zipfile.ZipFile(changed, "a", zipfile.ZIP_DEFLATED) as zip:
        entry = zipfile.ZipInfo("placeholder")
        # Set apart, since the class itself cuts a name off at a NUL.
        entry.filename = name
        entry.external_attr = mode << 16
        try:
            zip.writestr(entry, text)
        except (ValueError, IndexError):
            return whole[:-1]
    return changed.getvalue()


def _change_headers(whole: bytes, change: Callable[[bytearray, int, int], None]) -> bytes:
    """Return the archive with all headers changed; `change` gets the data, a header's place and its fields' offset."""
    data = bytearray(whole)
    for mark, moved in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = data.find(mark)
        while at >= 0:
            change(data, at, moved)
            at = data.find(mark, at + 4)
    return bytes(data)


def _change_method(whole: bytes, method: int) -> bytes:
    return _change_headers(whole, lambda data, at, moved: struct.pack_into("<H", data, at + 8 + moved, method))


def _understate_sizes(files: Files) -> bytes:
    """Return an archive whose headers understate the unpacked sizes."""
    return _change_headers(pack(files), lambda data, at, moved: struct.pack_into("<I", data, at + 22 + moved, 100))


def _flag_as_encrypted(whole: bytes) -> bytes:
    return _change_headers(whole, lambda data, at, moved: struct.pack_into("<H", data, at + 6 + moved, 1))
