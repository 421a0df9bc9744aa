"""Facts that the app states again reinforce what is known, and a key names one fact."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import administrator, fact, found, looked_up

DAY = 24 * 3600


def test_the_same_text_again_reinforces(memory: Memory, space: longmind.MemorySpace, clock: SettableClock) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz.", tags=["city"], importance=2, confidence=0.9))
    clock.advance(DAY)
    again = memory.add_atom(
        space.id, fact("  ada LIVES in\nGraz", tags=["home", "city"], importance=4, confidence=0.5, metadata={"n": 1})
    )
    assert (again.id, again.text, again.created_at) == (first.id, first.text, first.created_at)
    assert (again.tags, again.importance, again.confidence, again.metadata) == (["city", "home"], 4, 0.9, {"n": 1})
    assert first.last_confirmed_at is None
    assert again.last_confirmed_at == "2026-03-02T09:30:00.000000Z"
    assert memory.list_atoms(space.id) == [again]
    assert memory.get_memory_space(space.id).atom_count == 1  # type: ignore[union-attr]
    assert [hit.atom for hit in memory.recall_by_topic(space.id, "Graz", tags=["home"]).hits] == [again]


def test_atoms_after_a_reinforced_one_are_found(memory: Memory, space: longmind.MemorySpace) -> None:
    memory.add_atom(space.id, fact("Ada lives in Graz."))
    memory.add_atom(space.id, fact("Ada lives in Graz."))
    memory.add_atom(space.id, fact("Ada plays the oboe."))
    assert found(memory, space.id, "oboe")[0] == "Ada plays the oboe."
    assert len(memory.list_atoms(space.id)) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"name": "home"}, {"kind": "PREFERENCE"}, {"trust": "user"}, {"speaker": "Grace"},
        {"valid_from": "2020-01-01"}, {"valid_to": "2030-01-01"}, {"text": "Ada lives in Graz now."},
    ],
)  # fmt: skip
def test_what_says_something_else_is_an_atom_of_its_own(
    memory: Memory, space: longmind.MemorySpace, other: dict[str, Any]
) -> None:
    first = memory.add_atom(space.id, fact())
    second = memory.add_atom(space.id, fact(**other))
    assert first.id != second.id
    assert memory.add_atom(space.id, fact(**other)).id == second.id
    assert len(memory.list_atoms(space.id)) == 2


def test_an_episode_happens_anew_unless_it_began_at_the_same_time(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    runs = []
    for _ in range(2):
        runs.append(memory.add_atom(space.id, fact("Ada went for a run.", "EPISODE")).id)
        clock.advance(DAY)
    again = memory.add_atom(space.id, fact("Ada went for a run.", "EPISODE", valid_from="2026-03-01T09:30:00Z"))
    assert len(set(runs)) == 2
    assert again.id == runs[0]


def test_what_no_longer_holds_is_not_reinforced(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    ended = memory.add_atom(space.id, fact(valid_to="2026-03-02"))
    clock.advance(2 * DAY)
    archived = memory.add_atom(space.id, fact())
    assert archived.id != ended.id
    memory.archive_atom(archived.id)
    replaced = memory.add_atom(space.id, fact())
    assert replaced.id != archived.id
    memory.supersede_atom(replaced.id, fact("Ada lives in Wien."))
    back = memory.add_atom(space.id, fact())
    assert back.id not in {ended.id, archived.id, replaced.id}


def test_a_bulk_brings_repetitions_as_they_are(memory: Memory, space: longmind.MemorySpace) -> None:
    assert len({atom.id for atom in memory.add_atoms(space.id, [fact(), fact()])}) == 2
    assert len({atom.id for atom in [*memory.add_atoms(space.id, [fact()]), memory.add_atom(space.id, fact())]}) == 2
    assert len(memory.list_atoms(space.id)) == 3


def test_sources_and_entities_of_a_restated_fact_are_united(
    ctx: longmind.Context, memory: Memory, space: longmind.MemorySpace
) -> None:
    conversation = ctx.conversations.create_conversation("chat")
    said = [ctx.conversations.append_user_message(conversation.id, text).id for text in ("I moved.", "To Graz.")]
    ada, graz = memory.create_entity(space.id, "PERSON", "Ada").id, memory.create_entity(space.id, "PLACE", "Graz").id
    memory.add_atom(space.id, fact(source_message_ids=said[:1]))
    again = memory.add_atom(space.id, fact(source_message_ids=said, entity_ids=[graz]))
    assert (again.source_message_ids, again.entity_ids) == (said, [graz])
    # The same words about somebody else are another fact.
    other = memory.add_atom(space.id, fact(entity_ids=[ada]))
    assert other.id != again.id
    assert memory.add_atom(space.id, fact(entity_ids=[ada])).id == other.id
    assert [hit.atom for hit in memory.recall_by_entity(space.id, "Graz").hits] == [again]
    with pytest.raises(longmind.InvalidInput, match="no message"):
        memory.add_atom(space.id, fact(source_message_ids=["msg_none"]))
    memory.add_atom(space.id, fact(tags=[f"a{each}" for each in range(999)]))
    with pytest.raises(longmind.LimitExceeded, match=r"atom\.tags"):
        memory.add_atom(space.id, fact(tags=[f"b{each}" for each in range(999)]))


def test_under_a_key_another_text_supersedes_and_the_same_reinforces(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    old = memory.add_atom(space.id, fact("Ada lives in Graz.", key="home"))
    clock.advance(DAY)
    new = memory.add_atom(space.id, fact("Ada lives in Wien.", key="home", metadata={"from": "survey"}))
    assert (new.key, new.supersedes, looked_up(memory, old).superseded_by) == ("home", old.id, new.id)
    assert looked_up(memory, old).valid_to == new.valid_from
    clock.advance(DAY)
    again = memory.add_atom(space.id, fact("Ada lives in Wien", key="home", trust="user"))
    assert (again.id, again.trust, again.metadata) == (new.id, "user", {"from": "survey"})
    assert again.last_confirmed_at == "2026-03-03T09:30:00.000000Z"
    assert found(memory, space.id, "Where does Ada live?") == ["Ada lives in Wien."]
    texts = [hit.atom.text for hit in memory.recall_timeline(space.id).hits]
    assert texts == ["Ada lives in Graz.", "Ada lives in Wien."]


def test_a_key_is_of_one_space_and_of_atoms_that_hold(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    elsewhere = memory.create_memory_space("work")
    first = memory.add_atom(space.id, fact("Ada lives in Graz.", key="home", valid_to="2026-03-02"))
    assert memory.add_atom(elsewhere.id, fact("Ada works in Wien.", key="home")).supersedes is None
    clock.advance(2 * DAY)
    second = memory.add_atom(space.id, fact("Ada lives in Linz.", key="home"))
    assert second.supersedes is None
    assert looked_up(memory, first).superseded_by is None
    memory.archive_atom(second.id)
    third = memory.add_atom(space.id, fact("Ada lives in Wels.", key="home"))
    assert third.supersedes is None
    memory.delete_atom(third.id)
    assert memory.add_atom(space.id, fact("Ada lives in Enns.", key="home")).supersedes is None


def test_a_known_fact_is_given_a_key(memory: Memory, space: longmind.MemorySpace) -> None:
    known = memory.add_atom(space.id, fact())
    keyed = memory.add_atom(space.id, fact(key="home"))
    assert (keyed.id, keyed.key) == (known.id, "home")
    assert memory.add_atom(space.id, fact()).key == "home"
    other = memory.add_atom(space.id, fact(key="residence"))
    assert other.id != known.id


def test_a_newer_version_keeps_the_key(memory: Memory, space: longmind.MemorySpace) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz.", key="home"))
    second = memory.supersede_atom(first.id, fact("Ada lives in Wien."))
    assert second.key == "home"
    third = memory.add_atom(space.id, fact("Ada lives in Linz.", key="home"))
    assert third.supersedes == second.id
    renamed = memory.supersede_atom(third.id, fact("Ada lives in Wels.", key="town"))
    assert renamed.key == "town"
    memory.add_atom(space.id, fact("Ada works in Linz.", key="work"))
    with pytest.raises(longmind.Conflict, match=r"'work' belongs to the atom") as raised:
        memory.supersede_atom(renamed.id, fact("Ada works in Wels.", key="work"))
    assert raised.value.hint == "Supersede that atom, or pass another key."


def test_a_restored_version_gives_up_a_key_that_another_atom_has(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    first = memory.add_atom(space.id, fact("Ada lives in Graz.", key="home"))
    second = memory.add_atom(space.id, fact("Ada lives in Wien.", key="home"))
    memory.delete_atom(second.id)
    third = memory.add_atom(space.id, fact("Ada lives in Linz.", key="home"))
    restored = administrator(engine).restore_atom(first.id)
    assert (restored.key, looked_up(memory, third).key) == (None, "home")
    memory.delete_atom(third.id)
    assert memory.add_atom(space.id, fact("Ada lives in Wels.", key="home")).supersedes is None


def test_what_a_conversation_replaces_passes_its_key_on(
    ctx: longmind.Context, engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    memory.create_binding({"namespace": "chat", "user_id": "ada"}, [space.id])
    conversation = ctx.conversations.create_conversation("chat")
    for text in ("I live in Graz.", "I moved to Wien, I live in Wien now."):
        clock.advance(DAY)
        conversation = ctx.conversations.create_conversation("chat")
        ctx.conversations.append_user_message(conversation.id, text)
        ctx.conversations.close_conversation(conversation.id)
        engine.work()
        if text == "I live in Graz.":
            (learned,) = memory.list_atoms(space.id)
            fields = {"kind": learned.category.kind, "name": learned.category.name, "trust": learned.trust}
            keyed = memory.add_atom(space.id, fact(learned.text, speaker="user", key="home", **fields))
            assert (keyed.id, keyed.key) == (learned.id, "home")
    (replaced,) = (atom for atom in memory.list_atoms(space.id) if atom.supersedes == keyed.id)
    assert replaced.key == "home"


def test_a_bulk_minds_keys(memory: Memory, space: longmind.MemorySpace) -> None:
    atoms = memory.add_atoms(
        space.id,
        [
            fact("One."),
            fact("Ada lives in Graz.", key="home"),
            fact("Two."),
            fact("Three."),
            fact("Ada lives in Wien.", key="home"),
            fact("Ada lives in Wien.", key="home"),
            fact("Ada works.", key="work"),
        ],
    )
    assert [atom.text for atom in atoms] == [
        "One.", "Ada lives in Graz.", "Two.", "Three.", "Ada lives in Wien.", "Ada lives in Wien.", "Ada works.",
    ]  # fmt: skip
    assert atoms[4].supersedes == atoms[1].id
    assert atoms[5].id == atoms[4].id
    assert found(memory, space.id, "Wien")[0] == "Ada lives in Wien."
    assert found(memory, space.id, "three")[0] == "Three."


def test_many_writers_of_one_key_leave_one_fact(memory: Memory, space: longmind.MemorySpace) -> None:
    def upsert(number: int) -> str:
        return memory.add_atom(space.id, fact(f"Ada lives at number {number % 5}.", key="home")).id

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(upsert, range(40)))
    held = [atom for atom in memory.list_atoms(space.id) if atom.key == "home" and atom.superseded_by is None]
    assert len(held) == 1


def test_many_writers_of_one_text_leave_one_fact(memory: Memory, space: longmind.MemorySpace) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: memory.add_atom(space.id, fact()).id, range(40)))
    assert len(ids) == 1
    assert len(memory.list_atoms(space.id)) == 1


@pytest.mark.parametrize("key", ["", " ", "a" * 256, 5, "\ud800"])
def test_a_key_is_a_short_text(memory: Memory, space: longmind.MemorySpace, key: object) -> None:
    with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=r"atom\.key"):
        memory.add_atom(space.id, fact(key=key))
