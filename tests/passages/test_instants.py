"""As of an instant only what had been said by then is quoted, and an answer until another one replaced it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from longmind.clock import to_iso
from tests.clock import SettableClock
from tests.passages.person import FamiliarEmbedder, Person, again, meet

QUESTION = "Where is the zebra?"
FIRST, SECOND = "The zebra is at the quay.", "The zebra is at the lake."
ASKED = "Please find the zebra."


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture(params=["words", "meaning"])
def engine(request: pytest.FixtureRequest, database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    embedder = FamiliarEmbedder() if request.param == "meaning" else None
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        yield engine


@pytest.fixture
def ada(engine: longmind.Engine) -> Person:
    ada = meet(engine)
    ada.bind()
    return ada


def moment(clock: SettableClock) -> str:
    """An instant after everything that was done before, and before everything that is done next."""
    clock.advance(60)
    instant = to_iso(clock.now)
    clock.advance(60)
    return instant


def answer(ada: Person, conversation_id: str, text: str, way: str) -> None:
    """The same message of the user comes, and gets an answer."""
    chat = ada.ctx.conversations
    if way == "turn":
        chat.append_turn(conversation_id, user_content=ASKED, assistant={"content": text}, idempotency_key="key")
    else:
        chat.append_user_message(conversation_id, ASKED, idempotency_key="key")
        chat.append_assistant_turn(conversation_id, text)


@pytest.mark.conforms("T2")
@pytest.mark.parametrize("way", ["turn", "messages"])
def test_an_answer_that_was_replaced_is_quoted_only_as_of_before(
    ada: Person, engine: longmind.Engine, clock: SettableClock, database_url: str, way: str
) -> None:
    conversation_id = ada.talk()
    nothing = moment(clock)
    answer(ada, conversation_id, FIRST, way)
    engine.work()
    before = moment(clock)
    assert sorted(ada.quotes(QUESTION)) == [ASKED, FIRST]
    with longmind.open(database_url, embedder=None, clock=clock) as elsewhere:
        there = again(elsewhere, ada)
        assert sorted(there.quotes(QUESTION)) == [ASKED, FIRST]
        answer(ada, conversation_id, SECOND, way)
        engine.work()
        after = moment(clock)
        with longmind.open(database_url, embedder=None, clock=clock) as reopened:
            for person in (ada, there, again(reopened, ada)):
                assert sorted(person.quotes(QUESTION)) == [ASKED, SECOND]
                assert FIRST not in person.recalled(QUESTION)
                for name in ("known_at", "valid_at"):
                    assert sorted(person.quotes(QUESTION, **{name: before})) == [ASKED, FIRST]
                    assert sorted(person.quotes(QUESTION, **{name: after})) == [ASKED, SECOND]
                    assert person.quotes(QUESTION, **{name: nothing}) == []
    assert FIRST not in ada.searched(QUESTION)


def test_only_what_was_said_by_an_instant_is_quoted(ada: Person, engine: longmind.Engine, clock: SettableClock) -> None:
    instants = [moment(clock)]
    for number in range(3):
        ada.say(f"The zebra {number} is well.")
        instants.append(moment(clock))
    engine.work()
    for count, instant in enumerate(instants):
        expected = [f"The zebra {number} is well." for number in range(count)]
        for options in (
            {"known_at": instant},
            {"valid_at": instant},
            {"known_at": instant, "valid_at": instants[-1]},
            {"known_at": instants[-1], "valid_at": instant},
            {"known_at": instant, "exhaustive": True},
        ):
            assert sorted(ada.quotes(QUESTION, **options)) == expected


def test_the_moment_at_which_it_was_said_counts(ada: Person, clock: SettableClock) -> None:
    clock.advance(60)
    ada.say(FIRST)
    for name in ("known_at", "valid_at"):
        assert ada.quotes(QUESTION, **{name: to_iso(clock.now)}) == [FIRST]
        assert ada.quotes(QUESTION, **{name: to_iso(clock.now - 1)}) == []


def test_an_imported_message_goes_by_the_time_that_it_was_given(
    ada: Person, engine: longmind.Engine, clock: SettableClock
) -> None:
    conversation_id = ada.talk()
    ada.ctx.conversations.append_turn(
        conversation_id, user_content=ASKED, assistant={"content": FIRST}, created_at="2020-05-01T12:00:00Z"
    )
    engine.work()
    passages = ada.ctx.memory.recall_by_topic(ada.space_id, QUESTION).passages
    assert {passage.said_at[:10] for passage in passages} == {"2020-05-01"}
    for name in ("known_at", "valid_at"):
        assert sorted(ada.quotes(QUESTION, **{name: "2020-05-01T12:00:00Z"})) == [ASKED, FIRST]
        assert ada.quotes(QUESTION, **{name: "2020-05-01T11:59:59Z"}) == []
