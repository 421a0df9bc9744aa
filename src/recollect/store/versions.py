"""Where the versions of a fact end: each where a later one begins, in whichever order they begin.

An atom keeps the end that holds now. Which it had at an earlier instant follows from the versions that were recorded by
then, so it is written nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from recollect.clock import Micros
from recollect.store.database import Transaction


class Superseded(NamedTuple):
    """A version that another has taken the place of, as SQL calls it `superseded_versions`."""

    id: str
    position: int
    valid_from: Micros
    valid_to: Micros
    open_until: Micros | None
    superseded_by: str
    superseded_at: Micros
    next_begins: Micros | None
    """Where the one after it begins; None when that was deleted."""
    next_recorded: Micros | None


class Cut(NamedTuple):
    """Since when it was known that the atom at a position ends no later than there."""

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
) -> bool:
    """End a version where a new one begins, and the versions before it that reach further; False if it was closed."""
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
        return False
    began, before = closed
    if begins < began and before is not None:
        settle(run, space_id, old_id, revision, now)
    return True


def settle(run: Transaction, space_id: str, atom_id: str, revision: int, now: Micros, *, undoing: bool = False) -> None:
    """Let the versions before an atom end where those after them begin; later than now only where that is undone."""
    versions = _superseded(run, space_id)
    before: dict[str, list[Superseded]] = {}
    for version in versions.values():
        before.setdefault(version.superseded_by, []).append(version)
    left = [atom_id]
    while left:
        for version in before.pop(left.pop(), ()):
            latest = version.open_until if undoing else version.valid_to
            ends = [cut.ends for cut in _cuts(version, versions)]
            end = max(version.valid_from, min(ends if latest is None else [latest, *ends]))
            if end != version.valid_to:
                run.send("put_end", id=version.id, valid_to=end, revision=revision, now=now)
            left.append(version.id)


def cuts(run: Transaction, space_id: str) -> list[Cut]:
    """What was known when of the ends of those atoms that a version has cut which is not the next after them.

    All others have had one end before they were superseded, and have another since.
    """
    versions = _superseded(run, space_id)
    found: list[Cut] = []
    for version in versions.values():
        if version.next_begins is not None and version.valid_to < version.next_begins:
            steps = list(_cuts(version, versions))
            # With the last of them it ends where it ends now, whichever versions were deleted.
            found += [*steps, Cut(version.position, max(cut.known_from for cut in steps), version.valid_to)]
    return found


def _superseded(run: Transaction, space_id: str) -> dict[str, Superseded]:
    rows = run.all("superseded_versions", space_id=space_id)
    return {version.id: version for version in map(Superseded._make, rows)}


def _cuts(version: Superseded, versions: Mapping[str, Superseded]) -> Iterator[Cut]:
    """What each of the versions after one says of its end."""
    at: Superseded | None = version
    seen: set[str] = set()
    while at is not None and at.id not in seen:
        seen.add(at.id)
        if at.next_recorded is None or at.next_recorded > at.superseded_at:
            # One was deleted in between. Where it began is forgotten, but not the end that it may have brought about.
            yield Cut(version.position, at.superseded_at, version.valid_to)
        if at.next_begins is not None and at.next_recorded is not None:
            yield Cut(version.position, at.next_recorded, at.next_begins)
        at = versions.get(at.superseded_by)
