"""Deleted and rejected facts are not learned again until the app itself adds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import apsw
import psycopg
import pytest

import longmind
from longmind.extraction.candidate import Candidate, Extracted, Slot, SourceMessage
from tests.extraction.conftest import talk, texts
from tests.extraction.scripted_extractor import SentenceExtractor

Remove = Callable[[longmind.Context, str], None]

REMOVALS: dict[str, Remove] = {
    "deleted": lambda ctx, atom_id: ctx.memory.delete_atom(atom_id),
    "rejected": lambda ctx, atom_id: ctx.memory.archive_atom(atom_id, rejected=True),
}


@pytest.fixture(autouse=True)
def _bound(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])


class MessageExtractor(SentenceExtractor):
    """Returns each message of the user as one fact in the third person, however many sentences it has."""

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        return Extracted(
            [
                self.candidate(message, re.sub(r"\bI\b", "User", message.text), "v1")
                for message in messages
                if message.role == "user" and not message.read_only
            ]
        )


def find_atom_id(ctx: longmind.Context, space: longmind.MemorySpace, text: str) -> str:
    (atom,) = [atom for atom in ctx.memory.list_atoms(space.id) if atom.text == text]
    return atom.id


def replay(engine: longmind.Engine, ctx: longmind.Context, conversation: longmind.Conversation, **how: Any) -> None:
    ctx.memory.run_extraction_for_conversation(conversation.id, **how)
    assert engine.work().succeeded == 1


@pytest.mark.parametrize("how", REMOVALS)
def test_a_removed_fact_is_not_learned_again_from_a_replay_or_a_new_message(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, how: str
) -> None:
    conversation = talk(ctx, "I owe money to the bank. I owe a book to the library.")
    engine.work()
    REMOVALS[how](ctx, find_atom_id(ctx, space, "I owe money to the bank."))
    sibling = ["I owe a book to the library."]
    replay(engine, ctx, conversation)
    assert texts(ctx, space.id) == sibling
    replay(engine, ctx, conversation, extraction_version="v2")
    assert [text for text in texts(ctx, space.id) if "money" in text] == []
    talk(ctx, "I OWE the bank money! I like tea.")
    engine.work()
    assert [text for text in texts(ctx, space.id) if "money" in text.lower()] == []
    assert "I like tea." in texts(ctx, space.id)


def test_a_fact_of_a_removed_text_is_learned_by_a_version_that_splits_the_text(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "My dog Rex is brown. My dog Rex is old. My home is Oslo. My home is Bergen.")
    engine.work()
    for text in ("My dog Rex is brown.", "My home is Oslo."):
        ctx.memory.delete_atom(find_atom_id(ctx, space, text))
    replay(engine, ctx, conversation, extraction_version="v2")
    found = [atom.text for atom in ctx.memory.list_atoms(space.id) if atom.extraction_version == "v2"]
    assert found == ["My home is Bergen.", "My dog Rex is old."]


@pytest.mark.parametrize("how", REMOVALS)
def test_a_removed_sentence_does_not_come_back_within_a_longer_text(database_url: str, how: str) -> None:
    with longmind.open(database_url, extractor=MessageExtractor(), embedder="none") as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="bob")
        space = ctx.memory.create_memory_space("daily")
        ctx.memory.create_binding({"namespace": "chat", "userId": "bob"}, [space.id])
        talk(ctx, "I robbed the village bank. I baked bread.")
        engine.work()
        (both,) = ctx.memory.list_atoms(space.id)
        REMOVALS[how](ctx, both.id)
        talk(ctx, "I robbed the village bank. I baked cookies.")
        talk(ctx, "I really robbed the village bank!")
        engine.work()
        assert texts(ctx, space.id) == ["User baked cookies."]
        ctx.memory.add_atom(space.id, {"text": "User baked bread.", "category": {"name": "event", "kind": "EPISODE"}})
        talk(ctx, "I robbed the village bank. I baked bread and cake.")
        engine.work()
        assert texts(ctx, space.id) == ["User baked cookies.", "User baked bread.", "User baked bread and cake."]


def test_a_short_sentence_is_forgotten_too_unless_it_points_to_something_else(database_url: str) -> None:
    with longmind.open(database_url, extractor=MessageExtractor(), embedder="none") as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="bob")
        space = ctx.memory.create_memory_space("daily")
        ctx.memory.create_binding({"namespace": "chat", "userId": "bob"}, [space.id])
        talk(ctx, "I was in prison. It was awful. I baked bread.")
        engine.work()
        (all_of_it,) = ctx.memory.list_atoms(space.id)
        ctx.memory.delete_atom(all_of_it.id)
        talk(ctx, "I was in prison. I baked cookies.")
        talk(ctx, "I really was in prison!")
        talk(ctx, "I watched a play yesterday. It was awful.")
        engine.work()
        first, second = texts(ctx, space.id)
        assert first == "User baked cookies."
        assert second.startswith("User watched a play")
        assert second.endswith("It was awful.")


@pytest.mark.parametrize("how", REMOVALS)
def test_a_sibling_of_a_removed_fact_survives(database_url: str, how: str) -> None:
    with longmind.open(database_url, embedder="none") as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="bob")
        space = ctx.memory.create_memory_space("daily")
        ctx.memory.create_binding({"namespace": "chat", "userId": "bob"}, [space.id])
        conversation = talk(ctx, "I'm HIV positive. I love sushi.")
        engine.work()
        REMOVALS[how](ctx, find_atom_id(ctx, space, "User is HIV positive."))
        replay(engine, ctx, conversation)
        talk(ctx, "I'm still HIV positive! And I love jazz.")
        engine.work()
        assert sorted(texts(ctx, space.id)) == ["User loves jazz.", "User loves sushi."]
        assert {atom.category.kind for atom in ctx.memory.list_atoms(space.id)} == {"PREFERENCE"}


class RewordingExtractor(SentenceExtractor):
    """Finds the same facts in other words, which the test provides."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, str] = {}
        self.slots = True

    def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
        found = super().candidate(message, sentence, "v1")
        return replace(found, text=self.words.get(sentence, sentence), slot=found.slot if self.slots else None)


