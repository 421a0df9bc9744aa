"""High effort: what a reranker reads of a conversation, and what becomes of its opinions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import longmind
from longmind.clock import to_iso
from longmind.recall.reranked_results import READ
from tests.clock import SettableClock
from tests.passages.person import FACT, Person, meet

QUESTION = "When did the plumber repair the kitchen?"
SAID = ("Who repaired the kitchen?", "The plumber repaired it.", "On Tuesday at noon.")


class ReadingReranker:
    """Prefers texts with a word, and keeps what it was given."""

    model = "test:preferring"

    def __init__(self, preferred: str = "Tuesday") -> None:
        self.preferred = preferred
        self.read: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.read += texts
        return [8.0 if self.preferred in text else -8.0 for text in texts]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def reranker() -> ReadingReranker:
    return ReadingReranker()


@pytest.fixture
def ada(database_url: str, clock: SettableClock, reranker: ReadingReranker) -> Iterator[Person]:
    with longmind.open(database_url, embedder=None, reranker=reranker, clock=clock) as engine:
        person = meet(engine)
        person.bind()
        yield person


def test_a_message_is_read_with_the_ones_before_and_after_it(ada: Person, reranker: ReadingReranker) -> None:
    conversation_id = ada.talk()
    for text in SAID:
        ada.say(text, conversation_id)
    normal, high = ada.quotes(QUESTION), ada.quotes(QUESTION, effort="high")
    assert " ".join(SAID) in reranker.read
    assert sorted(normal) == sorted(high)
    # The first one has nothing of the answer beside it.
    assert high.index(SAID[1]) < high.index(SAID[0])


def test_nothing_is_read_that_was_said_after_the_instant_in_question(
    ada: Person, reranker: ReadingReranker, clock: SettableClock
) -> None:
    conversation_id = ada.talk()
    ada.say(SAID[0], conversation_id)
    ada.say(SAID[1], conversation_id)
    clock.advance(60)
    before = to_iso(clock.now)
    clock.advance(60)
    ada.say(SAID[2], conversation_id)
    ada.quotes(QUESTION, effort="high", known_at=before)
    assert any(SAID[1] in text for text in reranker.read)
    assert not any(SAID[2] in text for text in reranker.read)


def test_for_a_fact_its_message_is_read_and_both_once(ada: Person, reranker: ReadingReranker) -> None:
    said = ada.say("The plumber repaired the kitchen and the bathroom, and he took his time for the floor.")
    ada.say("The kitchen is blue.")
    new = {"text": "The plumber repaired the kitchen", "category": FACT, "source_message_ids": [said.id]}
    ada.ctx.memory.add_atom(ada.space_id, new)
    ada.ctx.memory.recall_by_topic(ada.space_id, QUESTION, effort="high")
    assert reranker.read.count(said.text) == 1
    assert new["text"] not in reranker.read


def test_no_more_is_read_than_the_budget_allows(ada: Person, reranker: ReadingReranker) -> None:
    for number in range(2 * READ):
        ada.say(f"The plumber repaired kitchen {number}.")
    found = ada.ctx.memory.recall_by_topic(ada.space_id, QUESTION, limit=2 * READ, effort="high")
    assert len(reranker.read) == READ
    assert len(found.passages) == 2 * READ
    scores = [passage.score for passage in found.passages]
    assert scores == sorted(scores, reverse=True)
