"""Consolidation decides which facts say the same and which plans are over, without losing what supports a fact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longmind.clock import to_iso, to_micros
from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.consolidation.endings import find_end
from longmind.extraction.consolidation.job import ConsolidationPlan, list_steps, make_plan
from longmind.extraction.consolidation.merges import ComparableFact, plan_merges
from longmind.extraction.reconcile.decisions import KnownAtom
from longmind.extraction.source_trust import rank_trust
from longmind.store.tables.atom_changes import AtomEnding, AtomMerge, AtomReinforcement

SAID = to_micros("2026-03-01T09:00:00Z")
NOW = to_micros("2026-06-01T09:00:00Z")


def make_fact(
    number: int,
    text: str,
    *,
    kind: str = "FACT",
    trust: str = "user",
    slot: Slot | None = None,
    speaker: str | None = "user",
    vector: list[float] | None = None,
    category: str = "general",
    **fields: Any,
) -> ComparableFact:
    candidate = Candidate(text, category, kind, trust, (f"msg_{number}",))  # type: ignore[arg-type]
    atom = KnownAtom.from_candidate(candidate, f"atom_{number:03}", SAID + number).atom.model_copy(update=fields)
    return ComparableFact(atom, slot, speaker, None if vector is None else np.array(vector, np.float32))


def merged(*facts: ComparableFact) -> list[tuple[str, str]]:
    """Return the texts of each fact that stays and of the one that it replaces."""
    return [(each.survivor.atom.text, each.replaced.atom.text) for each in plan_merges(facts, NOW)]


HOME = Slot("user", "home", "graz")


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        (make_fact(1, "User likes tea."), make_fact(2, "user likes  TEA")),
        (make_fact(1, "User lives in Graz.", slot=HOME), make_fact(2, "User is based in Graz.", slot=HOME)),
        (
            make_fact(2, "User is allergic to peanuts, soy, eggs, milk and wheat."),
            make_fact(1, "User is allergic to peanuts, soy, eggs and wheat."),
        ),
        (make_fact(2, "User likes tea.", trust="user"), make_fact(1, "User likes tea.", trust="assistant")),
        (make_fact(2, "User likes tea.", importance=5), make_fact(1, "User likes tea.", importance=3)),
        (make_fact(1, "User likes tea.", vector=[1, 0]), make_fact(2, "User likes tea!", vector=[1, 0.1])),
    ],
)
def test_what_says_the_same_is_merged_into_the_best(stays: ComparableFact, goes: ComparableFact) -> None:
    expected = [(stays.atom.text, goes.atom.text)]
    assert merged(stays, goes) == merged(goes, stays) == expected


BUSY = "User teaches yoga to children, parents and teachers in"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (make_fact(1, "User likes tea."), make_fact(2, "User likes coffee.")),
        (make_fact(1, "User likes tea."), make_fact(2, "User does not like tea.")),
        (make_fact(1, "User likes tea, not coffee."), make_fact(2, "User likes coffee, not tea.")),
        (make_fact(1, f"{BUSY} Graz."), make_fact(2, f"{BUSY} Linz.")),
        (make_fact(1, "User runs 10 km."), make_fact(2, "User runs 12 km.")),
        (make_fact(1, "User worked at Acme."), make_fact(2, "User works at Acme.")),
        (make_fact(1, "User likes tea."), make_fact(2, "User likes tea.", speaker="bob")),
        (make_fact(1, "User likes tea."), make_fact(2, "User likes tea.", kind="PREFERENCE")),
        (make_fact(1, "User likes tea."), make_fact(2, "User likes tea.", category="taste")),
        (make_fact(1, "User likes tea."), make_fact(2, "User likes tea.", tags=["work"])),
        (make_fact(1, "User likes tea."), make_fact(2, "User likes tea.", valid_to=to_iso(NOW + 1))),
        (make_fact(1, "User ran.", kind="EPISODE"), make_fact(2, "User ran.", kind="EPISODE")),
        (make_fact(1, "User likes tea.", status="ARCHIVED"), make_fact(2, "User likes tea.")),
        (make_fact(1, "User likes tea.", superseded_by="atom_9"), make_fact(2, "User likes tea.")),
        (make_fact(1, "User likes tea.", valid_from=to_iso(NOW + 1)), make_fact(2, "User likes tea.")),
        (make_fact(1, "User likes tea.", kind="PATTERN"), make_fact(2, "User likes tea.", kind="PATTERN")),
        (make_fact(1, "User likes tea.", trust="tool"), make_fact(2, "User likes tea.", trust="assistant")),
        (
            make_fact(1, "User bakes bread, rolls, cakes and pies.", vector=[1, 0]),
            make_fact(2, "User bakes bread, rolls, cakes, pies and pizza.", vector=[1, 1]),
        ),
        (
            make_fact(1, "User lives in Graz.", slot=HOME),
            make_fact(2, "User was born and raised in Graz.", slot=HOME),
        ),
    ],
)
def test_what_may_be_another_fact_stays(one: ComparableFact, other: ComparableFact) -> None:
    assert merged(one, other) == merged(other, one) == []


def test_a_user_is_not_replaced_by_an_assistant_that_says_more() -> None:
    short = make_fact(1, "User likes green tea, cakes and pies.", trust="user")
    long = make_fact(2, "User likes sweet green tea, cakes and pies.", trust="assistant")
    assert merged(short, long) == []


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("User stays in Rome until 12 March 2026.", "2026-03-13T00:00:00.000000Z"),
        ("User has a dentist appointment on 12 March 2026.", None),
        ("User has a dentist appointment on 2026-03-12 at 15:00.", None),
        ("User's report is due by 12 March 2026.", "2026-03-13T00:00:00.000000Z"),
        ("User has a dentist appointment on 12 March.", None),
        ("User has a dentist appointment on 12 August 2026.", None),
        ("User has appointments on 12 March 2026 and on 14 March 2026.", None),
        ("User will be vegan from 12 March 2026.", None),
        ("User wants to repeat the exam of 12 January 2026.", None),
        ("User meets Bob every Monday since 12 March 2026.", None),
        ("User plans a trip from 12 to 15 March 2026.", None),
        ("User plans to move in 2026.", None),
    ],
)
def test_a_plan_ends_with_the_one_day_that_its_text_names(text: str, end: str | None) -> None:
    found = find_end(make_fact(1, text, kind="INTENTION").atom, None, NOW)
    assert (None if found is None else to_micros(to_iso(found))) == (None if end is None else to_micros(end))


def test_a_fact_does_not_end_with_a_day_unless_its_slot_is_a_deadline() -> None:
    atom = make_fact(1, "User's report is due by 12 March 2026.").atom
    assert find_end(atom, None, NOW) is None
    assert find_end(atom, Slot("user", "deadline", "12 march 2026"), NOW) is not None
    # The day is not over everywhere.
    assert find_end(atom, Slot("user", "appointment", "12 march 2026"), to_micros("2026-03-13T06:00:00Z")) is None


words = st.sampled_from("likes like tea coffee not Graz Linz 3 4 cakes pies bread in on and old".split())
facts = st.builds(
    lambda number, rest, kind, trust, importance, speaker, ending, status: make_fact(
        number,
        f"User {' '.join(rest)}{ending}",
        kind=kind,
        trust=trust,
        speaker=speaker,
        importance=importance,
        status=status,
    ),
    st.integers(0, 500),
    st.lists(words, min_size=1, max_size=7),
    st.sampled_from(["FACT", "FACT", "FACT", "RULE", "INTENTION", "EPISODE"]),
    st.sampled_from(["user", "app", "assistant", "tool"]),
    st.integers(1, 5),
    st.sampled_from(["user", "user", None, "bob"]),
    st.sampled_from([".", "!", " on 12 March 2026."]),
    st.sampled_from(["ACTIVE", "ACTIVE", "ACTIVE", "ARCHIVED"]),
)
many_facts = st.lists(facts, max_size=25, unique_by=lambda fact: fact.atom.id)
thoroughly = settings(max_examples=200, deadline=None)


def carry_out(plan: ConsolidationPlan, before: list[ComparableFact]) -> list[ComparableFact]:
    """Do what the store does with the steps of a plan."""
    atoms = {fact.atom.id: fact.atom for fact in before}
    for step in list_steps(plan):
        change: dict[str, Any]
        match step:
            case AtomEnding():
                change = {"valid_to": to_iso(step.closes_at)}
            case AtomMerge():
                change = {"superseded_by": step.survivor_id, "valid_to": atoms[step.survivor_id].valid_from}
            case AtomReinforcement():
                change = {
                    "source_message_ids": list(step.source_message_ids),
                    "importance": step.importance,
                    "confidence": step.confidence,
                    "trust": step.trust,
                }
            case _:
                raise AssertionError(step)
        atoms[step.atom_id] = atoms[step.atom_id].model_copy(update=change)
    return [ComparableFact(atoms[fact.atom.id], fact.slot, fact.speaker, fact.vector) for fact in before]


def list_cited(some: list[ComparableFact]) -> set[str]:
    """Return the messages that an active fact cites."""
    return {
        message
        for fact in some
        if fact.atom.status == "ACTIVE" and fact.atom.superseded_by is None
        for message in fact.atom.source_message_ids
    }


@thoroughly
@given(many_facts)
def test_no_message_loses_the_last_fact_that_cites_it(before: list[ComparableFact]) -> None:
    plan = make_plan(1, before, NOW)
    after = carry_out(plan, before)
    assert list_cited(after) == list_cited(before)
    now = {fact.atom.id: fact.atom for fact in after}
    for fact in before:
        newer = now[fact.atom.id].superseded_by
        if newer is not None:
            # A survivor stays itself, cites what it replaces, and is trusted as much.
            assert now[newer].superseded_by is None
            assert set(fact.atom.source_message_ids) <= set(now[newer].source_message_ids)
            assert rank_trust(now[newer].trust) >= rank_trust(fact.atom.trust)


@thoroughly
@given(many_facts)
def test_consolidating_again_changes_nothing(before: list[ComparableFact]) -> None:
    again = make_plan(2, carry_out(make_plan(1, before, NOW), before), NOW)
    assert (list(again.merges), list(again.endings)) == ([], [])


@thoroughly
@given(many_facts, st.randoms(use_true_random=False))
def test_the_order_of_the_facts_does_not_matter(before: list[ComparableFact], random: Any) -> None:
    steps = list_steps(make_plan(1, before, NOW))
    random.shuffle(before)
    assert list_steps(make_plan(1, before, NOW)) == steps
