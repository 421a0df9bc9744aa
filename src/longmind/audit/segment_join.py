"""The check that the database goes on from a file of moved lines.

Files follow each other, and the database follows the last one. So the check walks back from the anchor in the database,
file by file, to the one in question; each of them is known by its digest.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longmind.audit import chain as chains
from longmind.audit.chain_export import decode_anchor, decode_owner, read_line
from longmind.audit.verification import ChainProblem, name_owner
from longmind.errors import InvalidIdentity
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.audit import NO_ANCHOR, ChainAnchor


@dataclass(frozen=True)
class MovedFile:
    """The end of a file of moved lines: whose they are, where they begin and end, and the digest of the file."""

    path: Path
    owner: Scope
    group: str
    before: ChainAnchor
    seq: int
    hash: str
    digest: str


def read_moved(path: Path) -> MovedFile | None:
    """Return the end of a file of moved lines; None when it is an export instead."""
    digest, first, last = hashlib.sha256(), b"", deque[bytes](maxlen=2)
    with path.open("rb") as file:
        for line in file:
            digest.update(line)
            if line.strip():
                first = first or line
                last.append(line)
    begin, end = _decode(first), _decode(last[0]) if last else {}
    if "moved" not in end:
        return None
    before = decode_anchor(begin) if "anchor" in begin else NO_ANCHOR
    try:
        owner = decode_owner(end)
    except InvalidIdentity:
        return None
    return MovedFile(path, owner, end["group"], before, end["moved"], end["hash"], digest.hexdigest())


def find_gaps(database: Database, file: MovedFile, key: str) -> list[ChainProblem]:
    """Return the reason why the database does not go on from a file that is whole in itself, if there is one."""
    what = _explain_gap(database, file, key)
    return [] if what is None else [ChainProblem(name_owner(file.owner), file.group, file.seq, what)]


def _explain_gap(database: Database, file: MovedFile, key: str) -> str | None:
    head = database.read(file.owner, audit.read_head, file.group)
    if head is None:
        return "the database lacks the chain of this file"
    anchor = head.anchor
    if anchor.seq < file.seq:
        # The rotation was interrupted: the lines are in the file, and still in the database.
        lines = database.read(file.owner, audit.list_lines, file.group, after=file.seq - 1, limit=1)
        same = [(line.seq, line.hash) for line in lines] == [(file.seq, file.hash)]
        return None if same else "the database does not continue from this line"
    while anchor.seq >= file.seq:
        if not chains.is_sealed(key, file.owner.id, file.group, anchor):
            return "the beginning of the chain in the database was changed"
        if anchor.seq == file.seq:
            break
        # Other files stand between. Each names the one it follows, and is known by its digest.
        between = file.path.parent / Path(anchor.file).name
        later = read_moved(between) if between.is_file() else None
        if later is None:
            return (
                f"{between.name}, the file between this one and the database, is missing from the folder or cannot be"
                " read"
            )
        if later.digest != anchor.digest or later.before.seq >= anchor.seq:
            return f"{between.name}, the file between this one and the database, was changed"
        anchor = later.before
    same = (anchor.seq, anchor.hash, anchor.digest) == (file.seq, file.hash, file.digest)
    return None if same else "this is not the file that the lines were moved to"


def _decode(line: bytes) -> dict[str, Any]:
    try:
        return read_line(line.decode())
    except (ValueError, RecursionError):
        return {}
