"""The speed of recalling and adding facts: spaces of 1,000, 10,000 and 100,000 atoms inside a store of a million.

It is compared with numpy on the same vectors, an exact scan by pgvector, and other memory stores in environments of
their own. `./dev bench recall --help` lists the options.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import count, cycle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil
import psycopg

import longmind
from benchmarks._peers import PEERS, Peer, Skipped, ask_peers, measure_peer
from benchmarks._recall_data import DIMENSION, CheapEmbedder, facts, questions, vectors_of
from benchmarks.measure import (
    RESULTS,
    Spent,
    Timing,
    environment,
    interleave,
    load,
    percentile,
    sync_cost,
    table,
    time_in_turns,
    write_json,
)
from harness.postgres import PostgresServer
from longmind.providers.local.embedder import LocalEmbedder
from longmind.providers.model_files import MODELS, is_present
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings

EngineName = Literal["sqlite", "postgres"]

OUTPUT = RESULTS / "recall.json"
RIVAL = "langgraph_sqlite"
"""Whom goals are told against: of the peers that miss nothing it is the fastest, and the fastest of all to add to."""
PEER_NAMES = (RIVAL, "chroma", "mem0")
SLICES = 6
"""In how many parts ours and the rival are measured in turns: a shared machine is faster and slower for seconds."""
LONG_ROUND, SHORT_ROUND = 50, 10
"""Calls of each at a time, of which the first round in each part is not counted; where the rival takes long, fewer."""
QUICK = ("1000", "add")
WARMING = 500
"""Questions to each space before any is counted: a space that is in use keeps what was found lately."""
SIZES = (1_000, 10_000, 100_000)
BYSTANDER = 10_000
"""Atoms of each of the other users that make up the rest of the store."""
BATCH = 10_000
QUESTIONS = 50_000
"""More than one measurement asks, so that hardly any is asked twice."""
TOP = 10
KIND = {"name": "fact", "kind": "FACT"}

GOALS_MS = {1_000: 0.5, 10_000: 1.5, 100_000: 10.0}
BULK_GOAL = 20_000
COLD_GOAL_MS = 60.0
BYTES_GOAL = 1_200
PEER_GOAL = 15.0
NOTES = (
    "Times are milliseconds of one call. Recall is hybrid: vectors and words, with all filters that apply by default; "
    f"it returns the best {TOP}. Questions are four words of one of the facts, and hardly any repeats.",
    "Vectors of questions are precomputed, except in the line 'with embedding', where the local model computes them. "
    f"Each space answers {WARMING} questions before the timing starts, except for that line.",
    "The store is filled by add_atoms, 10,000 atoms at a time.",
    "Cold is the first recall of a newly opened engine, in a space that is not in memory; the file may be in the "
    "operating system's cache.",
    f"Goals against LangGraph compare times that both sides measured in turns, in {SLICES} parts, since the speed of a "
    "shared machine changes within seconds; the peers' own lines were measured before that. Chroma recalls faster than "
    "LangGraph, with an approximate index.",
    "A peer holds the same number of facts as ours, or as many as it could store in the given time. pgvector holds "
    "only the three spaces, which favours it. numpy and pgvector compare vectors alone and return only ids.",
)


@dataclass(frozen=True)
class Filled:
    """An open engine with its three spaces."""

    engine: longmind.Engine
    url: str
    spaces: dict[int, str]
    asked: dict[int, list[str]]

    def context(self, engine: longmind.Engine, size: int) -> longmind.Context:
        return engine.context(tenant_id="bench", app_id="recall", user_id=f"user {size}")


def main() -> None:
    options = read_arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        results: dict[str, Any] = {
            "environment": environment("longmind", "numpy", "apsw", "psycopg", "simsimd"),
            "load before": load(),
            "store": _count_stored(options),
            "sync_ms": sync_cost(folder),
            "notes": list(NOTES),
        }
        results["numpy"] = _measure_numpy(options)
        peers, skipped, rival = _ask_peers(options, folder, stack)
        for name in options.engines:
            _say(f"{name}: filling a store of {_count_stored(options):,} atoms")
            with _open_folder(name, folder) as url:
                results[name] = _measure(name, url, options, rival)
        results["peers"] = peers
        results["peers skipped"] = skipped
        results["load after"] = load()
    results["goals"] = _judge_goals(results)
    write_json(Path(options.output), results)
    _show(results)


def _ask_peers(
    options: argparse.Namespace, folder: Path, stack: ExitStack
) -> tuple[dict[str, Any], dict[str, str], Peer | None]:
    """Return the answers of the peers, the reasons of skipped ones, and the rival that takes turns with Longmind."""
    if options.no_peers:
        return {}, dict.fromkeys(PEER_NAMES, "it was not asked, by --no-peers"), None
    environments = Path(options.peers)
    order = {
        "sizes": options.sizes,
        "others": _count_others(options),
        "seconds": options.seconds,
        "fill_seconds": options.peer_fill_seconds,
    }
    rival = stack.enter_context(measure_peer(RIVAL, environments, folder, {**order, "stays": True}))
    answers, skipped = ask_peers([name for name in PEER_NAMES if name != RIVAL], environments, folder, order)
    if isinstance(rival, Skipped):
        return answers, {RIVAL: rival.reason, **skipped}, None
    return {RIVAL: rival.answer, **answers}, skipped, rival


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench recall", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--store",
        type=_parse_positive,
        default=1_000_000,
        help="atoms in the whole store; at least those of all spaces",
    )
    parser.add_argument(
        "--sizes", type=_parse_positive, nargs="+", default=list(SIZES), help="atoms in each measured space"
    )
    parser.add_argument("--engines", nargs="+", choices=("sqlite", "postgres"), default=["sqlite", "postgres"])
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds to time one operation")
    parser.add_argument("--folder", help="the folder for databases; by default the system's temporary folder")
    parser.add_argument("--peers", default=str(PEERS / ".venv"), help="a folder with one environment for each peer")
    parser.add_argument(
        "--peer-fill-seconds",
        type=float,
        default=600.0,
        help="seconds to fill one peer; sizes that take longer are left out",
    )
    parser.add_argument("--no-peers", action="store_true", help="measure no other stores")
    parser.add_argument("--output", default=str(OUTPUT))
    options = parser.parse_args(arguments)
    if len(set(options.sizes)) < len(options.sizes):
        parser.error("argument --sizes: each size may be given only once")
    if Path(options.output).is_dir():
        parser.error(f"argument --output: {options.output} is a folder, not a file")
    return options


def _parse_positive(written: str) -> int:
    number = int(written)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than one atom")
    return number


@contextmanager
def _open_folder(name: EngineName, folder: Path) -> Iterator[str]:
    if name == "sqlite":
        yield f"sqlite:///{folder}/recall.db"
        return
    with PostgresServer() as server:
        yield server.create_database("recall")


def _open(url: str, real: object = None) -> longmind.Engine:
    return longmind.open(url, embedder=CheapEmbedder(real), cache_megabytes=1024)


# --- filling ---------------------------------------------------------------------------------


def _count_others(options: argparse.Namespace) -> int:
    """Return the number of atoms of other users."""
    others: int = _count_stored(options) - sum(options.sizes)
    return others


def _count_stored(options: argparse.Namespace) -> int:
    """Return the number of all atoms: the requested number, or that of the spaces if it is larger."""
    stored: int = max(options.store, sum(options.sizes))
    return stored


def _fill(url: str, options: argparse.Namespace) -> tuple[Filled, dict[str, Any]]:
    began = time.perf_counter()
    engine = _open(url)
    spaces, asked, added = {}, {}, 0
    others = _count_others(options)
    users = [(f"user {size}", size) for size in options.sizes]
    # The measured spaces come in the middle, so that they are neither the oldest nor the newest rows.
    bystanders = [
        (f"other {place}", min(BYSTANDER, others - first)) for place, first in enumerate(range(0, others, BYSTANDER))
    ]
    half = len(bystanders) // 2
    for user, size in [*bystanders[:half], *users, *bystanders[half:]]:
        context = engine.context(tenant_id="bench", app_id="recall", user_id=user)
        space = context.memory.create_memory_space("memory").id
        texts = facts(user, size)
        for start in range(0, size, BATCH):
            added += len(context.memory.add_atoms(space, [_make_atom(text) for text in texts[start : start + BATCH]]))
        if user.startswith("user"):
            spaces[size] = space
            asked[size] = questions(user, texts, QUESTIONS)
    took = time.perf_counter() - began
    filling = {"atoms": added, "seconds": round(took, 1), "per_second": round(added / took)}
    return Filled(engine, url, spaces, asked), filling


def _make_atom(text: str) -> dict[str, Any]:
    return {"text": text, "category": KIND, "trust": "user"}


# --- measuring -------------------------------------------------------------------------------


def _measure(name: EngineName, url: str, options: argparse.Namespace, rival: Peer | None) -> dict[str, Any]:
    filled, filling = _fill(url, options)
    try:
        _settle(name, url)
        cold, per_atom = _measure_cold(filled)
        _say(f"{name}: recall")
        asking = _make_recalls_of_all(filled, filled.engine)
        for ask in asking.values():
            for _ in range(WARMING):
                ask()
        recall, recall_of_rival = _measure_in_turns(rival, asking, options.seconds)
        add, add_of_rival = _measure_in_turns(rival, {"add": _make_adds(filled)}, options.seconds / 2)
        measured = {
            "filling": filling,
            "recall": recall,
            "cold_ms": cold,
            "bytes_per_cached_atom": per_atom,
            "recall_after_write": _measure_after_write(filled, options.seconds / 3),
            **_measure_with_embedding(filled, options.seconds),
            "add_atom": add["add"],
            "add_atoms_per_second": _measure_bulk(filled),
            **({"rival": {"recall": recall_of_rival, **add_of_rival}} if rival is not None else {}),
        }
        if name == "postgres":
            _say("pgvector: exact scan of the same vectors")
            measured["pgvector"] = _measure_pgvector(url, options)
        return measured
    finally:
        filled.engine.close()


def _settle(name: EngineName, url: str) -> None:
    if name == "postgres":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")


def _measure_in_turns(
    rival: Peer | None, contenders: dict[str, Callable[[], object]], seconds: float
) -> tuple[dict[str, Timing], dict[str, Timing]]:
    """Measure Longmind and the rival in turns."""
    ours, theirs = ({name: Spent() for name in contenders} for _ in range(2))
    each = seconds / SLICES / len(contenders)
    for _ in range(SLICES):
        for name, call in contenders.items():
            calls = LONG_ROUND if name in QUICK else SHORT_ROUND
            ours[name].join(time_in_turns({name: call}, seconds=each, calls_per_round=calls)[name])
            if rival is not None:
                theirs[name].join(rival.measure(name, each, calls))
    return _list_timings(ours), _list_timings(theirs)


def _list_timings(spent: dict[str, Spent]) -> dict[str, Timing]:
    return {name: each.timing for name, each in spent.items() if each.times}


def _make_recalls_of_all(filled: Filled, engine: longmind.Engine) -> dict[str, Callable[[], object]]:
    return {str(size): _make_recalls(filled, engine, size) for size in filled.spaces}


def _make_recalls(filled: Filled, engine: longmind.Engine, size: int) -> Callable[[], object]:
    memory = filled.context(engine, size).memory
    space = filled.spaces[size]
    asked = cycle(filled.asked[size])

    def ask() -> object:
        return memory.recall_by_topic(space, next(asked), limit=TOP)

    return ask


def _measure_cold(filled: Filled) -> tuple[dict[int, float], dict[int, dict[str, int]]]:
    """Measure the first recall of each space in a new engine, and the memory that it then takes."""
    times: dict[int, float] = {}
    sizes: dict[int, dict[str, int]] = {}
    for size in filled.spaces:
        tries = []
        for _ in range(3):
            with _open(filled.url) as engine:
                # A small space first, so that loading of memory is measured and not loading of code.
                _measure_warm(engine)
                ask = _make_recalls(filled, engine, size)
                gc.collect()
                resident = psutil.Process().memory_info().rss
                began = time.perf_counter()
                ask()
                tries.append((time.perf_counter() - began) * 1000)
                grown = psutil.Process().memory_info().rss - resident
                counted = engine._parts.retriever.indexes.nbytes
        times[size] = round(percentile(tries, 50), 2)
        sizes[size] = {"counted": round(counted / size), "resident": round(grown / size)}
    return times, sizes


def _measure_warm(engine: longmind.Engine) -> None:
    memory = engine.context(tenant_id="bench", app_id="recall", user_id="warm").memory
    space = memory.create_memory_space("memory").id
    memory.add_atom(space, _make_atom("Something to begin with."))
    memory.recall_by_topic(space, "something")


def _measure_after_write(filled: Filled, seconds: float) -> dict[int, Timing]:
    """Measure a recall after an atom was added; the addition itself is not counted."""
    timings = {}
    for size, space in filled.spaces.items():
        memory = filled.context(filled.engine, size).memory
        asked = cycle(filled.asked[size])
        spent: list[float] = []
        deadline = time.perf_counter() + seconds / len(filled.spaces)
        for number in count():
            memory.add_atom(space, _make_atom(f"Fact number {number} was added later on."))
            before = time.perf_counter()
            memory.recall_by_topic(space, next(asked), limit=TOP)
            spent.append(time.perf_counter() - before)
            if len(spent) >= 5 and time.perf_counter() >= deadline:
                break
        p50, p95, p99 = (round(percentile(spent, percent) * 1000, 4) for percent in (50, 95, 99))
        timings[size] = Timing(len(spent), p50, p95, p99, round(len(spent) / sum(spent), 1))
    return timings


def _measure_with_embedding(filled: Filled, seconds: float) -> dict[str, Any]:
    folder = Path(load_settings({}).models_folder)
    model = MODELS[DEFAULT_MODEL]
    if not is_present(model, folder):
        _say("the local model is not installed; recall with embedding is left out")
        return {}
    with _open(filled.url, LocalEmbedder(model, folder)) as engine:
        return {
            "recall_with_embedding": interleave(
                _make_recalls_of_all(filled, engine), seconds=seconds, calls_per_round=50
            )
        }


def _make_adds(filled: Filled) -> Callable[[], object]:
    memory = filled.context(filled.engine, 0).memory
    space = memory.create_memory_space("memory").id
    numbers = count()
    return lambda: memory.add_atom(space, _make_atom(f"Fact number {next(numbers)} is kept."))


def _measure_bulk(filled: Filled) -> int:
    memory = filled.context(filled.engine, 0).memory
    space = memory.create_memory_space("bulk").id
    rates = []
    for number in range(5):
        atoms = [_make_atom(text) for text in facts(f"bulk {number}", BATCH)]
        began = time.perf_counter()
        memory.add_atoms(space, atoms)
        rates.append(BATCH / (time.perf_counter() - began))
    return round(percentile(rates, 50))


# --- the others ------------------------------------------------------------------------------


def _measure_numpy(options: argparse.Namespace) -> dict[str, Timing]:
    """Measure a matrix-vector product and its best entries: the minimum of any vector search."""
    contenders: dict[str, Callable[[], object]] = {}
    for size in options.sizes:
        texts = facts(f"user {size}", size)
        matrix = np.ascontiguousarray(vectors_of(texts))
        asked = cycle(vectors_of(questions(f"user {size}", texts, QUESTIONS)))
        contenders[str(size)] = lambda matrix=matrix, asked=asked: _find_best(matrix @ next(asked))  # type: ignore[misc]  # mypy knows no defaults of a lambda
    return interleave(contenders, seconds=options.seconds / 2, calls_per_round=50)


def _find_best(scores: Any) -> Any:
    found = np.argpartition(scores, max(0, len(scores) - TOP))[-TOP:]
    return found[np.argsort(-scores[found])]


def _measure_pgvector(url: str, options: argparse.Namespace) -> dict[str, Timing]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA IF NOT EXISTS scan")
        connection.execute(f"CREATE TABLE scan.vectors (size int, id int, embedding vector({DIMENSION}))")
        contenders: dict[str, Callable[[], object]] = {}
        for size in options.sizes:
            texts = facts(f"user {size}", size)
            with connection.cursor().copy("COPY scan.vectors FROM STDIN") as copy:
                for number, vector in enumerate(vectors_of(texts)):
                    copy.write_row((size, number, _format_vector(vector)))
            asked = cycle([_format_vector(each) for each in vectors_of(questions(f"user {size}", texts, QUESTIONS))])
            contenders[str(size)] = lambda size=size, asked=asked: connection.execute(  # type: ignore[misc]  # as above
                f"SELECT id FROM scan.vectors WHERE size = %s ORDER BY embedding <=> %s::vector LIMIT {TOP}",
                (size, next(asked)),
            ).fetchall()
        connection.execute("CREATE INDEX ON scan.vectors (size)")
        connection.execute("VACUUM ANALYZE scan.vectors")
        return interleave(contenders, seconds=options.seconds, calls_per_round=5)


def _format_vector(vector: Any) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector) + "]"


# --- the answer ------------------------------------------------------------------------------


def _judge_goals(results: dict[str, Any]) -> list[dict[str, Any]]:
    goals = []
    for name in ("sqlite", "postgres"):
        if name not in results:
            continue
        ours = results[name]
        rival = ours.get("rival")
        for size, most in GOALS_MS.items():
            if str(size) in ours["recall"]:
                p50 = ours["recall"][str(size)].p50_ms
                goals.append(_judge(f"{name} recall p50 at {size:,}", p50, "<=", most))
                if rival is not None and str(size) in rival["recall"]:
                    times = rival["recall"][str(size)].p50_ms / p50
                    goals.append(
                        _judge(f"{name} recall at {size:,}, times faster than LangGraph", times, ">=", PEER_GOAL)
                    )
        if rival is not None:
            goals.append(
                _judge(f"{name} add_atom p50, against LangGraph", ours["add_atom"].p50_ms, "<=", rival["add"].p50_ms)
            )
        goals.append(_judge(f"{name} add_atoms per second", ours["add_atoms_per_second"], ">=", BULK_GOAL))
        if 10_000 in ours["cold_ms"]:
            goals.append(_judge(f"{name} cold recall at 10,000", ours["cold_ms"][10_000], "<=", COLD_GOAL_MS))
        largest = max(ours["bytes_per_cached_atom"])
        goals.append(
            _judge(f"{name} bytes per cached atom", ours["bytes_per_cached_atom"][largest]["counted"], "<=", BYTES_GOAL)
        )
    return goals


def _judge(what: str, reached: float, sign: str, bound: float) -> dict[str, Any]:
    passed = reached <= bound if sign == "<=" else reached >= bound
    return {"goal": what, "reached": round(reached, 3), "bound": f"{sign} {bound:g}", "passed": passed}


def _show(results: dict[str, Any]) -> None:
    rows: list[Sequence[object]] = []
    for name in ("sqlite", "postgres"):
        if name in results:
            ours = results[name]
            for what in ("recall", "recall_with_embedding", "recall_after_write"):
                rows += [_format_row(f"longmind {name}", what, size, each) for size, each in ours.get(what, {}).items()]
            rows.append(_format_row(f"longmind {name}", "add_atom", "", ours["add_atom"]))
            if "rival" in ours:
                beside = ours["rival"]
                rows += [
                    _format_row("  in turns with it", "recall", size, each) for size, each in beside["recall"].items()
                ]
                rows.append(_format_row("  in turns with it", "add", "", beside["add"]))
    if "postgres" in results:
        rows += [
            _format_row("pgvector", "exact scan", size, each) for size, each in results["postgres"]["pgvector"].items()
        ]
    rows += [_format_row("numpy", "float32 scan", size, each) for size, each in results["numpy"].items()]
    for name, peer in results["peers"].items():
        rows += [_format_row(name, "recall", size, Timing(**each)) for size, each in peer["recall"].items()]
        rows.append(_format_row(name, "add", "", Timing(**peer["add"])))
    print(table(("<contender", "<operation", "atoms", "calls", "p50 ms", "p95", "p99", "per s"), rows))
    for name in ("sqlite", "postgres"):
        if name in results:
            ours = results[name]
            print(f"{name}: cold {ours['cold_ms']} ms, bytes per cached atom {ours['bytes_per_cached_atom']}")
            print(f"{name}: add_atoms {ours['add_atoms_per_second']:,} per s, filling {ours['filling']}")
    for name, peer in results["peers"].items():
        versions = ", ".join(f"{package} {version}" for package, version in peer["versions"].items())
        others = f"{peer['facts_of_others']:,} facts of others"
        print(f"{name}: bulk {peer['bulk_per_second']:,} per s, {others} ({versions})")
        for size, reason in peer["left_out"].items():
            print(f"{name}: {int(size):,} atoms left out: {reason}")
        for note in peer["notes"]:
            print(f"{name}: {note}")
    for name, reason in results["peers skipped"].items():
        print(f"{name}: left out: {reason}")
    print(
        table(
            ("<goal", "reached", "<bound", "<"),
            [
                (each["goal"], each["reached"], each["bound"], "pass" if each["passed"] else "FAIL")
                for each in results["goals"]
            ],
        )
    )
    print("\n".join(NOTES))


def _format_row(contender: str, operation: str, size: object, timing: Timing) -> Sequence[object]:
    each = asdict(timing)
    return (
        contender,
        operation,
        str(size),
        each["calls"],
        each["p50_ms"],
        each["p95_ms"],
        each["p99_ms"],
        each["per_second"],
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
