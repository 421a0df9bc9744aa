"""Calls as people write them: texts and keywords, spaces by name, bindings made again, answers that are iterated."""

from __future__ import annotations

import pytest

import longmind
from longmind.memory import Memory
from tests.clock import SettableClock
from tests.memory.facts import fact, found

CHATS = {"namespace": "chat", "user_id": "ada"}


def test_a_text_alone_is_a_fact(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom("personal", "Ada lives in Graz.")
    assert (atom.memory_space_id, atom.text) == (space.id, "Ada lives in Graz.")
    assert atom.category == longmind.Category(name="note", kind="FACT")
    assert memory.add_atom(space.id, {"text": "Ada lives in Graz."}).id == atom.id
    assert memory.add_atom(space.id, {"text": "ada lives in graz", "category": "note"}).id == atom.id
    (bulk,) = memory.add_atoms("personal", ["Ada plays the oboe."])
    assert bulk.category == atom.category


def test_fields_are_passed_as_keywords(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(
        "personal",
        "No nuts, please.",
        kind="RULE",
        category="food",
        importance=5,
        confidence=0.5,
        tags=("diet",),
        metadata={"page": 3},
        key="nuts",
        valid_from="2026-01-01",
        valid_to="2027-01-01",
        trust="user",
    )
    assert atom.category == longmind.Category(name="food", kind="RULE")
    assert (atom.importance, atom.confidence, atom.tags, atom.metadata) == (5, 0.5, ["diet"], {"page": 3})
    assert (atom.key, atom.trust, atom.valid_from[:10], atom.valid_to) == (
        "nuts", "user", "2026-01-01", "2027-01-01T00:00:00.000000Z",
    )  # fmt: skip


@pytest.mark.parametrize("given", [fact("Tea."), longmind.NewAtom(**fact("Tea.")), {"text": "Tea.", "validTo": None}])
def test_keywords_win_over_the_fields_of_an_atom(
    memory: Memory, space: longmind.MemorySpace, given: dict[str, object]
) -> None:
    atom = memory.add_atom(space.id, given, kind="PREFERENCE", importance=4, valid_to="2030-01-01")
    assert (atom.text, atom.category.kind, atom.importance) == ("Tea.", "PREFERENCE", 4)
    assert atom.valid_to == "2030-01-01T00:00:00.000000Z"
    with pytest.raises(longmind.InvalidInput, match=r"atom\.category\.kind"):
        memory.add_atom(space.id, given, kind="TASTE")  # type: ignore[arg-type]  # a mistake on purpose


def test_a_newer_version_keeps_the_category(memory: Memory, space: longmind.MemorySpace) -> None:
    old = memory.add_atom(space.id, "Ada drinks tea.", kind="PREFERENCE", category="drinks")
    new = memory.supersede_atom(old.id, "Ada drinks coffee.", importance=4)
    assert (new.category, new.importance) == (old.category, 4)
    last = memory.supersede_atom(new.id, "Ada drinks water.", category="health")
    assert (last.category.name, last.category.kind) == ("health", "FACT")
    with pytest.raises(longmind.NotFound):
        memory.supersede_atom("atom_none", "Ada drinks nothing.")


def test_spaces_go_by_name_in_every_operation(
    ctx: longmind.Context, engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    atom = memory.add_atom("personal", fact())
    assert memory.get_memory_space("personal") == memory.get_memory_space(space.id)
    assert memory.list_atoms("personal") == [atom]
    assert [hit.atom for hit in memory.recall_by_topic("personal", "Graz")] == [atom]
    assert [hit.atom for hit in memory.recall_timeline("personal")] == [atom]
    ada = memory.create_entity("personal", "PERSON", "Ada")
    assert memory.find_entity_by_name("personal", "PERSON", "ada") == ada
    assert memory.search_entities("personal", "Ada") == [ada]
    assert not memory.recall_by_entity("personal", "Ada")
    assert memory.list_decisions("personal") == []
    assert memory.mine_patterns("personal") == []
    assert memory.get_profile("personal").memory_space_id == space.id
    assert memory.create_binding(CHATS, ["personal"]).memory_space_ids == [space.id]
    conversation = ctx.conversations.create_conversation("chat")
    used = ctx.working_context.build_working_context(conversation.id, memory_space_id="personal", recall_query="Graz")
    assert [each.id for each in used.atoms_used] == [atom.id]
    shared = memory.create_memory_space("insights", kind="shared")
    memory.grant_space("insights", "bob")
    assert memory.list_grants("insights")[0].memory_space_id == shared.id
    memory.add_atom("insights", "Graz has trams.")
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").memory
    assert found(bob, "insights", "trams") == ["Graz has trams."]
    memory.revoke_space("insights", "bob")
    with pytest.raises(longmind.NotFound):
        bob.list_atoms("insights")
    memory.delete_memory_space("insights")
    assert memory.get_memory_space("insights") is None


def test_an_unknown_name_comes_with_a_suggestion(
    memory: Memory, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    clock.advance(1)
    memory.create_memory_space("work")
    with pytest.raises(longmind.NotFound, match="no memory space 'persnal'") as raised:
        memory.list_atoms("persnal")
    assert raised.value.hint == "Did you mean 'personal'?"
    with pytest.raises(longmind.NotFound) as raised:
        memory.add_atom("holidays", "Ada swims.")
    assert raised.value.hint == "Name one of these: personal, work."
    with pytest.raises(longmind.NotFound):
        memory.create_binding(CHATS, ["holidays"])


def test_the_name_of_a_space_of_somebody_else_is_unknown(
    engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").memory
    with pytest.raises(longmind.NotFound) as raised:
        bob.list_atoms("personal")
    assert raised.value.hint == "Create a memory space first."


def test_a_binding_that_is_made_again_is_the_same(memory: Memory, space: longmind.MemorySpace) -> None:
    made = memory.create_binding(CHATS, [space.id])
    assert memory.create_binding(CHATS, ["personal", space.id]) == made
    memory.update_binding(made.id, extraction_policy={"windowed": True, "window_turns": 5}, enabled=False)
    changed = memory.get_binding(made.id)
    assert memory.create_binding(CHATS, [space.id]) == changed
    with pytest.raises(longmind.Conflict, match="with another policy") as raised:
        memory.create_binding(CHATS, [space.id], {"on_conversation_closed": True})
    assert made.id in (raised.value.hint or "")
    other = memory.create_memory_space("other")
    assert memory.create_binding(CHATS, [other.id]).id != made.id
    assert len(memory.list_bindings()) == 2


def test_a_recall_is_a_sequence_of_its_hits(memory: Memory, space: longmind.MemorySpace) -> None:
    texts = ["Ada lives in Graz.", "Graz has trams.", "Ada left Graz."]
    memory.add_atoms(space.id, texts)
    page = memory.list_atoms(space.id, limit=2)
    assert repr(page).startswith("Page([Atom(id=")
    assert repr(page).endswith(f"], next_cursor={page.next_cursor!r})")
    recall = memory.recall_by_topic(space.id, "Graz")
    assert [hit.atom.text for hit in recall] == [hit.atom.text for hit in recall.hits]
    assert (len(recall), recall[0], recall[1:], bool(recall)) == (3, recall.hits[0], recall.hits[1:], True)
    assert recall.hits[1] in recall
    assert longmind.Recall.model_validate_json(recall.model_dump_json()) == recall
    nothing = memory.recall_by_topic(memory.create_memory_space("empty").id, "Graz")
    assert (list(nothing), bool(nothing)) == ([], False)


def test_what_is_shown_of_a_value_is_short_and_useful(
    ctx: longmind.Context, engine: longmind.Engine, memory: Memory, space: longmind.MemorySpace
) -> None:
    atom = memory.add_atom(space.id, "Ada. " + "x" * 1_000_000, key="home", metadata={"a": "y" * 10_000, "b": 1})
    assert repr(atom).startswith(f"Atom(id='{atom.id}', text='Ada. xxx")
    assert "key='home'" in repr(atom)
    values = [atom, memory.recall_timeline(space.id), memory.recall_timeline(space.id)[0], memory.list_atoms(space.id)]
    values += [space, ctx, ctx.scope, ctx.memory, ctx.conversations, ctx.events, ctx.jobs, ctx.admin, ctx.tools]
    values += [ctx.blocks, ctx.working_context, engine, engine.keys, longmind.NewAtom(text="x" * 500), engine.work()]
    for value in values:
        shown = repr(value)
        assert len(shown) < 1_000
        assert shown.startswith((type(value).__name__, "["))
        assert " object at 0x" not in shown
    assert repr(ctx) == "Context(Scope(tenant_id='acme', app_id='support', user_id='ada'))"
    assert repr(ctx.memory) == "Memory(Scope(tenant_id='acme', app_id='support', user_id='ada'))"
    recall = memory.recall_timeline(space.id)
    assert repr(recall).startswith("Recall(TIMELINE, 1 of 1 hits, 0 passages, ")
    assert "planted-password" not in repr(engine)
    made = engine.keys.create(name="phone", tenant_id="acme", app_id="support", user_id="ada")
    assert made.token not in repr(made)
