"""The load that the server carries: many clients on each engine, without and with crashes.

50 clients, each with a key, a user, a space and a conversation of its own, ask without a pause: 70 % recall, 20 %
append, 10 % working context. Then once more, while the worker is killed and started again and PostgreSQL is
restarted. `./dev bench server --help` lists the options.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

import longmind
from benchmarks._http_load import Load, Request, run_load
from benchmarks.measure import RESULTS, environment, load, percentile, table, write_json
from harness.postgres import PostgresServer

OUTPUT = RESULTS / "server.json"
WORDS = "Graz Wien coffee tea meeting Tuesday morning project budget garden boat piano doctor invoice train".split()
NOTES = (
    "Server, database, worker and clients share the machine. Each client sends its next request as soon as it has the "
    "answer to the last one, so the latencies are those of a server under full load.",
    "Processor time is that of the server's process, divided by its requests. A write is durable when the server "
    "answers. There is no embedder; embedding a query would add some milliseconds.",
    "With crashes: clients repeat refused requests with the same idempotency key. An acknowledged write is lost if it "
    "is not in the database at the end, and doubled if it is there twice.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="seconds of each part")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--atoms", type=int, default=1000, help="number of facts of each user")
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--parts", default="steady,crashes")
    parser.add_argument("--output", default=str(OUTPUT))
    options = parser.parse_args()
    results: dict[str, Any] = {
        "environment": environment("longmind", "starlette", "uvicorn", "apsw", "psycopg"),
        "clients": options.clients,
        "atoms": options.atoms,
        "seconds": options.seconds,
        "loads": [load()],
        "steady": [],
        "crashes": [],
        "notes": list(NOTES),
    }
    for engine in options.engines.split(","):
        for part in options.parts.split(","):
            results[part].append(measure(engine, part == "crashes", options))
            _show(results[part][-1])
    results["loads"].append(load())
    write_json(Path(options.output), results)
    print("\n".join(NOTES))


def measure(engine: str, crashes: bool, options: argparse.Namespace) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = stack.enter_context(PostgresServer()) if engine == "postgres" else None
        url = postgres.create_database("bench") if postgres else f"sqlite:///{folder}/memory.db"
        clients = _prepare_clients(url, options.clients, options.atoms)
        serve = ("serve", "--url", url, "--port", "0", "--workers", "0" if crashes else "1")
        server, said = stack.enter_context(running(*serve, says=r"listens on (\S+)"))
        disturbing = stack.enter_context(_cause_crashes(url, postgres, options.seconds)) if crashes else {}
        before = _read_processor_seconds(server)
        made = asyncio.run(run_load(said[1], clients, options.seconds))
        used = _read_processor_seconds(server) - before
        requests = sum(map(len, made.times.values()))
        return {
            "engine": engine,
            "requests": requests,
            "per_second": round(requests / made.elapsed, 1),
            "processor_ms_per_request": round(used / max(1, requests) * 1000, 3),
            "refused": made.refused,
            **({} if crashes else {"errors": sum(made.refused.values())}),
            "milliseconds": {kind: _compute_percentiles(times) for kind, times in _group_by_kind(made).items()},
            **({"longest_silence_seconds": round(made.longest_silence, 2), **disturbing} if crashes else {}),
            **_count_lost_writes(url, made),
        }


def _prepare_clients(
    url: str, clients: int, atoms: int
) -> list[tuple[dict[str, str], Callable[[random.Random], Request]]]:
    """Return for each client its key and a function that chooses its next request, and fill its memory."""
    chance = random.Random(7)
    with longmind.open(url, embedder=None) as engine:
        return [_prepare_client(engine, f"user-{number}", atoms, chance) for number in range(clients)]


def _prepare_client(
    engine: longmind.Engine, user: str, atoms: int, chance: random.Random
) -> tuple[dict[str, str], Callable[[random.Random], Request]]:
    whose: dict[str, Any] = {"tenant_id": "bench", "app_id": "server", "user_id": user}
    ctx = engine.context(**whose)
    space = ctx.memory.create_memory_space("personal")
    fact = {"category": {"name": "notes", "kind": "FACT"}}
    ctx.memory.add_atoms(space.id, [{"text": _make_sentence(chance, number), **fact} for number in range(atoms)])
    ctx.memory.create_binding({"namespace": "chat", "userId": user}, [space.id], {"windowed": True, "windowTurns": 20})
    conversation = ctx.conversations.create_conversation("chat")

    def choose(chance: random.Random) -> Request:
        at = chance.random()
        if at < 0.7:
            query = {"query": _make_sentence(chance, 0), "limit": 10}
            return "recall", f"/ai-memory/spaces/{space.id}/recall/topic", query
        if at < 0.9:
            said = {"content": _make_sentence(chance, chance.randrange(10**6))}
            return "append", f"/ai-conversations/{conversation.id}/messages/user", said
        asked = {"memorySpaceId": space.id, "recallQuery": _make_sentence(chance, 0), "tokenBudget": 2000}
        return "context", f"/ai-working-context/{conversation.id}", asked

    return {"Authorization": f"Bearer {engine.keys.create(**whose).token}"}, choose


def _make_sentence(chance: random.Random, number: int) -> str:
    return f"{' '.join(chance.choices(WORDS, k=6))} {number}."


@contextmanager
def running(*arguments: str, says: str) -> Iterator[tuple[subprocess.Popen[str], re.Match[str]]]:
    """Run a command in a process of its own, and yield it when it has printed that it is ready."""
    surroundings = {**os.environ, "LONGMIND_EMBEDDER": "none", "LONGMIND_LOG_LEVEL": "warning"}
    command = [sys.executable, "-m", "longmind.cli", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings)
    try:
        assert process.stderr is not None
        found = next((match for line in process.stderr if (match := re.search(says, line))), None)
        if found is None:
            raise RuntimeError(f"{arguments[0]} has ended before it was ready")
        # Later output must be read, or the process would block on a full pipe.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process, found
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()


@contextmanager
def _cause_crashes(url: str, postgres: PostgresServer | None, seconds: float) -> Iterator[dict[str, Any]]:
    """Kill the worker after a third of the time and start another; restart PostgreSQL, as in a crash, after half."""
    told: dict[str, Any] = {"worker_killed": False, "postgres_restarted": False}
    ready, over = threading.Event(), threading.Event()

    def disturb() -> None:
        with running("worker", "--url", url, says="at work") as (worker, _):
            begun = time.perf_counter()
            ready.set()
            over.wait(seconds / 3)
            worker.kill()
            told["worker_killed"] = not over.is_set()
        with running("worker", "--url", url, says="at work"):
            over.wait(max(0.0, begun + seconds / 2 - time.perf_counter()))
            if postgres is not None and not over.is_set():
                postgres.restart("immediate")
                told["postgres_restarted"] = True
            over.wait()

    thread = threading.Thread(target=disturb)
    thread.start()
    ready.wait()
    try:
        yield told
    finally:
        over.set()
        thread.join()


def _count_lost_writes(url: str, made: Load) -> dict[str, int]:
    """Count the acknowledged messages that are missing from the database, or in it more than once."""
    acknowledged: dict[str, list[str]] = {}
    for conversation_id, message_id in made.acknowledged:
        acknowledged.setdefault(conversation_id, []).append(message_id)
    lost = doubled = 0
    with longmind.open(url, embedder=None) as engine:
        owners = {change.conversation_id: change.user_id for change in engine.follow() if change.conversation_id}
        for conversation_id, ids in acknowledged.items():
            user = owners[conversation_id]
            ctx = engine.context(tenant_id="bench", app_id="server", user_id=user)
            rows = []
            before: int | None = None
            while page := ctx.conversations.get_messages(conversation_id, limit=10_000, before=before):
                rows += page
                before = page[0].sequence
            lost += len(set(ids) - {row.id for row in rows})
            keys = [row.idempotency_key for row in rows]
            doubled += len(keys) - len(set(keys))
    return {"acknowledged_writes": len(made.acknowledged), "lost_writes": lost, "doubled_writes": doubled}


def _group_by_kind(made: Load) -> dict[str, list[float]]:
    return {"all": [each for times in made.times.values() for each in times], **made.times}


def _compute_percentiles(times: list[float]) -> dict[str, float]:
    return {f"p{percent}": round(percentile(times, percent) * 1000, 2) for percent in (50, 95, 99)}


def _read_processor_seconds(process: subprocess.Popen[str]) -> float:
    used = psutil.Process(process.pid).cpu_times()
    return used.user + used.system


def _show(result: dict[str, Any]) -> None:
    rows = [(kind, *times.values()) for kind, times in result["milliseconds"].items()]
    print(f"\n{result['engine']}: {result['per_second']:,} requests/s, {result['requests']:,} in all")
    print(table(("<kind", "p50 ms", "p95", "p99"), rows))
    for name, value in result.items():
        if name not in ("engine", "requests", "per_second", "milliseconds"):
            print(f"  {name.replace('_', ' ')}: {value}")


if __name__ == "__main__":
    main()
