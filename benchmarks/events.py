"""The speed of recording, reading and finding events: timelines of 1,000 to 100,000 events inside a store of a million.

Plain `sqlite3` and `psycopg` do the same inserts and reads, and AetherGraph's memory facade runs in an environment of
its own. `./dev bench events --help` lists the options.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, get_args

import psycopg

import longmind
from benchmarks._event_stores import RECENT, OurTimeline, RawPostgres, RawSqlite, RawStore, Timeline, open_ours
from benchmarks._peers import PEERS, ask_peers
from benchmarks._recall_data import facts, questions
from benchmarks.measure import RESULTS, Timing, environment, interleave, load, sync_cost, table, write_json
from harness.postgres import PostgresServer

EngineName = Literal["sqlite", "postgres"]

OUTPUT = RESULTS / "events.json"
PEER_NAMES = ("aethergraph",)
SIZES = (1_000, 10_000, 100_000)
BYSTANDER = 10_000
"""Events of each of the other users that make up the rest of the store."""
AT_ONCE = 10_000
BATCH = 1_000
"""Events that one record_many is timed with."""
QUESTIONS = 2_000
MOST_SINGLE = 500
"""Single records that are timed at each size and in each way: the smallest timeline at most doubles."""
RECENT_GOAL_MS = 0.3
FLAT_GOAL = 1.5
RAW_GOAL = 2.0
NOTES = (
    f"Times are milliseconds of one call; record_many records {BATCH:,} events at once. recent reads the last "
    f"{RECENT}, which are in memory except for newer ones; 'record, recent' is one record, then a recent that must "
    f"fetch it. Searches return the best {RECENT} for four words of one event, and hardly any repeats. Vectors of "
    "events and questions are precomputed.",
    "'mirror' is the same engine with JSONL files, synced by the default policy.",
    "Raw is one table with an index on time and one on ids, without scopes, checks or search. It is on the same disk "
    "or server, equally durable, and holds the same numbers of events. All contenders and sizes take turns in short "
    "rounds; only record_many of the mirror is timed separately.",
    "AetherGraph holds only its own timelines, with as many events as it could record in the given time.",
)


@dataclass(frozen=True)
class Filled:
    """A timeline of Longmind and a plain one with the same number of events."""

    size: int
    ours: OurTimeline
    mirrored: OurTimeline
    raw: Timeline
    asked: list[str]


def main() -> None:
    options = _read_options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="longmind-bench-", dir=options.folder)))
        results: dict[str, Any] = {
            "environment": environment("longmind", "apsw", "psycopg"),
            "load before": load(),
            "store": options.store,
            "sync_ms": sync_cost(folder),
            "notes": list(NOTES),
        }
        order = {"sizes": options.sizes, "seconds": options.seconds, "fill_seconds": options.peer_fill_seconds}
        asked = () if options.no_peers else PEER_NAMES
        results["peers"], results["peers skipped"] = ask_peers(asked, Path(options.peers), folder, order)
        for name in options.engines:
            _say(f"{name}: filling a store of {options.store:,} events")
            with _open_folder(name, folder) as (url, raw):
                results[name] = _measure(name, url, raw, folder, options)
        results["load after"] = load()
    results["growth"] = _compute_growth(results)
    results["goals"] = _judge_goals(results)
    if options.output:
        write_json(Path(options.output), results)
    _show(results)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench events", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", type=int, default=1_000_000, help="events in the whole store")
    parser.add_argument("--sizes", type=_parse_positive, nargs="+", default=list(SIZES), help="events in the timelines")
    parser.add_argument("--engines", nargs="+", choices=get_args(EngineName), default=list(get_args(EngineName)))
    parser.add_argument("--seconds", type=float, default=10.0, help="seconds to time one operation at all sizes")
    parser.add_argument("--folder", help="the folder for databases; by default the system's temporary folder")
    parser.add_argument("--peers", default=str(PEERS / ".venv"), help="a folder with one environment for each peer")
    parser.add_argument(
        "--peer-fill-seconds",
        type=float,
        default=600.0,
        help="seconds to fill one peer; sizes that take longer are left out",
    )
    parser.add_argument("--no-peers", action="store_true", help="measure no other stores")
    parser.add_argument("--output", default=str(OUTPUT), help="the JSON file for the results; empty for none")
    return parser.parse_args()


def _parse_positive(written: str) -> int:
    number = int(written)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than one event")
    return number


@contextmanager
def _open_folder(name: EngineName, folder: Path) -> Iterator[tuple[str, RawStore]]:
    if name == "sqlite":
        with closing(RawSqlite(folder / "raw.db")) as raw:
            yield f"sqlite:///{folder}/events.db", raw
        return
    with PostgresServer() as server, closing(RawPostgres(server.create_database("raw"))) as raw_postgres:
        yield server.create_database("events"), raw_postgres


# --- filling ---------------------------------------------------------------------------------


def _fill(ours: longmind.Engine, mirrored: longmind.Engine, raw: RawStore, options: Any) -> list[Filled]:
    others = max(0, options.store - sum(options.sizes))
    # The measured timelines come in the middle, so that they are neither the oldest nor the newest rows.
    bystanders = [min(BYSTANDER, others - first) for first in range(0, others, BYSTANDER)]
    half = len(bystanders) // 2
    _fill_others(ours, raw, bystanders[:half], 0)
    filled = []
    for size in options.sizes:
        texts = facts(f"timeline {size}", size)
        name = f"size {size}"
        each = Filled(
            size,
            OurTimeline(ours, name),
            OurTimeline(mirrored, f"{name}, mirrored"),
            raw.timeline(name),
            questions(name, texts, QUESTIONS),
        )
        for timeline in (each.ours, each.mirrored, each.raw):
            _record_all(timeline, texts)
        filled.append(each)
    _fill_others(ours, raw, bystanders[half:], half)
    return filled


def _fill_others(engine: longmind.Engine, raw: RawStore, sizes: Sequence[int], first: int) -> None:
    texts = facts("others", BYSTANDER)
    for number, size in enumerate(sizes, first):
        name = f"other {number}"
        for timeline in (OurTimeline(engine, name), raw.timeline(name)):
            _record_all(timeline, texts[:size])


def _record_all(timeline: Timeline, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), AT_ONCE):
        timeline.record_many(texts[start : start + AT_ONCE])


# --- measuring -------------------------------------------------------------------------------


Timings = dict[str, dict[str, dict[str, Timing]]]
"""By operation, by contender, by size."""


def _measure(name: EngineName, url: str, raw: RawStore, folder: Path, options: argparse.Namespace) -> Timings:
    files = str(folder / f"files of {name}")
    with open_ours(url) as ours, open_ours(url, events_jsonl_dir=files) as mirrored:
        filled = _fill(ours, mirrored, raw, options)
        _say(f"{name}: making the vectors of the events that are searched")
        _embed(ours, filled)
        if name == "postgres":
            _settle(url)
        measured: Timings = {}
        for operation, contenders in _list_operations(filled).items():
            _say(f"{name}: {operation}")
            measured[operation] = _time(contenders, operation, options)
        return measured


def _embed(engine: longmind.Engine, filled: Sequence[Filled]) -> None:
    """Compute all vectors, as workers do after the first search, so that only searching is timed."""
    for each in filled:
        each.ours.search(each.asked[0], "hybrid")
    engine.work()


def _settle(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


Contenders = dict[tuple[str, int], Callable[[], object]]


def _list_operations(filled: Sequence[Filled]) -> dict[str, Contenders]:
    """Return the timed operations; reads come first, so that all sizes are read as they were filled."""
    sides: list[tuple[str, Callable[[Filled], Timeline]]] = [
        ("ours", lambda each: each.ours),
        ("mirror", lambda each: each.mirrored),
        ("raw", lambda each: each.raw),
    ]
    return {
        "recent": {(side, each.size): of(each).recent for side, of in sides if side != "mirror" for each in filled},
        "search lexical": {("ours", each.size): _make_searches(each, "lexical") for each in filled},
        "search hybrid": {("ours", each.size): _make_searches(each, "hybrid") for each in filled},
        "record": {(side, each.size): _make_records(of(each)) for side, of in sides for each in filled},
        "record, recent": {
            (side, each.size): _make_records_and_reads(of(each))
            for side, of in sides
            if side != "mirror"
            for each in filled
        },
        "record_many": {(side, each.size): _make_batches(of(each)) for side, of in sides for each in filled},
    }


def _group_contenders(contenders: Contenders, operation: str) -> list[Contenders]:
    """Group the contenders that take turns. A slow mirror gets its own group, so that the others are called enough."""
    if operation != "record_many":
        return [contenders]
    return [
        {(side, size): call for (side, size), call in contenders.items() if (side == "mirror") is mirrored}
        for mirrored in (False, True)
    ]


def _make_searches(filled: Filled, mode: str) -> Callable[[], object]:
    asked = cycle(random.Random(mode).sample(filled.asked, len(filled.asked)))
    return lambda: filled.ours.search(next(asked), mode)


def _make_records(timeline: Timeline) -> Callable[[], object]:
    texts = cycle(facts("new events", 1_000))
    return lambda: timeline.record(next(texts))


def _make_records_and_reads(timeline: Timeline) -> Callable[[], object]:
    record = _make_records(timeline)
    return lambda: (record(), timeline.recent())


def _make_batches(timeline: Timeline) -> Callable[[], object]:
    texts = facts("many events", BATCH)
    return lambda: timeline.record_many(texts)


def _time(contenders: Contenders, operation: str, options: argparse.Namespace) -> dict[str, dict[str, Timing]]:
    bounds: Mapping[str, dict[str, int]] = {
        "recent": {"calls_per_round": 40},
        "record": {"calls_per_round": 20, "most_calls": min(MOST_SINGLE, *options.sizes)},
        "record, recent": {"calls_per_round": 20, "most_calls": min(MOST_SINGLE, *options.sizes)},
        "record_many": {"calls_per_round": 1, "most_calls": 40},
    }
    found: dict[str, dict[str, Timing]] = {}
    for some in _group_contenders(contenders, operation):
        timings = interleave(some, seconds=options.seconds, **bounds.get(operation, {"calls_per_round": 5}))
        for (side, size), timing in timings.items():
            found.setdefault(side, {})[str(size)] = timing
    return found


# --- the answer ------------------------------------------------------------------------------


def _compute_growth(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Divide the median of the largest timeline by that of the smallest."""
    return [
        {
            "engine": engine,
            "operation": operation,
            "contender": side,
            "from": int(smallest),
            "to": int(largest),
            "times": round(sizes[largest].p50_ms / sizes[smallest].p50_ms, 3),
        }
        for engine in get_args(EngineName)
        for operation, sides in results.get(engine, {}).items()
        for side, sizes in sides.items()
        for smallest, largest in [(min(sizes, key=int), max(sizes, key=int))]
        if smallest != largest
    ]


