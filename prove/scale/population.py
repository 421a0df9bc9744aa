"""A store of many users who all have the same amount of memory, filled through the public operations."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import longmind
from benchmarks._recall_data import CheapEmbedder, facts

ATOMS, RECORDED, TURNS, CONVERSATIONS = 100, 60, 20, 2
"""Counts of each user. A turn is two messages, so that there are as many events as atoms."""
EVENTS = RECORDED + 2 * TURNS
TENANTS = 100
APP = "assistant"
MEASURED = 8
"""Users that are also in the small store, with the same words, so that only the number of others differs."""
CALLERS = 4

_KINDS = ("tool_result", "note", "state.snapshot", "app.signal")
_PLACES = ("calendar", "mail", "shop", "travel", "health", "work")


@dataclass(frozen=True)
class Population:
    """The size of a filled store, and the seconds that it took."""

    users: int
    seconds: dict[str, float]

    @property
    def rows(self) -> dict[str, int]:
        return {"users": self.users, "atoms": self.users * ATOMS, "events": self.users * EVENTS}


@contextmanager
def open_engine(url: str, **settings: Any) -> Iterator[longmind.Engine]:
    """An engine whose vectors cost nothing, so that the store alone is measured."""
    with longmind.open(url, embedder=CheapEmbedder(), **settings) as engine:
        yield engine


def select_measured(users: int) -> list[int]:
    """Return the measured users, spread over the store without its first and last users."""
    return [users * (2 * number + 1) // (2 * MEASURED) for number in range(MEASURED)]


def context_of(engine: longmind.Engine, user: int) -> longmind.Context:
    return engine.context(tenant_id=f"tenant {user % TENANTS}", app_id=APP, user_id=f"user {user}")


def fill(url: str, users: Sequence[int]) -> Population:
    """Give each of the users their memory, with concurrent callers as in a service."""
    seconds = {}
    with open_engine(url) as engine, ThreadPoolExecutor(CALLERS) as pool:
        for name, work in (("atoms", _remember), ("recorded events", _record), ("conversations", _talk)):
            began = time.perf_counter()
            for _ in pool.map(lambda user, work=work: work(context_of(engine, user), user), users):
                pass
            seconds[name] = round(time.perf_counter() - began, 1)
    return Population(len(users), seconds)


def atom(text: str) -> dict[str, Any]:
    return {"text": text, "category": {"name": "fact", "kind": "FACT"}, "trust": "user"}


def event(text: str, number: int) -> dict[str, Any]:
    place = _PLACES[number % len(_PLACES)]
    return {
        "kind": _KINDS[number % len(_KINDS)],
        "stage": "observe",
        "text": text,
        "tags": [place, "rare" if number == 1 else "usual"],
        "topic": place,
        "data": {"place": place, "number": number, "ok": True},
        "metrics": {"seconds": number / 10},
    }


def turn(said: str, answered: str) -> dict[str, Any]:
    return {
        "user_content": said,
        "assistant": {"content": answered, "stop_reason": "end_turn", "model": "example-1", "provider": "example"},
    }


def _remember(context: longmind.Context, user: int) -> None:
    space = context.memory.create_memory_space("memory").id
    context.memory.add_atoms(space, [atom(text) for text in facts(f"user {user}", ATOMS)])
    context.blocks.update("core", "\n".join(_sentences(user, 8)), None)


def _record(context: longmind.Context, user: int) -> None:
    context.events.record_many([event(text, number) for number, text in enumerate(_sentences(user, RECORDED))])


def _talk(context: longmind.Context, user: int) -> None:
    sentences = iter(_sentences(user, 2 * TURNS))
    for number in range(CONVERSATIONS):
        conversation = context.conversations.create_conversation("daily", title=f"Conversation {number}").id
        for _ in range(TURNS // CONVERSATIONS):
            context.conversations.append_turn(conversation, **turn(next(sentences), next(sentences)))


def _sentences(user: int, count: int) -> Iterable[str]:
    """Return sentences from a fixed stock, since new ones for a million texts would take long."""
    stock = _stock()
    return random.Random(user).choices(stock, k=count)


@cache
def _stock() -> list[str]:
    short = facts("what is said", 4_000)
    return [" ".join(short[at : at + 2]) for at in range(len(short) - 1)]
