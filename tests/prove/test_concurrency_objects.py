"""What the objects of the proof are when one client uses them, and the bugs that they are to show."""

from __future__ import annotations

from typing import Any

import pytest

from prove.concurrency.history import Operation
from prove.concurrency.linearizable import is_linearizable
from prove.concurrency.objects import KINDS
from prove.concurrency.objects.quotas import CAP
from tests.prove.histories import done, lost, one_after_another

Steps = list[tuple[str, Any, Any]]

STORED: Steps = [("store", f"e{number}", "done") for number in range(20)]

RIGHT: dict[str, list[Steps]] = {
    "blocks": [
        [
            ("get", None, None),
            ("update", (None, "one"), ("ok", (5, 1))),
            ("update", (None, "two"), ("conflict", ("one", 5, 1))),
            ("update", (5, "two"), ("ok", (6, 2))),
            ("update", (5, "three"), ("conflict", ("two", 6, 2))),
            ("delete", 5, ("conflict", ("two", 6, 2))),
            ("delete", None, ("ok", None)),
            ("delete", None, ("missing", None)),
            ("update", (6, "three"), ("conflict", None)),
            ("update", (None, "three"), ("ok", (9, 4))),
        ]
    ],
    "lines": [
        [
            ("add", "a", ("done", 1, 5)),
            ("add", "b", ("done", 2, 6)),
            ("remove", "a", ("done", 1, 7)),
            ("read", None, ("b",)),
        ]
    ],
    "conversations": [
        [
            ("say", ("k", "hi"), ("ok", (1, "m1 t1", False))),
            ("say", ("k", "hi"), ("ok", (1, "m1 t1", True))),
            ("say", ("k", "ho"), ("mismatch", "key")),
            ("turn", ("k", "hi", "yes"), ("ok", (1, "m1 t1", True, 2, 1))),
            ("turn", ("k", "hi", "no"), ("ok", (1, "m1 t1", True, 3, 2))),
            ("turn", (None, "new", "well"), ("ok", (4, "m4 t4", False, 5, 1))),
            ("ask", (None, "what"), ("ok", (6, "m6 t6", False))),
            ("answer", (None, "what", "that"), (7, 1)),
            ("read", 2, ((6, "what"), (7, "that"))),
            ("ask", (None, "and"), ("ok", (8, "m8 t8", False))),
            ("close", None, "done"),
            ("answer", (None, "and", "late"), ("closed", "conversation")),
            ("say", ("k", "hi"), ("ok", (1, "m1 t1", True))),
            ("turn", ("k", "hi", "late"), ("closed", "conversation")),
            ("say", (None, "late"), ("closed", "conversation")),
        ]
    ],
    "sessions": [
        [*STORED, ("store", "more", "RATE_LIMITED"), ("supersede", ("e0", "more"), "RATE_LIMITED")],
        [
            ("store", "a", "done"),
            ("supersede", ("a", "b"), "done"),
            ("supersede", ("a", "c"), "HANDLER_ERROR"),
            ("search", None, ("b",)),
            ("brief", None, (("b",), 2)),
            ("delete", "a", "done"),
            ("delete", "a", "HANDLER_ERROR"),
            ("brief", None, (("b",), 1)),
        ],
    ],
    "spending": [
        [
            ("reserve", CAP - 1, True),
            ("reserve", 50, True),
            ("reserve", 1, False),
            ("settle", -50, None),
            ("reserve", 1, True),
        ]
    ],
    "recalls": [
        [
            ("add", "a", "done"),
            ("supersede", ("a", "b"), "done"),
            ("supersede", ("a", "c"), "conflict"),
            ("recall", None, ("b",)),
            ("delete", "b", "done"),
            ("delete", "b", "missing"),
            ("supersede", ("b", "c"), "missing"),
            ("recall", None, ()),
        ]
    ],
    "jobs": [
        [("enqueue", None, "job_1"), ("enqueue", None, "job_1"), ("list", None, ("job_1",))],
        [("list", None, ())],
    ],
}

