"""Shared parts of the peers: reading the order, filling within a time limit, timing, and writing the answer."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import count, cycle
from typing import Any, Protocol

from benchmarks._recall_data import facts, questions
from benchmarks.measure import Spent, interleave, time_in_turns

_QUESTIONS = 200
_BULK = 10_000
_STEP = 5_000
"""Facts between two looks at the clock while a store is filled."""
TOP = 10
_OF_EACH = 1_000
"""Facts of each other user: a store is asked about one user among many, as ours is."""

AddMany = Callable[[str, Sequence[str]], None]


class Store(Protocol):
    def add(self, user: str, text: str) -> None: ...

    def search(self, user: str, question: str) -> Sequence[object]:
        """Return at most `TOP` facts."""


class BulkStore(Store, Protocol):
    def add_many(self, user: str, texts: Sequence[str]) -> None: ...


def run(make: Callable[[str], BulkStore], *packages: str, notes: Sequence[str] = ()) -> None:
    """Measure a store and print the answer with the versions of its packages and notes about it."""
    order = _order()
    store = make(order["folder"])
    filled = _Filled(store, store.add_many, _STEP, order)
    answer = filled.measured(order["seconds"])
    texts = facts("bulk", _BULK)
    began = time.perf_counter()
    store.add_many("bulk", texts)
    _answer({**answer, "bulk_per_second": round(_BULK / (time.perf_counter() - began))}, packages, notes)
    if order.get("stays"):
        filled.answer_each()


def run_without_bulk(make: Callable[[str], Store], *packages: str, notes: Sequence[str] = ()) -> None:
    """Measure a store that takes facts only one at a time, which is also how it is filled."""
    order = _order()
    store = make(order["folder"])

    def add_each(user: str, texts: Sequence[str]) -> None:
        for text in texts:
            store.add(user, text)

    answer = _Filled(store, add_each, 1, order).measured(order["seconds"])
    told = "It cannot add facts in bulk: 'bulk' is the rate of single adds."
    _answer({**answer, "bulk_per_second": round(answer["add"]["per_second"])}, packages, [told, *notes])


def _order() -> dict[str, Any]:
    order: dict[str, Any] = json.loads(sys.argv[1])
    return order


class _Filling:
    """Adds facts within a time limit, so that a slow store does not hold up the run."""

    def __init__(self, add_many: AddMany, step: int, seconds: float) -> None:
        self._add_many = add_many
        self._step = step
        self._given = seconds
        self._spent = 0.0
        self._added = 0

    @property
    def _rate(self) -> float:
        # The first calls are not representative: they create things that are created once.
        return self._added / self._spent if self._spent > self._given / 10 else float("inf")

    def add(self, user: str, texts: Sequence[str]) -> bool:
        """Add all facts; return False if the time limit does not allow it."""
        for start in range(0, len(texts), self._step):
            if self._spent + (len(texts) - start) / self._rate > self._given:
                return False
            began = time.perf_counter()
            part = texts[start : start + self._step]
            self._add_many(user, part)
            self._spent += time.perf_counter() - began
            self._added += len(part)
        return True

    def why_not(self, size: int) -> str:
        return (
            f"at {self._rate:,.0f} per s, adding {size:,} takes longer than the {self._given:g} s there are to fill it"
        )


class _Filled:
    """A store with the facts of the measured users and of others."""

    def __init__(self, store: Store, add_many: AddMany, step: int, order: dict[str, Any]) -> None:
        self._asking: dict[str, Callable[[], object]] = {}
        self._left_out: dict[str, str] = {}
        filling = _Filling(add_many, step, order["fill_seconds"])
        for size in sorted(order["sizes"]):
            user = f"user {size}"
            texts = facts(user, size)
            if not filling.add(user, texts):
                self._left_out[str(size)] = filling.why_not(size)
                continue
            asked = questions(user, texts, _QUESTIONS)
            found = len(store.search(user, asked[0]))
            if found != min(TOP, size):
                raise RuntimeError(f"A question to {size} facts was answered with {found} of them.")
            self._asking[str(size)] = _asking(store, user, cycle(asked))
        self._others = 0
        while self._others < order["others"]:
            user = f"other {self._others // _OF_EACH}"
            if not filling.add(user, facts(user, _OF_EACH)):
                break
            self._others += _OF_EACH
        numbers = count()
        self._adding = {"add": lambda: store.add("adding", f"Fact number {next(numbers)} is kept.")}

    def measured(self, seconds: float) -> dict[str, Any]:
        recall = interleave(self._asking, seconds=seconds, calls_per_round=3)
        return {
            "recall": {size: asdict(timing) for size, timing in recall.items()},
            "left_out": self._left_out,
            "facts_of_others": self._others,
            "add": asdict(interleave(self._adding, seconds=seconds / 2, most_calls=5_000)["add"]),
        }

    def answer_each(self) -> None:
        """Measure again for each request on standard input, so that contenders can take turns."""
        for line in sys.stdin:
            what, seconds, calls = json.loads(line)
            call = self._adding["add"] if what == "add" else self._asking.get(what)
            spent = time_in_turns({what: call}, seconds=seconds, calls_per_round=calls)[what] if call else Spent()
            print(json.dumps(asdict(spent)), flush=True)


def _asking(store: Store, user: str, asked: Iterator[str]) -> Callable[[], object]:
    return lambda: store.search(user, next(asked))


def _answer(measured: dict[str, Any], packages: Sequence[str], notes: Sequence[str]) -> None:
    versions = {package: version(package) for package in packages}
    print(json.dumps({"versions": versions, **measured, "notes": list(notes)}), flush=True)
