"""Moves the oldest lines of the audit to files: verified, written for good, and only then removed from the database.

When it is interrupted the lines are in both places, and it can be done again: a file is never written over, and is
taken as it is when it has the very same lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain as one_after_another
from itertools import takewhile
from pathlib import Path
from typing import Any

from longmind.audit.chain_export import moved, verify_exported
from longmind.audit.segment_join import MovedFile, read_moved
from longmind.audit.verification import Problem, anchor_of, lines_of, owner_name, verify_chain
from longmind.clock import Micros
from longmind.errors import Conflict, InvalidInput, StoreUnavailable
from longmind.runtime.durable_files import make_private_folder, sync_names
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.validation.text import Json

_OF_OTHERS = 0o077


@dataclass(frozen=True)
class Moved:
    """Lines of a chain that are in a file now."""

    owner: str
    group: str
    first: int
    last: int
    file: str


@dataclass
class Rotation:
    moved: list[Moved] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """Why chains were left as they are."""

    def as_json(self) -> dict[str, Any]:
        return {"moved": [vars(each) for each in self.moved], "problems": [vars(each) for each in self.problems]}


def rotate(database: Database, key: str, before: Micros, folder: Path) -> Rotation:
    """Move the lines of all chains that are older than an instant. A chain that is not whole is left as it is."""
    rotation = Rotation()
    with _told(folder):
        _make_private(folder)
    for chain in database.read(None, audit.chains):
        problems = verify_chain(database, chain, key).problems
        rotation.problems += problems
        if chain.owner is not None and not problems:
            moved_lines = _rotate(database, key, chain.owner, chain.group, before, folder)
            rotation.moved += [] if moved_lines is None else [moved_lines]
    return rotation


def _rotate(database: Database, key: str, owner: Scope, group: str, before: Micros, folder: Path) -> Moved | None:
    begin = anchor_of(database, owner, group)
    # Up to the first line that is newer: should the clock have gone back, older ones after it stay with it.
    old = takewhile(lambda line: line.at < before, lines_of(database, owner, group, begin.seq))
    first = next(old, None)
    if first is None:
        return None
    told = moved(owner, group, begin, one_after_another([first], old), key)
    with _told(folder):
        file = _keep(folder, told, key)
    anchor = audit.anchored(key, owner.id, group, file.seq, file.hash, file.path.name, file.digest)
    database.write(owner, audit.cut, owner, group, begin, anchor)
    return Moved(owner_name(owner), group, first.seq, anchor.seq, anchor.file)


def _keep(folder: Path, told: Iterable[dict[str, Json]], key: str) -> MovedFile:
    """Write lines to a file of their own, so that they survive whatever happens next."""
    # Only its owner may read what this makes.
    handle, path = tempfile.mkstemp(prefix=".audit-", dir=folder)
    unfinished = Path(path)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.writelines(f"{json.dumps(each, ensure_ascii=False)}\n" for each in told)
            file.flush()
            os.fsync(file.fileno())
        with unfinished.open(encoding="utf-8") as written:
            problems = verify_exported(written, key).problems
        made = read_moved(unfinished)
        if made is None or problems:
            raise Conflict("Lines of the audit were changed while they were read.", hint="Verify the audit.")
        final = folder / _name(made)
        _place(unfinished, final, made.digest)
    finally:
        unfinished.unlink()
    sync_names(folder)
    return replace(made, path=final)


def _place(unfinished: Path, final: Path, digest: str) -> None:
    try:
        # Unlike renaming, this fails where a file is.
        os.link(unfinished, final)
    except FileExistsError:
        with final.open("rb") as there:
            if hashlib.file_digest(there, "sha256").hexdigest() != digest:
                raise Conflict(
                    f"{final} is there, and has something else in it. Nothing was removed from the database.",
                    hint="Look what it is, and move it away or choose another folder.",
                ) from None


def _name(file: MovedFile) -> str:
    """The same for the same lines. A group may be named in ways that a file cannot."""
    chain = hashlib.sha256(f"{file.owner.id}\n{file.group}".encode()).hexdigest()[:16]
    return f"audit-{chain}-{file.before.seq + 1:012}-{file.seq:012}.jsonl"


def _make_private(folder: Path) -> None:
    make_private_folder(folder.absolute())
    mode = folder.stat().st_mode
    if mode & _OF_OTHERS:
        raise InvalidInput(
            f"{folder} is open to other users (its mode is {mode & 0o777:o}).", hint="Make it private: chmod 700."
        )


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The audit cannot be written to {folder}: {error.strerror}. Nothing of this chain was removed.",
            hint="Make room or give rights, or choose another folder.",
        ) from error
