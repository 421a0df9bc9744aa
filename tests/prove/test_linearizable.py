"""The checker itself: it finds an order where there is one, and none where there is none."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prove.concurrency.counterexample import explain_smallest, find_smallest
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible, Undecided, is_linearizable
from tests.prove.histories import done, lost


class RegisterModel:
    """A number that is read, written and swapped for who knows it."""

    initial = 0
    reads = frozenset({"read"})

    def step(self, state: int, operation: Operation) -> int | Impossible:
        if operation.name == "read":
            return state if operation.answer == state else IMPOSSIBLE
        if operation.name == "write":
            new: int = operation.given
            return new
        old, new = operation.given
        if not operation.known:
            return new if state == old else IMPOSSIBLE
        return (new if operation.answer else state) if operation.answer == (state == old) else IMPOSSIBLE


MODEL = RegisterModel()


def by_trying_every_order(operations: list[Operation]) -> bool:
    """What linearizable means, word for word: some order of the known and of any of the unknown operations."""
    known = [operation for operation in operations if operation.known]
    unknown = [operation for operation in operations if not operation.known]
    chosen = (list(some) for size in range(len(unknown) + 1) for some in combinations(unknown, size))
    return any(_explains(order) for some in chosen for order in permutations([*known, *some]))


def _explains(order: tuple[Operation, ...]) -> bool:
    state: Any = MODEL.initial
    for place, operation in enumerate(order):
        if any(later.returned is not None and later.returned < operation.called for later in order[place + 1 :]):
            return False
        state = MODEL.step(state, operation)
        if isinstance(state, Impossible):
            return False
    return True


@st.composite
def played(draw: st.DrawFn, most: int) -> list[Operation]:
    """A history of a real register: each operation takes effect at an instant between its call and its return."""
    state, operations = 0, []
    for place in range(draw(st.integers(0, most))):
        at = 100 * (place + 1)
        name = draw(st.sampled_from(["read", "write", "swap"]))
        wanted: Any = None
        if name == "write":
            wanted = draw(st.integers(0, 3))
        if name == "swap":
            wanted = (draw(st.integers(0, 3)), draw(st.integers(0, 3)))
        answer: Any = {"read": state, "write": None, "swap": name == "swap" and wanted[0] == state}[name]
        if name == "write":
            state = wanted
        if name == "swap" and answer:
            state = wanted[1]
        called, returned = at - draw(st.integers(1, 350)), at + draw(st.integers(1, 350))
        operation = done(f"c{place}", name, wanted, answer, called, returned)
        operations.append(operation.forget_answer() if draw(st.integers(0, 4)) == 0 else operation)
    return operations


@given(played(most=40))
@settings(max_examples=80, deadline=None)
def test_what_a_register_did_is_always_explained(operations: list[Operation]) -> None:
    assert is_linearizable(MODEL, operations)


@given(played(most=5), st.data())
@settings(max_examples=150, deadline=None)
def test_the_search_says_the_same_as_trying_every_order(operations: list[Operation], data: st.DataObject) -> None:
    if operations:
        place = data.draw(st.integers(0, len(operations) - 1))
        operations[place] = _spoiled(operations[place], data)

    assert is_linearizable(MODEL, operations) == by_trying_every_order(operations)


def _spoiled(operation: Operation, data: st.DataObject) -> Operation:
    """Another answer than there was, or another time."""
    if not operation.known:
        return replace(operation, called=operation.called + data.draw(st.integers(0, 400)))
    match operation.name:
        case "read":
            return replace(operation, answer=data.draw(st.integers(0, 3)))
        case "swap":
            return replace(operation, answer=not operation.answer)
    later = data.draw(st.integers(0, 400))
    return replace(operation, called=operation.called + later, returned=(operation.returned or 0) + later)


@given(played(most=8), st.data())
@settings(max_examples=80, deadline=None)
def test_the_smallest_part_is_itself_impossible(operations: list[Operation], data: st.DataObject) -> None:
    if not operations:
        return
    place = data.draw(st.integers(0, len(operations) - 1))
    operations[place] = _spoiled(operations[place], data)
    if is_linearizable(MODEL, operations):
        return

    part = find_smallest(MODEL, operations)

    assert not is_linearizable(MODEL, part)
    assert len(part) <= len(operations)


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param(
            [
                done("a", "swap", (0, 1), True, 0, 10),
                done("b", "swap", (0, 2), True, 5, 15),
            ],
            id="a lost update",
        ),
        pytest.param([done("a", "write", 1, None, 0, 10), done("b", "read", None, 0, 11, 20)], id="a stale read"),
        pytest.param(
            [
                lost("a", "write", 1, 0),
                done("b", "read", None, 1, 10, 20),
                done("c", "read", None, 0, 30, 40),
            ],
            id="an unknown write that is seen and then gone",
        ),
        pytest.param(
            [
                lost("a", "swap", (0, 1), 0),
                done("b", "swap", (1, 0), True, 10, 20),
                done("b", "swap", (0, 2), True, 30, 40),
                done("b", "swap", (1, 3), True, 50, 60),
            ],
            id="an effect that comes twice",
        ),
        pytest.param(
            [done("a", "swap", (0, 1), False, 0, 10), done("b", "read", None, 1, 20, 30)],
            id="a read of what was refused",
        ),
        pytest.param([done("a", "read", None, 1, 0, 10), lost("b", "write", 1, 11)], id="a read from the future"),
    ],
)
def test_a_planted_bug_is_caught(operations: list[Operation]) -> None:
    assert not is_linearizable(MODEL, operations)
    assert not by_trying_every_order(operations)


def test_what_overlaps_may_stand_in_either_order_and_the_unknown_may_come_late() -> None:
    assert is_linearizable(
        MODEL,
        [
            done("a", "write", 1, None, 0, 100),
            done("b", "write", 2, None, 0, 100),
            done("c", "read", None, 2, 0, 50),
            done("c", "read", None, 1, 60, 100),
            lost("d", "write", 3, 0),
            done("e", "read", None, 1, 110, 120),
            done("e", "read", None, 3, 130, 140),
        ],
    )


def test_what_is_shown_of_a_long_history_is_what_is_wrong_with_it() -> None:
    before = [done("a", "swap", (value, value + 1), True, 10 * value, 10 * value + 5) for value in range(50)]
    wrong = [done("b", "swap", (50, 51), True, 500, 510), done("c", "swap", (50, 52), True, 505, 515)]
    after = [done("a", "read", None, 9, 1000 + value, 1000 + value) for value in range(50)]

    part = [operation for operation in find_smallest(MODEL, [*before, *wrong, *after]) if operation.known]

    assert part == wrong
    told = explain_smallest(MODEL, [*before, *wrong, *after])
    assert "No order explains these 2 of 102 operations on it:" in told
    assert "b: swap (50, 51) → True" in told


def test_a_search_that_takes_too_long_says_so() -> None:
    reads = [done(f"c{place}", "write", place, None, 0, 100) for place in range(20)]
    with pytest.raises(Undecided):
        is_linearizable(MODEL, [*reads, done("d", "read", None, 99, 200, 300)], most_steps=1000)
