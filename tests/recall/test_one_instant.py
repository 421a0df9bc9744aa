"""Recall shows a space as it was at one instant, also while others write to it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import recollect
from harness.crew import ada
from recollect.clock import system_clock

CHANGES = 60


def _home(town: str) -> dict[str, object]:
    return {"text": f"Ada lives in {town}.", "category": {"name": "home", "kind": "FACT"}}


def _texts(ctx: recollect.Context, space_id: str) -> list[str]:
    return [hit.atom.text for hit in ctx.memory.recall_by_topic(space_id, "Where does Ada live?", limit=100).hits]


def test_a_fact_that_is_replaced_just_after_recall_has_looked_at_the_clock_is_not_shown_beside_the_new_one(
    database_url: str,
) -> None:
    meanwhile: list[Callable[[], object]] = []

    def clock() -> int:
        now = system_clock()
        while meanwhile:
            meanwhile.pop()()
        return now

    with ada(database_url, embedder=None, clock=clock) as (_, ctx), ada(database_url, embedder=None) as (_, other):
        space = ctx.memory.create_memory_space("home")
        atom = ctx.memory.add_atom(space.id, _home("Oslo"))
        meanwhile.append(lambda: other.memory.supersede_atom(atom.id, _home("Rome")))

        assert _texts(ctx, space.id) == ["Ada lives in Rome."]


def test_a_fact_that_is_replaced_again_and_again_is_always_found_once(database_url: str) -> None:
    with ada(database_url, embedder=None) as (_, ctx), ada(database_url, embedder=None) as (_, other):
        space = ctx.memory.create_memory_space("home")
        first = ctx.memory.add_atom(space.id, _home("town 0"))
        ended = threading.Event()

        def replace() -> None:
            newest = first
            for number in range(1, CHANGES + 1):
                newest = other.memory.supersede_atom(newest.id, _home(f"town {number}"))
            ended.set()

        writer = threading.Thread(target=replace)
        writer.start()
        seen = []
        while not ended.is_set():
            seen.append(_texts(ctx, space.id))
        writer.join()

        assert [found for found in seen if len(found) != 1] == []
        assert _texts(ctx, space.id) == [f"Ada lives in town {CHANGES}."]
