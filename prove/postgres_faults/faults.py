"""Faults of PostgreSQL and of the connection to it. Each fault is over, or healed, when its function ends.

The function returns the number of hits, counted without the engine: a fault without a hit proves nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import get_args

import psycopg

from prove.postgres_faults.nodes import OWNER, PASSWORD, PostgresNode, StopMode
from prove.postgres_faults.proxy import Attack, Proxy

SHORT, LONG = 5.0, 9.0
"""Seconds of a freeze that stays within the time limits of the workload, and of one that exceeds them."""


@dataclass
class FaultWorld:
    """The present primary, its replica, and the proxy that leads to the primary."""

    node: PostgresNode
    replica: PostgresNode
    proxy: Proxy
    chance: random.Random


@dataclass(frozen=True)
class Fault:
    name: str
    strike: Callable[[FaultWorld], int]
    unready: bool = False
    """True if /readyz has to report it."""


_HOLDER = "holder"
"""The name of sessions that the attacker holds in the name of the owner."""
_FULL_SECONDS = 4
_MOST_TRIES = 1_000
_CREW = f"usename = '{OWNER}' AND backend_type = 'client backend' AND application_name <> '{_HOLDER}'"
_END = f"SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {_CREW}"


def _restart(mode: StopMode) -> Callable[[FaultWorld], int]:
    def strike(world: FaultWorld) -> int:
        before = world.node.pid
        world.node.restart(mode)
        return int(world.node.pid != before)

    return strike


def _end_sessions(world: FaultWorld) -> int:
    return _number(world, _END)


def _end_some_sessions(world: FaultWorld) -> int:
    """End one busy session after another, at any point of its work."""
    ended = 0
    for _ in range(20):
        ended += len(
            world.node.administer(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_CREW} AND state <> 'idle' "
                "ORDER BY random() LIMIT 1"
            )
        )
        time.sleep(world.chance.uniform(0.01, 0.1))
    return ended


def _stop_and_start(world: FaultWorld) -> int:
    world.node.stop("fast")
    time.sleep(4)
    refused = _is_refused(world)
    world.node.start()
    return refused


def _attack(attack: Attack) -> Callable[[FaultWorld], int]:
    def strike(world: FaultWorld) -> int:
        before = len(world.proxy.done)
        world.proxy.attacks = [attack] * 8
        deadline = time.monotonic() + 8
        while world.proxy.attacks and time.monotonic() < deadline:
            time.sleep(0.02)
        world.proxy.attacks = []
        return len(world.proxy.done) - before

    return strike


def _delay(world: FaultWorld) -> int:
    before, world.proxy.delay = world.proxy.delayed, 0.1
    time.sleep(2)
    world.proxy.delay = 0.0
    return world.proxy.delayed - before


def _silence(world: FaultWorld) -> int:
    world.proxy.silence()
    time.sleep(LONG)
    # Data in transit is lost, as with a firewall that has dropped its connections.
    lost = world.proxy.cut_all()
    world.proxy.resume()
    return lost


def _freeze(seconds: float) -> Callable[[FaultWorld], int]:
    def strike(world: FaultWorld) -> int:
        with world.node.frozen():
            time.sleep(seconds)
            return world.node.count_stopped()

    return strike


def _hold_locks(world: FaultWorld) -> int:
    """Hold a lock for longer than a write waits."""
    with world.node.session() as connection:
        connection.execute("LOCK TABLE longmind.events IN ACCESS EXCLUSIVE MODE")
        time.sleep(2)
        waiting = _number(world, f"SELECT count(*) FROM pg_stat_activity WHERE {_CREW} AND wait_event_type = 'Lock'")
        time.sleep(2.5)
    return waiting


def _time_out_statements(world: FaultWorld) -> int:
    world.node.administer(f"ALTER ROLE {OWNER} SET statement_timeout = '4ms'")
    _end_sessions(world)
    time.sleep(2)
    timed_out = _is_refused(world, "SELECT pg_sleep(1)")
    world.node.administer(f"ALTER ROLE {OWNER} RESET statement_timeout")
    return _end_sessions(world) if timed_out else 0


def _take_all_connections(world: FaultWorld) -> int:
    """Take connections until the crew has none and cannot get one."""
    with ExitStack() as held:
        # An open session, since refused callers occupy the connections that are reserved for administrators.
        administrator = held.enter_context(world.node.session())
        full_at: float | None = None
        for _ in range(_MOST_TRIES):
            if full_at is not None and time.monotonic() - full_at > _FULL_SECONDS:
                break
            left = administrator.execute(_END.encode()).fetchone()
            administrator.commit()
            try:
                held.enter_context(psycopg.connect(world.node.url(), application_name=_HOLDER))
            except psycopg.OperationalError:
                if left == (0,):
                    full_at = full_at or time.monotonic()
                time.sleep(0.05)
            else:
                # A process of the crew may have held the last connection until now.
                full_at = None
        return _is_refused(world)


def _change_password(world: FaultWorld) -> int:
    world.node.administer(f"ALTER ROLE {OWNER} PASSWORD 'another'")
    _end_sessions(world)
    time.sleep(4)
    refused = _is_refused(world)
    world.node.administer(f"ALTER ROLE {OWNER} PASSWORD '{PASSWORD}'")
    return refused


def _make_read_only(world: FaultWorld) -> int:
    world.node.administer("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    time.sleep(2)
    refused = _is_refused(world, "CREATE TEMP TABLE of_nobody (); DELETE FROM longmind.jobs WHERE false")
    world.node.administer("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
    return refused


def _number(world: FaultWorld, query: str) -> int:
    [(number,)] = world.node.administer(query)
    return int(number)


def _is_refused(world: FaultWorld, statement: str = "SELECT 1") -> int:
    """Return 1 if the owner of the database cannot connect now or run the statement, otherwise 0."""
    try:
        with psycopg.connect(world.node.url(), connect_timeout=5) as connection:
            connection.execute(statement.encode())
    except psycopg.Error:
        return 1
    return 0


def await_replica(world: FaultWorld) -> None:
    """Make the primary wait for the replica, so that the replica has everything that is acknowledged."""
    world.node.administer("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    deadline = time.monotonic() + 30
    while world.node.administer("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != [(1,)]:
        if time.monotonic() > deadline:
            raise TimeoutError("the replica does not follow")
        time.sleep(0.1)
    # Time for everything under way to wait for the replica.
    time.sleep(0.5)


def fail_over(world: FaultWorld) -> int:
    """Crash the primary, promote the replica, and lead the proxy there."""
    await_replica(world)
    world.node.stop("immediate")
    world.replica.promote()
    world.proxy.target = ("127.0.0.1", world.replica.port)
    world.node, world.replica = world.replica, world.node
    return _number(world, "SELECT (NOT pg_is_in_recovery())::int")


FAULTS = (
    Fault("a restart", _restart("fast")),
    Fault("a crash", _restart("immediate")),
    Fault("four seconds without a server", _stop_and_start, unready=True),
    Fault("sessions that are ended at any moment", _end_some_sessions),
    *(Fault(f"a connection cut {attack}", _attack(attack)) for attack in get_args(Attack)[:3]),
    Fault("a connection that is half-closed", _attack("half-closed")),
    Fault("a slow network", _delay),
    Fault("a network that swallows everything, for longer than the limits", _silence, unready=True),
    Fault("a server that stands still for 5 seconds", _freeze(SHORT)),
    Fault("a server that stands still for longer than the limits", _freeze(LONG), unready=True),
    Fault("locks that are held too long", _hold_locks),
    Fault("statements that take too long", _time_out_statements),
    Fault("a server without a free connection", _take_all_connections, unready=True),
    Fault("a password that is changed", _change_password, unready=True),
    Fault("a server that is made read-only", _make_read_only, unready=True),
    # Last, because the former primary is gone afterwards.
    Fault("a failover to another address", fail_over),
)
