"""Ends of the versions of a fact.

Versions form a chain by what superseded them, in the order in which they were recorded. They may begin in any order: a
version that is recorded later can begin earlier, and then cuts several before it. Invariants:

- A version ends where it was to end at first (`open_until`), or where a version after it in the chain begins, whichever
  is earlier, but never before it begins itself.
- An atom stores the end that holds now. The end that was known at an earlier instant follows from the versions that
  were recorded by then (`list_cuts`), and is stored nowhere.
- Deleting a version joins its neighbours; the ends that it brought about stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from longmind.clock import Micros
from longmind.store.database import Transaction


class SupersededVersion(NamedTuple):
    """A version that another has superseded: a row of `superseded_versions`."""

    id: str
    position: int
    valid_from: Micros
    valid_to: Micros
    open_until: Micros | None
    superseded_by: str
    superseded_at: Micros
    next_begins: Micros | None
    """The beginning of the version after it; None when that was deleted."""
    next_recorded: Micros | None


class MovedEnd(NamedTuple):
    """A version whose end was moved because of another one."""

    id: str
    before: Micros
    after: Micros


class VersionCut(NamedTuple):
    """An end of the atom at a position, and the instant since which it was known to end no later."""

    position: int
    known_from: Micros
    ends: Micros


def close(
    run: Transaction,
    statement: str,
    space_id: str,
    old_id: str,
    new_id: str,
    *,
    begins: Micros,
    recorded_at: Micros,
    revision: int,
    now: Micros,
) -> list[MovedEnd] | None:
    """End a version where a new one begins, and the versions before it that reach further; return those.

    Return None, and change nothing, if the version was closed already; `statement` says what counts as closed.
    """
    closed = run.one(
        statement,
        id=old_id,
        valid_from=begins,
        superseded_by=new_id,
        superseded_at=recorded_at,
        revision=revision,
        now=now,
    )
    if closed is None:
        return None
    began, before = closed
    return settle_ends(run, space_id, old_id, revision, now) if begins < began and before is not None else []


def settle_ends(
    run: Transaction, space_id: str, atom_id: str, revision: int, now: Micros, *, undoing: bool = False
) -> list[MovedEnd]:
    """Let the versions before an atom end where those after them begin; return those whose end has moved.

    undoing: a version after them was taken back, so that they may end later than they do now.
    """
    newer = {atom_id}
    moved: list[MovedEnd] = []
    # Newest first, so that the versions after one are known when it is its turn.
    for version, later, gap in _walk_superseded(run, space_id):
        if version.superseded_by in newer:
            newer.add(version.id)
            latest = version.open_until if undoing and gap is None else version.valid_to
            ends = [end for end in (latest, later and later.lowest) if end is not None]
            end = max(version.valid_from, min(ends))
            if end != version.valid_to:
                run.send("put_end", id=version.id, valid_to=end, revision=revision, now=now)
                moved.append(MovedEnd(version.id, version.valid_to, end))
    return moved


def list_cuts(run: Transaction, space_id: str) -> list[VersionCut]:
    """Return what was known when of the ends of atoms that were cut by a version which is not the next after them.

    All other superseded atoms have had one end until they were superseded, and have another since.
    """
    found: list[VersionCut] = []
    for version, later, gap in _walk_superseded(run, space_id):
        if later is None or version.next_begins is None or version.valid_to >= version.next_begins:
            continue
        known_from = later.recorded
        while later is not None:
            known_from = later.recorded
            found.append(VersionCut(version.position, known_from, later.begins))
            later = later.then
        # Since the last cut it ends where it ends now, whichever version has brought that about.
        found.append(VersionCut(version.position, known_from if gap is None else gap, version.valid_to))
    return found


class _LaterVersion(NamedTuple):
    """A version that comes after another, linked to the next one after it that begins earlier."""

    begins: Micros
    recorded: Micros
    then: _LaterVersion | None
    lowest: Micros
    """The earliest beginning of this version and those after it."""


def _walk_superseded(
    run: Transaction, space_id: str
) -> Iterator[tuple[SupersededVersion, _LaterVersion | None, Micros | None]]:
    """Yield each superseded version, newest first, with the versions after it.

    Third is the instant since which one of those is deleted: its beginning was forgotten with it, but not the ends that
    it may have brought about.
    """
    before: dict[str, list[SupersededVersion]] = {}
    superseded: set[str] = set()
    for version in map(SupersededVersion._make, run.all("superseded_versions", space_id=space_id)):
        before.setdefault(version.superseded_by, []).append(version)
        superseded.add(version.id)
    left: list[tuple[str, _LaterVersion | None, Micros | None]] = [
        (each, None, None) for each in before.keys() - superseded
    ]
    while left:
        newer_id, after, gap_after = left.pop()
        for version in before.get(newer_id, ()):
            later, gap = after, gap_after
            begins, recorded = version.next_begins, version.next_recorded
            if begins is not None and recorded is not None:
                while later is not None and later.begins >= begins:
                    later = later.then
                later = _LaterVersion(begins, recorded, later, begins if later is None else later.lowest)
            if recorded is None or recorded > version.superseded_at:
                gap = version.superseded_at
            yield version, later, gap
            left.append((version.id, later, gap))