@pytest.fixture
def extractor() -> RewordingExtractor:
    return RewordingExtractor()


@pytest.mark.parametrize(
    ("reworded", "comes_back"),
    [
        ("The garden gate of Paul was painted green.", False),
        ("Paul's garden gate was recently painted green.", False),
        ("Paul's gate was painted green.", False),
        ("Green was the garden gate painted, Paul's.", False),
        ("Paul's garden gate was painted blue.", True),
        ("Paul's garden gate was not painted.", True),
        ("Paul has a garden.", True),
    ],
)
def test_from_the_same_message_a_fact_does_not_come_back_in_slightly_other_words(
    engine: longmind.Engine,
    ctx: longmind.Context,
    space: longmind.MemorySpace,
    extractor: RewordingExtractor,
    reworded: str,
    comes_back: bool,
) -> None:
    said = "Paul's garden gate was painted green."
    conversation = talk(ctx, said)
    engine.work()
    ctx.memory.delete_atom(find_atom_id(ctx, space, said))
    extractor.words[said] = reworded
    replay(engine, ctx, conversation, extraction_version="v2")
    assert texts(ctx, space.id) == ([reworded] if comes_back else [])


def test_a_value_does_not_come_back_however_it_is_worded_and_another_value_is_learned(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: RewordingExtractor
) -> None:
    talk(ctx, "My home is Oslo.")
    engine.work()
    ctx.memory.delete_atom(find_atom_id(ctx, space, "My home is Oslo."))
    extractor.words["My home is Oslo."] = "Where the user lives these days is the Norwegian capital."
    talk(ctx, "My home is Oslo.")
    engine.work()
    assert texts(ctx, space.id) == []
    talk(ctx, "My home is Bergen.")
    engine.work()
    assert texts(ctx, space.id) == ["My home is Bergen."]


def test_a_fact_that_the_app_adds_again_can_be_learned_again(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "Paul's garden gate is green.")
    engine.work()
    for _ in range(2):
        ctx.memory.delete_atom(find_atom_id(ctx, space, "Paul's garden gate is green."))
        replay(engine, ctx, conversation)
        assert texts(ctx, space.id) == []
        ctx.memory.add_atom(
            space.id, {"text": "Paul's garden gate is green.", "category": {"name": "notes", "kind": "FACT"}}
        )
    replay(engine, ctx, conversation)
    (atom,) = ctx.memory.list_atoms(space.id)
    assert atom.source_message_ids == [ctx.conversations.get_messages(conversation.id)[0].id]


def test_a_tombstone_applies_to_its_space_only(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    other = ctx.memory.create_memory_space("other")
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [other.id])
    talk(ctx, "I like tea.")
    engine.work()
    ctx.memory.delete_atom(find_atom_id(ctx, space, "I like tea."))
    talk(ctx, "I like tea.")
    engine.work()
    assert (texts(ctx, space.id), texts(ctx, other.id)) == ([], ["I like tea."])
    assert hashes(engine, ctx, space) != []
    assert hashes(engine, ctx, other) == []


