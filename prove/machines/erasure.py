"""Users that are erased while a worker with one of their jobs is cut off: none of their data comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import longmind
from prove.machines.backlog import Backlog
from prove.machines.effects import Database
from prove.machines.job_holders import KINDS, WORKING_AGAIN, find_held_job, seconds_until_at_work, wait_for_job
from prove.machines.queue_drain import work_off
from prove.machines.world import DATABASE, LEASE, WORKERS, NetworkWorld, connect
from prove.section import Check, Plan


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    url, door = world.new_database()
    kinds = list(KINDS) if plan.full else list(KINDS)[:2]
    caught, wrong = [], []
    with (
        longmind.open(door, embedder=None, job_attempts=100) as engine,
        connect(door) as database,
        world.workers(url, WORKERS[:2]) as workers,
    ):
        other = Backlog(engine, "bob")
        for kind in kinds:
            # A user may return under the same name, as a new user.
            ada = Backlog(engine, "ada")
            name = wait_for_job(workers, ada, kind)
            world.lines.cut(name, DATABASE)
            caught += find_held_job(database, workers[name], kind)
            _erase(ada)
            time.sleep(LEASE * 1.5)
            world.lines.heal(name)
            if seconds_until_at_work(workers[name], other) > WORKING_AGAIN:
                wrong.append(f"{name} did not go on after {kind}")
            wrong += [f"after {kind}: {table}" for table in tables_with(database, ada.ctx.scope.id)]
        wrong += work_off(database, seconds=60)
    yield Check(
        "a worker that is cut off in the middle of a job of a user who is erased meanwhile brings nothing of it back",
        passed=bool(caught) and not wrong,
        figures={"users erased": len(kinds), "in the middle of": [kind for kind, _, _ in caught]},
        detail="; ".join(wrong) or "no cut fell into the middle of a job",
    )


def _erase(backlog: Backlog, seconds: float = 30.0) -> None:
    """Erase the user; a worker that vanished in a transaction may be waited for first."""
    until = time.monotonic() + seconds
    while True:
        try:
            backlog.ctx.admin.delete_user_data(confirm=True)
            return
        except longmind.StoreBusy:
            if time.monotonic() > until:
                raise


def tables_with(database: Database, scope_id: str) -> list[str]:
    """Return the tables that hold data of a user; only counts by hash of the scope may be left."""
    tables = database.execute(
        "SELECT table_name FROM information_schema.columns "
        "WHERE table_schema = 'longmind' AND column_name = 'scope_id' "
        "AND table_name NOT IN ('erasures', 'passage_revisions')"
    ).fetchall()
    return [
        table
        for (table,) in tables
        if database.execute(
            f"SELECT 1 FROM longmind.{table} WHERE scope_id = %s LIMIT 1".encode(), (scope_id,)
        ).fetchone()
    ]