def _judge_goals(results: dict[str, Any]) -> list[dict[str, Any]]:
    goals = []
    for engine in get_args(EngineName):
        for size, timing in results.get(engine, {}).get("recent", {}).get("ours", {}).items():
            goals.append(_judge(f"{engine} recent({RECENT}) p50 ms at {int(size):,}", timing.p50_ms, RECENT_GOAL_MS))
        for operation in ("record", "record_many"):
            sides = results.get(engine, {}).get(operation, {})
            for size, timing in sides.get("ours", {}).items():
                times = timing.p50_ms / sides["raw"][size].p50_ms
                goals.append(_judge(f"{engine} {operation} p50 x raw at {int(size):,}", times, RAW_GOAL))
    for each in results["growth"]:
        if (each["operation"], each["contender"]) == ("recent", "ours"):
            goals.append(_judge(f"{each['engine']} recent({RECENT}) growth", each["times"], FLAT_GOAL))
    return goals


def _judge(what: str, reached: float, most: float) -> dict[str, Any]:
    return {"goal": what, "reached": round(reached, 3), "bound": f"<= {most:g}", "passed": reached <= most}


def _show(results: dict[str, Any]) -> None:
    headings = ("<engine", "<operation", "<contender", "events", "calls", "p50 ms", "p95", "p99", "per s", "events/s")
    print(table(headings, _list_rows(results)))
    for name, peer in results["peers"].items():
        print(f"{name}: {', '.join(f'{package} {version}' for package, version in peer['versions'].items())}")
        for size, reason in peer["left_out"].items():
            print(f"{name}: {int(size):,} events left out: {reason}")
        for note in peer["notes"]:
            print(f"{name}: {note}")
    growth = [tuple(each.values()) for each in results["growth"]]
    print(table(("<engine", "<operation", "<contender", "events from", "to", "p50 x"), growth))
    goals = [(each["goal"], each["reached"], each["bound"], _format_verdict(each)) for each in results["goals"]]
    print(table(("<goal", "reached", "<bound", "<"), goals))
    print("\n".join(NOTES))


def _format_verdict(goal: dict[str, Any]) -> str:
    return "pass" if goal["passed"] else "FAIL"


def _list_rows(results: dict[str, Any]) -> Iterator[Sequence[object]]:
    for engine in get_args(EngineName):
        for operation, sides in results.get(engine, {}).items():
            for side, sizes in sides.items():
                for size, timing in sizes.items():
                    yield _format_row(engine, operation, side, size, timing)
    for name, peer in results["peers"].items():
        for size, operations in peer["timings"].items():
            for operation, timing in operations.items():
                yield _format_row("", operation, name, size, Timing(**timing))


def _format_row(engine: str, operation: str, side: str, size: str, timing: Timing) -> Sequence[object]:
    events = round(timing.per_second * BATCH) if operation == "record_many" else ""
    figures = (timing.calls, timing.p50_ms, timing.p95_ms, timing.p99_ms, timing.per_second)
    return (engine, operation, side, int(size), *figures, events)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
