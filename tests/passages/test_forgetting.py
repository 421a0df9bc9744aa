"""What a forgotten fact rests on is quoted no more, wherever a copy of it was, and stays in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

import longmind
from longmind.clock import to_iso
from tests.clock import SettableClock
from tests.passages.person import (
    OFFICE,
    QUESTIONS,
    SECRET,
    FamiliarEmbedder,
    Person,
    again,
    meet,
)

KEPT = "Another automobile crashed"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def embedder() -> FamiliarEmbedder:
    return FamiliarEmbedder()


@pytest.fixture
def engine(database_url: str, embedder: FamiliarEmbedder, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        yield engine


@pytest.fixture
def elsewhere(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    """Stands for another process."""
    with longmind.open(database_url, embedder=FamiliarEmbedder(), clock=clock) as engine:
        yield engine


@pytest.fixture
def ada(engine: longmind.Engine) -> Person:
    ada = meet(engine)
    ada.bind()
    return ada


def delete(ada: Person, atom_id: str) -> None:
    ada.ctx.memory.delete_atom(atom_id)


def reject(ada: Person, atom_id: str) -> None:
    ada.ctx.memory.archive_atom(atom_id, rejected=True)


def forget_as_an_agent(ada: Person, atom_id: str) -> None:
    (forget,) = (each.run for each in ada.ctx.tools.bound(confirm=lambda _: True) if each.tool.name == "memory_delete")
    forget({"id": atom_id})


WAYS: dict[str, Callable[[Person, str], None]] = {
    "deleted": delete,
    "rejected": reject,
    "by an agent": forget_as_an_agent,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_forgotten_message_is_quoted_nowhere_from_the_next_call_on(
    ada: Person, engine: longmind.Engine, elsewhere: longmind.Engine, clock: SettableClock, way: str
) -> None:
    work = ada.ctx.memory.create_memory_space("work").id
    ada.bind("chat", work)
    ada.bind("*")
    conversation_id = ada.talk()
    secret = ada.say(SECRET, conversation_id)
    kept = ada.say(KEPT, conversation_id)
    engine.work()
    said_at = to_iso(clock.now)
    clock.advance(60)
    everywhere = (ada, again(elsewhere, ada))
    for person in everywhere:
        for question in QUESTIONS:
            for space_id in (ada.space_id, work):
                assert sorted(person.quotes(question, space_id)) == [KEPT, SECRET]
                assert SECRET in person.prompt(question, space_id)
            assert SECRET in person.recalled(question)
    atom = ada.learn(secret)
    WAYS[way](ada, atom.id)
    with longmind.open(engine.settings.url, embedder=FamiliarEmbedder(), clock=clock) as reopened:
        for person in (*everywhere, again(reopened, ada)):
            for question in QUESTIONS:
                for space_id in (ada.space_id, work):
                    assert person.quotes(question, space_id) == [KEPT]
                    assert SECRET not in person.recalled(question, space_id)
                # Nor as of a time when nothing had been forgotten.
                for name in ("known_at", "valid_at"):
                    assert person.quotes(question, **{name: said_at}) == [KEPT]
            assert [message.text for message in person.ctx.conversations.get_messages(conversation_id)] == [
                SECRET,
                KEPT,
            ]
            assert [each.id for each in person.ctx.conversations.get_raw_turns(conversation_id)] == [secret.id, kept.id]


def test_words_that_were_forgotten_raise_no_score_of_what_was_said_beside_them(
    ada: Person, elsewhere: longmind.Engine, database_url: str, clock: SettableClock, engine: longmind.Engine
) -> None:
    """An index that knew them comes to the same scores as one that never did."""
    conversation_id = ada.talk()
    ada.say("I am a bit late today, and it was not my fault at all", conversation_id)
    secret = ada.say(SECRET, conversation_id)
    ada.say(KEPT, conversation_id)
    engine.work()
    everywhere = (ada, again(elsewhere, ada))
    before = [person.scored() for person in everywhere]
    ada.forget(secret)
    with longmind.open(database_url, embedder=FamiliarEmbedder(), clock=clock) as reopened:
        expected = again(reopened, ada).scored()
        for person, known in zip(everywhere, before, strict=True):
            assert len(known) == len(expected) + 1
            assert person.scored() == expected


def test_all_messages_that_a_forgotten_fact_rests_on_are_forgotten_even_if_another_fact_cites_them(
    ada: Person,
) -> None:
    messages = [ada.say(f"The automobile {number} crashed") for number in range(3)]
    known = ada.learn(messages[0])
    ada.forget(*messages[:2])
    assert ada.quotes() == ["The automobile 2 crashed"]
    assert ada.ctx.memory.get_atom(known.id) == known


def test_a_fact_that_is_archived_or_superseded_takes_no_message_with_it(ada: Person) -> None:
    messages = [ada.say(f"The automobile {number} crashed") for number in range(2)]
    archived, superseded = (ada.learn(message) for message in messages)
    ada.ctx.memory.archive_atom(archived.id)
    ada.ctx.memory.supersede_atom(superseded.id, {"text": "It is repaired.", "category": superseded.category})
    assert len(ada.quotes()) == 2


def test_what_extraction_has_learned_is_forgotten_with_what_was_said(ada: Person, engine: longmind.Engine) -> None:
    conversation_id = ada.talk()
    ada.say("My sister Anna lives in Oslo.", conversation_id)
    ada.say("The weather is fine.", conversation_id)
    ada.ctx.conversations.close_conversation(conversation_id)
    engine.work()
    learned = [atom for atom in ada.ctx.memory.list_atoms(ada.space_id) if "Oslo" in atom.text]
    assert learned
    for atom in learned:
        ada.ctx.memory.delete_atom(atom.id)
    question = "Where does Anna live?"
    assert "Oslo" not in ada.recalled(question)
    assert ada.quotes("Oslo") == ["The weather is fine."]
    assert "Oslo" in ada.ctx.conversations.get_messages(conversation_id)[0].text


def test_no_embedder_is_given_a_forgotten_message_again(
    database_url: str, ada: Person, engine: longmind.Engine
) -> None:
    secret = ada.say(SECRET)
    ada.say(KEPT)
    engine.work()
    ada.forget(secret)
    later = FamiliarEmbedder("test:later", dimension=1024)
    with longmind.open(database_url, embedder=later) as changed:
        person = again(changed, ada)
        changed.reindex()
        changed.work()
        for question in QUESTIONS:
            assert person.quotes(question) == [KEPT]
        assert KEPT in later.embedded
        assert SECRET not in later.embedded


def test_a_message_that_is_forgotten_before_it_has_a_vector_never_gets_one(
    ada: Person, engine: longmind.Engine, embedder: FamiliarEmbedder
) -> None:
    ada.forget(ada.say(SECRET))
    engine.work()
    assert SECRET not in embedder.embedded
    assert ada.quotes() == []


class ReadingReranker:
    """Finds everything equally good, and remembers what it has read."""

    model = "test:reading"

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [0.0] * len(texts)


def test_no_reranker_reads_what_was_forgotten_or_is_hidden(database_url: str, ada: Person) -> None:
    """With high effort it reads what was said before a passage too."""
    conversation_id = ada.talk()
    secret = ada.say(SECRET, conversation_id)
    ada.say("A hidden automobile crashed", conversation_id, visibility="hidden")
    ada.say(KEPT, conversation_id)
    ada.say("Yet another automobile crashed", conversation_id)
    reranker = ReadingReranker()
    with longmind.open(database_url, embedder=None, reranker=reranker) as engine:
        person = again(engine, ada)

        def read() -> str:
            reranker.read.clear()
            person.quotes(effort="high")
            person.tool_quotes()
            return "\n".join(reranker.read)

        assert SECRET in read()
        ada.forget(secret)
        after = read()
    assert KEPT in after
    assert SECRET not in after
    assert "hidden" not in after


def test_a_search_of_events_finds_no_forgotten_message_from_the_next_call_on(
    ada: Person, engine: longmind.Engine, elsewhere: longmind.Engine, clock: SettableClock
) -> None:
    conversation_id = ada.talk()
    secret = ada.say(SECRET, conversation_id)
    ada.say(KEPT, conversation_id)
    everywhere = (ada, again(elsewhere, ada))
    for person in everywhere:
        for question in QUESTIONS:
            assert SECRET in person.searched(question)
    ada.forget(secret)
    with longmind.open(engine.settings.url, embedder=FamiliarEmbedder(), clock=clock) as reopened:
        for person in (*everywhere, again(reopened, ada)):
            for question in QUESTIONS:
                assert SECRET not in person.searched(question)
                assert KEPT in person.searched(question)
    # One that comes while a timeline is in memory, and is forgotten before it is searched again.
    ada.forget(ada.say("Our automobile crashed", conversation_id))
    for person in everywhere:
        assert "Our automobile" not in person.searched(QUESTIONS[0])


def test_a_message_that_was_forgotten_before_a_search_of_events_gets_no_vector(
    ada: Person, embedder: FamiliarEmbedder
) -> None:
    ada.forget(ada.say(SECRET))
    ada.say(KEPT)
    assert SECRET not in ada.searched(QUESTIONS[0])
    assert KEPT in embedder.embedded
    assert SECRET not in embedder.embedded


@pytest.mark.conforms("A1.6")
def test_the_event_log_is_the_ledger_and_keeps_what_was_said(ada: Person, engine: longmind.Engine) -> None:
    conversation_id = ada.talk()
    secret = ada.say(SECRET, conversation_id)
    engine.work()
    before = [event.event_id for event in ada.ctx.events.recent_persisted(kinds=["chat.turn"])]
    ada.forget(secret)
    assert [event.event_id for event in ada.ctx.events.recent_persisted(kinds=["chat.turn"])] == before
    assert ada.ctx.conversations.get_messages(conversation_id)[0].text == SECRET
    assert OFFICE in ada.recalled("Where is the office?")
