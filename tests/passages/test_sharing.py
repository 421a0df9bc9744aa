"""Readers of a shared space are quoted what the bindings of its owner lead there, as long as they may read it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from tests.passages.person import BY_MEANING, BY_WORDS, QUESTIONS, FamiliarEmbedder, Person, again, meet

SHARED = "Our automobile crashed"
PRIVATE = "My secret automobile crashed"


@pytest.fixture
def embedder() -> FamiliarEmbedder:
    return FamiliarEmbedder()


@pytest.fixture
def librarian(engine: longmind.Engine) -> Person:
    """The owner of a shared space, with conversations that lead there and others that lead to a private one."""
    known = meet(engine, "librarian")
    shared = known.ctx.memory.create_memory_space("handbook", kind="shared").id
    librarian = Person(known.ctx, shared)
    librarian.bind("work")
    librarian.bind("private", known.space_id)
    librarian.say(SHARED, librarian.talk("work"))
    librarian.say(PRIVATE, librarian.talk("private"))
    engine.work()
    return librarian


@pytest.fixture
def reader(engine: longmind.Engine, librarian: Person) -> Person:
    """Somebody who may read the space, and who has said something as well."""
    librarian.ctx.memory.grant_space(librarian.space_id, "bob")
    reader = meet(engine, "bob")
    reader.bind("*")
    reader.say("Bob's automobile crashed", reader.talk("work"))
    engine.work()
    return reader


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[longmind.Engine]:
    """Stands for another process."""
    with longmind.open(database_url, embedder=FamiliarEmbedder()) as engine:
        yield engine


@pytest.mark.conforms("T6")
def test_a_reader_is_quoted_what_leads_into_the_space_and_nothing_else(librarian: Person, reader: Person) -> None:
    for question in QUESTIONS:
        assert reader.quotes(question, librarian.space_id) == [SHARED]
        assert librarian.quotes(question) == [SHARED]
        prompt = reader.prompt(question, librarian.space_id)
        assert SHARED in prompt
        shown = reader.recalled(question, librarian.space_id)
        assert "Our automobile" in shown
        assert "secret" not in prompt + shown
        # What readers say stays theirs.
        assert reader.quotes(question) == ["Bob's automobile crashed"]


@pytest.mark.conforms("T6")
def test_after_a_grant_is_taken_back_nothing_is_quoted_anywhere(
    librarian: Person, reader: Person, elsewhere: longmind.Engine
) -> None:
    there = again(elsewhere, reader)
    for person in (reader, there):
        assert person.quotes(BY_MEANING, librarian.space_id) == [SHARED]
    librarian.ctx.memory.revoke_space(librarian.space_id, "bob")
    for person in (reader, there):
        for question in QUESTIONS:
            with pytest.raises(longmind.NotFound):
                person.quotes(question, librarian.space_id)
            with pytest.raises(longmind.NotFound):
                person.prompt(question, librarian.space_id)
            assert "Our automobile" not in person.recalled(question)


def test_what_the_owner_forgets_unbinds_or_never_bound_is_gone_for_readers_in_the_next_call(
    librarian: Person, reader: Person, elsewhere: longmind.Engine
) -> None:
    readers = (reader, again(elsewhere, reader))

    def quoted() -> list[list[str]]:
        return [person.quotes(BY_WORDS, librarian.space_id) for person in readers]

    second = librarian.say("Another automobile crashed", librarian.talk("work"))
    assert [sorted(each) for each in quoted()] == [["Another automobile crashed", SHARED]] * 2
    librarian.forget(second)
    assert quoted() == [[SHARED]] * 2
    more = librarian.bind("private")
    assert [sorted(each) for each in quoted()] == [[PRIVATE, SHARED]] * 2
    librarian.ctx.memory.update_binding(more.id, enabled=False)
    assert quoted() == [[SHARED]] * 2
    for binding in librarian.ctx.memory.list_bindings():
        librarian.ctx.memory.delete_binding(binding.id)
    assert quoted() == [[]] * 2
    assert "automobile" not in reader.prompt(BY_WORDS, librarian.space_id)


def test_readers_make_no_vectors_of_what_the_owner_has_said(
    librarian: Person, reader: Person, engine: longmind.Engine, embedder: FamiliarEmbedder
) -> None:
    librarian.say("Some automobile crashed", librarian.talk("work"))
    embedder.embedded.clear()
    assert "Some automobile crashed" in reader.quotes(BY_WORDS, librarian.space_id)
    assert not any("Some" in text for text in embedder.embedded)
    assert not [job for job in reader.ctx.jobs.list_jobs() if job.status == "queued"]
    engine.work()
    assert "Some automobile crashed" in reader.quotes(BY_MEANING, librarian.space_id)


@pytest.mark.conforms("T5", "T6")
def test_what_others_say_into_a_shared_space_is_learned_there_but_quoted_to_nobody(engine: longmind.Engine) -> None:
    root = engine.context(tenant_id="acme", app_id="support", user_id="root", capabilities={"admin"})
    shared = root.memory.create_memory_space("insights", kind="shared").id
    root.memory.create_binding({"namespace": "chat", "user_id": "*"}, [shared])
    root.memory.grant_space(shared, "*")
    ada, bob = meet(engine, "ada"), meet(engine, "bob")
    # A space of the user's own with that name is another one.
    own = ada.ctx.memory.create_memory_space("insights").id
    ada.say("My secret automobile crashed")
    engine.work()
    for question in QUESTIONS:
        assert ada.quotes(question, own) == []
        for person in (ada, bob, Person(root, shared)):
            assert person.quotes(question, shared) == []
            assert "secret" not in person.prompt(question, shared)


@pytest.mark.conforms("T6", "T9")
def test_when_the_owner_is_erased_readers_are_quoted_nothing(
    librarian: Person, reader: Person, elsewhere: longmind.Engine
) -> None:
    there = again(elsewhere, reader)
    assert there.quotes(BY_WORDS, librarian.space_id) == [SHARED]
    librarian.ctx.admin.delete_user_data(confirm=True)
    for person in (reader, there):
        with pytest.raises(longmind.NotFound):
            person.quotes(BY_WORDS, librarian.space_id)
        assert person.quotes(BY_WORDS) == ["Bob's automobile crashed"]
