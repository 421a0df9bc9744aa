"""The promises of a user's journal since the last erasure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from prove.kills.journal import Entry, History


@dataclass(frozen=True)
class Era:
    """Operations after the last erasure that has happened, and which of those before it may have outlived it."""

    user: str
    entries: tuple[Entry, ...]
    late: frozenset[int] = field(default_factory=frozenset)
    """Operations whose process was killed right before the erasure began. A PostgreSQL server may still have been
    busy with their commits, so they may have come after it."""

    @cached_property
    def by_number(self) -> dict[int, Entry]:
        return {entry.number: entry for entry in self.entries}

    def select(self, *operations: str) -> Iterator[Entry]:
        return (entry for entry in self.entries if entry.operation in operations)

    def may_be_there(self, number: int) -> bool:
        entry = self.by_number.get(number)
        return number in self.late if entry is None else entry.state != "refused"


def eras(history: History, *, late_commits: bool) -> list[Era]:
    """The eras that the user may be in: two, when the last erasure was not answered."""
    last = [place for place, entry in enumerate(history.entries) if entry.operation == "erase"]
    done = [place for place in last if history.entries[place].state == "done"]
    found = [_make_era(history, done[-1] if done else -1, late_commits)]
    if last and history.entries[last[-1]].state == "lost":
        found.append(_make_era(history, last[-1], late_commits))
    return found


def _make_era(history: History, place: int, late_commits: bool) -> Era:
    before = history.entries[: max(place, 0)]
    late: set[int] = set()
    while late_commits and before and before[-1].state == "lost":
        late.add(before.pop().number)
    return Era(history.user, tuple(history.entries[place + 1 :]), frozenset(late))


def times_wrong(entry: Entry, what: str, found: int, whole: int = 1) -> Iterator[str]:
    """Yield a problem unless the effect of an operation exists as often as its answer says."""
    right = {"done": (whole,), "refused": (0,), "lost": (0, whole)}[entry.state]
    if found not in right:
        expected = " or ".join(map(str, right))
        yield f"{what} of {entry.operation} {entry.number} ({entry.state}): {found} there, {expected} expected"
