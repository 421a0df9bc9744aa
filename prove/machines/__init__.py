"""Several machines: API nodes and workers in network namespaces of their own on one PostgreSQL, cut off and mended."""

from __future__ import annotations

from collections.abc import Iterator

from prove.machines.network import cannot
from prove.section import Check, Plan, Section, skipped


def run(plan: Plan) -> Iterator[Check]:
    from prove.machines import agreement, clocks, flaky, node_cuts, throughput, worker_cuts
    from prove.machines.world import world

    if "postgresql" not in plan.engines:
        yield skipped("several machines share one PostgreSQL", "only SQLite was asked for, which is for one machine")
        return
    if why := cannot():
        yield skipped("several machines share one PostgreSQL", why)
        return
    with world() as machines:
        yield from agreement.run(plan, machines)
        yield from worker_cuts.a_vanished_transaction(machines)
        yield from node_cuts.run(plan, machines)
        yield from worker_cuts.run(plan, machines)
        yield from flaky.run(plan, machines)
        yield from clocks.run(plan, machines)
        yield from throughput.run(plan, machines)


SECTION = Section(
    name="machines",
    title="Several machines: two API nodes and three workers on one PostgreSQL, in network namespaces",
    seconds=240,
    run=run,
)
