"""The checker of the attacks on PostgreSQL catches what is planted: it would be worth nothing if it did not."""

from __future__ import annotations

import pytest

from prove.postgres_faults import recovery
from prove.postgres_faults.comparison import (
    CallerOperation,
    Ledger,
    Outcome,
    compare_counts,
    compare_effects,
    compare_follower,
    compare_orders,
    compare_subscriber,
)
from prove.postgres_faults.crews import FaultRun, Report
from prove.postgres_faults.faults import Fault


def there(*marks: str, **sequences: list[int]) -> Ledger:
    return Ledger({mark: marks.count(mark) for mark in marks}, sequences)


@pytest.mark.parametrize(("outcome", "found"), [("done", 1), ("refused", 0), ("unknown", 0), ("unknown", 1)])
def test_what_is_as_it_was_told_is_passed(outcome: Outcome, found: int) -> None:
    assert list(compare_effects([CallerOperation("bare", "#a#", outcome)], there(*["#a#"] * found))) == []


@pytest.mark.parametrize(
    ("outcome", "found", "said"),
    [
        ("done", 0, "lost"),
        ("done", 2, "2 times"),
        ("unknown", 2, "2 times"),
        ("refused", 1, "refused"),
        ("improper", 0, "ended with"),
    ],
)
def test_a_lost_a_doubled_and_a_denied_effect_are_found(outcome: Outcome, found: int, said: str) -> None:
    [complaint] = compare_effects([CallerOperation("bare", "#a#", outcome)], there(*["#a#"] * found))
    assert said in complaint


def test_what_was_repeated_with_its_key_may_have_been_done_by_an_earlier_attempt() -> None:
    repeated = CallerOperation("append", "#a#", "refused", attempts=3)
    assert list(compare_effects([repeated], there("#a#"))) == []
    assert len(list(compare_effects([repeated], there("#a#", "#a#")))) == 1


def test_what_nobody_asked_for_is_found() -> None:
    assert len(list(compare_effects([], there("#a#")))) == 1


@pytest.mark.parametrize("numbers", [[1, 3], [1, 2, 2], [2, 3]])
def test_a_gap_and_a_repeat_in_a_conversation_are_found(numbers: list[int]) -> None:
    assert list(compare_orders(there(one=[1, 2, 3]))) == []
    assert len(list(compare_orders(there(one=[1, 2, 3], other=numbers)))) == 1


@pytest.mark.parametrize(("found", "complaints"), [(1, 1), (2, 0), (3, 0), (4, 1)])
def test_a_counter_that_lost_or_gained_a_step_is_found(found: int, complaints: int) -> None:
    told = [CallerOperation("count", f"#{outcome}#", outcome) for outcome in ("done", "refused", "unknown")]
    told.append(CallerOperation("count", "#another#", "done"))
    assert len(list(compare_counts(told, "count", found))) == complaints


def test_an_answer_that_is_none_is_found_also_of_who_counts() -> None:
    told = [CallerOperation("count", "#one#", "done"), CallerOperation("count", "#two#", "improper", error="KeyError")]
    for found in (1, 2):
        assert list(compare_counts(told, "count", found)) == ["#two# ended with KeyError"]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([(1, "a"), (3, "c")], "missed"),
        ([(1, "a"), (2, "b"), (2, "b"), (3, "c")], "twice"),
        ([(2, "b"), (1, "a"), (3, "c")], "before another"),
        ([(1, "a"), (2, "x"), (3, "c")], "missed"),
    ],
)
def test_a_follower_that_misses_repeats_or_mixes_up_is_found(seen: list[tuple[int, str]], said: str) -> None:
    ledger = [(1, "a"), (2, "b"), (3, "c")]
    assert list(compare_follower(ledger, ledger)) == []
    assert any(said in complaint for complaint in compare_follower(seen, ledger))


@pytest.mark.parametrize(
    ("heard", "said"),
    [(["a"], "subscriber missed #turn:2#"), (["a", "b", "b"], "changes twice"), (["a", "b", "x"], "that do not exist")],
)
def test_a_subscriber_that_misses_repeats_or_hears_of_what_is_not_there_is_found(heard: list[str], said: str) -> None:
    ledger = [(1, "a"), (2, "b"), (3, "of somebody else")]
    events = {"#turn:1#": "a", "#turn:2#": "b", "#turn:3#": "of somebody else"}
    done = [CallerOperation("turn", "#turn:1#", "done"), CallerOperation("turn", "#turn:2#", "done")]
    unsure = CallerOperation("turn", "#turn:3#", "done", attempts=2)
    assert list(compare_subscriber([*done, unsure], ["a", "b"], ledger, events)) == []
    assert any(said in complaint for complaint in compare_subscriber(done, heard, ledger, events))


def test_a_fault_that_struck_nobody_shows_nothing() -> None:
    def struck(times: int) -> FaultRun:
        return FaultRun(Fault("a planted fault", lambda world: times), 1.0, 2.0, 0.5, times)

    ready = Report(readiness=[(2.5, 200)])
    assert recovery(struck(3), ready).passed
    assert recovery(struck(3), ready).figures["struck"] == 3
    assert "it struck nobody" in recovery(struck(0), ready).detail
    assert not recovery(struck(0), ready).passed
