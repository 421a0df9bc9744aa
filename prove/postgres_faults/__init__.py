"""PostgreSQL attacked under load: callers get true answers whatever happens, and work resumes by itself."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain

from prove.postgres_faults.comparison import (
    CallerOperation,
    compare_counts,
    compare_effects,
    compare_follower,
    compare_orders,
    compare_subscriber,
)
from prove.postgres_faults.crews import ENGINES, Crew, FaultRun, Report, events_of_marks, read_effects
from prove.postgres_faults.faults import FAULTS, Fault, FaultWorld, await_replica, fail_over
from prove.postgres_faults.nodes import PostgresNode, first_node
from prove.postgres_faults.pools import check_exhausted_pool, check_stopped_client
from prove.postgres_faults.proxy import Proxy
from prove.postgres_faults.workload import LIMITS
from prove.section import Check, Plan, Section, skip_check

_ROUNDS_IN_FULL = 5
_SECONDS_LEFT_FOR_FAILOVERS = 30.0
_SESSIONS = ENGINES * LIMITS["pool_size"]
_LONGEST_CALL = LIMITS["busy_timeout_seconds"] + LIMITS["answer_timeout_seconds"] + LIMITS["connect_timeout_seconds"]


def run(plan: Plan) -> Iterator[Check]:
    if "postgresql" not in plan.engines:
        yield skip_check("PostgreSQL's faults harm nobody", "PostgreSQL was not among the engines asked for.")
        return
    with first_node() as primary:
        yield check_exhausted_pool(primary)
        yield check_stopped_client(primary)
        replica = primary.replica("second")
        try:
            world = FaultWorld(primary, replica, Proxy(("127.0.0.1", primary.port)), plan.dice("faults"))
            yield from _one_address(plan, world)
            # The former primary becomes a fresh copy of the server that has taken over.
            world.replica.remove()
            world.replica = world.node.replica("third")
            yield from _several_addresses(plan, world)
        finally:
            world.proxy.close()
            for node in {world.node, world.replica, replica} - {primary}:
                node.remove()


def _one_address(plan: Plan, world: FaultWorld) -> Iterator[Check]:
    """Check all faults over a connection that can be cut and redirected."""
    crew = Crew(1, world.node.url(str(world.proxy.port)), plan.folder, plan.seed)
    *faults, last = FAULTS
    rounds = _ROUNDS_IN_FULL if plan.full else 1
    left_out: list[Fault] = []
    with crew.at_work(world):
        for fault in faults * rounds:
            if plan.seconds_left() < _SECONDS_LEFT_FOR_FAILOVERS:
                left_out.append(fault)
            else:
                crew.strike(world, fault)
        crew.strike(world, last)
    yield from _make_claims(crew, world.node, "over one address")
    yield from (skip_check(f"After {fault.name}, everybody goes on by themselves", "no time") for fault in left_out)


def _several_addresses(plan: Plan, world: FaultWorld) -> Iterator[Check]:
    """Check a failover with several servers in the address; the driver uses the writable one."""
    ports = f"{world.node.port},{world.replica.port}"
    crew = Crew(2, world.node.url(ports, target_session_attrs="read-write"), plan.folder, plan.seed)
    await_replica(world)
    with crew.at_work(world):
        crew.strike(world, Fault("a failover along a list of addresses", fail_over))
    yield from _make_claims(crew, world.node, "over a list of addresses")


def _make_claims(crew: Crew, node: PostgresNode, how: str) -> Iterator[Check]:
    """Yield the claims about a crew, with the evidence against them."""
    report = crew.report
    for struck in report.struck:
        yield recovery(struck, report)
    there, ledger, counter, jobs = read_effects(node, crew.name)
    operations = [each for each in report.operations if each.kind != "count"]
    done = [CallerOperation("effect", f"#effect:{mark.strip('#')}#", "done") for mark in jobs]
    against = [
        *compare_effects(chain(operations, done), there),
        *compare_orders(there),
        *compare_counts(report.operations, "count", counter),
    ]
    outcomes: Counter[str] = Counter(each.outcome for each in report.operations)
    repeated = sum(each.attempts > 1 for each in operations)
    yield _check(
        f"Every operation is there once, or was refused and is not there, or was said to be unknown ({how})",
        against,
        {"operations": len(report.operations), **outcomes, "repeated with their key": repeated, "jobs": len(jobs)},
    )
    longest = sorted(each.seconds for each in report.operations)
    yield _check(
        f"No call takes longer than the limits allow ({how})",
        [f"{each.mark} took {each.seconds:.1f} s" for each in report.operations if each.seconds > 2 * _LONGEST_CALL],
        {"longest seconds": longest[-1], "median ms": 1000 * statistics.median(longest), "limit": 2 * _LONGEST_CALL},
    )
    yield _check(
        f"A follower misses nothing, and is told nothing twice or out of order ({how})",
        list(compare_follower(report.seen, ledger)),
        {"changes": len(report.seen)},
    )
    events = events_of_marks(node)
    yield _check(
        f"A subscriber is told of what its process has committed, once, and of nothing else ({how})",
        [problem for journal, heard in report.heard for problem in compare_subscriber(journal, heard, ledger, events)],
        {"changes": sum(len(heard) for _, heard in report.heard)},
    )
    yield _check(
        f"No sessions are left behind ({how})",
        [
            *([f"{report.most} sessions of {_SESSIONS} that may be"] if report.most > _SESSIONS else []),
            *([f"{report.left} sessions when all engines were closed"] if report.left else []),
        ],
        {"after the faults": report.most, "may be": _SESSIONS, "after the end": report.left},
    )


def recovery(struck: FaultRun, report: Report) -> Check:
    """Check that every process wrote again, and that /readyz reported the fault where it had to, and its end."""
    during = [status for at, status in report.readiness if struck.began <= at <= struck.healed + (struck.seconds or 0)]
    back = [at for at, status in report.readiness if at > struck.healed and status == 200]
    against = []
    if not struck.times:
        against.append("it struck nobody, so nothing was shown")
    if struck.seconds is None:
        against.append("somebody did not come back")
    if struck.fault.unready and 503 not in during:
        against.append("/readyz did not report it")
    if not back:
        against.append("/readyz did not come back")
    figures = {"struck": struck.times, "fault seconds": round(struck.healed - struck.began, 1)}
    if struck.seconds is not None:
        figures["all at work again after seconds"] = round(struck.seconds, 2)
    if back:
        figures["ready again after seconds"] = round(back[0] - struck.healed, 2)
    return _check(f"After {struck.fault.name}, everybody goes on by themselves", against, figures)


def _check(claim: str, against: list[str], figures: Mapping[str, object]) -> Check:
    # The first of each kind: they differ in the marks alone.
    kinds = {re.sub(r"#.*?#|[0-9]+", "", each): each for each in reversed(against)}
    return Check(claim, not against, dict(figures), "; ".join([f"{len(against)} in all", *kinds.values()][:6]))


SECTION = Section(
    name="postgres_faults",
    title="PostgreSQL: restarts, cut connections, failovers, and a server that does not answer",
    seconds=180,
    run=run,
)
