"""Search for a worker that is in the middle of a job of a kind."""

from __future__ import annotations

import time

from prove.machines.backlog import Backlog
from prove.machines.effects import Database
from prove.machines.nodes import NetworkNode

KINDS = {
    "distillation": "events.distill_long_term",
    "sleep": "blocks.sleep",
    "slow-remark": "slow-remark",
    "extraction": "memory.extract",
    "vectors": "memory.reindex",
    "long-remark": "long-remark",
    "summary": "conversation.summarise",
    "event vectors": "events.embed",
}
"""The kinds of jobs during which a worker is cut off, and how their names begin."""
WORKING_AGAIN = 20.0
"""Seconds within which a worker whose line is mended has to begin with a job."""


def wait_for_job(workers: dict[str, NetworkNode], backlog: Backlog, kind: str) -> str:
    """Return the worker that has just begun a job of this kind; for a slow remark, the transaction that ends it."""
    wanted = "transaction" if kind == "slow-remark" else kind
    for node in workers.values():
        node.forget_said()
    for _ in range(20):
        backlog.queue_long(kind)
        until = time.monotonic() + 10.0
        while time.monotonic() < until:
            for name, node in workers.items():
                message = node.hear(0.01)
                if message is not None and message["began"] == wanted:
                    return name
    raise RuntimeError(f"nobody does jobs of the kind {kind}")


def find_held_job(database: Database, node: NetworkNode, kind: str) -> list[tuple[str, str, int]]:
    """Return the unfinished job of this kind that the worker holds; empty if it finished before the cut."""
    rows = database.execute(
        "SELECT id, fencing_token FROM longmind.jobs "
        "WHERE status = 'running' AND worker LIKE %s AND kind LIKE %s ORDER BY updated_at DESC LIMIT 1",
        (f"%:{node.process.pid}:%", f"{KINDS[kind]}%"),
    )
    return [(kind, job, token) for job, token in rows]


def seconds_until_at_work(node: NetworkNode, backlog: Backlog) -> float:
    node.forget_said()
    began = time.monotonic()
    while time.monotonic() - began <= WORKING_AGAIN:
        backlog.queue_remarks(2)
        if node.hear(0.5) is not None:
            break
    return time.monotonic() - began
