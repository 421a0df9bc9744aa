"""Disks that are full, or gone read-only, in the middle of writes; and other limits that are in the way of writes."""

from __future__ import annotations

from collections.abc import Iterator

from prove.disk import engines, limits, rooms, surfaces
from prove.section import Check, Plan, Section, skipped

_CYCLES, _CYCLES_IN_FULL = 10, 100


def run(plan: Plan) -> Iterator[Check]:
    cycles = _CYCLES_IN_FULL if plan.full else _CYCLES
    why = rooms.why_not()
    if "sqlite" in plan.engines:
        if why is None:
            yield from engines.full_sqlite(plan.dice("full sqlite"), cycles, lambda: plan.left() > plan.seconds * 0.7)
            yield from engines.read_only_sqlite(plan.folder, plan.dice("read-only sqlite"))
            yield surfaces.mirror(plan.folder)
            yield surfaces.export(plan.folder)
            yield from surfaces.commands()
            yield from surfaces.server()
        else:
            yield skipped("SQLite on a disk that is full or read-only", why)
        yield from limits.limits(plan.folder, why)
    if "postgresql" in plan.engines:
        if why is None:
            yield from engines.full_postgres(plan.dice("full postgres"), cycles, lambda: plan.left() > plan.seconds / 4)
        else:
            yield skipped("PostgreSQL on a disk that is full", why)


SECTION = Section(name="disk", title="Disks that are full or read-only", seconds=180, run=run)
