"""What the peers share: reading the order, timing, and writing the answer."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import count, cycle
from typing import Any, Protocol

from benchmarks._recall_data import facts, questions
from benchmarks.measure import interleave

_QUESTIONS = 200
_BULK = 10_000
TOP = 10


class Store(Protocol):
    def add_many(self, user: str, texts: Sequence[str]) -> None: ...

    def add(self, user: str, text: str) -> None: ...

    def search(self, user: str, question: str) -> object: ...


def run(make: Callable[[str], Store]) -> None:
    order = json.loads(sys.argv[1])
    store = make(order["folder"])
    contenders: dict[str, Callable[[], object]] = {}
    for size in order["sizes"]:
        user = f"user {size}"
        texts = facts(user, size)
        store.add_many(user, texts)
        contenders[str(size)] = _asking(store, user, cycle(questions(user, texts, _QUESTIONS)))
    recall = interleave(contenders, seconds=order["seconds"], calls_per_round=3)
    numbers = count()
    adding = {"add": lambda: store.add("adding", f"Fact number {next(numbers)} is kept.")}
    add = interleave(adding, seconds=order["seconds"] / 2, most_calls=5_000)["add"]
    texts = facts("bulk", _BULK)
    began = time.perf_counter()
    store.add_many("bulk", texts)
    bulk = _BULK / (time.perf_counter() - began)
    answer: dict[str, Any] = {
        "recall": {size: asdict(timing) for size, timing in recall.items()},
        "add": asdict(add),
        "bulk_per_second": round(bulk),
    }
    json.dump(answer, sys.stdout)


def _asking(store: Store, user: str, asked: Iterator[str]) -> Callable[[], object]:
    return lambda: store.search(user, next(asked))
