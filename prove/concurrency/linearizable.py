"""Check of linearizability: the search of Wing and Gong, as improved by Lowe.

The search looks for an order in which each operation stands between its call and its return, and each answer is the
one that an object with a single client would have given. It goes back where an answer does not fit, and never tries
the same set of operations with the same state twice. An operation with an unknown outcome may stand anywhere after its
call, or be left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from prove.concurrency.history import Operation

State = Hashable
MOST_STEPS = 1_000_000
_HEAD = 0
_Step = tuple[int, State]
"""An operation, and the state after it."""


class Impossible:
    """The state after an answer that cannot have been given."""


IMPOSSIBLE: Final = Impossible()


class Model(Protocol):
    """An object as it is when only one client uses it."""

    @property
    def initial(self) -> State: ...

    @property
    def reads(self) -> frozenset[str]:
        """The names of the operations that change nothing."""

    def step(self, state: Any, operation: Operation) -> State | Impossible:
        """Return the state after an operation; if its answer is unknown, the state after it was done."""


class Undecided(Exception):
    """The search took more steps than it may."""


@dataclass
class _CallList:
    """Calls and returns in the order of time, as a list from which pairs are taken out and put back."""

    operations: Sequence[Operation]

    def __post_init__(self) -> None:
        events = []
        for number, operation in enumerate(self.operations):
            # At the same instant a call counts as the earlier one: what may have overlapped is taken to have.
            events.append((operation.called, 0, number))
            if operation.returned is not None:
                events.append((operation.returned, 1, number))
        events.sort()
        size = len(events) + 2
        self.following = list(range(1, size + 1))
        self.before = list(range(-1, size - 1))
        self.end = size - 1
        self.at = [-1, *(number for _, _, number in events), -1]
        self.is_call = [False, *(kind == 0 for _, kind, _ in events), False]
        self.call = {number: place for place, (_, kind, number) in enumerate(events, 1) if kind == 0}
        self.back = {number: place for place, (_, kind, number) in enumerate(events, 1) if kind == 1}

    def next_ones(self) -> list[int]:
        """Return the operations that may come next: all called before anything returns, those with an answer first."""
        known: list[int] = []
        unknown: list[int] = []
        place = self.following[_HEAD]
        while self.is_call[place]:
            number = self.at[place]
            (known if number in self.back else unknown).append(number)
            place = self.following[place]
        return known + unknown

    def take_out(self, number: int) -> None:
        for place in self._pair(number):
            self.following[self.before[place]] = self.following[place]
            self.before[self.following[place]] = self.before[place]

    def put_back(self, number: int) -> None:
        for place in reversed(self._pair(number)):
            self.following[self.before[place]] = place
            self.before[self.following[place]] = place

    def _pair(self, number: int) -> list[int]:
        return [self.call[number], self.back[number]] if number in self.back else [self.call[number]]


def is_linearizable(model: Model, operations: Sequence[Operation], most_steps: int = MOST_STEPS) -> bool:
    """Return whether some order explains every answer of the `operations`, all of which concern one object."""
    places = _CallList(operations)
    left = len(places.back)
    state: State = model.initial
    done = 0
    tried: set[tuple[int, State]] = set()
    path: list[tuple[int, State, Iterator[_Step]]] = []
    choices = _steps(model, operations, places, state)
    while left:
        for number, after in choices:
            mark = (done | 1 << number, after)
            if mark in tried:
                continue
            tried.add(mark)
            if len(tried) > most_steps:
                raise Undecided(f"No answer after {most_steps:,} steps on {len(operations)} operations.")
            path.append((number, state, choices))
            places.take_out(number)
            done, state = mark
            left -= number in places.back
            choices = _steps(model, operations, places, state)
            break
        else:
            if not path:
                return False
            number, state, choices = path.pop()
            places.put_back(number)
            done ^= 1 << number
            left += number in places.back
    return True


def _steps(model: Model, operations: Sequence[Operation], places: _CallList, state: State) -> Iterator[_Step]:
    """Return the possible next steps: a fitting operation that changes nothing is taken alone.

    In every order in which it stands later, it could stand here as well.
    """
    steps: list[_Step] = []
    for number in places.next_ones():
        after = model.step(state, operations[number])
        if isinstance(after, Impossible):
            continue
        if after == state and (operations[number].name in model.reads or operations[number].refusal):
            return iter([(number, after)])
        steps.append((number, after))
    return iter(steps)
