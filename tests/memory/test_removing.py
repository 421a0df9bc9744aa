"""Archived atoms can be listed and are not recalled; deleted ones are nowhere."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import longmind
from longmind.language.words import terms_of
from longmind.memory import Memory
from longmind.recall.index.atom_columns import AtomColumns
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.memory.facts import at_once, fact, found, kinds_since, looked_up, rows_of

SECRET = "Ada hides a zanzibar in her xylophone."


@pytest.mark.conforms("A3.12", "A3.2")
def test_an_archived_atom_is_listed_and_not_recalled(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    person = memory.create_entity(space.id, "PERSON", "Ada")
    atom = memory.add_atom(space.id, fact(entity_ids=[person.id]))
    clock.advance(60)
    memory.archive_atom(atom.id)
    archived = looked_up(memory, atom)
    assert (archived.status, archived.archived_at) == ("ARCHIVED", "2026-03-01T09:31:00.000000Z")
    assert archived.valid_to is None
    assert memory.list_atoms(space.id) == []
    assert memory.list_atoms(space.id, status="ARCHIVED") == [archived]
    assert memory.list_atoms(space.id, status=None) == [archived]
    assert found(memory, space.id, "Graz") == []
    assert memory.recall_by_entity(space.id, person.id).hits == []


@pytest.mark.conforms("A3.12")
def test_archiving_again_changes_nothing(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    atom = memory.add_atom(space.id, fact())
    memory.archive_atom(atom.id)
    archived, whole = looked_up(memory, atom), memory.get_memory_space(space.id)
    cursor = engine.last_cursor()
    clock.advance(60)
    memory.archive_atom(atom.id)
    assert looked_up(memory, atom) == archived
    assert memory.get_memory_space(space.id) == whole
    assert kinds_since(engine, cursor) == []


@pytest.mark.conforms("A3.12")
def test_an_atom_that_many_archive_or_delete_at_once_goes_once(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    def delete(atom_id: str, _: int) -> bool:
        try:
            memory.delete_atom(atom_id)
        except longmind.NotFound:
            return False
        return True

    for _ in range(5):
        atom = memory.add_atom(space.id, fact())
        cursor = engine.last_cursor()
        at_once(4, partial(lambda atom_id, _: memory.archive_atom(atom_id), atom.id))
        assert kinds_since(engine, cursor) == ["atom.archived"]
        assert sorted(at_once(4, partial(delete, atom.id))) == [False, False, False, True]
        assert kinds_since(engine, cursor) == ["atom.archived", "atom.deleted"]


@pytest.mark.conforms("A3.12")
def test_what_is_not_there_can_be_neither_archived_nor_deleted(memory: Memory) -> None:
    with pytest.raises(longmind.NotFound):
        memory.archive_atom("atom_none")
    with pytest.raises(longmind.NotFound):
        memory.delete_atom("atom_none")


@pytest.mark.conforms("A3.2")
def test_a_deleted_atom_is_gone_from_every_answer(memory: Memory, space: longmind.MemorySpace) -> None:
    person = memory.create_entity(space.id, "PERSON", "Ada")
    gone, kept = memory.add_atoms(
        space.id, [fact(SECRET, entity_ids=[person.id], tags=["t"]), fact("Ada plays.", entity_ids=[person.id])]
    )
    assert found(memory, space.id, "xylophone")[0] == SECRET
    memory.delete_atom(gone.id)
    assert memory.get_atom(gone.id) is None
    assert memory.list_atoms(space.id, status=None) == [kept]
    assert memory.list_atoms(space.id, status="DELETED") == []
    # It takes no place among the hits either, nor is it counted.
    recall = memory.recall_by_topic(space.id, "xylophone", limit=1)
    assert ([hit.atom for hit in recall.hits], recall.total_candidates) == ([kept], 1)
    assert [hit.atom for hit in memory.recall_by_entity(space.id, person.id).hits] == [kept]
    assert [hit.atom for hit in memory.recall_timeline(space.id).hits] == [kept]
    counted = memory.get_entity(person.id)
    assert counted is not None
    assert counted.atom_count == 1
    with pytest.raises(longmind.NotFound):
        memory.delete_atom(gone.id)


@pytest.mark.conforms("T11", "A3.5")
def test_deleting_the_newest_version_leaves_the_older_ones_superseded(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz."))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien."))
    third = memory.supersede_atom(second.id, fact("Ada lives in Linz."))
    before = looked_up(memory, second)
    memory.delete_atom(third.id)
    assert looked_up(memory, second) == before
    assert found(memory, space.id, "Where does Ada live?") == []
    for old in (first, second):
        with pytest.raises(longmind.Conflict) as refused:
            memory.supersede_atom(old.id, fact())
        assert third.id not in (refused.value.hint or "")
    assert "deleted" in (refused.value.hint or "")
    assert [hit.atom.id for hit in memory.recall_timeline(space.id).hits] == [first.id, second.id]


@pytest.mark.conforms("T11", "T12")
def test_deleting_a_version_in_the_middle_joins_those_beside_it(memory: Memory, space: longmind.MemorySpace) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz.", valid_from="2025-01-01T00:00:00Z"))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien.", valid_from="2025-02-01T00:00:00Z"))
    third = memory.supersede_atom(second.id, fact("Ada lives in Linz.", valid_from="2025-03-01T00:00:00Z"))
    memory.delete_atom(second.id)
    oldest, newest = looked_up(memory, first), looked_up(memory, third)
    assert (oldest.superseded_by, newest.supersedes) == (third.id, first.id)
    # It was not true any more when the deleted version began, and that is not undone.
    assert oldest.valid_to == "2025-02-01T00:00:00.000000Z"
    assert found(memory, space.id, "Where does Ada live?") == ["Ada lives in Linz."]
    with pytest.raises(longmind.Conflict) as refused:
        memory.supersede_atom(first.id, fact())
    assert third.id in (refused.value.hint or "")


@pytest.mark.conforms("T11")
def test_deleting_the_oldest_version_leaves_the_newer_ones_as_they_are(
    memory: Memory, space: longmind.MemorySpace
) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz."))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien."))
    memory.delete_atom(first.id)
    assert looked_up(memory, second) == second
    assert found(memory, space.id, "Where does Ada live?") == ["Ada lives in Wien."]


def test_nothing_of_an_atom_that_was_added_among_many_is_left_in_any_table(
    memory: Memory, space: longmind.MemorySpace, database_url: str
) -> None:
    many = [fact(f"Number {number}.", tags=["even"], speaker="Bob") for number in range(300)]
    many[7] = fact(SECRET, name="quokka", tags=["wombat", "even"], speaker="dingo")
    gone = memory.add_atoms(space.id, many)[7]
    assert names_in_segments(rows_of(database_url)) == {"notes", "quokka", "even", "wombat", "Bob", "dingo"}
    assert holds(rows_of(database_url), 7)
    memory.delete_atom(gone.id)
    rows = rows_of(database_url)
    assert names_in_segments(rows) == {"notes", "even", "Bob"}
    assert not {"zanzibar", "quokka", "wombat", "dingo"} & words_in(rows)
    assert not holds(rows, 7)


@pytest.mark.parametrize("others", [0, 1, 255, 300], ids=lambda count: f"beside {count} others")
def test_nothing_of_a_deleted_atom_is_left_in_any_table(
    others: int, memory: Memory, space: longmind.MemorySpace, database_url: str
) -> None:
    person = memory.create_entity(space.id, "PERSON", "Bob")
    # One by one, so that their small segments have been joined to larger ones.
    for number in range(others):
        memory.add_atom(space.id, fact(f"Number {number}."))
    gone = memory.add_atom(
        space.id,
        fact(
            SECRET,
            name="quokka",
            tags=["wombat"],
            speaker="dingo",
            search_context=["Said near a kangaroo."],
            entity_ids=[person.id],
        ),
    )
    memory.add_atom(space.id, fact("After it."))
    assert {"zanzibar", "quokka", "wombat", "dingo", "kangaroo"} <= words_in(rows_of(database_url))
    assert holds(rows_of(database_url), others)
    memory.delete_atom(gone.id)
    rows = rows_of(database_url)
    assert not {"zanzibar", "xylophone", "quokka", "wombat", "dingo", "kangaroo"} & words_in(rows)
    assert not holds(rows, others)
    assert rows["atom_entities"] == []
    assert found(memory, space.id, "After it")[0] == "After it."


def test_nothing_of_a_deleted_atom_is_left_in_the_file(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    with longmind.open(sqlite_url, embedder=WordsEmbedder()) as engine:
        memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
        space = memory.create_memory_space("personal")
        kept = memory.add_atom(space.id, fact("Ada plays."))
        many = [fact(f"Number {number}.", name="plain", tags=["usual"], speaker="Bob") for number in range(300)]
        many[200] = fact(SECRET, name="quokka", tags=["wombat"], speaker="dingo")
        gone = memory.add_atoms(space.id, many)[200]
        memory.delete_atom(gone.id)
    with open(path, "rb") as file:
        written = file.read()
    for there in (kept.text, "plain", "usual", "Bob"):
        assert there.encode() in written
    for secret in (SECRET, "quokka", "wombat", "dingo"):
        assert secret.encode() not in written


@pytest.mark.conforms("T11")
def test_what_another_process_has_in_memory_is_forgotten_too(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, database_url: str
) -> None:
    gone = memory.add_atom(space.id, fact(SECRET))
    with longmind.open(database_url, embedder=WordsEmbedder()) as other:
        elsewhere = other.context(tenant_id="acme", app_id="support", user_id="ada").memory
        assert found(elsewhere, space.id, "xylophone") == [SECRET]
        memory.delete_atom(gone.id)
        recall = elsewhere.recall_by_topic(space.id, "xylophone")
        assert (recall.hits, recall.total_candidates) == ([], 0)
        assert elsewhere.get_atom(gone.id) is None


def words_in(rows: dict[str, list[tuple[Any, ...]]]) -> set[str]:
    text = " ".join(str(value) for each in rows.values() for row in each for value in row if isinstance(value, str))
    return set("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())


def holds(rows: dict[str, list[tuple[Any, ...]]], position: int) -> bool:
    """Whether the search index has a word or a number of a vector of the atom at a position."""
    held = False
    secret = set(terms_of(SECRET)) | set(terms_of("kangaroo"))
    for *_, first, atoms, body in rows["term_segments"]:
        words = WordsSegment.decode(bytes(body))
        held = held or bool(secret & set(words.run.terms.tolist()))
        if first <= position < first + atoms:
            held = (
                held or bool(np.any(words.run.places == position - first)) or bool(words.statements[position - first])
            )
    for *_, first, atoms, body in rows["vector_segments"]:
        vectors = VectorsSegment.decode(bytes(body))
        if first <= position < first + atoms:
            columns = (vectors.rows, vectors.finer, vectors.scales)
            held = held or any(bool(np.any(column[position - first])) for column in columns)
    for *_, first, atoms, _, body in rows["fact_segments"]:
        if first <= position < first + atoms:
            held = held or bool(AtomColumns.decode(bytes(body)).rows["present"][position - first])
    return held


def names_in_segments(rows: dict[str, list[tuple[Any, ...]]]) -> set[str]:
    """The categories, tags and speakers that are written in the search index."""
    segments = [AtomColumns.decode(bytes(row[-1])) for row in rows["fact_segments"]]
    return {name for facts in segments for name in (*facts.categories, *facts.speakers, *facts.tags)}
