"""What was exported is quoted where it was imported as it was before, and what was forgotten is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.clock import to_iso
from tests.clock import SettableClock
from tests.passages.person import BY_WORDS, QUESTIONS, FamiliarEmbedder, Person, meet

FORGOTTEN = "The forgotten automobile crashed"
REPLACED, ANSWERED = "Which automobile do you mean?", "Your automobile crashed because of ice"
ASKED = "Why has my automobile crashed"
SAID = "The blue automobile crashed"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def embedder() -> FamiliarEmbedder:
    return FamiliarEmbedder()


@pytest.fixture
def engine(database_url: str, embedder: FamiliarEmbedder, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder=embedder, clock=clock) as engine:
        yield engine


@pytest.fixture
def elsewhere(tmp_path: Path, clock: SettableClock) -> Iterator[longmind.Engine]:
    """Another database."""
    with longmind.open(f"sqlite:///{tmp_path}/other.db", embedder=FamiliarEmbedder(), clock=clock) as engine:
        yield engine


@pytest.fixture
def ada(engine: longmind.Engine, clock: SettableClock) -> Person:
    """A user with quotes, one of which was forgotten, one replaced, one hidden, and some not bound."""
    ada = meet(engine)
    ada.bind()
    conversation_id = ada.talk()
    ada.say(SAID, conversation_id)
    ada.forget(ada.say(FORGOTTEN, conversation_id))
    ada.say("The hidden automobile crashed", conversation_id, visibility="hidden")
    ada.say("The automobile in the diary crashed", ada.talk("diary"))
    for text in (REPLACED, ANSWERED):
        clock.advance(60)
        ada.ctx.conversations.append_turn(
            conversation_id, user_content=ASKED, assistant={"content": text}, idempotency_key="key"
        )
    engine.work()
    clock.advance(60)
    return ada


def export(person: Person) -> Any:
    return json.loads(json.dumps(person.ctx.admin.export_user_data()))


def what_is_quoted(person: Person, clock: SettableClock, questions: tuple[str, ...] = QUESTIONS) -> list[Any]:
    """The quotes of some questions with their times and scores, now and as of a time before."""
    before = to_iso(clock.now - 90 * 1_000_000)
    return [
        [
            (passage.text, passage.said_at, passage.conversation_id, passage.score)
            for passage in person.ctx.memory.recall_by_topic(person.space_id, question, known_at=known_at).passages
        ]
        for question in questions
        for known_at in (None, before)
    ]


@pytest.mark.conforms("A9.1")
def test_what_was_imported_for_another_user_in_another_database_is_quoted_there(
    ada: Person, elsewhere: longmind.Engine, clock: SettableClock
) -> None:
    expected = what_is_quoted(ada, clock)
    assert sorted(text for text, *_ in expected[0]) == sorted([SAID, ASKED, ANSWERED])
    assert REPLACED in [text for text, *_ in expected[1]]
    document = export(ada)
    eve = elsewhere.context(tenant_id="globex", app_id="sales", user_id="eve", capabilities={"admin"})
    eve.admin.import_user_data(document)
    there = Person(eve, ada.space_id)
    # By words at once, and by meaning after a job.
    assert sorted(there.quotes(BY_WORDS)) == sorted(ada.quotes(BY_WORDS))
    elsewhere.work()
    assert what_is_quoted(there, clock) == expected
    for question in QUESTIONS:
        shown = there.recalled(question)
        assert not [word for word in ("forgotten", "hidden", "diary") if f"{word} automobile" in shown]
        assert FORGOTTEN not in there.quotes(question)
    # It can be gone on with: messages are quoted, forgotten and bound as before.
    secret = there.say("The new automobile crashed")
    assert "The new automobile crashed" in there.quotes(BY_WORDS)
    there.forget(secret)
    assert "The new automobile crashed" not in there.quotes(BY_WORDS)
    there.bind("diary")
    assert "The automobile in the diary crashed" in there.quotes(BY_WORDS)


@pytest.mark.conforms("A9.1", "A9.2")
def test_what_was_erased_and_imported_again_is_quoted_by_caches_too_that_knew_it_before(
    ada: Person, engine: longmind.Engine, database_url: str, clock: SettableClock
) -> None:
    expected = what_is_quoted(ada, clock)
    document = export(ada)
    with longmind.open(database_url, embedder=FamiliarEmbedder(), clock=clock) as other:
        there = Person(other.context(tenant_id="acme", app_id="support", user_id="ada"), ada.space_id)
        assert what_is_quoted(there, clock) == expected
        ada.ctx.admin.delete_user_data(confirm=True)
        # Others take places of the ledger meanwhile.
        bob = meet(engine, "bob")
        for number in range(7):
            bob.say(f"Automobile {number}")
        root = engine.context(tenant_id="acme", app_id="support", user_id="root", capabilities={"admin"})
        root.admin.import_user_data(document, "ada")
        # The first recall finds out that there are no vectors, and has a job make them.
        assert sorted(there.quotes(BY_WORDS)) == sorted({text for text, *_ in expected[0]})
        engine.work()
        for person in (ada, there):
            assert what_is_quoted(person, clock) == expected
