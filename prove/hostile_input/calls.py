"""Calls of every operation with one arbitrary argument: a text, a number, a value of another shape."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, count
from random import Random
from typing import Any

import longmind
from longmind.errors import LongmindError
from longmind.operations import OPERATIONS, Operation
from prove.hostile_input.fragments import FRAGMENTS
from tests.embedder import WordsEmbedder
from tests.scope.test_isolation import ARGUMENTS, OWNER, Things, furnish

MOST_WORK, LONGEST = 2.0, 15.0
"""Seconds of processor time, and of elapsed time, that no call may take."""

_SELF: list[Any] = []
_SELF.append(_SELF)
STRANGE: tuple[Any, ...] = (
    None, True, 0, -1, 2**31, 2**63, 10**400, 1e308, float("nan"), float("inf"), 1.5, "", " ", "*", "\x00", "\ud800",
    b"bytes", object(), [], {}, (), set(), [None], [[]], {"": None}, {1: 2}, ["x"] * 2_000, {"a": float("nan")}, _SELF,
    "x" * 300, "x" * 100_000, "\U0001f600" * 5_000, "null", "2026-03-01T09:30:00+99:99", "9999-12-31T23:59:59Z",
    "0001-01-01",
    "1e999d", "9" * 5_000 + "d", "-1", "01", "a:b:c", "../..", "eyJhIjoxfQ==",
    "'; DROP TABLE atoms; --", "%_%", '"AND" OR NOT NEAR(x', "x* ^y: -z",
)  # fmt: skip


def calls(things: Things, dice: Random) -> Iterator[tuple[Operation, dict[str, Any], str]]:
    """Yield calls endlessly, each with the name of its wrong argument, in rounds over all operations."""
    operations = [each for each in OPERATIONS if each.signature.parameters and each.path != "admin.delete_user_data"]
    for operation in chain.from_iterable(dice.sample(operations, len(operations)) for _ in count()):
        given = dict(dice.choice(ARGUMENTS[operation.path])(things))
        name = dice.choice([*operation.signature.parameters])
        given[name] = (
            dice.choice(STRANGE) if dice.random() < 0.6 else "".join(dice.choices(FRAGMENTS, k=dice.randint(1, 6)))
        )
        yield operation, given, name


def try_call(context: longmind.Context, operation: Operation, given: dict[str, Any]) -> str | None:
    """Call an operation and return what went wrong, apart from errors of Longmind."""
    began, worked = time.monotonic(), time.process_time()
    try:
        getattr(getattr(context, operation.service), operation.name)(**given)
    except LongmindError as error:
        if not error.message or error.status == 500:
            return f"{type(error).__name__} {error.message[:150]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"
    taken, worked = time.monotonic() - began, time.process_time() - worked
    if worked > MOST_WORK or taken > LONGEST:
        return f"it took {taken:.1f} seconds, {worked:.1f} of them of work"
    return None


def warm_up(context: longmind.Context) -> None:
    """Load the library of models, some four hundred modules, so that no call is charged for it."""
    with suppress(LongmindError):
        context.events.distill_long_term(use_llm=True, model="openai:none")


def find_broken_calls(url: str, seconds: float, dice: Random) -> tuple[Counter[str], list[str]]:
    """Call every operation at least once and until the time is over; return the counts and what broke."""
    called: Counter[str] = Counter()
    broken: list[str] = []
    with longmind.open(url, embedder=WordsEmbedder()) as engine:
        context = engine.context(**OWNER)
        things = furnish(engine, context, "Hello")
        warm_up(context)
        until = time.monotonic() + seconds
        for operation, given, name in calls(things, dice):
            # The first that has its second turn comes when all had their first.
            if operation.path in called and time.monotonic() > until:
                break
            called[operation.path] += 1
            wrong = try_call(context, operation, given)
            if wrong is not None:
                broken.append(f"{operation.path}({name}={given[name]!r:.80}): {wrong}")
    return called, broken
