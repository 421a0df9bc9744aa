"""A million atoms and a million events of ten thousand users: what takes longer, or more, than with few of them.

Everybody has the same amount of memory, and the measured users are in a small store too, with nobody else: what
differs is the size of the store alone. Both are asked in turns, by one process.
"""

from __future__ import annotations

from collections.abc import Iterator

from prove.scale.filling import ATOMS, EVENTS
from prove.scale.latency import latencies
from prove.scale.leaving import leavings
from prove.scale.paging import pages
from prove.scale.queueing import queues
from prove.scale.sizes import counted, sizes
from prove.scale.starting import memory, starts
from prove.scale.stores import Pair, filled_pair
from prove.scale.upkeep import growth, settled
from prove.section import Check, Plan, Section, measured

USERS, FEWER_USERS = 10_000, 500
JOBS, FEWER_JOBS = 100_000, 5_000
PAGED, FEWER_PAGED = 20_000, 2_000
APPENDS, FEWER_APPENDS = 20_000, 1_000


def run(plan: Plan) -> Iterator[Check]:
    for engine in plan.engines:
        with filled_pair(engine, plan.folder, USERS if plan.full else FEWER_USERS) as pair:
            yield from _of_pair(plan, pair)


def _of_pair(plan: Plan, pair: Pair) -> Iterator[Check]:
    # A kept store has the size it was filled to, whatever this run would have filled.
    many = pair.users >= USERS
    yield stored(pair, USERS if plan.full else pair.users)
    yield from settled(pair)
    yield measured(f"{pair.engine}: what it takes on the disk, in bytes", sizes(pair))
    yield from starts(pair, 5 if many else 3)
    yield from latencies(plan, pair, 4.0 if many else 0.7)
    yield from memory(pair)
    yield from queues(pair, JOBS if many else FEWER_JOBS, 2.0 if many else 0.5)
    yield from pages(pair, PAGED if many else FEWER_PAGED)
    yield from growth(pair, APPENDS if many else FEWER_APPENDS, rebuild=plan.full)
    yield from leavings(pair)


def stored(pair: Pair, users: int) -> Check:
    """Whether as much is in the store as so many users were to be given, as the database itself counts it."""
    rows, wanted = counted(pair.big), {"users": users, "atoms": users * ATOMS, "events": users * EVENTS}
    return Check(
        f"{pair.engine}: {wanted['atoms']:,} atoms and {wanted['events']:,} events of {users:,} users are stored",
        # Beside these the ledger tells of spaces, blocks and conversations that were made.
        rows["events"] >= wanted["events"] and {**rows, "events": 0} == {**wanted, "events": 0},
        {"counted": rows, "load seconds": pair.filled.seconds, **_rates(pair)},
        f"there are {rows}",
    )


def _rates(pair: Pair) -> dict[str, object]:
    rows, seconds = pair.filled.rows, pair.filled.seconds
    return {"per second": {name: round(rows[kind] / seconds[name]) for name, kind in (("atoms", "atoms"),)}}


SECTION = Section(
    name="scale",
    title="Scale: many users in one store",
    seconds=180,
    run=run,
)
