"""A context can be built once more as it was: what has come since changes not a byte of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.models.working_context import WorkingContext
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.working_context.conftest import Ada, of

OPTIONS: dict[str, Any] = {
    "recall_query": "What does Bob the baker sell in the market?",
    "always_on_category_names": ["identity"],
    "recall_limit": 4,
    "recent_turns": 3,
}
THINGS = ("bread", "the market", "Bob", "a baker", "soup", "Graz", "early mornings", "sells", "what Bob does")


def same(first: WorkingContext, again: WorkingContext) -> None:
    assert again.context_block == first.context_block
    assert again.messages == first.messages
    assert again.atoms_used == first.atoms_used
    assert again.tokens_estimated == first.tokens_estimated
    assert (again.sections, again.left_out, again.built_at) == (first.sections, first.left_out, first.built_at)


texts = st.lists(st.sampled_from(THINGS), min_size=1, max_size=6).map(" ".join)
changes = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "identity", "supersede", "archive", "turn", "answer again", "name"]), texts),
        st.tuples(st.just("summary"), st.just("")),
    ),
    min_size=1,
    max_size=8,
)


def change(ada: Ada, kind: str, text: str, number: int) -> None:
    memory, talk = ada.ctx.memory, ada.ctx.conversations
    ada.clock.advance(60)
    known = [atom for atom in memory.list_atoms(ada.space_id) if atom.superseded_by is None]
    if kind == "add":
        trust = ("user", "app", "assistant")[number % 3]
        speaker = "Bob" if number % 2 else None
        entity = memory.find_entity_by_name(ada.space_id, "PERSON", "Bob")
        ada.remember(text, trust=trust, speaker=speaker, entity_ids=[entity.id] if entity else [])
    elif kind == "identity":
        ada.remember(text, "identity", "PREFERENCE" if number % 2 else "FACT", importance=1 + number % 5)
    elif kind == "supersede" and known:
        new = {"text": text, "category": {"name": "general", "kind": "FACT"}}
        memory.supersede_atom(known[number % len(known)].id, new)
    elif kind == "archive" and known:
        memory.archive_atom(known[number % len(known)].id)
    elif kind == "turn":
        ada.say(text, f"About {text}.")
    elif kind == "answer again":
        talk.append_turn(
            ada.conversation_id,
            user_content="the same",
            assistant={"content": text},
            idempotency_key=f"key {number % 2}",
        )
    elif kind == "name":
        memory.create_entity(ada.space_id, "PERSON", ("Bob", "baker", "market")[number % 3])
    elif kind == "summary":
        ada.summarise()


@pytest.mark.patient
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=changes, after=changes, budget=st.sampled_from([60, 200, 400, 8000]))
def test_a_context_is_built_once_more_to_the_byte(
    engine: longmind.Engine,
    clock: SettableClock,
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    budget: int,
) -> None:
    ada = of(engine, clock)
    for number, (kind, text) in enumerate(before):
        change(ada, kind, text, number)
    first = ada.build(**OPTIONS, token_budget=budget)
    for number, (kind, text) in enumerate(after):
        change(ada, kind, text, number)
        same(first, ada.build(**OPTIONS, token_budget=budget, known_at=first.built_at))


@pytest.mark.parametrize("embedder", [None, WordsEmbedder()], ids=["no embedder", "words"])
def test_what_became_common_since_was_rare_then(sqlite_url: str, embedder: WordsEmbedder | None) -> None:
    """Bob is rare at first, and then a hundred facts speak of him: the order of that time is found again."""
    clock = SettableClock()
    with longmind.open(sqlite_url, embedder=embedder, clock=clock) as engine:
        ada = of(engine, clock)
        for number in range(4):
            ada.remember(f"market hall {number}")
        ada.remember("Bob sleeps")
        options: dict[str, Any] = {"recall_query": "Bob market", "recall_limit": 1}
        first = ada.build(**options)
        assert [atom.text for atom in first.atoms_used] == ["Bob sleeps"]
        for number in range(100):
            ada.remember(f"Bob eats {number}", speaker="Bob")
        ada.remember("Bob has a market")
        same(first, ada.build(**options, known_at=first.built_at))
        assert ada.build(**options).context_block != first.context_block


def test_what_was_deleted_before_weighs_as_little_then_as_now(engine: longmind.Engine, ada: Ada) -> None:
    """How rare a word is hangs on how many atoms there are; the last ones added were deleted before the asking."""
    for number in range(6):
        ada.remember(f"market {number} Bob")
    for atom in [ada.remember(f"soup {number}") for number in range(6)]:
        ada.ctx.memory.delete_atom(atom.id)
    ada.clock.advance(1)
    recall, at = ada.ctx.memory.recall_by_topic, ada.build().built_at
    now, then = (recall(ada.space_id, "Bob market 3", limit=20, known_at=when).hits for when in (None, at))
    assert len(now) == 6
    assert [(hit.atom.text, hit.score) for hit in then] == [(hit.atom.text, hit.score) for hit in now]


def test_a_fact_that_was_told_again_since_had_faded_by_then(engine: longmind.Engine, ada: Ada) -> None:
    ada.ctx.memory.create_binding({"namespace": "daily-checkin", "user_id": "ada"}, [ada.space_id])
    ada.say("I live in Graz.", "I see.")
    ada.ctx.conversations.close_conversation(ada.conversation_id)
    engine.work()
    ada.clock.advance(400 * 86_400)
    ada.remember("The market in Graz is where users live on Sundays")
    talking = ada.ctx.conversations.create_conversation("daily-checkin")

    def build(**more: Any) -> WorkingContext:
        return ada.ctx.working_context.build_working_context(
            talking.id, memory_space_id=ada.space_id, recall_query="Where does the user live?", **more
        )

    first = build()
    ada.clock.advance(60)
    ada.ctx.conversations.append_turn(
        talking.id, user_content="As I said, I live in Graz.", assistant={"content": "Yes."}
    )
    ada.ctx.conversations.close_conversation(talking.id)
    engine.work()
    assert any(atom.last_confirmed_at for atom in build().atoms_used), "it was told again"
    again = build(known_at=first.built_at)
    assert again.context_block == first.context_block
    assert not any(atom.last_confirmed_at for atom in again.atoms_used)


def test_the_context_of_a_time_before_anything_was_known_is_empty(ada: Ada) -> None:
    ada.clock.advance(60)
    ada.say("Hello", "Hi")
    ada.remember("Bob bakes", "identity")
    ada.summarise()
    built = ada.build(**OPTIONS, known_at="2026-03-01T09:30:00Z")
    assert (built.context_block, built.messages, built.atoms_used) == ("", [], [])
