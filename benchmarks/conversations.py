"""Appending a turn and reading the last ten messages, next to plain `sqlite3` and `psycopg`.

The goal: on the median within twice the time of the plain statements, and as fast in a conversation of 100,000 turns
as in one of 1,000. `./dev bench conversations --help` lists the options.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import cycle, pairwise, product
from pathlib import Path
from typing import Any, Literal

import apsw
import psycopg

from benchmarks._conversation_stores import TAIL, LongmindStore, RawPostgres, RawSqlite, RawStore, Store
from benchmarks.measure import RESULTS, Timing, environment, interleave, load, sync_cost, table, write_json
from harness.postgres import PostgresServer

EngineName = Literal["sqlite", "postgres"]
Operation = Literal["append_turn", "get_messages"]

OUTPUT = RESULTS / "conversations.json"
OPERATIONS: tuple[Operation, ...] = ("get_messages", "append_turn")
CALLERS = (1, 4)
GOAL = 2.0
NOTES = (
    "p50, p95 and p99 are milliseconds of one call; 'per s' counts the calls of all callers together; 'x raw' is our "
    "time divided by that of raw.",
    "Ours, raw and all sizes take turns in short rounds. Four callers are threads that share one engine. Other load on "
    "the machine delays both sides alike and makes their difference look smaller. 'loads' are the load averages before "
    "the start and after each part; they include the benchmark's own load.",
    "'turns' is the number at the start; measuring adds at most as many as the smallest size. Ours was filled by "
    "append_turn with many turns per transaction, raw by executemany; a sample of both was compared with appends.",
    f"A read asks for the last {TAIL} messages; a shorter conversation returns fewer ('rows').",
    "Raw writers on SQLite wait for one another at a lock: SQLite's own busy handler sleeps, which would slow them "
    "down. A thread may take the lock twice in a row, so with 4 callers compare the rates, not the medians.",
)


@dataclass(frozen=True)
class Plan:
    engines: tuple[EngineName, ...] = ("sqlite", "postgres")
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    spreads: tuple[int, ...] = (1, 1_000)
    """Over how many conversations the turns are spread."""
    seconds: float = 10.0
    """How long to time one case, that is one operation with so many callers at all sizes on both sides."""


QUICK = Plan(sizes=(20, 40), spreads=(1, 5), seconds=0.2)


@dataclass(frozen=True)
class Pair:
    """Longmind and its peer, in separate databases on the same disk or server."""

    ours: LongmindStore
    raw: RawStore


@dataclass(frozen=True)
class Place:
    """A place for pairs of databases."""

    open: Callable[[str], AbstractContextManager[Pair]]
    settle: Callable[[], None]
    """Does now what the server would do by itself some time, so that it does not fall into the measuring."""


@dataclass(frozen=True)
class Filled:
    """Longmind and its peer filled with the same number of turns, with the ids of their conversations."""

    turns: int
    sides: dict[str, tuple[Store, list[str]]]


@dataclass(frozen=True)
class Case:
    """An operation that is measured at growing sizes."""

    engine: EngineName
    operation: Operation
    conversations: int
    callers: int


@dataclass(frozen=True)
class Result:
    case: Case
    turns: int
    rows: int
    """How many messages a call wrote or read."""
    ours: Timing
    raw: Timing

    @property
    def ratio(self) -> float:
        """Our median divided by the raw one."""
        return round(self.ours.p50_ms / self.raw.p50_ms, 3)

    @property
    def rate(self) -> float:
        """Our calls per second divided by the raw ones."""
        return round(self.ours.per_second / self.raw.per_second, 3)


@dataclass(frozen=True)
class Growth:
    """The median of the larger size divided by that of the smaller one."""

    case: Case
    smaller: int
    larger: int
    ours: float
    raw: float


def main(arguments: Sequence[str] | None = None) -> None:
    plan, output = read_arguments(arguments)
    began = time.perf_counter()
    facts = environment("longmind", "apsw", "psycopg", "pydantic")
    facts["versions"] |= {"sqlite of apsw": apsw.sqlite_lib_version(), "sqlite of sqlite3": sqlite3.sqlite_version}
    loads = [load()]
    results: list[Result] = []
    durability: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="longmind-bench-") as folder:
        disk = sync_cost(Path(folder))
        say(f"this disk makes 4 KB durable in {disk:.3f} ms; the load is {loads[0]}")
        for engine in plan.engines:
            with open_databases(engine, Path(folder)) as place:
                for conversations in plan.spreads:
                    measured, durability[engine] = measure(engine, place, conversations, plan)
                    results += measured
                    loads.append(load())
    grown = compute_growth(results)
    print(report(results, grown))
    say(f"done in {time.perf_counter() - began:.0f} s")
    if output:
        facts |= {"loads": loads, "milliseconds_to_sync_4_kb": disk}
        facts |= {"durability": durability, "seconds_per_case": plan.seconds}
        write_json(output, {"benchmark": "conversations", **facts, **to_json(results, grown)})


# --- measuring -------------------------------------------------------------------------------


@contextmanager
def open_databases(engine: EngineName, folder: Path) -> Iterator[Place]:
    if engine == "sqlite":
        yield Place(lambda name: _open_sqlite_pair(folder / name), settle=lambda: None)
        return
    with PostgresServer() as server:
        yield Place(lambda name: _open_postgres_pair(server, name), settle=lambda: _settle(server))


@contextmanager
def _open_sqlite_pair(folder: Path) -> Iterator[Pair]:
    folder.mkdir()
    with closing(LongmindStore(f"sqlite:///{folder}/ours.db")) as ours, closing(RawSqlite(folder / "raw.db")) as raw:
        yield Pair(ours, raw)


@contextmanager
def _open_postgres_pair(server: PostgresServer, name: str) -> Iterator[Pair]:
    databases = [f"{name}_ours", f"{name}_raw"]
    ours_url, raw_url = map(server.create_database, databases)
    with closing(LongmindStore(ours_url)) as ours, closing(RawPostgres(raw_url)) as raw:
        yield Pair(ours, raw)
    for each in databases:
        server.drop_database(each)


def _settle(server: PostgresServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        databases = connection.execute("SELECT datname FROM pg_database WHERE NOT datistemplate").fetchall()
        for (name,) in databases:
            with psycopg.connect(server.url(name), autocommit=True) as inside:
                inside.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def fill(pair: Pair, conversations: int, turns: int) -> Filled:
    """Fill new conversations; raise if that wrote other rows than appends would."""
    ours, raw = pair.ours.create(conversations), pair.raw.create(conversations)
    pair.ours.fill(ours, turns)
    pair.raw.fill(raw, turns)
    pair.ours.append(ours[0])
    pair.raw.append(raw[0])
    *_, user, answer, next_user, next_answer = messages = pair.ours.read(ours[0])
    places = {"id", "turn_id", "sequence", "created_at"}
    for filled, appended in ((user, next_user), (answer, next_answer)):
        if filled.model_dump(exclude=places) != appended.model_dump(exclude=places):
            raise SystemExit(f"Filling wrote {filled}, and appending {appended}.")
    if [(each.sequence, each.role, each.text) for each in messages] != pair.raw.read_messages(raw[0]):
        raise SystemExit(f"The two sides read different messages: {messages} and {pair.raw.read(raw[0])}")
    return Filled(turns, {"ours": (pair.ours, ours), "raw": (pair.raw, raw)})


def measure(engine: EngineName, place: Place, conversations: int, plan: Plan) -> tuple[list[Result], str]:
    """Fill a pair of databases to each size and time both operations; also return their durability settings."""
    with ExitStack() as stack:
        databases = []
        for turns in plan.sizes:
            pair = stack.enter_context(place.open(f"{turns}_over_{conversations}"))
            databases.append(fill(pair, conversations, turns))
            say(f"{engine}: filled with {turns:,} turns in {conversations:,} conversation(s)")
        place.settle()
        cases = [Case(engine, operation, conversations, callers) for operation, callers in product(OPERATIONS, CALLERS)]
        results = [result for case in cases for result in time_case(case, databases, plan)]
        return results, pair.raw.durability()


def time_case(case: Case, databases: Sequence[Filled], plan: Plan) -> list[Result]:
    """The sizes take turns as well as the sides, so that the noise of a moment does not look like growth."""
    reads = case.operation == "get_messages"
    calls = {
        (database.turns, side): _cycle_calls(store.read if reads else store.append, ids)
        for database in databases
        for side, (store, ids) in database.sides.items()
    }
    rows = [_count_rows_of_read(database) if reads else 2 for database in databases]
    timings = interleave(
        calls,
        callers=case.callers,
        seconds=plan.seconds,
        calls_per_round=40 if reads else 10,
        most_calls=None if reads else plan.sizes[0] // len(CALLERS),
    )
    return [
        Result(case, database.turns, each, ours=timings[database.turns, "ours"], raw=timings[database.turns, "raw"])
        for database, each in zip(databases, rows, strict=True)
    ]


def _count_rows_of_read(database: Filled) -> int:
    store, ids = database.sides["ours"]
    return len(store.read(ids[-1]))


def _cycle_calls(operation: Callable[[str], object], ids: list[str]) -> Callable[[], object]:
    # Shuffled, but the same for both sides and in every run.
    order = cycle(random.Random(1).sample(ids, len(ids)))
    return lambda: operation(next(order))


def compute_growth(results: Sequence[Result]) -> list[Growth]:
    """Compare each size with the next, and the first with the last, where calls return the same number of rows."""
    series: dict[tuple[Case, int], list[Result]] = {}
    for result in results:
        series.setdefault((result.case, result.rows), []).append(result)
    return [
        Growth(
            case,
            smaller.turns,
            larger.turns,
            ours=round(larger.ours.p50_ms / smaller.ours.p50_ms, 3),
            raw=round(larger.raw.p50_ms / smaller.raw.p50_ms, 3),
        )
        for (case, _), points in series.items()
        for smaller, larger in [*pairwise(points), *([(points[0], points[-1])] if len(points) > 2 else [])]
    ]


# --- reporting -------------------------------------------------------------------------------


def report(results: Sequence[Result], grown: Sequence[Growth]) -> str:
    return "\n\n".join(
        [_format_timings(results), _format_growth(grown), "\n".join([*_format_verdict(results, grown), *NOTES])]
    )


def _format_timings(results: Sequence[Result]) -> str:
    headings = (
        "<engine", "<operation", "conversations", "callers", "turns", "rows",
        "ours p50", "p95", "p99", "per s", "raw p50", "p95", "p99", "per s", "p50 x raw", "per s x raw",
    )  # fmt: skip
    ordered = sorted(results, key=lambda each: (each.case.engine != "sqlite", each.case.operation))
    return table(
        headings,
        (
            (
                *_format_cells(each.case), each.turns, each.rows,
                *_format_numbers(each.ours), *_format_numbers(each.raw), f"{each.ratio:.2f}", f"{each.rate:.2f}",
            )
            for each in ordered
        ),
    )  # fmt: skip


def _format_growth(grown: Sequence[Growth]) -> str:
    return table(
        ("<engine", "<operation", "conversations", "callers", "turns from", "to", "ours x", "raw x"),
        (
            (*_format_cells(each.case), each.smaller, each.larger, f"{each.ours:.2f}", f"{each.raw:.2f}")
            for each in grown
        ),
    )  # fmt: skip


def _format_cells(case: Case) -> tuple[object, ...]:
    return case.engine, case.operation, case.conversations, case.callers


def _format_numbers(timing: Timing) -> tuple[float, ...]:
    return timing.p50_ms, timing.p95_ms, timing.p99_ms, timing.per_second


def _format_verdict(results: Sequence[Result], grown: Sequence[Growth]) -> Iterator[str]:
    slowest, fewest = max(results, key=lambda each: each.ratio), min(results, key=lambda each: each.rate)
    yield (
        f"p50 within {GOAL:g}x of raw: {sum(each.ratio <= GOAL for each in results)} of {len(results)} measurements; "
        f"the furthest is {slowest.ratio:.2f}x ({_describe(slowest.case)}, {slowest.turns:,} turns)."
    )
    yield (
        f"Calls per second at least {1 / GOAL:g}x of raw: {sum(each.rate >= 1 / GOAL for each in results)} of "
        f"{len(results)}; the furthest is {fewest.rate:.2f}x ({_describe(fewest.case)}, {fewest.turns:,} turns)."
    )
    if grown:
        steepest = max(grown, key=lambda each: each.ours)
        yield (
            f"Growth of p50 is {steepest.ours:.2f}x at most, where raw grew {steepest.raw:.2f}x "
            f"({_describe(steepest.case)}, {steepest.smaller:,} to {steepest.larger:,} turns)."
        )


def _describe(case: Case) -> str:
    return f"{case.engine}, {case.operation}, {case.conversations:,} conversation(s), {case.callers} caller(s)"


def to_json(results: Sequence[Result], grown: Sequence[Growth]) -> dict[str, Any]:
    return {
        "notes": NOTES,
        "verdict": list(_format_verdict(results, grown)),
        "results": [
            {
                **asdict(each.case),
                "turns": each.turns,
                "rows": each.rows,
                "ours": each.ours,
                "raw": each.raw,
                "ratio_p50": each.ratio,
                "ratio_per_second": each.rate,
            }
            for each in results
        ],
        "growth": [
            {
                **asdict(each.case),
                "from_turns": each.smaller,
                "to_turns": each.larger,
                "ours_p50": each.ours,
                "raw_p50": each.raw,
            }
            for each in grown
        ],
    }


# --- being asked -----------------------------------------------------------------------------


def read_arguments(arguments: Sequence[str] | None) -> tuple[Plan, Path | None]:
    parser = argparse.ArgumentParser(
        prog="./dev bench conversations",
        description="Time append_turn and a read of the last 10 messages against plain sqlite3 and psycopg.",
    )
    parser.add_argument("--engine", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument(
        "--sizes", type=_parse_sizes, metavar="N,N,…", help="turns at which to measure: 1000,10000,100000"
    )
    parser.add_argument("--seconds", type=float, help="seconds to time one operation, over all sizes")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that the benchmark works")
    parser.add_argument(
        "--output",
        type=Path,
        help=f"the JSON file for the results; without it, only a default run writes {OUTPUT.name}",
    )
    given = parser.parse_args(arguments)
    default = Plan()
    plan = QUICK if given.quick else default
    if given.engine != "both":
        plan = replace(plan, engines=(given.engine,))
    plan = replace(plan, sizes=given.sizes or plan.sizes, seconds=given.seconds or plan.seconds)
    # The committed results must be complete, so a partial run must not overwrite them by accident.
    return plan, given.output or (OUTPUT if plan == default else None)


def _parse_sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(each) for each in text.split(","))
    if sizes[0] < 2 or any(larger <= smaller for smaller, larger in pairwise(sizes)):
        raise argparse.ArgumentTypeError("the sizes must begin at 2 turns or more, and increase")
    return sizes


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