WRONG: dict[str, tuple[str, Steps]] = {
    "an update of what was replaced": (
        "blocks",
        [
            ("update", (None, "one"), ("ok", (5, 1))),
            ("update", (5, "two"), ("ok", (6, 2))),
            ("update", (5, "x"), ("ok", (7, 3))),
        ],
    ),
    "an update that left no trace": (
        "blocks",
        [
            ("update", (None, "one"), ("ok", (5, 1))),
            ("update", (5, "two"), ("ok", (6, 2))),
            ("get", None, ("one", 5, 1)),
        ],
    ),
    "an instant that goes back": (
        "blocks",
        [("update", (None, "one"), ("ok", (5, 1))), ("update", (5, "two"), ("ok", (4, 2)))],
    ),
    "a conflict about nothing": ("blocks", [("update", (None, "one"), ("conflict", None))]),
    "a removal that was refused for nothing": (
        "blocks",
        [("update", (None, "one"), ("ok", (5, 1))), ("delete", None, ("conflict", ("one", 5, 1)))],
    ),
    "a line that is lost": ("lines", [("add", "a", ("done", 1, 5)), ("add", "b", ("done", 1, 6))]),
    "a line that is doubled": ("lines", [("add", "a", ("done", 1, 5)), ("read", None, ("a", "a"))]),
    "a key that makes two messages": (
        "conversations",
        [("say", ("k", "hi"), ("ok", (1, "m1 t1", False))), ("say", ("k", "hi"), ("ok", (2, "m2 t2", False)))],
    ),
    "a replay of another message": (
        "conversations",
        [("say", ("k", "hi"), ("ok", (1, "m1 t1", False))), ("say", ("k", "hi"), ("ok", (1, "m9 t9", True)))],
    ),
    "a place that is left out": (
        "conversations",
        [("say", (None, "hi"), ("ok", (1, "m1 t1", False))), ("say", (None, "ho"), ("ok", (3, "m3 t3", False)))],
    ),
    "an append after the end": (
        "conversations",
        [("close", None, "done"), ("say", (None, "hi"), ("ok", (1, "m1 t1", False)))],
    ),
    "an answer that is refused for nothing": (
        "conversations",
        [
            ("ask", (None, "what"), ("ok", (1, "m1 t1", False))),
            ("answer", (None, "what", "that"), ("closed", "conversation")),
        ],
    ),
    "an attempt that is counted twice": (
        "conversations",
        [
            ("turn", ("k", "a", "b"), ("ok", (1, "m1 t1", False, 2, 1))),
            ("turn", ("k", "a", "c"), ("ok", (1, "m1 t1", True, 3, 1))),
        ],
    ),
    "a read of what was refused": (
        "conversations",
        [
            ("say", ("k", "hi"), ("ok", (1, "m1 t1", False))),
            ("say", ("k", "ho"), ("mismatch", "key")),
            ("read", 9, ((1, "hi"), (2, "ho"))),
        ],
    ),
    "a quota that is overshot": ("sessions", [*STORED, ("store", "more", "done")]),
    "a quota that a refused call has used": (
        "sessions",
        [("store", "a", "done"), *[("delete", "x", "HANDLER_ERROR")] * 5, ("delete", "a", "RATE_LIMITED")],
    ),
    "an entry that is there beside its successor": (
        "sessions",
        [("store", "a", "done"), ("supersede", ("a", "b"), "done"), ("search", None, ("a", "b"))],
    ),
    "a call above the cap": ("spending", [("reserve", CAP, True), ("reserve", 1, True)]),
    "spending that is counted twice": ("spending", [("reserve", 10, True), ("settle", -4, None), ("spent", None, 12)]),
    "a fact that is not found yet": ("recalls", [("add", "a", "done"), ("recall", None, ())]),
    "a fact that is gone with nothing in its place": (
        "recalls",
        [("add", "a", "done"), ("supersede", ("a", "b"), "done"), ("recall", None, ())],
    ),
    "a job that is queued twice": ("jobs", [("enqueue", None, "job_1"), ("enqueue", None, "job_2")]),
    "a job that is there twice": ("jobs", [("enqueue", None, "job_1"), ("list", None, ("job_1", "job_2"))]),
    "a job that is gone": ("jobs", [("enqueue", None, "job_1"), ("list", None, ())]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_object_does_alone_is_explained(kind: str) -> None:
    for steps in RIGHT[kind]:
        assert is_linearizable(KINDS[kind].model, one_after_another(*steps))


@pytest.mark.parametrize("bug", WRONG)
def test_a_planted_bug_is_seen(bug: str) -> None:
    kind, steps = WRONG[bug]
    history = one_after_another(*steps)
    assert not is_linearizable(KINDS[kind].model, history)
    assert is_linearizable(KINDS[kind].model, history[:-1]), "something else is wrong before"


def test_what_a_killed_client_began_may_be_there_but_only_once() -> None:
    killed = lost("a", "say", ("k", "hi"), 0)
    seen = done("b", "say", ("k", "hi"), ("ok", (1, "m1 t1", True)), 10, 20)
    not_seen = done("b", "say", ("k", "hi"), ("ok", (1, "m1 t1", False)), 10, 20)
    model = KINDS["conversations"].model

    def twice(first: Operation) -> list[Operation]:
        return [killed, first, done("c", "read", 9, ((1, "hi"), (2, "hi")), 30, 40)]

    assert is_linearizable(model, [killed, seen])
    assert is_linearizable(model, [killed, not_seen])
    assert not is_linearizable(model, twice(seen))
    assert not is_linearizable(model, twice(not_seen))


def test_the_instant_of_a_lost_update_is_learned_from_who_reads_it() -> None:
    model = KINDS["blocks"].model
    update = lost("a", "update", (None, "one"), 0)
    read = done("b", "get", None, ("one", 7, 1), 10, 20)

    assert is_linearizable(model, [update, read, done("b", "update", (7, "two"), ("ok", (8, 2)), 30, 40)])
    assert not is_linearizable(model, [update, read, done("b", "get", None, ("one", 8, 1), 30, 40)])
