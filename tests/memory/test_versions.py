"""Of the versions of a fact at most one is true at an instant, in whichever order they begin and were recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import Any, Literal, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.clock import Micros, to_iso, to_micros
from longmind.memory import Memory
from longmind.memory.validation import validate_atom
from longmind.store.database import Transaction
from longmind.store.tables import spaces
from longmind.store.tables.atom_changes import AtomAddition, apply_steps
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.memory.facts import administrator, fact, looked_up

DAY = 86_400_000_000
TODAY = to_micros("2026-03-01T09:30:00Z")


@dataclass(frozen=True)
class Told:
    """A version to be told: the day on which it begins, how long it lasts, and how long after the one before it."""

    begins: int
    lasts: int | None
    after: int


@dataclass(frozen=True)
class Delete:
    """One of the versions that are left is deleted."""

    target: int


@dataclass(frozen=True)
class Restore:
    """The newest of those that are left is made to hold again."""


Step = Told | Delete | Restore
Recording = Literal["now", "brought in", "brought in at once"]
"""Versions are recorded by the clock, or were so elsewhere before, one after the other or all at one instant."""


@dataclass
class Version:
    text: str
    begins: Micros
    own_end: Micros | None
    recorded: Micros
    id: str
    end: Micros | None
    """Where it ends by all that is known."""
    deleted: bool = False

    def ends_at(self, instant: Micros) -> None:
        self.end = max(self.begins, instant if self.end is None else min(instant, self.end))


@dataclass
class Chain:
    """The versions of one fact, oldest first, and the rule that tells when each is true."""

    versions: list[Version] = field(default_factory=list)

    def add(self, version: Version) -> None:
        for older in self.versions:
            older.ends_at(version.begins)
        self.versions.append(version)

    def restorable(self) -> int | None:
        """The place of the newest version that is left, if later ones were deleted."""
        left = [place for place, version in enumerate(self.versions) if not version.deleted]
        return left[-1] if left and left[-1] < len(self.versions) - 1 else None

    def restore(self, place: int) -> None:
        del self.versions[place + 1 :]
        for at, version in enumerate(self.versions):
            later = self.versions[at + 1 :]
            # What a version has ended that was deleted in between is not undone.
            if not any(each.deleted for each in later):
                version.end = version.own_end
                for each in later:
                    version.ends_at(each.begins)

    def known(self, known_at: Micros | None) -> dict[str, tuple[Micros, Micros | None]]:
        """When each version is true, by what had been recorded: until the first of the later ones begins."""
        found = {}
        for place, version in enumerate(self.versions):
            if version.deleted or (known_at is not None and version.recorded > known_at):
                continue
            as_known = replace(version, end=version.own_end)
            for later in self.versions[place + 1 :]:
                if known_at is None or later.recorded <= known_at:
                    # Where a deleted one began was forgotten with it; the end that there is stays.
                    as_known.ends_at(version.end if later.deleted and version.end is not None else later.begins)
            found[version.text] = (version.begins, as_known.end)
        return found

    def valid(self, valid_at: Micros, known_at: Micros | None) -> list[str]:
        windows = self.known(known_at).items()
        return [text for text, (begins, end) in windows if begins <= valid_at and (end is None or end > valid_at)]

    def boundaries(self) -> list[Micros]:
        """Where a version begins or ends, and the microseconds before and after."""
        edges = {edge for each in self.versions for edge in (each.begins, each.own_end, each.end) if edge is not None}
        return sorted({edge + beside for edge in edges for beside in (-1, 0, 1)})

    def recordings(self) -> list[Micros]:
        return sorted({each.recorded + beside for each in self.versions for beside in (-1, 0, 1)})


def check(memory: Memory, space_id: str, chain: Chain, *, each_instant: bool = True) -> None:
    """Ask for everything at every instant at which an answer may change."""
    for known_at in (None, *chain.recordings()):
        known = None if known_at is None else to_iso(known_at)
        expected = {
            text: (to_iso(begins), None if end is None else to_iso(end))
            for text, (begins, end) in chain.known(known_at).items()
        }
        timeline = memory.recall_timeline(space_id, known_at=known).hits
        assert {hit.atom.text: (hit.atom.valid_from, hit.atom.valid_to) for hit in timeline} == expected
        for valid_at in chain.boundaries() if each_instant else ():
            valid = chain.valid(valid_at, known_at)
            assert len(valid) <= 1
            found = memory.recall_by_topic(space_id, "home", valid_at=to_iso(valid_at), known_at=known).hits
            assert [hit.atom.text for hit in found] == valid
            assert [hit.atom.valid_to for hit in found] == [expected[text][1] for text in valid]
            if known_at is None:
                assert [atom.text for atom in memory.list_atoms(space_id, valid_at=to_iso(valid_at))] == valid


@dataclass
class Teller:
    """Does the same to a space and to the chain that says what is to be found there."""

    memory: Memory
    clock: SettableClock
    space_id: str
    recording: Recording
    recorded: Micros
    chain: Chain = field(default_factory=Chain)

    def do(self, step: Step) -> None:
        left = [version for version in self.chain.versions if not version.deleted]
        place = self.chain.restorable()
        if isinstance(step, Told):
            self._tell(step)
        elif isinstance(step, Delete) and left:
            version = left[step.target % len(left)]
            self.memory.delete_atom(version.id)
            version.deleted = True
        elif isinstance(step, Restore) and place is not None and self.recording != "brought in at once":
            # Of versions of one instant it cannot be told whether there were others in between.
            self.memory.restore_atom(self.chain.versions[place].id)
            self.chain.restore(place)

    def _tell(self, told: Told) -> None:
        self.recorded += 0 if self.recording == "brought in at once" else told.after
        if self.recording == "now":
            self.clock.now = self.recorded
        begins = TODAY + told.begins * DAY
        ends = None if told.lasts is None else begins + told.lasts * DAY
        text = f"home {len(self.chain.versions)} {to_iso(self.recorded)}"
        new = fact(text, valid_from=to_iso(begins), valid_to=None if ends is None else to_iso(ends))
        if self.recording != "now":
            new["created_at"] = to_iso(self.recorded)
        newest = self.chain.versions[-1] if self.chain.versions else None
        if newest is None:
            atom = self.memory.add_atom(self.space_id, new)
        elif newest.deleted or (newest.own_end is not None and newest.own_end <= self.clock.now):
            # It is closed.
            return
        else:
            atom = self.memory.supersede_atom(newest.id, new)
        self.chain.add(Version(text, begins, ends, self.recorded, atom.id, ends))


told = st.builds(
    Told,
    begins=st.integers(-4, 4),
    lasts=st.none() | st.none() | st.integers(1, 12),
    after=st.sampled_from((1, 2, 3_600_000_000, DAY)),
)
steps: st.SearchStrategy[Step] = told | told | st.builds(Delete, target=st.integers(-3, 2)) | st.builds(Restore)


@pytest.mark.patient
@pytest.mark.conforms("A3.11", "A6.8", "T11")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    first=st.lists(told, min_size=2, max_size=3),
    then=st.lists(steps, min_size=1, max_size=4),
    recording=st.sampled_from(get_args(Recording)),
)
def test_at_most_one_version_is_true_at_an_instant_as_of_any_knowledge(
    first: list[Told],
    then: list[Step],
    recording: Recording,
    engine: longmind.Engine,
    clock: SettableClock,
    database_url: str,
) -> None:
    clock.now = TODAY
    memory = administrator(engine)
    space_id = memory.create_memory_space().id
    teller = Teller(memory, clock, space_id, recording, TODAY if recording == "now" else TODAY - 30 * DAY)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as other:
        for step in (*first, *then):
            teller.do(step)
            check(administrator(other), space_id, teller.chain, each_instant=False)
        check(memory, space_id, teller.chain)
    clock.advance(20 * 86_400)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as reopened:
        check(administrator(reopened), space_id, teller.chain)


@pytest.mark.patient
@pytest.mark.conforms("A6.8", "T11")
def test_in_whichever_order_versions_begin_and_are_deleted_one_is_true_at_most(
    engine: longmind.Engine, clock: SettableClock
) -> None:
    memory = administrator(engine)
    deleted = [gone for count in (1, 2) for gone in permutations(range(4), count)]
    for order, gone in product(permutations(range(4)), deleted):
        clock.now = TODAY
        space_id = memory.create_memory_space().id
        teller = Teller(memory, clock, space_id, "now", TODAY)
        for begins in order:
            teller.do(Told(begins, None, DAY))
        for place in gone:
            version = teller.chain.versions[place]
            memory.delete_atom(version.id)
            version.deleted = True
        check(memory, space_id, teller.chain, each_instant=False)
        teller.do(Restore())
        check(memory, space_id, teller.chain, each_instant=False)


def home(city: str, begins: str, **more: str) -> dict[str, Any]:
    return fact(f"lives in {city}", valid_from=f"{begins}T00:00:00Z", **more)


@pytest.fixture
def moves(memory: Memory, space: longmind.MemorySpace, clock: SettableClock) -> list[longmind.Atom]:
    """A move to Rome, and then the news that it went to Paris, and earlier: an hour between what is heard."""
    oslo = memory.add_atom(space.id, home("Oslo", "2025-01-01"))
    clock.advance(3600)
    rome = memory.supersede_atom(oslo.id, home("Rome", "2025-09-01"))
    clock.advance(3600)
    return [oslo, rome, memory.supersede_atom(rome.id, home("Paris", "2025-06-01"))]


def where(memory: Memory, space_id: str, valid_at: str, known_at: str | None = None) -> list[str]:
    found = memory.recall_by_topic(space_id, "lives", valid_at=f"{valid_at}T00:00:00Z", known_at=known_at)
    return [hit.atom.text.rpartition(" ")[2] for hit in found.hits]


@pytest.mark.conforms("A3.11", "A6.8")
def test_a_correction_that_reaches_further_back_ends_all_older_versions(
    memory: Memory, space: longmind.MemorySpace, moves: list[longmind.Atom]
) -> None:
    oslo, rome, paris = moves
    assert where(memory, space.id, "2025-05-31") == ["Oslo"]
    for instant in ("2025-06-01", "2025-07-01", "2025-09-01", "2026-01-01"):
        assert where(memory, space.id, instant) == ["Paris"]
        assert memory.list_atoms(space.id, valid_at=f"{instant}T00:00:00Z") == [paris]
    ended = looked_up(memory, oslo)
    assert (ended.valid_to, ended.superseded_by, ended.superseded_at) == (paris.valid_from, rome.id, rome.created_at)
    assert ended.updated_at == paris.created_at


@pytest.mark.conforms("A6.8")
def test_before_the_correction_was_recorded_the_world_is_as_it_was_believed(
    memory: Memory, space: longmind.MemorySpace, moves: list[longmind.Atom]
) -> None:
    oslo, rome, paris = (atom.created_at for atom in moves)
    for known_at, homes in {oslo: ["Oslo", "Oslo"], rome: ["Oslo", "Rome"], paris: ["Paris", "Paris"]}.items():
        assert [*where(memory, space.id, "2025-07-01", known_at), *where(memory, space.id, "2025-10-01", known_at)] == (
            homes
        )
    (before,) = memory.recall_by_topic(
        space.id, "lives", valid_at="2025-07-01T00:00:00Z", known_at=to_iso(to_micros(paris) - 1)
    ).hits
    assert before.atom.valid_to == "2025-09-01T00:00:00.000000Z"


@pytest.mark.conforms("T11")
def test_what_a_deleted_correction_has_ended_stays_ended_until_the_version_before_it_is_restored(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, moves: list[longmind.Atom]
) -> None:
    oslo, rome, paris = moves
    memory.delete_atom(paris.id)
    assert where(memory, space.id, "2025-05-31") == ["Oslo"]
    for instant in ("2025-07-01", "2025-10-01"):
        assert where(memory, space.id, instant) == []
        assert where(memory, space.id, instant, paris.created_at) == []
    assert where(memory, space.id, "2025-07-01", rome.created_at) == ["Oslo"]
    assert where(memory, space.id, "2025-10-01", rome.created_at) == ["Rome"]
    administrator(engine).restore_atom(rome.id)
    assert where(memory, space.id, "2025-07-01") == ["Oslo"]
    assert where(memory, space.id, "2025-10-01") == ["Rome"]
    assert looked_up(memory, oslo).valid_to == rome.valid_from


@pytest.mark.conforms("T11", "A6.8")
def test_what_a_version_had_ended_that_was_deleted_from_the_middle_is_not_undone(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    oslo = memory.add_atom(space.id, home("Oslo", "2025-01-01"))
    clock.advance(3600)
    bonn = memory.supersede_atom(oslo.id, home("Bonn", "2025-03-01"))
    clock.advance(3600)
    rome = memory.supersede_atom(bonn.id, home("Rome", "2025-09-01"))
    memory.delete_atom(bonn.id)
    clock.advance(3600)
    paris = memory.supersede_atom(rome.id, home("Paris", "2025-06-01"))
    for known_at in (bonn.created_at, rome.created_at, paris.created_at, None):
        assert where(memory, space.id, "2025-02-28", known_at) == ["Oslo"]
        assert where(memory, space.id, "2025-03-01", known_at) == []
    memory.delete_atom(paris.id)
    administrator(engine).restore_atom(rome.id)
    assert looked_up(memory, oslo).valid_to == bonn.valid_from


@pytest.mark.conforms("A3.11")
def test_what_is_extracted_ends_all_that_it_comes_after_and_history_ends_before_all_that_is_known(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    def learned(city: str, begins: str, *, supersedes: Sequence[str] = (), superseded_by: str | None = None) -> str:
        """As extraction keeps it; what is history has an end of its own."""
        ends = {} if superseded_by is None else {"valid_to": "2025-09-01T00:00:00Z"}
        addition = AtomAddition(
            validate_atom(home(city, begins, **ends), engine._clock()),
            supersedes=tuple(supersedes),
            superseded_by=superseded_by,
        )

        def write(run: Transaction) -> None:
            change = spaces.begin_change(run, space.id, engine._clock(), 1)
            apply_steps(run, ctx.scope, space.id, change, [addition], engine._clock())

        engine._database.write(ctx.scope, write)
        return addition.atom.id

    twins = [learned("Oslo", "2025-01-01"), learned("Oslo", "2025-01-15")]
    rome = learned("Rome", "2025-09-01", supersedes=twins)
    learned("Paris", "2025-06-01", supersedes=[rome])
    learned("Bonn", "2025-03-01", superseded_by=rome)
    for instant, cities in {
        "2025-05-31": ["Bonn", "Oslo", "Oslo"],
        "2025-06-01": ["Paris"],
        "2025-09-01": ["Paris"],
    }.items():
        true_then = ctx.memory.list_atoms(space.id, valid_at=f"{instant}T00:00:00Z")
        assert sorted(atom.text.rpartition(" ")[2] for atom in true_then) == cities
    assert [atom.valid_from == atom.valid_to for atom in ctx.memory.list_atoms(space.id) if atom.id == rome] == [True]
