"""What is done to PostgreSQL and to the way that leads there. Each fault is over, or healed, when its function ends."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import get_args

import psycopg

from prove.postgres_faults.nodes import OWNER, PASSWORD, Node
from prove.postgres_faults.proxy import Attack, Proxy

SHORT, LONG = 5.0, 9.0
"""A freeze that the time limits of the workload sit out, and one that they do not."""


@dataclass
class World:
    """The server that is the primary at the moment, the one that follows it, and the way that leads there."""

    node: Node
    replica: Node
    proxy: Proxy
    chance: random.Random


@dataclass(frozen=True)
class Fault:
    name: str
    strike: Callable[[World], object]
    unready: bool = False
    """Whether /readyz has to tell of it."""


_CREW = f"usename = '{OWNER}' AND backend_type = 'client backend'"


def _end_sessions(world: World) -> None:
    world.node.administer(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_CREW}")


def _end_some_sessions(world: World) -> None:
    """Again and again one of them, at whatever it is doing."""
    for _ in range(20):
        world.node.administer(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_CREW} AND state <> 'idle' "
            "ORDER BY random() LIMIT 1"
        )
        time.sleep(world.chance.uniform(0.01, 0.1))


def _down_for_a_while(world: World) -> None:
    world.node.stop("fast")
    time.sleep(4)
    world.node.start()


def _attack(attack: Attack) -> Callable[[World], None]:
    def strike(world: World) -> None:
        world.proxy.attacks = [attack] * 8
        deadline = time.monotonic() + 8
        while world.proxy.attacks and time.monotonic() < deadline:
            time.sleep(0.02)
        world.proxy.attacks = []

    return strike


def _delay(world: World) -> None:
    world.proxy.delay = 0.1
    time.sleep(2)
    world.proxy.delay = 0.0


def _silence(world: World) -> None:
    world.proxy.silence()
    time.sleep(LONG)
    # What was on its way is gone, as with a firewall that has forgotten its connections.
    world.proxy.cut_all()
    world.proxy.resume()


def _freeze(seconds: float) -> Callable[[World], None]:
    def strike(world: World) -> None:
        with world.node.frozen():
            time.sleep(seconds)

    return strike


def _hold_locks(world: World) -> None:
    """Longer than a write waits."""
    with world.node.session() as connection:
        connection.execute("LOCK TABLE recollect.events IN ACCESS EXCLUSIVE MODE")
        time.sleep(4.5)


def _time_out_statements(world: World) -> None:
    world.node.administer(f"ALTER ROLE {OWNER} SET statement_timeout = '4ms'")
    _end_sessions(world)
    time.sleep(2)
    world.node.administer(f"ALTER ROLE {OWNER} RESET statement_timeout")
    _end_sessions(world)


def _take_all_connections(world: World) -> None:
    with ExitStack() as held:
        for _ in range(100):
            _end_sessions(world)
            try:
                held.enter_context(psycopg.connect(world.node.url()))
            except psycopg.OperationalError:
                break
        time.sleep(2)


def _change_password(world: World) -> None:
    world.node.administer(f"ALTER ROLE {OWNER} PASSWORD 'another'")
    _end_sessions(world)
    time.sleep(4)
    world.node.administer(f"ALTER ROLE {OWNER} PASSWORD '{PASSWORD}'")


def _make_read_only(world: World) -> None:
    world.node.administer("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
    time.sleep(2)
    world.node.administer("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")


def await_replica(world: World) -> None:
    """From now on nothing is acknowledged that the replica does not have."""
    world.node.administer("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    deadline = time.monotonic() + 30
    while world.node.administer("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != [(1,)]:
        if time.monotonic() > deadline:
            raise TimeoutError("the replica does not follow")
        time.sleep(0.1)
    # A moment in which all that is under way already waits for it.
    time.sleep(0.5)


def fail_over(world: World) -> None:
    """The primary crashes, and the replica takes over; the way leads there."""
    await_replica(world)
    world.node.stop("immediate")
    world.replica.promote()
    world.proxy.target = ("127.0.0.1", world.replica.port)
    world.node, world.replica = world.replica, world.node


FAULTS = (
    Fault("a restart", lambda world: world.node.restart("fast")),
    Fault("a crash", lambda world: world.node.restart("immediate")),
    Fault("four seconds without a server", _down_for_a_while, unready=True),
    Fault("sessions that are ended at any moment", _end_some_sessions),
    *(Fault(f"a connection cut {attack}", _attack(attack)) for attack in get_args(Attack)[:3]),
    Fault("a connection that is half-closed", _attack("half-closed")),
    Fault("a slow network", _delay),
    Fault("a network that swallows everything, for longer than the limits", _silence, unready=True),
    Fault("a server that stands still for 5 seconds", _freeze(SHORT)),
    Fault("a server that stands still for longer than the limits", _freeze(LONG), unready=True),
    Fault("locks that are held too long", _hold_locks),
    Fault("statements that take too long", _time_out_statements),
    Fault("a server without a free connection", _take_all_connections),
    Fault("a password that is changed", _change_password, unready=True),
    Fault("a server that is made read-only", _make_read_only, unready=True),
    # Last, because what was the primary is gone then.
    Fault("a failover to another address", fail_over),
)
