"""Disks that fill up or turn read-only in the middle of writes, and other limits that stop writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, zip_longest

from harness.postgres import PostgresServer
from prove.disk import engines, files, limits, long_work, small_disks, surfaces, temporary
from prove.section import Check, Plan, Section, skip_check

_CYCLES, _CYCLES_IN_FULL = 10, 100
_BREAKS, _BREAKS_IN_FULL = 2, 30
_LONGEST = 25
"""Seconds that a part may take on a slow machine; with less than that left none is begun."""


def run(plan: Plan) -> Iterator[Check]:
    why = small_disks.find_obstacle()
    if "sqlite" in plan.engines:
        yield from limits.limits(plan.folder)
    if why is not None:
        yield skip_check("disks that are full or read-only", why)
        return
    of_sqlite = _list_sqlite_parts(plan) if "sqlite" in plan.engines else []
    of_postgres = _list_postgres_parts(plan) if "postgresql" in plan.engines else []
    # In turn, so that a slow machine leaves out the last parts of both engines and not all of one.
    for name, part in filter(None, chain(*zip_longest(of_sqlite, of_postgres))):
        if plan.seconds_left() < _LONGEST:
            yield skip_check(name, "the time was over")
        else:
            yield from part()


Part = tuple[str, Callable[[], Iterator[Check]]]


def _make_breakable_part(name: str, part: Callable[[], Iterator[Check]]) -> Part:
    """Return a part that needs a breakable disk, and skips itself where there is none."""

    def run() -> Iterator[Check]:
        why = small_disks.find_breakable_obstacle()
        return part() if why is None else iter([skip_check(name, why)])

    return name, run


def _list_sqlite_parts(plan: Plan) -> list[Part]:
    cycles = _CYCLES_IN_FULL if plan.full else _CYCLES
    url = f"sqlite:///{plan.folder}/beside.db"
    return [
        (
            "SQLite, disk full",
            lambda: engines.full_sqlite(
                plan.dice("full sqlite"), cycles, lambda: plan.seconds_left() > plan.seconds * 0.8
            ),
        ),
        _make_breakable_part(
            "SQLite, disk gone read-only",
            lambda: engines.read_only_sqlite(
                plan.folder, plan.dice("read-only sqlite"), _BREAKS_IN_FULL if plan.full else _BREAKS
            ),
        ),
        ("workers, imports and erasures on SQLite's full disk", long_work.check_sqlite),
        ("files beside SQLite", lambda: files.all_of_them(url)),
        ("commands on a full disk", surfaces.commands),
        ("the server on a full disk", surfaces.server),
        ("the server without temporary files", lambda: surfaces.archive(plan.folder)),
        ("SQLite without temporary files", lambda: iter([temporary.no_temporary_files(plan.folder)])),
    ]


def _list_postgres_parts(plan: Plan) -> list[Part]:
    cycles = _CYCLES_IN_FULL if plan.full else _CYCLES

    def check_files() -> Iterator[Check]:
        with PostgresServer() as server:
            yield from files.all_of_them(server.create_database("beside"))

    return [
        (
            "PostgreSQL, disk full",
            lambda: engines.full_postgres(
                plan.dice("full postgres"), cycles, lambda: plan.seconds_left() > plan.seconds * 0.6
            ),
        ),
        _make_breakable_part(
            "PostgreSQL, disk gone read-only",
            lambda: engines.read_only_postgres(plan.folder, plan.dice("read-only postgres")),
        ),
        ("workers, imports and erasures on PostgreSQL's full disk", long_work.check_postgres),
        ("files beside PostgreSQL", check_files),
    ]


SECTION = Section(name="disk", title="Disks that are full or read-only", seconds=220, run=run)
