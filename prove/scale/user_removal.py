"""The time to export, and to erase, one user of many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import longmind
from prove.scale.population import ATOMS, EVENTS, context_of, open_engine
from prove.scale.stores import StorePair
from prove.section import Check

TIMES = 2.0
"""The largest ratio of the times in both stores: these are a few calls, not hundreds."""


def check_removals(pair: StorePair) -> Iterator[Check]:
    """Export and erase the last half of the measured users, in both stores."""
    leaving = pair.measured[len(pair.measured) // 2 :]
    taken: dict[str, dict[str, list[float]]] = {name: {"export": [], "erasure": []} for name in ("small", "big")}
    missing: list[str] = []
    with ExitStack() as stack:
        # No erasure rebuilds the file, which is measured separately.
        engines = {
            name: stack.enter_context(open_engine(url, erasure_rebuild_megabytes=0.001))
            for name, url in (("small", pair.small), ("big", pair.big))
        }
        for user in leaving:
            for name, engine in engines.items():
                context = context_of(engine, user)
                export = _time_call(taken[name]["export"], context.admin.export_user_data)
                erased = _time_call(taken[name]["erasure"], context.admin.delete_user_data, confirm=True)
                missing += _find_problems(engine, user, export, erased)
    for what in ("export", "erasure"):
        # The best of a few, since other programs decide the median of so few.
        best = {name: round(min(times[what]) * 1000, 1) for name, times in taken.items()}
        ratio = best["big"] / best["small"]
        yield Check(
            f"{pair.engine}: the {what} of one of {pair.users:,} users takes no longer ({TIMES} times)",
            ratio <= TIMES and not missing,
            {"ratio": round(ratio, 2), "best ms": best, "users": len(leaving)},
            "; ".join(missing) or f"{ratio:.1f} times as long",
        )


def _time_call(times: list[float], work: Any, **arguments: Any) -> dict[str, Any]:
    began = time.perf_counter()
    result: dict[str, Any] = work(**arguments)
    times.append(time.perf_counter() - began)
    return result


def _find_problems(engine: longmind.Engine, user: int, export: Any, erased: Any) -> Iterator[str]:
    """Yield what an export or an erasure left out, which would make it fast."""
    if len(export["atoms"]) < ATOMS:
        yield f"{len(export['atoms'])} atoms were exported"
    gone = erased["deleted"]["events"] + erased["deleted"]["messages"]
    if erased["deleted"]["atoms"] < ATOMS or gone < EVENTS:
        yield f"{erased['deleted']} was erased"
    left = context_of(engine, user)
    if left.memory.list_memory_spaces() or left.events.recent_persisted() or left.conversations.list_conversations():
        yield f"user {user} is still there"
