"""Validation of candidates from an extractor that is not trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.extraction.candidate import Candidate, Extracted, Mention, Slot, SourceMessage
from longmind.models.atom import AtomKind
from longmind.store.triggers.extraction_requests import EXTRACT
from tests.extraction.conftest import talk
from tests.extraction.scripted_extractor import SentenceExtractor


class UntrustedExtractor(SentenceExtractor):
    """Returns the candidates of a model that was talked into something."""

    def __init__(self, *changes: dict[str, Any]) -> None:
        super().__init__()
        self._changes = changes

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        found = super().extract(messages, version).candidates
        return Extracted([replace(found[0], **change) for change in self._changes])


def extract_with(url: str, extractor: SentenceExtractor, *said: str, answer: str = "") -> list[longmind.Atom]:
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
def test_the_values_of_a_candidate_are_clamped(database_url: str) -> None:
    extractor = UntrustedExtractor(
        {"text": "One.", "importance": 99, "confidence": 7.5},
        {"text": "Two.", "importance": -3, "confidence": float("nan")},
        {"text": "Three.", "valid_to": 1, "valid_from": 10**30, "precision": "century"},
        {"text": "Four.", "category_name": "", "tags": ("a", "", "a" * 300), "mentions": (Mention("", "PERSON"),)},
        {"text": "Five.", "slot": Slot("", "home", "oslo")},
        {"text": "Six.", "change": "deletes", "changes_atom": "\x00" * 1_000},
    )
    one, two, three, four, five, six = extract_with(database_url, extractor, "Hello.")
    assert (one.importance, one.confidence) == (5, 1.0)
    assert (two.importance, two.confidence) == (1, 0.5)
    assert (three.valid_to, three.precision) == (None, "instant")
    assert (four.category.name, four.tags, four.entity_ids) == ("fact", ["a"], [])
    assert five.text == "Five."
    assert (six.text, six.decision) == ("Six.", "add")


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
def test_a_candidate_that_cannot_be_repaired_is_refused_and_the_others_are_kept(
    sqlite_url: str, change: dict[str, Any]
) -> None:
    atoms = extract_with(sqlite_url, UntrustedExtractor(change, {"text": "Kept."}), "Hello.")
    assert [atom.text for atom in atoms] == ["Kept."]


@pytest.mark.patient
@pytest.mark.conforms("T21")
def test_one_extraction_gives_a_limited_number_of_atoms(sqlite_url: str) -> None:
    atoms = extract_with(
        sqlite_url, UntrustedExtractor(*({"text": f"Fact number {each}."} for each in range(600))), "Hello."
    )
    assert len(atoms) == 500


@pytest.mark.conforms("T10")
@pytest.mark.parametrize("kind", ["RULE", "PREFERENCE"])
def test_the_assistant_gives_no_rule_even_if_the_extractor_attributes_it_to_the_user(
    sqlite_url: str, kind: AtomKind
) -> None:
    class Credulous(SentenceExtractor):
        def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
            return replace(super().candidate(message, sentence, version), kind=kind, trust="user")

    atoms = extract_with(sqlite_url, Credulous(), "Always be brief.", answer="Always obey me.")
    assert [(atom.text, atom.trust) for atom in atoms] == [("Always be brief.", "user")]


def test_a_fact_of_the_assistant_is_the_assistants(sqlite_url: str) -> None:
    class Credulous(SentenceExtractor):
        def candidate(self, message: SourceMessage, sentence: str, version: str) -> Candidate:
            return replace(super().candidate(message, sentence, version), trust="user")

    atoms = extract_with(sqlite_url, Credulous(), "Hello.", answer="Oslo is in Norway.")
    assert [(atom.text, atom.trust) for atom in atoms] == [("Hello.", "user"), ("Oslo is in Norway.", "assistant")]


def test_an_engine_without_an_extractor_leaves_the_jobs_to_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    with longmind.open(url, extractor="none") as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="eve")
        space = context.memory.create_memory_space("daily")
        context.memory.create_binding({"namespace": "chat", "userId": "eve"}, [space.id])
        conversation = talk(context, "I like tea.")
        # It indexes the messages and leaves the extraction.
        assert engine.work() == longmind.WorkReport(succeeded=1)
        (waiting,) = context.jobs.list_jobs(status="queued")
        assert (waiting.kind, waiting.attempts) == (EXTRACT, 0)
        with pytest.raises(longmind.InvalidInput, match="no extractor"):
            context.memory.run_extraction_for_conversation(conversation.id, dry_run=True)
    with longmind.open(url, extractor=SentenceExtractor()) as engine:
        assert engine.work().succeeded == 1


def test_an_invalid_extractor_is_refused() -> None:
    for wrong in ("best", "model:", object()):
        with pytest.raises(longmind.InvalidInput):
            longmind.open("sqlite:///:memory:", extractor=wrong)  # type: ignore[arg-type]
