"""AetherGraph's memory facade, asked by the events benchmark. Its environment: pip install aethergraph==0.1.0a15 numpy

It is put together as its own container does by default: hot log and event log in SQLite, an index of vectors and words.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib.metadata import version
from io import StringIO
from itertools import cycle
from typing import Any

from aethergraph.config.config import AppSettings  # type: ignore[import-not-found]  # in its own environment only
from aethergraph.services.indices.scoped_indices import ScopedIndices  # type: ignore[import-not-found]  # as above
from aethergraph.services.memory.facade import MemoryFacade  # type: ignore[import-not-found]  # as above
from aethergraph.services.scope.scope import Scope  # type: ignore[import-not-found]  # as above
from aethergraph.storage.factory import (  # type: ignore[import-not-found]  # as above
    build_memory_hotlog,
    build_memory_persistence,
)
from aethergraph.storage.search_factory import build_search_backend  # type: ignore[import-not-found]  # as above

from benchmarks._recall_data import facts, questions, vectors_of
from benchmarks.measure import interleave

NOTES = (
    "Its SQLite files are written with synchronous=NORMAL: a power cut may lose the last events, and no record waits "
    "for the disk as ours does. It records one event at a time.",
    "The hot log is one JSON text that every record reads and writes whole: at most 400 events by default.",
)
_QUESTIONS = 200
_LIMIT = 50


class _Lookup:
    """An embedder that costs nothing, like the one of Longmind in the same run."""

    async def embed(self, texts: Sequence[str], **_: Any) -> list[list[float]]:
        return [vector.tolist() for vector in vectors_of(texts)]

    async def embed_one(self, text: str, **_: Any) -> list[float]:
        return (await self.embed([text]))[0]


class AetherGraph:
    def __init__(self, folder: str) -> None:
        settings = AppSettings(workspace=folder)
        self._settings = settings
        self._hotlog = build_memory_hotlog(settings)
        self._persistence = build_memory_persistence(settings)
        self._search = build_search_backend(settings, embedder=_Lookup())

    def timeline(self, session: str, *, indexed: bool = True) -> MemoryFacade:
        scope = Scope(org_id="bench", user_id="ada", session_id=session, run_id="run", memory_level="session")
        return MemoryFacade(
            run_id="run",
            session_id=session,
            graph_id=None,
            node_id=None,
            scope=scope,
            hotlog=self._hotlog,
            persistence=self._persistence,
            scoped_indices=ScopedIndices(self._search, scope, scope.memory_scope_id()) if indexed else None,
            artifact_store=None,
            hot_limit=self._settings.memory.hot_limit,
            hot_ttl_s=self._settings.memory.hot_ttl_s,
        )


def main() -> None:
    order: dict[str, Any] = json.loads(sys.argv[1])
    # The package prints its searches; standard output must hold only the answer of this program.
    with asyncio.Runner() as loop, redirect_stdout(StringIO()):
        answer = _measure(AetherGraph(order["folder"]), order, loop.run)
    json.dump({"versions": {"aethergraph": version("aethergraph")}, **answer, "notes": list(NOTES)}, sys.stdout)


Run = Callable[[Coroutine[Any, Any, Any]], Any]


def _measure(peer: AetherGraph, order: dict[str, Any], run: Run) -> dict[str, Any]:
    timings: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    spent = 0.0
    for size in sorted(order["sizes"]):
        memory = peer.timeline(f"size {size}")
        texts = facts(f"timeline {size}", size)
        began = time.perf_counter()
        for number, text in enumerate(texts, 1):
            run(memory.append_event(kind="note", data=text))
            so_far = spent + time.perf_counter() - began
            if so_far * size / number > order["fill_seconds"] and so_far > order["fill_seconds"] / 10:
                left_out[str(size)] = f"{size:,} events would take longer than the {order['fill_seconds']:g} s given"
                break
        else:
            unindexed = peer.timeline(f"size {size}", indexed=False)
            timings[str(size)] = _time(memory, unindexed, texts, order["seconds"], run)
        spent += time.perf_counter() - began
        if left_out:
            break
    return {"timings": timings, "left_out": left_out}


def _time(
    memory: MemoryFacade, unindexed: MemoryFacade, texts: Sequence[str], seconds: float, run: Run
) -> dict[str, Any]:
    asked = cycle(questions("aethergraph", texts, _QUESTIONS))
    new = cycle(facts("new events", 1_000))

    def search(mode: str) -> object:
        return run(memory.search_events(query=next(asked), limit=_LIMIT, mode=mode))

    calls: dict[str, Callable[[], object]] = {
        "recent": lambda: run(memory.query_events(limit=_LIMIT)),
        "search_lexical": lambda: search("lexical"),
        "search_hybrid": lambda: search("hybrid"),
        "record": lambda: run(memory.append_event(kind="note", data=next(new))),
        "record_unindexed": lambda: run(unindexed.append_event(kind="note", data=next(new))),
    }
    return {
        name: asdict(interleave({name: call}, seconds=seconds / len(calls), calls_per_round=3)[name])
        for name, call in calls.items()
    }


if __name__ == "__main__":
    main()