def test_the_hashes_of_the_same_fact_in_two_spaces_have_nothing_in_common(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    other = ctx.memory.create_memory_space("other")
    for each in (space, other):
        atom = ctx.memory.add_atom(each.id, {"text": "I like tea.", "category": {"name": "notes", "kind": "FACT"}})
        ctx.memory.delete_atom(atom.id)
    assert not set(hashes(engine, ctx, space)) & set(hashes(engine, ctx, other))


def hashes(engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace) -> list[str]:
    url = engine.settings.url
    query = "SELECT hash FROM {} WHERE scope_id = '{}' AND space_id = '{}'"
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        return [row[0] for row in connection.execute(query.format("tombstones", ctx.scope.id, space.id))]
    with psycopg.connect(url) as postgres:
        rows = postgres.execute(query.format("longmind.tombstones", ctx.scope.id, space.id).encode())
        return [row[0] for row in rows]


def test_an_archived_atom_is_learned_again_from_another_message_only(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    conversation = talk(ctx, "I like tea.")
    engine.work()
    ctx.memory.archive_atom(find_atom_id(ctx, space, "I like tea."))
    replay(engine, ctx, conversation)
    assert texts(ctx, space.id) == []
    talk(ctx, "I like tea.")
    engine.work()
    assert texts(ctx, space.id) == ["I like tea."]


def test_one_that_is_rejected_twice_or_after_it_was_archived_stays_rejected(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    talk(ctx, "I like tea.")
    engine.work()
    atom_id = find_atom_id(ctx, space, "I like tea.")
    ctx.memory.archive_atom(atom_id)
    ctx.memory.archive_atom(atom_id, rejected=True)
    ctx.memory.archive_atom(atom_id, rejected=True)
    talk(ctx, "I like tea.")
    engine.work()
    assert texts(ctx, space.id) == []
    with pytest.raises(longmind.NotFound):
        ctx.memory.archive_atom("atom_none", rejected=True)


def test_a_deletion_during_a_replay_is_respected(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    talk(ctx, "I like tea.")
    engine.work()
    extract = extractor.extract

    def delete_meanwhile(messages: Sequence[SourceMessage], version: str) -> Extracted:
        for atom in ctx.memory.list_atoms(space.id):
            ctx.memory.delete_atom(atom.id)
        return extract(messages, version)

    extractor.extract = delete_meanwhile  # type: ignore[method-assign]
    talk(ctx, "I like tea.")
    assert engine.work().succeeded == 1
    assert texts(ctx, space.id) == []


def test_slots_that_are_the_same_are_the_same_whatever_their_case(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, extractor: SentenceExtractor
) -> None:
    extract = extractor.extract

    def loud(messages: Sequence[SourceMessage], version: str) -> Extracted:
        found = extract(messages, version).candidates
        return Extracted([replace(each, slot=Slot("User", "HOME", "Oslo")) for each in found])

    talk(ctx, "My home is Oslo.")
    engine.work()
    ctx.memory.delete_atom(find_atom_id(ctx, space, "My home is Oslo."))
    extractor.extract = loud  # type: ignore[method-assign]
    talk(ctx, "Oslo, where else?")
    engine.work()
    assert texts(ctx, space.id) == []


@pytest.fixture
def by_rules(database_url: str) -> Iterator[tuple[longmind.Engine, longmind.Context, longmind.MemorySpace]]:
    """An engine with the rules extractor, and a space that is bound."""
    with longmind.open(database_url, embedder="none") as engine:
        bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
        space = bob.memory.create_memory_space("daily")
        bob.memory.create_binding({"namespace": "chat", "userId": "bob"}, [space.id])
        yield engine, bob, space


@pytest.mark.parametrize("told", ["by the user", "by the app"])
@pytest.mark.parametrize("how", REMOVALS)
@pytest.mark.parametrize(
    ("said", "forgotten", "again", "sibling", "changed"),
    [
        (
            "I live in Oslo.",
            "User lives in Oslo.",
            ["My home is in Oslo.", "I'm based in Oslo now.", "I reside in Oslo.", "Oslo is my home."],
            "I work in Oslo as a baker.",
            "I live in Bergen.",
        ),
        (
            "I work at Nokia.",
            "User works at Nokia.",
            ["My employer is Nokia.", "I'm employed by Nokia.", "I've joined Nokia."],
            "I bought a Nokia phone.",
            "I work at Volvo.",
        ),
        (
            "My email is lena@mail.com.",
            "User's email is lena@mail.com.",
            ["You can reach me by email at lena@mail.com.", "My e-mail address is lena@mail.com."],
            "I hate email.",
            "My email is lena@post.org.",
        ),
        (
            "I'm vegan.",
            "User is vegan.",
            ["I went vegan.", "I'm a strict vegan."],
            "I wrote a vegan cookbook.",
            "I'm vegetarian.",
        ),
        (
            "My dog is named Rex.",
            "User's dog is named Rex.",
            ["I have a dog called Rex.", "My dog's name is Rex."],
            "My dog Rex bit the postman.",
            "My dog is named Bella.",
        ),
    ],
)
def test_a_forgotten_value_does_not_come_back_in_other_words_while_siblings_and_new_values_do(
    by_rules: tuple[longmind.Engine, longmind.Context, longmind.MemorySpace],
    how: str,
    told: str,
    said: str,
    forgotten: str,
    again: list[str],
    sibling: str,
    changed: str,
) -> None:
    engine, bob, space = by_rules
    if told == "by the user":
        talk(bob, said)
        engine.work()
    else:
        bob.memory.add_atom(space.id, {"text": forgotten, "category": {"name": "fact", "kind": "FACT"}})
    (atom,) = bob.memory.list_atoms(space.id)
    REMOVALS[how](bob, atom.id)
    for text in again:
        talk(bob, text)
        engine.work()
        assert texts(bob, space.id) == []
    talk(bob, sibling)
    talk(bob, changed)
    engine.work()
    assert len(texts(bob, space.id)) == 2
