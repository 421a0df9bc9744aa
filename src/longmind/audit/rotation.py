"""Rotation of the audit: the oldest lines of each chain go to a file, and only then out of the database.

A chain is verified first, and its file is on disk and verified too before a line is removed. When a rotation is
interrupted the lines are in both places, and it can be done again: a file is never overwritten, and one that has the
very same lines is taken as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain as chain_iterables
from itertools import takewhile
from pathlib import Path
from typing import Any

from longmind.audit import chain as chains
from longmind.audit.chain_export import encode_moved, verify_exported
from longmind.audit.segment_join import MovedFile, read_moved
from longmind.audit.verification import ChainProblem, name_owner, read_anchor, read_lines, verify_chain
from longmind.clock import Micros
from longmind.errors import Conflict, InvalidInput, StoreUnavailable
from longmind.runtime.durable_files import make_private_folder, sync_names
from longmind.scope import Scope
from longmind.store.database import Database
from longmind.store.tables import audit
from longmind.validation.text import Json

_OF_OTHERS = 0o077


@dataclass(frozen=True)
class MovedLines:
    """Lines of a chain that were moved to a file."""

    owner: str
    group: str
    first: int
    last: int
    file: str


@dataclass
class Rotation:
    """The lines that were moved, and the reasons why other chains were left as they are."""

    moved: list[MovedLines] = field(default_factory=list)
    problems: list[ChainProblem] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        return {"moved": [vars(each) for each in self.moved], "problems": [vars(each) for each in self.problems]}


def rotate(database: Database, key: str, before: Micros, folder: Path) -> Rotation:
    """Move the lines of all chains that are older than an instant to files in a folder.

    The folder is made if need be, for its owner alone. A chain that is not whole is left as it is.
    """
    rotation = Rotation()
    with _report_disk_errors(folder):
        _make_private(folder)
    for chain in database.read(None, audit.list_chains):
        problems = verify_chain(database, chain, key).problems
        rotation.problems += problems
        if chain.owner is not None and not problems:
            moved_lines = _rotate(database, key, chain.owner, chain.group, before, folder)
            rotation.moved += [] if moved_lines is None else [moved_lines]
    return rotation


def _rotate(database: Database, key: str, owner: Scope, group: str, before: Micros, folder: Path) -> MovedLines | None:
    anchor = read_anchor(database, owner, group)
    # Stop at the first newer line: if the clock was set back, older lines after it stay with it.
    old = takewhile(lambda line: line.at < before, read_lines(database, owner, group, anchor.seq))
    first = next(old, None)
    if first is None:
        return None
    lines = encode_moved(owner, group, anchor, chain_iterables([first], old), key)
    with _report_disk_errors(folder):
        file = _write(folder, lines, key)
    new_anchor = chains.seal_anchor(key, owner.id, group, file.seq, file.hash, file.path.name, file.digest)
    database.write(owner, chains.cut, owner, group, anchor, new_anchor)
    return MovedLines(name_owner(owner), group, first.seq, new_anchor.seq, new_anchor.file)


def _write(folder: Path, lines: Iterable[dict[str, Json]], key: str) -> MovedFile:
    """Write lines to a file of their own, which is whole and on disk under its final name when this returns."""
    # mkstemp makes a file that only its owner can read.
    handle, path = tempfile.mkstemp(prefix=".audit-", dir=folder)
    unfinished = Path(path)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.writelines(f"{json.dumps(each, ensure_ascii=False)}\n" for each in lines)
            file.flush()
            os.fsync(file.fileno())
        with unfinished.open(encoding="utf-8") as written:
            problems = verify_exported(written, key).problems
        moved_file = read_moved(unfinished)
        if moved_file is None or problems:
            raise Conflict("Lines of the audit were changed while they were moved.", hint="Verify the audit.")
        final = folder / _name(moved_file)
        _place(unfinished, final, moved_file.digest)
    finally:
        unfinished.unlink()
    sync_names(folder)
    return replace(moved_file, path=final)


def _place(unfinished: Path, final: Path, digest: str) -> None:
    try:
        # Unlike a rename, a link fails where a file is.
        os.link(unfinished, final)
    except FileExistsError:
        with final.open("rb") as existing:
            if hashlib.file_digest(existing, "sha256").hexdigest() != digest:
                raise Conflict(
                    f"{final} exists with other content; no line was removed from the database.",
                    hint="Move that file away, or choose another folder.",
                ) from None


def _name(file: MovedFile) -> str:
    """Return a name that the same lines always get. The group is hashed, since not every group can name a file."""
    chain = hashlib.sha256(f"{file.owner.id}\n{file.group}".encode()).hexdigest()[:16]
    return f"audit-{chain}-{file.before.seq + 1:012}-{file.seq:012}.jsonl"


def _make_private(folder: Path) -> None:
    make_private_folder(folder.absolute())
    mode = folder.stat().st_mode
    if mode & _OF_OTHERS:
        raise InvalidInput(
            f"The folder {folder} is open to other users: its mode is {mode & 0o777:o}.",
            hint="Make it private: chmod 700.",
        )


@contextmanager
def _report_disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The audit cannot be written to {folder}: {error.strerror}. No line of this chain was removed.",
            hint="Free some space or allow writing there, or choose another folder.",
        ) from error
