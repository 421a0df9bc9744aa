"""End to end with the default parts: conversations are closed, the rules extract facts, and recall finds them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from tests.extraction.conftest import talk


@pytest.fixture
def engine(database_url: str) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="none") as engine:
        yield engine


@pytest.fixture(autouse=True)
def _bound(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where does the user live?", "I live in Graz."),
        ("What is the user allergic to?", "I'm allergic to peanuts."),
        ("Who is Clara?", "My sister Clara is a teacher in Linz."),
    ],
)
def test_recall_finds_what_was_said_and_the_message_that_says_it(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, question: str, said: str
) -> None:
    conversation = talk(ctx, "I live in Graz.", "I'm allergic to peanuts.", "My sister Clara is a teacher in Linz.")
    assert engine.work().succeeded >= 1
    atom = ctx.memory.recall_by_topic(space.id, question).hits[0].atom
    (cited,) = [each for each in ctx.conversations.get_messages(conversation.id) if each.id in atom.source_message_ids]
    assert [block.text for block in cited.content if isinstance(block, longmind.TextBlock)] == [said]
    assert (atom.source_conversation_id, atom.origin, atom.trust) == (conversation.id, "extraction", "user")


def test_people_that_are_spoken_of_are_entities_with_what_is_known_of_them(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    talk(ctx, "My sister Clara is a teacher in Linz.")
    engine.work()
    clara = ctx.memory.find_entity_by_name(space.id, "PERSON", "Clara")
    assert clara is not None
    (hit,) = ctx.memory.recall_by_entity(space.id, "Clara").hits
    assert clara.id in hit.atom.entity_ids


def test_a_new_value_takes_the_place_of_what_the_app_had_told(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    told = {"text": "User lives in Graz.", "category": {"name": "home", "kind": "FACT"}, "trust": "user"}
    old = ctx.memory.add_atom(space.id, told)
    talk(ctx, "I live in Vienna now.")
    engine.work()
    (new,) = [atom for atom in ctx.memory.list_atoms(space.id) if atom.supersedes == old.id]
    assert "Vienna" in new.text


ANNA = "My sister Anna is a nurse."
LISBON = "My sister lives in Lisbon."


@pytest.mark.parametrize(
    ("told", "gone", "stays"),
    [
        ([[ANNA], [LISBON], ["Anna moved to Oslo."]], "Lisbon", "Oslo"),
        ([[LISBON], ["Anna is my sister."], ["Anna moved to Oslo."]], "Lisbon", "Oslo"),
        ([[ANNA], ["Anna lives in Lisbon."], ["My sister moved to Oslo."]], "Lisbon", "Oslo"),
        ([[ANNA, LISBON, "Anna moved to Oslo."]], "Lisbon", "Oslo"),
        ([["My son is called Tom."], ["My son is 4 years old."], ["Tom is 5 years old now."]], "4 years", "5 years"),
        ([[ANNA], ["My sister plays tennis on Mondays."], ["Anna stopped playing tennis."]], "Mondays", "stopped"),
    ],
)
def test_a_fact_changes_under_another_name_of_the_same_person(
    engine: longmind.Engine,
    ctx: longmind.Context,
    space: longmind.MemorySpace,
    told: list[list[str]],
    gone: str,
    stays: str,
) -> None:
    for conversation in told:
        talk(ctx, *conversation)
        engine.work()
    atoms = {atom.text: atom for atom in ctx.memory.list_atoms(space.id)}
    (old,) = [atom for text, atom in atoms.items() if gone in text]
    (new,) = [atom for text, atom in atoms.items() if stays in text]
    assert (old.superseded_by, new.supersedes) == (new.id, old.id)


@pytest.mark.parametrize(
    "told",
    [
        [[LISBON], ["Anna moved to Oslo."]],
        [[ANNA], [LISBON], ["Clara moved to Oslo."]],
        [["My brother is called Tom."], [LISBON], ["Tom moved to Oslo."]],
    ],
)
def test_two_names_that_may_be_two_people_stay_apart(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, told: list[list[str]]
) -> None:
    for conversation in told:
        talk(ctx, *conversation)
        engine.work()
    assert [atom.text for atom in ctx.memory.list_atoms(space.id) if atom.superseded_by is not None] == []
