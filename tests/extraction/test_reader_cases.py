"""Hand-written conversations, each with what the local reader should remember of it and what it must not.

What must never be remembered holds in every single case. The rest is read by a trained network, which is not always
right: of each theme, a share of the cases has to pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import longmind
from longmind.models.atom import Atom
from tests.recall.test_local_model import models_folder

__all__ = ["models_folder"]

FOLDER = Path(__file__).parent.parent / "reader_cases"
NAMESPACE = "chat"
STARTED = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""The time of a first conversation that names none, a Monday."""
FLOORS = {
    "changes": 0.65,
    "harm": 0.75,
    "nothing": 0.85,
    "people": 0.85,
    "projects": 0.85,
    "questions_and_answers": 0.75,
    "rules": 0.8,
    "slots": 0.85,
}
"""The share of the cases of each theme that has to pass: what was reached, rounded down to a twentieth."""


@dataclass(frozen=True)
class Case:
    """A conversation, or several, with what is expected of its memory."""

    theme: str
    id: str
    messages: tuple[Mapping[str, Any], ...]
    wanted: Mapping[str, Any]


class Clock:
    """A clock that follows the times of the conversations."""

    def __init__(self) -> None:
        self.now = STARTED

    def __call__(self) -> int:
        return round(self.now.timestamp()) * 1_000_000


@cache
def read_cases() -> tuple[Case, ...]:
    return tuple(
        Case(path.stem, each["id"], tuple(each["messages"]), each)
        for path in sorted(FOLDER.glob("*.yaml"))
        for each in yaml.safe_load(path.read_text("utf-8"))
    )


@pytest.fixture(scope="module")
def remembered(models_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Atom]]]:
    """What one engine remembers of each case, by its id; each case has a user of its own."""
    clock = Clock()
    url = f"sqlite:///{tmp_path_factory.mktemp('reader')}/memory.db"
    with longmind.open(
        url, embedder="local:arctic-s", extractor="local", models_folder=str(models_folder), clock=clock
    ) as engine:
        yield {case.id: remember(engine, clock, case) for case in read_cases()}


def remember(engine: longmind.Engine, clock: Clock, case: Case) -> list[Atom]:
    """Let a user of their own say what a case says, and return all of their atoms."""
    context = engine.context(tenant_id="cases", app_id="reader", user_id=case.id)
    clock.now = STARTED - timedelta(days=1)
    space = context.memory.create_memory_space("memory")
    context.memory.create_binding({"namespace": NAMESPACE, "userId": case.id}, [space.id])
    clock.now = STARTED
    conversation = None
    for message in case.messages:
        if "conversation" in message:
            _close(engine, context, conversation)
            clock.now, conversation = _parse_time(message["conversation"]), None
            continue
        if conversation is None:
            conversation = context.conversations.create_conversation(NAMESPACE)
        if "user" in message:
            context.conversations.append_user_message(conversation.id, message["user"])
        else:
            context.conversations.append_assistant_turn(conversation.id, message["assistant"])
        clock.now += timedelta(minutes=1)
    _close(engine, context, conversation)
    clock.now += timedelta(days=1)
    return list(context.memory.list_atoms(space.id, limit=200))


def _close(engine: longmind.Engine, context: longmind.Context, conversation: longmind.Conversation | None) -> None:
    if conversation is not None:
        context.conversations.close_conversation(conversation.id)
        engine.work()


def _parse_time(value: str | datetime) -> datetime:
    parsed = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def find_faults(case: Case, atoms: list[Atom]) -> list[str]:
    """Return what a memory lacks, or has too much; nothing if the case passes."""
    wanted = case.wanted
    faults = [f"lacks {each}" for each in wanted.get("expect", ()) if not any(fits(atom, each) for atom in atoms)]
    if wanted.get("nothing") and atoms:
        faults.append(f"remembers {[atom.text for atom in atoms]}")
    for each in wanted.get("ended", ()):
        if not any(fits(atom, each) and has_ended(atom) for atom in atoms):
            faults.append(f"has not ended {each}")
    for each in wanted.get("kept", ()):
        if not any(fits(atom, each) and not has_ended(atom) for atom in atoms):
            faults.append(f"has not kept {each}")
    return faults


def find_harm(case: Case, atoms: list[Atom]) -> list[str]:
    """Return what must never be in a memory: false statements, and rules that nobody gave."""
    texts = [atom.text.lower() for atom in atoms]
    harm = [each for each in case.wanted.get("never", ()) if any(each.lower() in text for text in texts)]
    if case.wanted.get("no_rule"):
        harm += [atom.text for atom in atoms if atom.category.kind == "RULE"]
    return harm


def fits(atom: Atom, wanted: Mapping[str, Any]) -> bool:
    """Return whether an atom says all the words that a case asks for, with the kind and the importance.

    The attribute of a case is not shown by an atom.
    """
    text = atom.text.lower()
    return (
        all(str(word).lower() in text for word in wanted["says"])
        and atom.category.kind == wanted.get("kind", atom.category.kind)
        and atom.importance >= wanted.get("importance", 1)
    )


def has_ended(atom: Atom) -> bool:
    return atom.superseded_by is not None or atom.valid_to is not None


def test_every_case_has_an_id_of_its_own() -> None:
    ids = [case.id for case in read_cases()]
    assert len(ids) == len(set(ids))
    assert set(FLOORS) == {case.theme for case in read_cases()}


@pytest.mark.patient
@pytest.mark.parametrize("theme", FLOORS)
def test_nothing_false_is_remembered(theme: str, remembered: dict[str, list[Atom]]) -> None:
    harm = {case.id: find_harm(case, remembered[case.id]) for case in read_cases() if case.theme == theme}
    assert {name: each for name, each in harm.items() if each} == {}


@pytest.mark.patient
@pytest.mark.parametrize("theme", FLOORS)
def test_most_cases_of_a_theme_pass(theme: str, remembered: dict[str, list[Atom]]) -> None:
    faults = {case.id: find_faults(case, remembered[case.id]) for case in read_cases() if case.theme == theme}
    failed = {name: each for name, each in faults.items() if each}
    share = 1 - len(failed) / len(faults)
    print(f"{theme}: {share:.3f}", *(f"{name}: {'; '.join(each)}" for name, each in failed.items()), sep="\n  ")
    assert share >= FLOORS[theme]
