"""Metadata: JSON of the app's own beside a fact, by which lists and recalls can be filtered."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.memory import Memory
from tests.embedder import WordsEmbedder
from tests.memory.facts import fact

OWN: dict[str, Any] = {
    "source": "survey",
    "page": 3,
    "share": 0.5,
    "checked": True,
    "by": None,
    "where": {"city": "Graz", "at": [1, 2]},
    "größe": "naïve 'quoted' \"text\"",
}


def test_metadata_comes_back_as_it_was_given(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, fact(metadata=OWN))
    assert atom.metadata == OWN
    assert memory.get_atom(atom.id) == atom
    assert memory.list_atoms(space.id) == [atom]
    for _ in range(2):
        # The second answer comes from the cache, and its metadata is not that of the first.
        (hit,) = memory.recall_by_topic(space.id, "Graz").hits
        assert hit.atom == atom
        hit.atom.metadata["page"] = 4
    assert memory.add_atom(space.id, fact("Ada plays the oboe.")).metadata == {}


def test_lists_and_recalls_are_filtered_by_metadata(memory: Memory, space: longmind.MemorySpace) -> None:
    ada = memory.create_entity(space.id, "PERSON", "Ada").id
    texts = ["Ada lives in Graz.", "Ada works in Graz.", "Ada was in Graz."]
    given: list[dict[str, Any]] = [OWN, {**OWN, "page": 4, "checked": 1}, {}]
    for text, metadata in zip(texts, given, strict=True):
        memory.add_atom(space.id, fact(text, metadata=metadata, entity_ids=[ada]))

    def filtered(metadata: dict[str, Any]) -> list[str]:
        answers = [
            [atom.text for atom in memory.list_atoms(space.id, metadata=metadata)],
            [hit.atom.text for hit in memory.recall_by_topic(space.id, "Graz", metadata=metadata).hits],
            [hit.atom.text for hit in memory.recall_by_entity(space.id, "Ada", metadata=metadata).hits],
            [hit.atom.text for hit in memory.recall_timeline(space.id, metadata=metadata).hits],
        ]
        assert len({tuple(sorted(answer)) for answer in answers}) == 1, answers
        return sorted(answers[0])

    assert filtered({"source": "survey"}) == texts[:2]
    assert filtered({"source": "survey", "page": 4}) == [texts[1]]
    assert filtered({"page": 3.0}) == filtered({"page": 3}) == [texts[0]]
    assert filtered({"checked": True}) == [texts[0]]
    assert filtered({"checked": 1}) == [texts[1]]
    assert filtered({"by": None}) == texts[:2]
    assert filtered({"share": 0.5}) == texts[:2]
    assert filtered({"größe": OWN["größe"]}) == texts[:2]
    assert filtered({"source": "Survey"}) == filtered({"none": None}) == filtered({"page": "3"}) == []
    assert filtered({}) == sorted(texts)


def test_tags_filter_a_list(memory: Memory, space: longmind.MemorySpace) -> None:
    for text, tags in (("One.", ["a", "b"]), ("Two.", ["a"]), ("Three.", [])):
        memory.add_atom(space.id, fact(text, tags=tags))
    assert [atom.text for atom in memory.list_atoms(space.id, tags=["a"])] == ["Two.", "One."]
    assert [atom.text for atom in memory.list_atoms(space.id, tags=["b", "a"])] == ["One."]
    assert memory.list_atoms(space.id, tags=["c"]) == []
    page = memory.list_atoms(space.id, tags=["a"], limit=1)
    assert [atom.text for atom in memory.list_atoms(space.id, tags=["a"], cursor=page.next_cursor)] == ["One."]


def test_metadata_is_replaced_by_a_restatement_that_brings_some(memory: Memory, space: longmind.MemorySpace) -> None:
    memory.add_atom(space.id, fact(metadata={"a": 1, "b": 2}))
    assert memory.recall_by_topic(space.id, "Graz", metadata={"a": 1}).hits
    assert memory.add_atom(space.id, fact()).metadata == {"a": 1, "b": 2}
    assert memory.add_atom(space.id, fact(metadata={"b": 3})).metadata == {"b": 3}
    assert not memory.recall_by_topic(space.id, "Graz", metadata={"a": 1}).hits
    assert memory.recall_by_topic(space.id, "Graz", metadata={"b": 3}).hits


def test_metadata_of_many_atoms_is_found_after_the_index_is_loaded_again(database_url: str) -> None:
    with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
        memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
        space = memory.create_memory_space("many").id
        atoms = memory.add_atoms(
            space, [fact(f"Fact {each}.", metadata={"number": each, "even": each % 2 == 0}) for each in range(700)]
        )
        memory.delete_atom(atoms[500].id)
    with longmind.open(database_url, embedder=WordsEmbedder()) as engine:
        memory = engine.context(tenant_id="acme", app_id="support", user_id="ada").memory
        memory.add_atoms(space, [fact(f"Fact {each}.", metadata={"number": each}) for each in range(700, 703)])
        for number in (0, 299, 699, 702):
            hits = memory.recall_timeline(space, metadata={"number": number}).hits
            assert [hit.atom.text for hit in hits] == [f"Fact {number}."]
        assert memory.recall_timeline(space, metadata={"number": 500}).hits == []
        assert memory.recall_timeline(space, metadata={"even": True}).total_candidates == 349


def test_why_not_names_the_metadata(memory: Memory, space: longmind.MemorySpace) -> None:
    atom = memory.add_atom(space.id, fact(metadata={"page": 3}))
    answer = memory.why_not(atom.id, "Graz", metadata={"page": 4})
    assert answer.reasons == ["the filter metadata leaves it out: it has another value, or none, for 'page'"]
    assert memory.why_not(atom.id, "Graz", metadata={"page": 3}).found


def test_passages_have_no_metadata(ctx: longmind.Context, memory: Memory, space: longmind.MemorySpace) -> None:
    memory.create_binding({"namespace": "chat", "user_id": "ada"}, [space.id])
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
    assert memory.recall_by_topic(space.id, "Graz").passages
    assert not memory.recall_by_topic(space.id, "Graz", metadata={"page": 3}).passages


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({str(each): each for each in range(65)}, r"atom\.metadata is limited to 64 keys; 65 were given"),
        ({"a": "x" * 17_000}, r"atom\.metadata"),
        ({"a": [[[[[[[[[[1]]]]]]]]]]}, r"[Dd]epth of atom\.metadata"),
        ({"a": float("nan")}, r"atom\.metadata\.a"),
        ({"a": object()}, r"atom\.metadata\.a"),
        ({1: "a"}, r"atom\.metadata"),
        ({"a\x00": 1}, r"atom\.metadata"),
        ([("a", 1)], r"atom\.metadata must be a dict"),
        ("a", r"atom\.metadata must be a dict"),
    ],
)
def test_metadata_is_bounded(memory: Memory, space: longmind.MemorySpace, metadata: Any, message: str) -> None:
    with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=message):
        memory.add_atom(space.id, fact(metadata=metadata))
    assert memory.list_atoms(space.id) == []


@pytest.mark.parametrize("metadata", [{"where": {"city": "Graz"}}, {"at": [1]}, "page", 5, ["page"]])
def test_a_filter_names_values_that_can_be_equal(memory: Memory, space: longmind.MemorySpace, metadata: Any) -> None:
    for call in (memory.list_atoms, memory.recall_timeline):
        with pytest.raises(longmind.InvalidInput, match="metadata"):
            call(space.id, metadata=metadata)


def test_metadata_and_keys_move_with_the_user(engine: longmind.Engine, ctx: longmind.Context) -> None:
    space = ctx.memory.create_memory_space("personal").id
    atom = ctx.memory.add_atom(space, fact(metadata=OWN, key="home"))
    exported = ctx.admin.export_user_data()
    (dumped,) = exported["atoms"]
    assert (dumped["metadata"], dumped["key"]) == (OWN, "home")
    admin = engine.context(tenant_id="acme", app_id="other", user_id="ada", capabilities={"admin"})
    admin.admin.import_user_data(exported)
    (moved,) = admin.memory.list_atoms(space, metadata={"page": 3})
    assert (moved.metadata, moved.key) == (OWN, "home")
    assert admin.memory.recall_by_topic(space, "Graz", metadata={"page": 3}).hits
    assert admin.memory.add_atom(space, fact()).id == atom.id


@pytest.mark.parametrize("tags", ["abc", 7, {"a": 1}])
def test_tags_that_are_no_list_are_refused(ctx: longmind.Context, tags: Any) -> None:
    space = ctx.memory.create_memory_space("notes")
    with pytest.raises(longmind.InvalidInput, match="tags"):
        ctx.memory.add_atom(space.id, "User lives in Graz.", tags=tags)
