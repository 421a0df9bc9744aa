"""Checks that a file of moved lines is the one the database goes on from."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longmind.audit.chain_export import anchor_in, owner_of, read_line
from longmind.audit.verification import Problem, owner_name
from longmind.errors import InvalidIdentity
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.store.tables.audit import FROM_THE_FIRST, Anchor


@dataclass(frozen=True)
class MovedFile:
    """What a file of moved lines says of itself."""

    path: Path
    owner: Scope
    group: str
    before: Anchor
    seq: int
    hash: str
    digest: str


def read_moved(path: Path) -> MovedFile | None:
    """None when it is no such file, but an export."""
    digest, first, last = hashlib.sha256(), b"", deque[bytes](maxlen=2)
    with path.open("rb") as file:
        for line in file:
            digest.update(line)
            if line.strip():
                first = first or line
                last.append(line)
    begin, end = _told(first), _told(last[0]) if last else {}
    if "moved" not in end:
        return None
    before = anchor_in(begin) if "anchor" in begin else FROM_THE_FIRST
    try:
        owner = owner_of(end)
    except InvalidIdentity:
        return None
    return MovedFile(path, owner, end["group"], before, end["moved"], end["hash"], digest.hexdigest())


def joins(database: Database, file: MovedFile, key: str) -> list[Problem]:
    """What keeps a file, which is whole in itself, from being followed by what the database has."""
    what = _unlike(database, file, key)
    return [] if what is None else [Problem(owner_name(file.owner), file.group, file.seq, what)]


def _unlike(database: Database, file: MovedFile, key: str) -> str | None:
    head = database.read(file.owner, audit.head, file.group)
    if head is None:
        return "the database does not have the chain of this file"
    anchor = head.anchor
    if anchor.seq < file.seq:
        # It was written, and its lines were not removed yet.
        lines = database.read(file.owner, audit.find, file.group, after=file.seq - 1, limit=1)
        same = [(line.seq, line.hash) for line in lines] == [(file.seq, file.hash)]
        return None if same else "the database does not go on from this line"
    while anchor.seq >= file.seq:
        if not audit.is_anchored(key, file.owner.id, file.group, anchor):
            return "where the chain begins in the database was changed"
        if anchor.seq == file.seq:
            break
        # Other files stand between. Each says what it follows, and is known by its digest.
        between = file.path.parent / Path(anchor.file).name
        later = read_moved(between) if between.is_file() else None
        if later is None:
            return (
                f"{between.name}, which stands between this file and the database, is not beside it, or cannot be read"
            )
        if later.digest != anchor.digest or later.before.seq >= anchor.seq:
            return f"{between.name}, which stands between this file and the database, was changed"
        anchor = later.before
    same = (anchor.seq, anchor.hash, anchor.digest) == (file.seq, file.hash, file.digest)
    return None if same else "this is not the file that the lines were moved to"


def _told(line: bytes) -> dict[str, Any]:
    try:
        return read_line(line.decode())
    except (ValueError, RecursionError):
        return {}
