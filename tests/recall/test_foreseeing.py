"""A recall that is made while the database says whether anything has changed holds only if nothing has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

import recollect
from recollect.memory import Memory
from tests.embedder import WordsEmbedder
from tests.recall.making import fact, memory_of, texts_of


class Meanwhile(WordsEmbedder):
    """An embedder during whose work something else can happen, once."""

    def __init__(self) -> None:
        super().__init__()
        self.happens: Callable[[], object] | None = None
        self.questions: list[str] = []

    def embed_query(self, query: str) -> list[float]:
        self.questions.append(query)
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().embed_query(query)

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        return [WordsEmbedder.embed_query(self, text) for text in texts]


@pytest.fixture
def embedder() -> Meanwhile:
    return Meanwhile()


@pytest.fixture
def other(database_url: str) -> Iterator[Memory]:
    """The same user's memory in another engine."""
    with recollect.open(database_url, embedder=WordsEmbedder()) as engine:
        yield memory_of(engine)


@pytest.fixture
def quiet(database_url: str, embedder: Meanwhile, other: Memory) -> Iterator[tuple[Memory, str]]:
    """Memory with a space of one atom, in which nothing was new when it was looked at last."""
    space_id = other.create_memory_space("main").id
    other.add_atom(space_id, fact("Ada drinks tea."))
    with recollect.open(database_url, embedder=embedder) as engine:
        memory = memory_of(engine)
        for _ in range(2):
            memory.recall_by_topic(space_id, "tea")
        embedder.questions.clear()
        yield memory, space_id


def test_what_another_engine_has_written_is_found_and_the_question_embedded_once(
    quiet: tuple[Memory, str], other: Memory, embedder: Meanwhile
) -> None:
    memory, space_id = quiet
    other.add_atom(space_id, fact("Ada drinks cocoa."))
    assert texts_of(memory.recall_by_topic(space_id, "cocoa"))[0] == "Ada drinks cocoa."
    assert embedder.questions == ["cocoa"]


def test_what_another_engine_writes_during_a_recall_is_found_by_the_next(
    quiet: tuple[Memory, str], other: Memory, embedder: Meanwhile
) -> None:
    memory, space_id = quiet
    embedder.happens = lambda: other.add_atom(space_id, fact("Ada drinks cocoa."))
    memory.recall_by_topic(space_id, "cocoa")
    assert texts_of(memory.recall_by_topic(space_id, "cocoa"))[0] == "Ada drinks cocoa."


def test_a_question_is_understood_by_what_was_written_before_it_also_if_another_recall_learns_of_that_first(
    quiet: tuple[Memory, str], other: Memory, embedder: Meanwhile
) -> None:
    memory, space_id = quiet
    grace = other.create_entity(space_id, "PERSON", "Grace")
    other.add_atom(space_id, fact("She drinks cocoa.", entity_ids=[grace.id]))
    embedder.happens = lambda: memory.recall_by_topic(space_id, "cocoa")
    (best, *_) = memory.recall_by_topic(space_id, "What does Grace drink?").hits
    assert best.atom.text == "She drinks cocoa."
    assert best.entity_match_bonus > 1
