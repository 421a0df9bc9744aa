"""Detection of patterns among events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longmind.clock import to_micros
from longmind.extraction.candidate import Candidate
from longmind.extraction.patterns.detection import Pattern, decide_pattern, find_patterns
from longmind.extraction.reconcile.decisions import Add, KnownAtom, Skip, Supersede
from longmind.models.atom import Atom


def event(number: int, text: str, at: str, **fields: Any) -> Atom:
    given = {"category_name": "event", "kind": "EPISODE", "trust": "user", "source_message_ids": (f"msg_{number}",)}
    return KnownAtom.from_candidate(Candidate(text=text, **(given | fields)), f"atom_{number}", to_micros(at)).atom


def remembered(pattern: Pattern, atom_id: str = "atom_pattern") -> KnownAtom:
    return KnownAtom.from_candidate(pattern.candidate, atom_id, pattern.valid_from)


CANCELLED = [
    event(1, "User cancelled the Tuesday meeting.", "2023-03-07T09:00:00Z"),
    event(2, "User cancelled the Tuesday meeting again because of a cold.", "2023-03-14T09:00:00Z"),
    event(3, "User had to cancel the Tuesday meeting (21 March 2023).", "2023-03-21T09:00:00Z"),
]


@pytest.mark.conforms("A3.8")
def test_an_event_on_three_days_is_a_pattern_with_evidence() -> None:
    (pattern,) = find_patterns(CANCELLED)
    assert pattern.text == (
        "User repeatedly cancelled the Tuesday meeting "
        "(3 times between 7 March and 21 March 2023, mostly on Tuesdays, about every 7 days)"
    )
    assert pattern.episode_ids == ("atom_1", "atom_2", "atom_3")
    assert pattern.source_message_ids == ("msg_1", "msg_2", "msg_3")
    assert (pattern.candidate.kind, pattern.candidate.category_name) == ("PATTERN", "pattern")


def test_a_pattern_reads_like_the_events_that_it_is_found_in() -> None:
    texts = ("The user went running.", "User's dog went running.")
    days = range(1, 4)
    told = [
        find_patterns([event(day, text, f"2023-03-0{day}") for day in days])[0].text.partition(" (")[0]
        for text in texts
    ]
    assert told == ["The user repeatedly went running", "Repeatedly: User's dog went running"]


def test_two_times_or_one_day_are_no_pattern() -> None:
    assert find_patterns(CANCELLED[:2]) == []
    assert (
        find_patterns([event(number, "User cancelled the Tuesday meeting.", "2023-03-07") for number in range(5)]) == []
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("User cancelled the Tuesday meeting.", "User cancelled the Friday meeting.", "User cancelled the flight."),
        ("User met Anna.", "User met Ben.", "User met Carla."),
        ("User cancelled the meeting.", "Anna cancelled the meeting.", "User didn't cancel the meeting."),
        ("User asks: Is it late?", "User asks: Is it late?", "User asks: Is it late?"),
        ("User might cancel the meeting.", "User will cancel the meeting.", "User wants to cancel the meeting."),
    ],
)
def test_different_events_questions_and_plans_are_no_pattern(texts: tuple[str, ...]) -> None:
    assert find_patterns([event(day, text, f"2023-03-0{day}") for day, text in enumerate(texts, start=1)]) == []


def test_the_day_of_an_event_does_not_matter() -> None:
    texts = ("User went running on Monday.", "User went running yesterday.", "User went running this morning.")
    (pattern,) = find_patterns([event(day, text, f"2023-03-0{day * 3}") for day, text in enumerate(texts, start=1)])
    assert pattern.text == "User repeatedly went running (3 times between 3 March and 9 March 2023, about every 3 days)"


def test_archived_and_superseded_events_are_no_evidence() -> None:
    archived = CANCELLED[0].model_copy(update={"status": "ARCHIVED"})
    stated = event(3, "User cancelled the Tuesday meeting.", "2023-03-21", kind="FACT")
    assert find_patterns([archived, *CANCELLED[1:]]) == []
    assert find_patterns([*CANCELLED[:2], stated]) == []


def test_events_of_the_assistant_and_of_the_user_are_not_mixed() -> None:
    told = event(3, "User cancelled the Tuesday meeting.", "2023-03-21", trust="assistant")
    assert find_patterns([*CANCELLED[:2], told]) == []


def test_a_known_pattern_is_skipped_until_new_events_supersede_it() -> None:
    (first,) = find_patterns(CANCELLED)
    assert isinstance(decide_pattern(first, []), Add)
    assert decide_pattern(first, [remembered(first)]).atom_id == "atom_pattern"
    assert isinstance(decide_pattern(first, [remembered(first)]), Skip)
    (second,) = find_patterns([*CANCELLED, event(4, "User cancelled the Tuesday meeting.", "2023-03-28T09:00:00Z")])
    assert second.slot == first.slot
    decision = decide_pattern(second, [remembered(first)])
    assert isinstance(decision, Supersede)
    assert (decision.atom_id, decision.closes_at) == ("atom_pattern", second.valid_from)


def test_a_pattern_is_known_by_its_evidence_after_its_first_event_was_deleted() -> None:
    later = [event(day, "User cancelled the weekly Tuesday meeting.", f"2023-04-{day}") for day in (11, 18, 25)]
    (before,) = find_patterns([*CANCELLED, *later])
    (after,) = find_patterns([*CANCELLED[1:], *later])
    assert isinstance(decide_pattern(after, [remembered(before)]), Skip)


@given(st.permutations([*CANCELLED, event(9, "User bought a kayak.", "2023-03-09")]))
def test_the_order_of_the_events_does_not_matter(events: list[Atom]) -> None:
    assert find_patterns(events) == find_patterns(CANCELLED)


@given(st.lists(st.tuples(st.text(max_size=40), st.integers(-(10**15), 10**15)), max_size=8))
def test_any_text_can_be_read(told: list[tuple[str, int]]) -> None:
    atoms = [
        KnownAtom.from_candidate(
            Candidate(text, "event", "EPISODE", "user", (f"msg_{place}",)), f"atom_{place}", at
        ).atom
        for place, (text, at) in enumerate(told)
    ]
    assert all(len(pattern.episode_ids) >= 3 for pattern in find_patterns(atoms))
