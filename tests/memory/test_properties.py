"""What holds for any memory: whatever is done to it, it reads back as a plain list in the test would."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.clock import to_iso
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import administrator, fact

# The database lives as long as the test; every example has a space of its own in it.
moderately = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

CATEGORIES = ("home", "work")


@dataclass(frozen=True)
class Given:
    """An atom to be: days from now until it begins, days it lasts, and whether it speaks of the entity."""

    category: str
    begins: int
    lasts: int | None
    linked: bool


@dataclass(frozen=True)
class Add:
    atoms: list[Given]


@dataclass(frozen=True)
class Supersede:
    target: int
    atom: Given


@dataclass(frozen=True)
class Archive:
    target: int


@dataclass(frozen=True)
class Delete:
    target: int


@dataclass(frozen=True)
class Restore:
    target: int


Step = Add | Supersede | Archive | Delete | Restore

atoms = st.builds(
    Given,
    category=st.sampled_from(CATEGORIES),
    begins=st.integers(-3, 3),
    lasts=st.none() | st.integers(1, 3),
    linked=st.booleans(),
)
targets = st.integers(0, 20)
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Add, atoms=st.lists(atoms, min_size=1, max_size=3)),
    st.builds(Supersede, target=targets, atom=atoms),
    st.builds(Archive, target=targets),
    st.builds(Delete, target=targets),
    st.builds(Restore, target=targets),
)


@dataclass(frozen=True)
class Row:
    text: str
    category: str
    valid_from: datetime
    valid_to: datetime | None
    linked: bool
    status: str = "ACTIVE"
    supersedes: int | None = None
    superseded_by: int | None = None
    deleted: bool = False
    first_end: datetime | None = field(default=None, compare=False)
    """Where it was to end when it was told."""
    cuts: dict[int, datetime] = field(default_factory=dict, compare=False)
    """Where the versions after it begin, by their places."""

    def cut(self, cuts: dict[int, datetime]) -> Row:
        """The same, that ends where the first of them begins, but neither later than it was to nor before itself."""
        ends = [end for end in (self.first_end, *cuts.values()) if end is not None]
        return replace(self, cuts=cuts, valid_to=max(self.valid_from, min(ends)) if ends else None)


@dataclass
class Reference:
    """A space as a list, with the rules said as plainly as possible."""

    rows: list[Row] = field(default_factory=list)

    def do(self, step: Step, now: datetime) -> str | None:
        """Take the step, or say which error refuses it."""
        if isinstance(step, Add):
            self.rows += [self._row(atom, now) for atom in step.atoms]
            return None
        at = step.target % len(self.rows) if self.rows else 0
        if not self.rows or self.rows[at].deleted:
            return "NotFound"
        old = self.rows[at]
        match step:
            case Archive():
                self.rows[at] = replace(old, status="ARCHIVED")
            case Delete():
                self.rows[at] = replace(old, deleted=True)
                before, after = old.supersedes, old.superseded_by
                if before is not None and after is not None:
                    self.rows[before] = replace(self.rows[before], superseded_by=after)
                    self.rows[after] = replace(self.rows[after], supersedes=before)
            case Restore():
                if old.status == "ARCHIVED":
                    return "Conflict"
                if old.superseded_by is not None:
                    if not self.rows[old.superseded_by].deleted:
                        return "Conflict"
                    self.rows[at] = replace(old, superseded_by=None).cut({})
                    for place in self._before(at):
                        left = {by: begins for by, begins in self.rows[place].cuts.items() if by <= at}
                        # Where a version in between was deleted, what has ended it is not undone.
                        if not any(self.rows[by].deleted for by in left):
                            self.rows[place] = self.rows[place].cut(left)
            case Supersede():
                if old.superseded_by is not None or (old.valid_to is not None and old.valid_to <= now):
                    return "Conflict"
                new = self._row(step.atom, now, supersedes=at)
                for place in (at, *self._before(at)):
                    row = self.rows[place]
                    self.rows[place] = row.cut(row.cuts | {len(self.rows): new.valid_from})
                self.rows[at] = replace(self.rows[at], superseded_by=len(self.rows))
                self.rows.append(new)
        return None

    def _before(self, at: int) -> list[int]:
        """The places of the versions before one."""
        direct = [place for place, row in enumerate(self.rows) if row.superseded_by == at and not row.deleted]
        return [place for each in direct for place in (each, *self._before(each))]

    def _row(self, atom: Given, now: datetime, supersedes: int | None = None) -> Row:
        begins, ends = window(atom, now)
        return Row(
            f"Common {now:%H%M%S}", atom.category, begins, ends, atom.linked, supersedes=supersedes, first_end=ends
        )

    def listed(self, category: str | None, status: str | None, valid_at: datetime | None) -> list[Row]:
        return [
            row
            for row in reversed(self.rows)
            if not row.deleted
            and category in (None, row.category)
            and status in (None, row.status)
            and (valid_at is None or (row.valid_from <= valid_at and (row.valid_to is None or row.valid_to > valid_at)))
        ]

    def current(self, now: datetime) -> list[int]:
        """The places of what has time left, was not archived and is there."""
        return [
            at
            for at, row in enumerate(self.rows)
            if not row.deleted
            and row.status == "ACTIVE"
            and (row.valid_to is None or row.valid_to > max(now, row.valid_from))
        ]


def window(atom: Given, now: datetime) -> tuple[datetime, datetime | None]:
    begins = now + timedelta(days=atom.begins)
    return begins, None if atom.lasts is None else begins + timedelta(days=atom.lasts)


@dataclass
class Real:
    """The same steps, done to a space of the engine."""

    memory: Memory
    space_id: str
    entity_id: str
    ids: list[str] = field(default_factory=list)

    def do(self, step: Step, now: datetime) -> str | None:
        try:
            match step:
                case Add():
                    added = self.memory.add_atoms(self.space_id, [self._fact(atom, now) for atom in step.atoms])
                    self.ids += [atom.id for atom in added]
                case Supersede():
                    self.ids.append(self.memory.supersede_atom(self._id(step.target), self._fact(step.atom, now)).id)
                case Archive():
                    self.memory.archive_atom(self._id(step.target))
                case Delete():
                    self.memory.delete_atom(self._id(step.target))
                case Restore():
                    self.memory.restore_atom(self._id(step.target))
        except longmind.LongmindError as error:
            return type(error).__name__
        return None

    def _id(self, target: int) -> str:
        return self.ids[target % len(self.ids)] if self.ids else "atom_none"

    def _fact(self, atom: Given, now: datetime) -> dict[str, Any]:
        begins, ends = window(atom, now)
        entities = [self.entity_id] if atom.linked else []
        return fact(f"Common {now:%H%M%S}", name=atom.category, valid_from=begins, valid_to=ends, entity_ids=entities)

    def row(self, atom: longmind.Atom | None) -> Row | None:
        """The atom in the words of the reference; None when there is none."""
        if atom is None:
            return None
        return Row(
            atom.text,
            atom.category.name,
            datetime.fromisoformat(atom.valid_from),
            None if atom.valid_to is None else datetime.fromisoformat(atom.valid_to),
            atom.entity_ids == [self.entity_id],
            atom.status,
            None if atom.supersedes is None else self.ids.index(atom.supersedes),
            None if atom.superseded_by is None else self.ids.index(atom.superseded_by),
        )


@pytest.mark.patient
@pytest.mark.conforms("A3.5", "A3.11", "A3.12", "A3.13", "T11", "T12")
@moderately
@given(taken=st.lists(steps, max_size=12))
def test_any_sequence_of_writes_reads_back_like_a_list(
    taken: list[Step], engine: longmind.Engine, clock: SettableClock
) -> None:
    memory = administrator(engine)
    space = memory.create_memory_space()
    entity = memory.create_entity(space.id, "PLACE", "Graz")
    cursor = engine.last_cursor()
    reference, real = Reference(), Real(memory, space.id, entity.id)
    now, written = moment(clock), 0
    for step in taken:
        clock.advance(1)
        now = moment(clock)
        before = list(reference.rows)
        refused = reference.do(step, now)
        assert real.do(step, now) == refused
        written += refused is None and reference.rows != before

    assert [real.row(memory.get_atom(id)) for id in real.ids] == [
        None if row.deleted else row for row in reference.rows
    ]
    for category in (None, *CATEGORIES):
        for status in ("ACTIVE", "ARCHIVED", None):
            for valid_at in (None, now, now - timedelta(days=1), now + timedelta(days=2)):
                listed = memory.list_atoms(
                    space.id,
                    category=category,
                    status=status,
                    valid_at=valid_at,
                )
                assert [real.row(atom) for atom in listed] == reference.listed(category, status, valid_at)
    recalled = memory.recall_by_topic(space.id, "common", limit=200).hits
    assert sorted(real.ids.index(hit.atom.id) for hit in recalled) == reference.current(now)
    about = memory.get_entity(entity.id)
    assert about is not None
    linked = [row.valid_from for row in reference.rows if row.linked and not row.deleted]
    assert about.atom_count == len(linked)
    seen = [datetime.fromisoformat(entity.created_at), *linked]
    assert datetime.fromisoformat(about.first_seen_at) == min(seen)
    assert datetime.fromisoformat(about.last_seen_at) == max(seen)
    assert len(list(engine.follow(cursor))) == written


def moment(clock: SettableClock) -> datetime:
    return datetime.fromisoformat(to_iso(clock.now)).astimezone(UTC)
