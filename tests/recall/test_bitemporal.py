"""Two axes of time: when something was true, and when it was known."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import longmind
from longmind.clock import to_iso, to_micros
from longmind.memory import Memory
from longmind.models.atom import Atom
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.recall.facts import fact, memory_of, texts_of

MICROSECOND = 0.000001


@dataclass(frozen=True)
class Moves:
    """A fact that has changed three times: where somebody lives, and when we heard of it."""

    versions: list[Atom]
    true_from: list[str]
    known_from: list[str]


@pytest.fixture
def moves(memory: Memory, space_id: str, clock: SettableClock) -> Moves:
    """Each move is heard of a day after it has happened, but the last, which is heard of two days before."""
    homes = ("Ada lives in Rome", "Ada lives in Paris", "Ada lives in Oslo", "Ada lives in Lima")
    true_from = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-03T00:00:00Z"]
    known_from = ["2026-01-02T00:00:00Z", "2026-02-02T00:00:00Z", "2026-03-02T00:00:00Z", "2026-04-01T00:00:00Z"]
    versions: list[Atom] = []
    for home, true, known in zip(homes, true_from, known_from, strict=True):
        clock.now = to_micros(known)
        new = fact(home, valid_from=true)
        versions.append(memory.supersede_atom(versions[-1].id, new) if versions else memory.add_atom(space_id, new))
    clock.now = to_micros("2026-05-01T00:00:00Z")
    return Moves(versions, true_from, known_from)


def beside(instant: str, microseconds: int) -> str:
    return to_iso(to_micros(instant) + microseconds)


def where(memory: Memory, space_id: str, valid_at: str | None, known_at: str | None) -> list[str]:
    found = memory.recall_by_topic(space_id, "where does Ada live", valid_at=valid_at, known_at=known_at)
    return sorted(text.rpartition(" ")[2] for text in texts_of(found))


@pytest.mark.conforms("A6.8")
def test_each_version_is_true_from_its_beginning_to_the_beginning_of_the_next(
    memory: Memory, space_id: str, moves: Moves
) -> None:
    before = [[], ["Rome"], ["Paris"], ["Oslo"]]
    after = [["Rome"], ["Paris"], ["Oslo"], ["Lima"]]
    for instant, old, new in zip(moves.true_from, before, after, strict=True):
        assert where(memory, space_id, beside(instant, -1), None) == old
        assert where(memory, space_id, instant, None) == new
        assert where(memory, space_id, beside(instant, 1), None) == new


@pytest.mark.conforms("A6.8")
def test_each_version_is_known_from_when_it_was_recorded(memory: Memory, space_id: str, moves: Moves) -> None:
    """Asked on the day before it knew better, memory gives the version it had."""
    before = [[], ["Rome"], ["Paris"], ["Oslo"]]
    after = [["Rome"], ["Paris"], ["Oslo"], ["Lima", "Oslo"]]
    for instant, old, new in zip(moves.known_from, before, after, strict=True):
        assert where(memory, space_id, None, beside(instant, -1)) == old
        # The last move was announced two days ahead: on that day the home before is still the home.
        assert where(memory, space_id, None, instant) == new
        assert where(memory, space_id, None, beside(instant, 1)) == new
    assert where(memory, space_id, None, moves.true_from[3]) == ["Lima"]


@pytest.mark.conforms("A6.8")
def test_both_axes_together_tell_what_was_held_true_of_an_instant(memory: Memory, space_id: str, moves: Moves) -> None:
    middle_of = ["2026-01-15T00:00:00Z", "2026-02-15T00:00:00Z", "2026-03-15T00:00:00Z", "2026-04-15T00:00:00Z"]
    held: dict[int, list[list[str]]] = {
        # What was known on the evening of each move, of the middle of each month.
        -1: [[], [], [], []],
        0: [["Rome"], ["Rome"], ["Rome"], ["Rome"]],
        1: [["Rome"], ["Paris"], ["Paris"], ["Paris"]],
        2: [["Rome"], ["Paris"], ["Oslo"], ["Oslo"]],
        3: [["Rome"], ["Paris"], ["Oslo"], ["Lima"]],
    }
    for number, homes in held.items():
        known_at = moves.known_from[number] if number >= 0 else beside(moves.known_from[0], -1)
        for valid_at, home in zip(middle_of, homes, strict=True):
            assert where(memory, space_id, valid_at, known_at) == home
    for number, instant in enumerate(moves.known_from[1:], 1):
        assert where(memory, space_id, middle_of[number], beside(instant, -1)) == held[number - 1][number]


@pytest.mark.conforms("A6.7")
def test_by_default_the_version_of_today_is_found(
    memory: Memory, space_id: str, moves: Moves, clock: SettableClock
) -> None:
    assert where(memory, space_id, None, None) == ["Lima"]
    # Four days earlier both were: one is still the home, the other is told of already.
    clock.now = to_micros("2026-04-02T00:00:00Z")
    assert where(memory, space_id, None, None) == ["Lima", "Oslo"]
    assert where(memory, space_id, to_iso(clock.now), None) == ["Oslo"]


def test_a_timeline_shows_every_version_and_its_end(memory: Memory, space_id: str, moves: Moves) -> None:
    found = memory.recall_timeline(space_id, query="where does Ada live")
    assert [hit.atom.id for hit in found.hits] == [atom.id for atom in moves.versions]
    ends = [hit.atom.valid_to for hit in found.hits]
    assert ends == [*(to_iso(to_micros(instant)) for instant in moves.true_from[1:]), None]


def test_what_was_archived_is_found_as_of_a_time_before(memory: Memory, space_id: str, clock: SettableClock) -> None:
    atom = memory.add_atom(space_id, fact("Ada rides a bike"))
    clock.advance(3600)
    archived_at = to_iso(clock.now)
    memory.archive_atom(atom.id)
    clock.advance(3600)
    assert texts_of(memory.recall_by_topic(space_id, "bike")) == []
    assert texts_of(memory.recall_by_topic(space_id, "bike", known_at=archived_at)) == []
    assert texts_of(memory.recall_by_topic(space_id, "bike", known_at=beside(archived_at, -1))) == ["Ada rides a bike"]
    # It is out of recall, whatever instant is asked about: archiving says nothing about the world.
    assert texts_of(memory.recall_by_topic(space_id, "bike", valid_at=beside(archived_at, -1))) == []


def test_what_will_be_true_is_told_before_but_not_as_true_now(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    memory.add_atom(space_id, fact("Ada moves to Kyoto", valid_from=to_iso(clock.now + 86_400_000_000)))
    found = memory.recall_by_topic(space_id, "Kyoto")
    assert texts_of(found) == ["Ada moves to Kyoto"]
    assert found.hits[0].decay_weight == 1.0
    assert texts_of(memory.recall_by_topic(space_id, "Kyoto", valid_at=to_iso(clock.now))) == []
    clock.advance(86_400)
    assert texts_of(memory.recall_by_topic(space_id, "Kyoto", valid_at=to_iso(clock.now))) == ["Ada moves to Kyoto"]


def test_what_ends_by_itself_is_found_until_then(memory: Memory, space_id: str, clock: SettableClock) -> None:
    memory.add_atom(space_id, fact("The ticket is valid", valid_to=to_iso(clock.now + 60_000_000)))
    clock.advance(60 - MICROSECOND)
    assert texts_of(memory.recall_by_topic(space_id, "ticket")) == ["The ticket is valid"]
    clock.advance(MICROSECOND)
    assert texts_of(memory.recall_by_topic(space_id, "ticket")) == []


def test_a_correction_that_reaches_further_back_leaves_the_old_version_no_time(
    memory: Memory, space_id: str, clock: SettableClock
) -> None:
    wrong = memory.add_atom(space_id, fact("Ada was born in May", valid_from="2026-02-01T00:00:00Z"))
    clock.advance(60)
    memory.supersede_atom(wrong.id, fact("Ada was born in June", valid_from="2026-01-01T00:00:00Z"))
    for instant in ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", to_iso(clock.now)):
        found = memory.recall_by_topic(space_id, "born", valid_at=instant)
        assert texts_of(found) == ["Ada was born in June"]
    known = memory.recall_by_topic(space_id, "born", known_at=to_iso(clock.now - 1))
    assert texts_of(known) == ["Ada was born in May"]


def test_what_a_machine_with_a_faster_clock_has_written_is_found_at_once(
    database_url: str, memory: Memory, space_id: str, clock: SettableClock
) -> None:
    ahead = SettableClock(to_iso(clock.now + 5_000_000))
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=ahead) as other:
        atom = memory_of(other).add_atom(space_id, fact("written ahead of time"))
        assert texts_of(memory.recall_by_topic(space_id, "written")) == ["written ahead of time"]
        memory_of(other).archive_atom(atom.id)
        assert texts_of(memory.recall_by_topic(space_id, "written")) == []
