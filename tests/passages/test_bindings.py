"""What a binding covers decides what is quoted, from the call after each change, in every process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from tests.passages.person import BY_WORDS, QUESTIONS, FamiliarEmbedder, Person, again, meet


@pytest.fixture
def embedder() -> FamiliarEmbedder:
    return FamiliarEmbedder()


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[longmind.Engine]:
    """Stands for another process."""
    with longmind.open(database_url, embedder=FamiliarEmbedder()) as engine:
        yield engine


@pytest.fixture
def everywhere(engine: longmind.Engine, elsewhere: longmind.Engine) -> tuple[Person, Person]:
    """One user in two engines."""
    ada = meet(engine)
    return ada, again(elsewhere, ada)


def quoted(persons: tuple[Person, Person], question: str = BY_WORDS) -> list[str]:
    """What both are quoted, on all surfaces."""
    here, there = (sorted(person.quotes(question)) for person in persons)
    assert here == there
    for person in persons:
        assert sorted(person.tool_quotes(question)) == here
        assert ("automobile" in person.recalled(question).casefold()) is bool(here)
    return here


@pytest.mark.conforms("A5.12", "A5.13")
def test_a_binding_that_is_paused_or_deleted_leads_nothing_any_more(
    everywhere: tuple[Person, Person], engine: longmind.Engine
) -> None:
    ada, there = everywhere
    binding = ada.bind()
    ada.say("My automobile crashed")
    engine.work()
    for question in QUESTIONS:
        assert quoted(everywhere, question) == ["My automobile crashed"]
    ada.ctx.memory.update_binding(binding.id, enabled=False)
    ada.say("Our automobile crashed")
    for question in QUESTIONS:
        assert quoted(everywhere, question) == []
    there.ctx.memory.update_binding(binding.id, enabled=True)
    assert quoted(everywhere) == ["My automobile crashed", "Our automobile crashed"]
    there.ctx.memory.delete_binding(binding.id)
    for question in QUESTIONS:
        assert quoted(everywhere, question) == []


@pytest.mark.conforms("A5.3")
def test_a_binding_of_all_namespaces_covers_those_too_that_begin_later(
    everywhere: tuple[Person, Person], engine: longmind.Engine
) -> None:
    ada, there = everywhere
    ada.say("My automobile crashed", ada.talk("chat"))
    ada.say("Our automobile crashed", ada.talk("diary"))
    assert quoted(everywhere) == []
    ada.bind("*")
    there.say("Some automobile crashed", there.talk("letters"))
    said = ["My automobile crashed", "Our automobile crashed", "Some automobile crashed"]
    assert quoted(everywhere) == said
    engine.work()
    for question in QUESTIONS:
        assert quoted(everywhere, question) == said
    # Of two bindings each covers by itself.
    named = ada.bind("diary")
    (every,) = (each for each in ada.ctx.memory.list_bindings() if each.id != named.id)
    ada.ctx.memory.delete_binding(every.id)
    assert quoted(everywhere) == ["Our automobile crashed"]


def test_a_new_binding_covers_what_was_said_before_by_words_at_once_and_by_meaning_after_a_job(
    everywhere: tuple[Person, Person], engine: longmind.Engine, embedder: FamiliarEmbedder
) -> None:
    ada, _ = everywhere
    for number in range(3):
        ada.say(f"Automobile {number} crashed")
    said = [f"Automobile {number} crashed" for number in range(3)]
    engine.work()
    assert not set(said) & set(embedder.embedded)
    assert quoted(everywhere) == []
    ada.bind()
    assert quoted(everywhere) == said
    engine.work()
    assert set(said) <= set(embedder.embedded)
    for question in QUESTIONS:
        assert quoted(everywhere, question) == said


@pytest.mark.parametrize("end", ["pause", "delete"])
@pytest.mark.parametrize("other", [None, "diary"])
def test_what_is_no_longer_covered_is_not_given_to_the_embedder(
    engine: longmind.Engine, embedder: FamiliarEmbedder, end: str, other: str | None
) -> None:
    ada = meet(engine)
    binding = ada.bind()
    if other is not None:
        ada.bind(other)
        ada.say("Our automobile crashed", ada.talk(other))
    ada.say("My automobile crashed")
    assert "My automobile crashed" in ada.quotes()
    if end == "delete":
        ada.ctx.memory.delete_binding(binding.id)
    else:
        ada.ctx.memory.update_binding(binding.id, enabled=False)
    engine.work()
    assert "My automobile crashed" not in embedder.embedded
    assert ("Our automobile crashed" in embedder.embedded) is (other is not None)


def test_a_binding_to_several_spaces_leads_into_each_that_is_left(
    everywhere: tuple[Person, Person], engine: longmind.Engine
) -> None:
    ada, there = everywhere
    work = ada.ctx.memory.create_memory_space("work").id
    ada.ctx.memory.create_binding({"namespace": "chat", "user_id": "ada"}, [ada.space_id, work])
    ada.say("My automobile crashed")
    engine.work()
    assert there.quotes(BY_WORDS, work) == quoted(everywhere) == ["My automobile crashed"]
    ada.ctx.memory.delete_memory_space(work)
    assert quoted(everywhere) == ["My automobile crashed"]
    for person in everywhere:
        with pytest.raises(longmind.NotFound):
            person.quotes(BY_WORDS, work)
    # A space of the same name is another one, and the binding does not name it.
    anew = ada.ctx.memory.create_memory_space("work").id
    for person in everywhere:
        assert person.quotes(BY_WORDS, anew) == []
