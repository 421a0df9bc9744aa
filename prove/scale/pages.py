"""Deep pages: the last page of a long list must come as soon as its first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.measure import percentile
from prove.scale.population import atom, context_of, event, open_engine
from prove.scale.stores import StorePair
from prove.section import Check, report_figures

AT_ONCE = 2_000
TIMES = 2.0
_PAGE = 50


def pages(pair: StorePair, rows: int) -> Iterator[Check]:
    """Check a user with far more memory: `rows` atoms and events, and a tenth as many conversations."""
    with open_engine(pair.big) as engine:
        context = context_of(engine, pair.users)
        space = context.memory.create_memory_space("memory").id
        for start in range(0, rows, AT_ONCE):
            numbers = range(start, min(rows, start + AT_ONCE))
            context.memory.add_atoms(space, [atom(f"Fact number {number} of many.") for number in numbers])
            context.events.record_many([event(f"Event number {number} of many.", number) for number in numbers])
        for number in range(rows // 10):
            context.conversations.create_conversation("daily", title=f"Conversation {number}")
        for name, read in (
            ("list_atoms", lambda cursor: context.memory.list_atoms(space, limit=_PAGE, cursor=cursor)),
            ("list_conversations", lambda cursor: context.conversations.list_conversations(limit=_PAGE, cursor=cursor)),
        ):
            yield _check_pages(pair, name, read)
        yield report_figures(
            f"{pair.engine}: what reads along a user's own timeline, with {rows:,} events on it",
            {
                "ms": {
                    "newest 50": _milliseconds(lambda: context.events.recent_persisted(limit=50)),
                    "50 after half of it": _milliseconds(
                        lambda: context.events.recent_persisted(limit=50, offset=rows // 2)
                    ),
                    "a tag that one event has": _milliseconds(lambda: context.events.recent_persisted(tags=["rare"])),
                    "first search": _milliseconds(lambda: context.events.search("event", mode="lexical"), 1),
                    "next search": _milliseconds(lambda: context.events.search("event", mode="lexical")),
                }
            },
        )


def _check_pages(pair: StorePair, name: str, read: Callable[[str | None], Any]) -> Check:
    times: list[float] = []
    cursor, rows = None, 0
    while True:
        began = time.perf_counter()
        page = read(cursor)
        times.append(time.perf_counter() - began)
        rows += len(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    # The last one may be short.
    few = max(1, min(10, len(times) // 4))
    # The best of some: what is passed over delays each of them, and other programs only some.
    first, last = (min(part) * 1000 for part in (times[:few], times[-few - 1 : -1] or times))
    return Check(
        f"{pair.engine}: the last pages of {name} come as soon as the first ({TIMES} times)",
        last <= TIMES * first,
        {"rows": rows, "pages": len(times), "first ms": round(first, 3), "last ms": round(last, 3)},
        f"{last / first:.1f} times as long",
    )


def _milliseconds(call: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1000)
    return round(percentile(taken, 50), 3)
