"""Throughput of several machines compared with one: jobs with 1, 2 and 4 workers, requests with 1 and 2 nodes.

All of these machines share the processors of one. So the ratios come with the processor seconds of each job or
request, of the workers or nodes and of PostgreSQL: while these stay the same, the processors are the limit and not a
lock. Jobs that only wait, as for a model, show what the queue itself allows.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psutil
import psycopg

import longmind
from prove.machines.nodes import PORT, NetworkNode, api_node, running, thinking_worker, worker_node
from prove.machines.queue_drain import work_off
from prove.machines.world import API, CLIENT, QUICK, WORKERS, NetworkWorld, connect
from prove.section import Check, Plan, skip_check

COUNTS = (1, 2, 4)
EXTRACTIONS = 60
FULL_EXTRACTIONS = 1_000
WAITING_JOBS = 100
FULL_WAITING_JOBS = 1_000
MODEL_SECONDS = 0.05
USERS = 20
CLIENTS = 16
WORDS = "Graz Wien coffee tea meeting Tuesday morning project budget garden boat piano doctor invoice train".split()
_FAR = 10**15
_FIRST_JOBS = 10
_MORE_COST = 1.5
_MANY_WAITS = 0.5
"""A job for which others wait half of the time would be a limit that no further machine lifts."""


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    measures: tuple[Callable[[], Check], ...] = (
        lambda: _measure_waiting(world, FULL_WAITING_JOBS if plan.full else WAITING_JOBS),
        lambda: _measure_extraction(world, FULL_EXTRACTIONS if plan.full else EXTRACTIONS),
        lambda: _measure_requests(world, 30.0 if plan.full else 8.0),
    )
    for measure in measures:
        if plan.seconds_left() <= 0:
            yield skip_check("throughput with more workers and nodes", "there was no time left for it")
            return
        yield measure()


def _measure_waiting(world: NetworkWorld, jobs: int) -> Check:
    """Jobs that wait 50 ms each, as for a model: on idle cores, twice the workers do nearly twice as many."""
    measured = {}
    for count in COUNTS:
        url, door = world.new_database()
        with longmind.open(door, embedder=None) as engine, connect(door) as database, ExitStack() as stack:
            _queue_remarks(engine, jobs)
            _hold_back(database)
            think = ("--think", str(MODEL_SECONDS))
            workers = [
                stack.enter_context(thinking_worker(world.lines[name], url, QUICK, *think)) for name in WORKERS[:count]
            ]
            measured[count] = _let_go(world, database, workers, jobs)
    costs = [each["processor ms"] for each in measured.values()]
    return Check(
        f"jobs that wait for a model: with more workers one costs less than {_MORE_COST} times, and locks hold up none "
        "for half of the time",
        passed=max(costs) <= _MORE_COST * costs[0] and _no_lock_limits(measured),
        figures={
            "jobs": jobs,
            "cores": os.cpu_count(),
            "ratio to 1 worker": _ratios(measured),
            **_group_by_metric(measured),
        },
        detail="a job costs more where more workers do them, or they wait for locks",
    )


def _measure_extraction(world: NetworkWorld, jobs: int) -> Check:
    """Extraction by rules with `longmind worker`: all processor, so that the cores are the limit."""
    measured = {}
    for count in COUNTS:
        url, door = world.new_database()
        with longmind.open(door, embedder=None) as engine, connect(door) as database, ExitStack() as stack:
            _queue_extractions(engine, jobs + _FIRST_JOBS * count)
            _hold_back(database)
            workers = [stack.enter_context(worker_node(world.lines[name], url, QUICK)) for name in WORKERS[:count]]
            _warm_up(database, _FIRST_JOBS * count)
            measured[count] = _let_go(world, database, workers, jobs)
    costs = [each["processor ms"] for each in measured.values()]
    return Check(
        f"extraction: with more workers a job costs less than {_MORE_COST} times the processor time, so that the cores "
        "limit them, and locks hold up none for half of the time",
        passed=max(costs) <= _MORE_COST * costs[0] and _no_lock_limits(measured),
        figures={
            "jobs": jobs,
            "cores": os.cpu_count(),
            "ratio to 1 worker": _ratios(measured),
            **_group_by_metric(measured),
        },
        detail="a job costs more where more workers do them, or they wait for locks",
    )


def _measure_requests(world: NetworkWorld, seconds: float) -> Check:
    """Appends and recalls from many clients at once, on one node and on two."""
    measured = {}
    for count in (1, 2):
        url, door = world.new_database()
        with longmind.open(door, embedder=None) as engine:
            clients = [_client(engine, number) for number in range(CLIENTS)]
        with ExitStack() as stack:
            nodes = [stack.enter_context(api_node(world.lines[name], url, QUICK)) for name in API[:count]]
            order = {"nodes": [f"{node.machine.address}:{PORT}" for node in nodes], "clients": clients}
            generator = stack.enter_context(
                running(NetworkNode(world.lines[CLIENT], ("-m", "prove.machines.load"), QUICK))
            )
            with connect(door) as database:
                before = _processor_seconds(world, nodes)
                watch = _Watch(database)
                generator.tell({**order, "seconds": seconds})
                report = _watch_clients(generator, watch, seconds)
            used = _processor_seconds(world, nodes) - before
            measured[count] = {
                "per second": report["requests"] / report["elapsed"],
                "processor ms": used / max(1, report["requests"]) * 1000,
                "lock waits": watch.share,
                "refused": report["refused"],
            }
    asked = [each["per second"] for each in measured.values()]
    refused = sum(each.pop("refused") for each in measured.values())
    costs = [each["processor ms"] for each in measured.values()]
    return Check(
        f"requests: with two nodes one costs less than {_MORE_COST} times the processor time, so that the cores limit "
        "them, and locks hold up none for half of the time",
        passed=min(asked) > 0 and costs[1] <= _MORE_COST * costs[0] and _no_lock_limits(measured) and not refused,
        figures={
            "clients": CLIENTS,
            "cores": os.cpu_count(),
            "ratio to 1 node": _ratios(measured),
            **_group_by_metric(measured),
        },
        detail=f"a request costs more where there are two nodes, or some were refused ({refused})",
    )


class _Watch:
    """A repeated count of the sessions that wait for a lock in the database."""

    def __init__(self, database: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._database = database
        self._looks = self._waits = 0

    def look(self) -> None:
        [(waiting,)] = self._database.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        self._looks += 1
        self._waits += waiting

    @property
    def share(self) -> float:
        """Return the mean number of sessions that waited."""
        return round(self._waits / max(1, self._looks), 2)


def _let_go(
    world: NetworkWorld, database: psycopg.Connection[tuple[Any, ...]], workers: list[NetworkNode], jobs: int
) -> dict[str, float]:
    """Make the jobs due that were held back, and measure until the last is done."""
    before, watch, began = _processor_seconds(world, workers), _Watch(database), time.monotonic()
    due = database.execute("UPDATE longmind.jobs SET due_at = due_at - %s WHERE status = 'queued'", (_FAR,)).rowcount
    if due < jobs:
        raise RuntimeError(f"{due} of {jobs} jobs were there to be done")
    left = work_off(database, seconds=300, meanwhile=watch.look)
    took = time.monotonic() - began
    if left:
        raise RuntimeError("; ".join(left))
    used = _processor_seconds(world, workers) - before
    return {"per second": jobs / took, "processor ms": used / jobs * 1000, "lock waits": watch.share}


def _hold_back(database: psycopg.Connection[tuple[Any, ...]]) -> None:
    database.execute("UPDATE longmind.jobs SET due_at = due_at + %s WHERE status = 'queued'", (_FAR,))


def _warm_up(database: psycopg.Connection[tuple[Any, ...]], jobs: int, seconds: float = 120.0) -> None:
    """Finish some of the jobs first, so that the modules a worker loads with its first jobs are not measured."""
    deadline = time.monotonic() + seconds
    database.execute(
        "UPDATE longmind.jobs SET due_at = due_at - %s WHERE id IN "
        "(SELECT id FROM longmind.jobs WHERE status = 'queued' ORDER BY id LIMIT %s)",
        (_FAR, jobs),
    )
    done = "SELECT count(*) >= %s FROM longmind.jobs WHERE status = 'succeeded'"
    while database.execute(done, (jobs,)).fetchone() != (True,):
        if time.monotonic() > deadline:
            raise RuntimeError("the first jobs were not done")
        time.sleep(0.05)


def _watch_clients(generator: NetworkNode, watch: _Watch, seconds: float) -> Any:
    deadline = time.monotonic() + seconds + 60
    while time.monotonic() < deadline:
        watch.look()
        if (told := generator.hear(0.1)) is not None:
            return told
    raise RuntimeError("the clients did not come to an end")


def _processor_seconds(world: NetworkWorld, nodes: list[NetworkNode]) -> float:
    """Return the processor seconds of the nodes, and of PostgreSQL with its processes, ended ones included."""
    server = psutil.Process(world.server.pid)
    used = sum(server.cpu_times()[:4])
    for child in server.children(recursive=True):
        # One that ends this moment is in the server's own sum by the next look.
        with suppress(psutil.NoSuchProcess):
            used += sum(child.cpu_times()[:2])
    return float(used) + sum(node.processor_seconds for node in nodes)


def _no_lock_limits(measured: dict[int, dict[str, float]]) -> bool:
    return all(each["lock waits"] < _MANY_WAITS for each in measured.values())


def _ratios(measured: dict[int, dict[str, float]]) -> dict[str, float]:
    one = measured[1]["per second"]
    return {str(count): round(each["per second"] / one, 2) for count, each in measured.items()}


def _group_by_metric(measured: dict[int, dict[str, float]]) -> dict[str, dict[str, float]]:
    names = measured[1]
    return {name: {str(count): round(each[name], 2) for count, each in measured.items()} for name in names}


def _user(engine: longmind.Engine, number: int) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="prove", user_id=f"user-{number}")


def _queue_remarks(engine: longmind.Engine, jobs: int) -> None:
    contexts = [_user(engine, number) for number in range(USERS)]
    rooms = [ctx.conversations.create_conversation("remarks").id for ctx in contexts]
    for number in range(jobs):
        contexts[number % USERS].jobs.enqueue("remark", {"conversation": rooms[number % USERS]})


def _queue_extractions(engine: longmind.Engine, jobs: int) -> None:
    contexts = [_user(engine, number) for number in range(USERS)]
    for number, ctx in enumerate(contexts):
        space = ctx.memory.create_memory_space("daily")
        ctx.memory.create_binding({"namespace": "chat", "userId": f"user-{number}"}, [space.id])
    chance = random.Random(3)
    for number in range(jobs):
        ctx = contexts[number % USERS]
        conversation = ctx.conversations.create_conversation("chat")
        for _ in range(4):
            text = f"I like the {_words(chance)} in {chance.choice(WORDS)}. My sister works as a {_words(chance)}."
            ctx.conversations.append_turn(conversation.id, user_content=text, assistant={"content": "Noted."})
        ctx.conversations.close_conversation(conversation.id)


def _words(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=3))


def _client(engine: longmind.Engine, number: int) -> dict[str, str]:
    ctx = _user(engine, number)
    space = ctx.memory.create_memory_space("personal")
    fact = {"category": {"name": "notes", "kind": "FACT"}}
    chance = random.Random(number)
    ctx.memory.add_atoms(space.id, [{"text": f"{_words(chance)} {each}.", **fact} for each in range(200)])
    key = engine.keys.create(tenant_id="acme", app_id="prove", user_id=f"user-{number}")
    conversation = ctx.conversations.create_conversation("chat")
    return {"token": key.token, "space": space.id, "conversation": conversation.id}
