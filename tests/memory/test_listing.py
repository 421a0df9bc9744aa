"""The atoms of a space: newest first, narrowed, and page by page."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.memory import Memory
from tests.memory.facts import fact, looked_up


@pytest.mark.conforms("A3.13")
def test_atoms_are_listed_newest_first(memory: Memory, space: longmind.MemorySpace) -> None:
    # Newest is what was added last, whenever it is valid.
    added = [
        memory.add_atom(space.id, fact(f"{year}", valid_from=f"{year}-01-01T00:00:00Z")) for year in (2022, 2020, 2021)
    ]
    # Nor does it matter when what is brought in from elsewhere was recorded there.
    added.append(memory.add_atom(space.id, fact("imported", created_at="2019-01-01T00:00:00Z")))
    assert memory.list_atoms(space.id) == added[::-1]


@pytest.mark.conforms("A3.13")
def test_a_category_is_matched_by_its_name(memory: Memory, space: longmind.MemorySpace) -> None:
    home, work = memory.add_atoms(space.id, [fact("One.", name="home"), fact("Two.", name="work")])
    assert memory.list_atoms(space.id, category="home") == [home]
    assert memory.list_atoms(space.id, category="work") == [work]
    assert memory.list_atoms(space.id, category="FACT") == []
    assert memory.list_atoms(space.id, category="hom") == []
    assert memory.list_atoms(space.id, category="%") == []


@pytest.mark.conforms("A3.13", "A3.2")
def test_the_active_ones_are_listed_unless_another_status_is_asked_for(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    active, archived, superseded = memory.add_atoms(space.id, [fact("One."), fact("Two."), fact("Three.")])
    memory.archive_atom(archived.id)
    new = memory.supersede_atom(superseded.id, fact("Four."))
    ids = {
        status: [atom.id for atom in memory.list_atoms(space.id, status=status)]
        for status in ("ACTIVE", "ARCHIVED", "DELETED", None)
    }
    assert ids == {
        "ACTIVE": [new.id, superseded.id, active.id],
        "ARCHIVED": [archived.id],
        "DELETED": [],
        None: [new.id, superseded.id, archived.id, active.id],
    }
    assert [atom.id for atom in memory.list_atoms(space.id)] == ids["ACTIVE"]


@pytest.mark.conforms("A3.13", "A3.3")
def test_what_was_valid_at_an_instant(memory: Memory, space: longmind.MemorySpace) -> None:
    memory.add_atom(space.id, fact("Open.", valid_from="2025-01-01T00:00:00Z"))
    memory.add_atom(space.id, fact("Ended.", valid_from="2025-01-01T00:00:00Z", valid_to="2025-02-01T00:00:00Z"))
    memory.add_atom(space.id, fact("Future.", valid_from="2030-01-01T00:00:00Z"))
    for instant, texts in {
        "2024-12-31T23:59:59.999999Z": set(),
        "2025-01-01T00:00:00Z": {"Open.", "Ended."},
        "2025-01-31T23:59:59.999999Z": {"Open.", "Ended."},
        "2025-02-01T00:00:00Z": {"Open."},
        "2030-01-01T00:00:00Z": {"Open.", "Future."},
    }.items():
        assert {atom.text for atom in memory.list_atoms(space.id, valid_at=instant)} == texts, instant
    assert len(memory.list_atoms(space.id)) == 3


@pytest.mark.conforms("A3.13")
def test_pages_follow_one_another_though_atoms_come_and_go(memory: Memory, space: longmind.MemorySpace) -> None:
    added = memory.add_atoms(space.id, [fact(f"{number}") for number in range(10)])
    first = memory.list_atoms(space.id, limit=4)
    assert [atom.text for atom in first] == ["9", "8", "7", "6"]
    memory.add_atom(space.id, fact("new"))
    memory.delete_atom(added[6].id)
    memory.archive_atom(added[5].id)
    second = memory.list_atoms(space.id, limit=4, cursor=first.next_cursor)
    assert [atom.text for atom in second] == ["4", "3", "2", "1"]
    third = memory.list_atoms(space.id, limit=4, cursor=second.next_cursor)
    assert ([atom.text for atom in third], third.next_cursor) == (["0"], None)


@pytest.mark.conforms("A3.13")
def test_a_hundred_are_listed_unless_more_are_asked_for(memory: Memory, space: longmind.MemorySpace) -> None:
    memory.add_atoms(space.id, [fact(f"{number}", name="odd" if number % 2 else "even") for number in range(250)])
    page = memory.list_atoms(space.id)
    assert len(page) == 100
    assert page.next_cursor is not None
    assert len(memory.list_atoms(space.id, limit=250)) == 250
    # A filter comes before the limit.
    assert len(memory.list_atoms(space.id, category="odd")) == 100
    last = memory.list_atoms(space.id, category="odd", limit=125)
    assert (len(last), last.next_cursor) == (125, None)


def test_what_cannot_be_asked_for_is_refused(memory: Memory, space: longmind.MemorySpace) -> None:
    refused: list[dict[str, Any]] = [
        {"status": "active"},
        {"status": 5},
        {"category": ""},
        {"category": "a\x00b"},
        {"valid_at": "soon"},
        {"valid_at": 5},
        {"limit": 0},
        {"limit": -1},
        {"limit": 10_001},
        {"limit": "10"},
        {"cursor": "next"},
        {"cursor": "-1"},
        {"cursor": "9" * 30},
        {"cursor": 5},
    ]
    for asked in refused:
        # Shown when it is not refused.
        print(asked)
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            memory.list_atoms(space.id, **asked)


def test_what_is_listed_is_what_is_looked_up(memory: Memory, space: longmind.MemorySpace) -> None:
    memory.add_atoms(space.id, [fact("One.", tags=["a"]), fact("Two.", importance=5)])
    for atom in memory.list_atoms(space.id):
        assert looked_up(memory, atom) == atom
