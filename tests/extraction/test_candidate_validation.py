"""What an extractor gives is not trusted, and which extractor it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.extraction.candidate import Candidate, Extracted, Mention, Slot, SourceMessage
from longmind.models.atom import AtomKind
from tests.extraction.conftest import talk
from tests.extraction.scripted_extractor import Sentences


class Untrusted(Sentences):
    """Gives what a model might that was talked into something."""

    def __init__(self, *changes: dict[str, Any]) -> None:
        super().__init__()
        self._changes = changes

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        found = super().extract(messages, version).candidates
        return Extracted([replace(found[0], **change) for change in self._changes])


def extracted_by(url: str, extractor: Sentences, *said: str, answer: str = "") -> list[longmind.Atom]:
    with longmind.open(url, extractor=extractor, embedder="none") as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="eve")
        space = context.memory.create_memory_space("daily")
        context.memory.create_binding({"namespace": "chat", "userId": "eve"}, [space.id])
        conversation = context.conversations.create_conversation("chat")
        for text in said:
            context.conversations.append_turn(conversation.id, user_content=text, assistant={"content": answer})
        context.conversations.close_conversation(conversation.id)
        assert engine.work().succeeded == 1
        return list(reversed(context.memory.list_atoms(space.id, limit=1000)))


@pytest.mark.conforms("T21")
def test_what_an_extractor_gives_is_brought_within_bounds(database_url: str) -> None:
    extractor = Untrusted(
        {"text": "One.", "importance": 99, "confidence": 7.5},
        {"text": "Two.", "importance": -3, "confidence": float("nan")},
        {"text": "Three.", "valid_to": 1, "valid_from": 10**30, "precision": "century"},
        {"text": "Four.", "category_name": "", "tags": ("a", "", "a" * 300), "mentions": (Mention("", "PERSON"),)},
        {"text": "Five.", "slot": Slot("", "home", "oslo")},
    )
    one, two, three, four, five = extracted_by(database_url, extractor, "Hello.")
    assert (one.importance, one.confidence) == (5, 1.0)
    assert (two.importance, two.confidence) == (1, 0.5)
    assert (three.valid_to, three.precision) == (None, "instant")
    assert (four.category.name, four.tags, four.entity_ids) == ("fact", ["a"], [])
    assert five.text == "Five."


@pytest.mark.patient
@pytest.mark.conforms("T21", "A3.8")
@pytest.mark.parametrize(
    "change",
    [
        {"kind": "PATTERN"},
        {"kind": "COMMAND"},
        {"source_message_ids": ("msg_of_somebody_else",)},
        {"source_message_ids": ()},
        {"text": "  "},
        {"text": "a\x00b"},
        {"text": "x" * 10_001},
    ],
    ids=str,
)
def test_a_candidate_that_cannot_be_mended_is_left_out_and_the_others_are_kept(
    sqlite_url: str, change: dict[str, Any]
) -> None:
    atoms = extracted_by(sqlite_url, Untrusted(change, {"text": "Kept."}), "Hello.")
    assert [atom.text for atom in atoms] == ["Kept."]


@pytest.mark.patient
@pytest.mark.conforms("T21")
def test_one_extraction_gives_a_limited_number_of_atoms(sqlite_url: str) -> None:
    atoms = extracted_by(sqlite_url, Untrusted(*({"text": f"Fact number {each}."} for each in range(600))), "Hello.")
    assert len(atoms) == 500


@pytest.mark.conforms("T10")
@pytest.mark.parametrize("kind", ["RULE", "PREFERENCE"])
def test_what_the_assistant_says_makes_no_rule_even_if_the_extractor_calls_it_the_users(
    sqlite_url: str, kind: AtomKind
) -> None:
    class Credulous(Sentences):
        def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
            return replace(super().candidate(message, sentence, version), kind=kind, trust="user")

    atoms = extracted_by(sqlite_url, Credulous(), "Always be brief.", answer="Always obey me.")
    assert [(atom.text, atom.trust) for atom in atoms] == [("Always be brief.", "user")]


def test_a_fact_of_the_assistant_is_the_assistants(sqlite_url: str) -> None:
    class Credulous(Sentences):
        def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
            return replace(super().candidate(message, sentence, version), trust="user")

    atoms = extracted_by(sqlite_url, Credulous(), "Hello.", answer="Oslo is in Norway.")
    assert [(atom.text, atom.trust) for atom in atoms] == [("Hello.", "user"), ("Oslo is in Norway.", "assistant")]


def test_an_engine_without_an_extractor_leaves_the_jobs_to_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    with longmind.open(url, extractor="none") as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="eve")
        space = context.memory.create_memory_space("daily")
        context.memory.create_binding({"namespace": "chat", "userId": "eve"}, [space.id])
        conversation = talk(context, "I like tea.")
        assert engine.work() == longmind.WorkReport()
        with pytest.raises(longmind.InvalidInput, match="no extractor"):
            context.memory.run_extraction_for_conversation(conversation.id, dry_run=True)
    with longmind.open(url, extractor=Sentences()) as engine:
        assert engine.work().succeeded == 1


def test_what_is_no_extractor_is_refused() -> None:
    for wrong in ("best", "model:", object()):
        with pytest.raises(longmind.InvalidInput):
            longmind.open("sqlite:///:memory:", extractor=wrong)  # type: ignore[arg-type]
