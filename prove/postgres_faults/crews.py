"""The processes of the workload, from their start to their reports, and the faults that strike them in between."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import longmind
from harness.crew import Child, start_process
from prove.postgres_faults.comparison import CallerOperation, Ledger
from prove.postgres_faults.faults import Fault, FaultWorld
from prove.postgres_faults.nodes import OWNER, PostgresNode
from prove.postgres_faults.workload import LIMITS, THREADS, ada, follow_on, serve_on, work_on, write_on

WRITERS = 2
RECOVERY_SECONDS = 20.0
_MARK = re.compile(r"#\w+:[\w.:]+#")
ENGINES = WRITERS + 3


@dataclass
class FaultRun:
    """One fault: when it began and was healed, and how long it took until all processes worked again."""

    fault: Fault
    began: float
    healed: float
    seconds: float | None
    """None when a process did not come back."""
    times: int = 1
    """The number of hits: sessions ended, connections cut, or 1 for the fault itself."""


@dataclass
class Report:
    """The final reports of the processes of a crew."""

    operations: list[CallerOperation] = field(default_factory=list)
    seen: list[tuple[int, str]] = field(default_factory=list)
    heard: list[tuple[list[CallerOperation], list[str]]] = field(default_factory=list)
    """The operations of each writer, and the changes that its subscriber saw."""
    readiness: list[tuple[float, int]] = field(default_factory=list)
    struck: list[FaultRun] = field(default_factory=list)
    most: int = 0
    left: int = 0
    """Sessions of the engines at the end of the faults, and when all engines were closed."""


class Crew:
    def __init__(self, number: int, url: str, folder: Path, seed: int) -> None:
        self.name = f"c{number}"
        self._stop = folder / f"stop-{number}"
        self._end = folder / f"end-{number}"
        self._url = url
        self._seed = seed
        with longmind.open(url, **LIMITS) as engine:
            self._for_jobs = ada(engine).conversations.create_conversation("effects").id
        self.report = Report()

    @contextmanager
    def at_work(self, world: FaultWorld) -> Iterator[None]:
        """Processes at work in the block; at its end they finish and report."""
        stop, end, name = str(self._stop), str(self._end), self.name
        with ExitStack() as stack:
            writers = [
                stack.enter_context(
                    start_process(write_on, self._url, stop, f"{name}w{number}", self._seed + 10 * number)
                )
                for number in range(WRITERS)
            ]
            worker = stack.enter_context(start_process(work_on, self._url, end, self._for_jobs))
            follower = stack.enter_context(start_process(follow_on, self._url, end))
            server = stack.enter_context(start_process(serve_on, self._url, stop, name))
            for child in (*writers, worker, follower, server):
                assert child.hear() == "ready"
            assert wait_until_all_write(world.node, time.time_ns() // 1000) is not None, "not everybody came to work"
            yield
            self.report.most = count_sessions(world.node)
            self._finish(world, writers, follower, server, worker)
        self.report.left = _count_lasting_sessions(world.node)

    def strike(self, world: FaultWorld, fault: Fault) -> None:
        began = time.monotonic()
        times = fault.strike(world)
        healed, at = time.monotonic(), time.time_ns() // 1000
        self.report.struck.append(FaultRun(fault, began, healed, wait_until_all_write(world.node, at), times))

    def _finish(self, world: FaultWorld, writers: list[Child], follower: Child, server: Child, worker: Child) -> None:
        self._stop.touch()
        for child in writers:
            journal, heard = child.result()
            self.report.operations += journal
            self.report.heard.append((journal, heard))
        served, self.report.readiness = server.result()
        self.report.operations += served
        # The worker has to end what was queued by itself, and the follower to see it.
        deadline = time.monotonic() + RECOVERY_SECONDS
        while _jobs_left(world.node) and time.monotonic() < deadline:
            time.sleep(0.1)
        self._end.touch()
        self.report.seen = follower.result()
        worker.result()


def _jobs_left(node: PostgresNode) -> int:
    [(left,)] = node.administer(
        "SELECT count(*) FROM longmind.jobs WHERE kind = 'attacked' AND status NOT IN ('succeeded', 'dead')"
    )
    return int(left)


def wait_until_all_write(node: PostgresNode, since: int) -> float | None:
    """Wait until every writer, the worker and the server have written something; the seconds, or None in vain."""
    began = time.monotonic()
    wanted = WRITERS * THREADS + 2
    while time.monotonic() - began < RECOVERY_SECONDS:
        [(found,)] = node.administer(
            f"SELECT count(DISTINCT conversation_id) FROM longmind.events WHERE ts > {since} AND sequence IS NOT NULL"
        )
        if found >= wanted:
            return time.monotonic() - began
        time.sleep(0.05)
    return None


def count_sessions(node: PostgresNode) -> int:
    [(found,)] = node.administer(f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{OWNER}'")
    return int(found)


def _count_lasting_sessions(node: PostgresNode) -> int:
    """Return the number of sessions after abandoned ones had time to end."""
    deadline = time.monotonic() + 10
    while (found := count_sessions(node)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def events_of_marks(node: PostgresNode) -> dict[str, str]:
    """Return the event of each mark in a message or a recorded event."""
    rows = node.administer(
        "SELECT event_id, concat(content, text) FROM longmind.events WHERE sequence IS NOT NULL OR kind = 'attacked'"
    )
    return {mark: event_id for event_id, text in rows for mark in _MARK.findall(text)}


def read_effects(node: PostgresNode, crew: str) -> tuple[Ledger, list[tuple[int, str]], int, list[str]]:
    """Return all data of a crew, as the superuser sees it: marks, the ledger, the counter, and the marks of jobs."""
    marks: Counter[str] = Counter()
    sequences = defaultdict(list)
    ledger = []
    rows = node.administer(
        "SELECT position, event_id, conversation_id, sequence, kind, concat(content, text) FROM longmind.events "
        "ORDER BY position"
    )
    for position, event_id, conversation_id, sequence, kind, text in rows:
        ledger.append((position, event_id))
        if sequence is not None:
            sequences[conversation_id].append(sequence)
        # The change of an atom may quote its text, which is not a second atom.
        if sequence is not None or kind == "attacked":
            marks.update(set(_MARK.findall(text)))
    for (text,) in node.administer("SELECT text FROM longmind.atoms"):
        marks.update(_MARK.findall(text))
    payloads = node.administer("SELECT payload FROM longmind.jobs WHERE kind = 'attacked'")
    jobs = [json.loads(payload)["mark"] for (payload,) in payloads]
    marks.update(jobs)
    counter = node.administer(f"SELECT content FROM longmind.blocks WHERE agent_id = 'counter-{crew}'")
    own = {mark: found for mark, found in marks.items() if f":{crew}w" in mark or f":{crew}served" in mark}
    count = int(counter[0][0]) if counter else 0
    return Ledger(own, sequences), ledger, count, [mark for mark in jobs if mark in own]
