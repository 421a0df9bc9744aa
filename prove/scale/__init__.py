"""A million atoms and a million events of ten thousand users: the costs that grow with the size of the store.

Every user has the same amount of memory, and the measured users also have a small store to themselves, so that only
the size of the store differs. One process asks both in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prove.scale.job_queue import queues
from prove.scale.latency import latencies
from prove.scale.pages import pages
from prove.scale.population import ATOMS, EVENTS
from prove.scale.sizes import count_rows, sizes
from prove.scale.startup import memory, starts
from prove.scale.stores import StorePair, filled_pair
from prove.scale.upkeep import check_plans, growth
from prove.scale.user_removal import check_removals
from prove.section import Check, Plan, Section, report_figures, skip_check

USERS, FEWER_USERS = 10_000, 500
JOBS, FEWER_JOBS = 100_000, 5_000
PAGED, FEWER_PAGED = 20_000, 2_000
APPENDS, FEWER_APPENDS = 20_000, 1_000


def run(plan: Plan) -> Iterator[Check]:
    for nth, engine in enumerate(plan.engines, 1):
        # Each engine has its share of the time, so that a slow one leaves something to the next.
        to_leave = plan.seconds * (1 - nth / len(plan.engines))
        with filled_pair(engine, plan.folder, USERS if plan.full else FEWER_USERS) as pair:
            for name, part in _parts(plan, pair).items():
                if plan.seconds_left() > to_leave:
                    yield from part()
                else:
                    yield skip_check(f"{engine}: {name}", "the time was over")


def _parts(plan: Plan, pair: StorePair) -> dict[str, Callable[[], Iterator[Check]]]:
    # A kept store has the size it was filled to, whatever this run would have filled.
    many = pair.users >= USERS
    return {
        "what is stored": lambda: iter([check_stored(pair, USERS if plan.full else pair.users)]),
        "statements that read a whole table": lambda: check_plans(pair),
        "what it takes on the disk": lambda: iter(
            [report_figures(f"{pair.engine}: what it takes on the disk, in bytes", sizes(pair))]
        ),
        "how soon it is opened and first used": lambda: starts(pair, 5 if many else 3),
        "how long operations take among many users": lambda: latencies(plan, pair, 4.0 if many else 0.7),
        "what memory a process takes": lambda: memory(pair),
        "how long a long queue takes": lambda: queues(pair, JOBS if many else FEWER_JOBS, 2.0 if many else 0.5),
        "how soon the last pages of long lists come": lambda: pages(pair, PAGED if many else FEWER_PAGED),
        "how the log grows": lambda: growth(pair, APPENDS if many else FEWER_APPENDS, rebuild=plan.full),
        "how long an export and an erasure take": lambda: check_removals(pair),
    }


def check_stored(pair: StorePair, users: int) -> Check:
    """Check that the store holds the memory of `users`, as the database itself counts it."""
    rows, wanted = count_rows(pair.big), {"users": users, "atoms": users * ATOMS, "events": users * EVENTS}
    return Check(
        f"{pair.engine}: {wanted['atoms']:,} atoms and {wanted['events']:,} events of {users:,} users are stored",
        # The ledger also holds the creation of spaces, blocks and conversations.
        rows["events"] >= wanted["events"] and {**rows, "events": 0} == {**wanted, "events": 0},
        {"counted": rows, "load seconds": pair.filled.seconds, **_rates(pair)},
        f"there are {rows}",
    )


def _rates(pair: StorePair) -> dict[str, object]:
    rows, seconds = pair.filled.rows, pair.filled.seconds
    return {"per second": {name: round(rows[kind] / seconds[name]) for name, kind in (("atoms", "atoms"),)}}


SECTION = Section(
    name="scale",
    title="Scale: many users in one store",
    seconds=180,
    run=run,
)
