"""Several machines: API nodes and workers in separate network namespaces on one PostgreSQL, cut off and mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prove.machines.network import cannot
from prove.section import Check, Plan, Section, skip_check


def run(plan: Plan) -> Iterator[Check]:
    if "postgresql" not in plan.engines:
        yield skip_check("several machines share one PostgreSQL", "only SQLite was asked for, which is for one machine")
        return
    if why := cannot():
        yield skip_check("several machines share one PostgreSQL", why)
        return
    from prove.machines import agreement, clocks, erasure, flaky_network, node_cuts, throughput, worker_cuts
    from prove.machines.world import world

    with world() as machines:
        parts: dict[str, Callable[[], Iterator[Check]]] = {
            "what one node does holds on the other": lambda: agreement.run(plan, machines),
            "a worker that vanished in a transaction": lambda: worker_cuts.check_vanished_transaction(machines),
            "workers that are cut off": lambda: worker_cuts.run(plan, machines),
            "users who are erased while their worker is cut off": lambda: erasure.run(plan, machines),
            "clocks that are wrong": lambda: clocks.run(plan, machines),
            "throughput with more workers and nodes": lambda: throughput.run(plan, machines),
            "nodes that are cut off": lambda: node_cuts.run(plan, machines),
            "lines that lose half of everything": lambda: flaky_network.run(plan, machines),
        }
        for claim, part in parts.items():
            if plan.seconds_left() <= 0:
                yield skip_check(claim, "there was no time left for it")
            else:
                yield from part()


SECTION = Section(
    name="machines",
    title="Several machines: two API nodes and three workers on one PostgreSQL, in network namespaces",
    seconds=240,
    run=run,
)
