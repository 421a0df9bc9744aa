"""A changed fact is a new atom: the old one ends where the new one begins at the latest, and both are kept."""

from __future__ import annotations

import pytest

import longmind
from longmind.clock import to_iso
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import at_once, fact, found, kinds_since, looked_up


@pytest.mark.conforms("A3.5", "A3.11")
def test_the_old_version_ends_where_the_new_one_begins(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    old = memory.add_atom(space.id, fact("Ada lives in Graz."))
    clock.advance(3600)
    new = memory.supersede_atom(old.id, fact("Ada lives in Wien."))
    closed = looked_up(memory, old)
    assert (new.supersedes, closed.superseded_by) == (old.id, new.id)
    assert new.memory_space_id == space.id
    assert new.valid_from == closed.valid_to == closed.superseded_at == closed.updated_at
    assert new.valid_from == "2026-03-01T10:30:00.000000Z"
    assert (new.valid_to, new.superseded_by, new.status) == (None, None, "ACTIVE")
    kept = {"text": old.text, "valid_from": old.valid_from, "created_at": old.created_at, "status": "ACTIVE"}
    assert {name: getattr(closed, name) for name in kept} == kept
    assert looked_up(memory, new) == new


@pytest.mark.conforms("A3.5", "A3.3")
def test_only_the_new_version_is_recalled_and_the_timeline_has_both(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    old = memory.add_atom(space.id, fact("Ada lives in Graz."))
    assert found(memory, space.id, "Where does Ada live?") == ["Ada lives in Graz."]
    clock.advance(3600)
    memory.supersede_atom(old.id, fact("Ada lives in Wien."))
    assert found(memory, space.id, "Where does Ada live?") == ["Ada lives in Wien."]
    assert [hit.atom.text for hit in memory.recall_timeline(space.id).hits] == [
        "Ada lives in Graz.",
        "Ada lives in Wien.",
    ]
    assert [atom.text for atom in memory.list_atoms(space.id)] == ["Ada lives in Wien.", "Ada lives in Graz."]


@pytest.mark.conforms("A3.11")
def test_a_change_can_be_told_later_than_it_happened(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    old = memory.add_atom(space.id, fact("Ada lives in Graz.", valid_from="2025-01-01T00:00:00Z"))
    clock.advance(3600)
    new = memory.supersede_atom(old.id, fact("Ada lives in Wien.", valid_from="2025-06-01T00:00:00Z"))
    closed = looked_up(memory, old)
    assert (closed.valid_from, closed.valid_to) == ("2025-01-01T00:00:00.000000Z", "2025-06-01T00:00:00.000000Z")
    # What was known is another matter than what was true.
    assert closed.superseded_at == new.created_at == "2026-03-01T10:30:00.000000Z"
    for instant, texts in {
        "2024-12-31T23:59:59Z": [],
        "2025-01-01T00:00:00Z": ["Ada lives in Graz."],
        "2025-05-31T23:59:59.999999Z": ["Ada lives in Graz."],
        "2025-06-01T00:00:00Z": ["Ada lives in Wien."],
    }.items():
        assert [atom.text for atom in memory.list_atoms(space.id, valid_at=instant)] == texts


@pytest.mark.conforms("A3.11")
def test_a_version_that_begins_before_the_old_one_leaves_that_no_time(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    old = memory.add_atom(space.id, fact("Ada lives in Graz.", valid_from="2025-06-01T00:00:00Z"))
    memory.supersede_atom(old.id, fact("Ada lives in Wien.", valid_from="2025-01-01T00:00:00Z"))
    closed = looked_up(memory, old)
    assert closed.valid_to == closed.valid_from == "2025-06-01T00:00:00.000000Z"
    assert [atom.text for atom in memory.list_atoms(space.id, valid_at="2025-06-01T00:00:00Z")] == [
        "Ada lives in Wien."
    ]


@pytest.mark.conforms("A3.11", "T12")
def test_a_fact_that_has_ended_is_closed_and_a_conflict(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    rented = fact("Ada rents in Graz.", valid_from="2025-01-01T00:00:00Z", valid_to=to_iso(clock.now + 1_000_000))
    old = memory.add_atom(space.id, rented)
    clock.advance(1)
    cursor, before = engine.last_cursor(), memory.get_memory_space(space.id)
    for begins in ("2024-01-01T00:00:00Z", "2025-02-01T00:00:00Z", "2027-01-01T00:00:00Z"):
        with pytest.raises(longmind.Conflict, match="already ended, at 2026-03-01T09:30:01") as refused:
            memory.supersede_atom(old.id, fact("Ada rents in Wien.", valid_from=begins))
        assert old.id in refused.value.hint
        assert refused.value.status == 409
    assert memory.list_atoms(space.id, status=None) == [old]
    assert memory.get_memory_space(space.id) == before
    assert kinds_since(engine, cursor) == []


@pytest.mark.conforms("A3.11")
@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("2026-06-01T00:00:00.000000Z", "2026-06-01T00:00:00.000000Z"),
        ("2027-06-01T00:00:00.000000Z", "2027-01-01T00:00:00.000000Z"),
    ],
)
def test_a_fact_that_is_still_to_end_is_superseded_and_never_lasts_longer(
    memory: Memory, space: longmind.MemorySpace, begins: str, ends: str
) -> None:
    old = memory.add_atom(space.id, fact("Ada rents in Graz.", valid_to="2027-01-01T00:00:00Z"))
    new = memory.supersede_atom(old.id, fact("Ada rents in Wien.", valid_from=begins))
    closed = looked_up(memory, old)
    assert (closed.superseded_by, closed.valid_to) == (new.id, ends)


@pytest.mark.conforms("A3.11", "T12")
def test_what_was_superseded_already_is_a_conflict_that_names_the_newest(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz."))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien."))
    third = memory.supersede_atom(second.id, fact("Ada lives in Linz."))
    before = memory.list_atoms(space.id, status=None)
    cursor = engine.last_cursor()
    for old in (first, second):
        with pytest.raises(longmind.Conflict, match=old.id) as refused:
            memory.supersede_atom(old.id, fact("Ada lives in Rom."))
        assert third.id in (refused.value.hint or "")
    assert memory.list_atoms(space.id, status=None) == before
    assert kinds_since(engine, cursor) == []
    assert found(memory, space.id, "Where does Ada live?") == ["Ada lives in Linz."]
    assert memory.supersede_atom(third.id, fact("Ada lives in Rom.")).supersedes == third.id


@pytest.mark.conforms("A3.11", "T12")
def test_of_many_who_supersede_one_atom_at_once_exactly_one_wins(memory: Memory, space: longmind.MemorySpace) -> None:
    for _ in range(5):
        old = memory.add_atom(space.id, fact("Ada lives in Graz."))
        before = len(memory.list_atoms(space.id, limit=1000))

        def supersede(index: int, old_id: str = old.id) -> longmind.Atom | longmind.Conflict:
            try:
                return memory.supersede_atom(old_id, fact(f"Ada lives in house {index}."))
            except longmind.Conflict as conflict:
                return conflict

        answers = at_once(4, supersede)
        (won,) = [answer for answer in answers if isinstance(answer, longmind.Atom)]
        lost = [answer for answer in answers if isinstance(answer, longmind.Conflict)]
        assert len(lost) == 3
        assert all(won.id in (each.hint or "") for each in lost)
        assert looked_up(memory, old).superseded_by == won.id
        assert len(memory.list_atoms(space.id, limit=1000)) == before + 1


@pytest.mark.conforms("A3.11")
def test_what_is_not_there_cannot_be_superseded(memory: Memory, space: longmind.MemorySpace) -> None:
    with pytest.raises(longmind.NotFound):
        memory.supersede_atom("atom_none", fact())
    atom = memory.add_atom(space.id, fact())
    memory.delete_atom(atom.id)
    with pytest.raises(longmind.NotFound):
        memory.supersede_atom(atom.id, fact())
    assert memory.list_atoms(space.id, status=None) == []


@pytest.mark.conforms("A3.11")
def test_the_new_version_has_its_own_sources_and_entities(
    ctx: longmind.Context, memory: Memory, space: longmind.MemorySpace
) -> None:
    conversation = ctx.conversations.create_conversation("daily-checkin")
    said = [ctx.conversations.append_user_message(conversation.id, text) for text in ("Graz.", "Wien.")]
    places = [memory.create_entity(space.id, "PLACE", name) for name in ("Graz", "Wien")]
    old = memory.add_atom(space.id, fact(source_message_ids=[said[0].id], entity_ids=[places[0].id]))
    new = memory.supersede_atom(
        old.id, fact("Ada lives in Wien.", source_message_ids=[said[1].id], entity_ids=[places[1].id])
    )
    assert (new.source_message_ids, new.entity_ids) == ([said[1].id], [places[1].id])
    closed = looked_up(memory, old)
    assert (closed.source_message_ids, closed.entity_ids) == ([said[0].id], [places[0].id])
    foreign = memory.create_entity(memory.create_memory_space("work").id, "PLACE", "Rom")
    with pytest.raises(longmind.InvalidInput):
        memory.supersede_atom(new.id, fact(entity_ids=[foreign.id]))
    assert looked_up(memory, new) == new


@pytest.mark.conforms("A6.7")
def test_a_version_that_was_still_to_begin_is_recalled_no_more_when_an_earlier_one_replaces_it(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    planned = memory.add_atom(space.id, fact("Ada moves to Graz", valid_from="2090-01-01T00:00:00Z"))
    sooner = memory.supersede_atom(planned.id, fact("Ada moves to Wien", valid_from="2080-01-01T00:00:00Z"))
    assert [hit.atom.text for hit in memory.recall_by_topic(space.id, "Ada moves").hits] == ["Ada moves to Wien"]
    assert memory.why_not(planned.id, "Ada moves").reasons == [
        f"it was superseded by {sooner.id}, and was true at no time"
    ]


@pytest.mark.conforms("A3.11")
def test_a_version_is_not_known_before_the_one_it_replaces_also_where_a_machines_clock_is_behind(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    texts = ("Oslo", "Rome", "Paris")
    atoms: list[longmind.Atom] = []
    for number, seconds in enumerate((0, 2, -1.5)):
        clock.advance(seconds)
        new = fact(texts[number], valid_from=f"2025-0{number + 1}-01T00:00:00Z")
        atoms.append(memory.supersede_atom(atoms[-1].id, new) if atoms else memory.add_atom(space.id, new))
    for known_at in {to_iso(clock.now), *(atom.created_at for atom in atoms)}:
        found = memory.recall_by_topic(space.id, "Paris", valid_at="2025-06-01T00:00:00Z", known_at=known_at).hits
        assert len(found) == 1


@pytest.mark.conforms("A3.11", "T12")
def test_a_version_cannot_be_recorded_before_the_one_it_replaces(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    old = memory.add_atom(space.id, fact("Ada is a baker", created_at="2021-01-01T00:00:00Z"))
    cursor, before = engine.last_cursor(), memory.get_memory_space(space.id)
    with pytest.raises(longmind.InvalidInput, match=r"2020-12-31T23:59:59\.999999Z is before 2021-01-01") as refused:
        memory.supersede_atom(old.id, fact("Ada is a pilot", created_at="2020-12-31T23:59:59.999999Z"))
    assert "valid_from" in (refused.value.hint or "")
    assert memory.list_atoms(space.id, status=None) == [old]
    assert memory.get_memory_space(space.id) == before
    assert kinds_since(engine, cursor) == []
    new = memory.supersede_atom(old.id, fact("Ada is a pilot", created_at="2021-01-01T00:00:00Z"))
    assert new.supersedes == old.id


def test_a_clock_that_is_behind_another_machines_does_not_keep_a_fact_from_changing(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    old = memory.add_atom(space.id, fact("Ada is a baker"))
    clock.advance(-5)
    new = memory.supersede_atom(old.id, fact("Ada is a pilot"))
    assert found(memory, space.id, "Ada") == ["Ada is a pilot"]
    assert looked_up(memory, old).superseded_by == new.id


def test_versions_that_are_brought_in_are_superseded_when_they_were_recorded(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    old = memory.add_atom(space.id, fact("Ada is a baker", created_at="2020-01-01T00:00:00Z"))
    new = memory.supersede_atom(old.id, fact("Ada is a pilot", created_at="2021-01-01T00:00:00Z"))
    closed = memory.get_atom(old.id)
    assert closed is not None
    assert closed.superseded_at == new.created_at
    for known_at, text in (("2020-06-01", "baker"), ("2021-01-01", "pilot"), ("2022-01-01", "pilot")):
        found = memory.recall_by_topic(space.id, "Ada", known_at=f"{known_at}T00:00:00Z")
        assert [hit.atom.text for hit in found.hits] == [f"Ada is a {text}"]


@pytest.mark.conforms("T12")
def test_a_refusal_advises_only_what_can_be_done(memory: Memory, space: longmind.MemorySpace) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz."))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien."))
    third = memory.supersede_atom(second.id, fact("Ada lives in Linz."))
    memory.delete_atom(third.id)
    with pytest.raises(longmind.Conflict) as refused:
        memory.supersede_atom(first.id, fact("Ada lives in Bern."))
    assert second.id in refused.value.hint
    assert "add what is true now as a new atom" in refused.value.hint

    rent = memory.add_atom(space.id, fact("Ada rents.", valid_from="2020-01-01T00:00:00Z"))
    short = fact("Ada rents in Graz.", valid_from="2020-06-01T00:00:00Z", valid_to="2021-01-01T00:00:00Z")
    ended = memory.supersede_atom(rent.id, short)
    with pytest.raises(longmind.Conflict) as refused:
        memory.supersede_atom(rent.id, fact("Ada rents in Bern."))
    assert f"{ended.id!r}, which has ended: add" in refused.value.hint
