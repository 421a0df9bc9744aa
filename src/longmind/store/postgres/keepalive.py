"""Keepalive settings of both ends of a connection, so that each notices when the other vanishes; and their clocks.

By default, operating systems wait for hours. An engine would wait as long for an answer that never comes, and the
server would keep the locks of a vanished engine, so that nobody else could continue its work.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from longmind.clock import Micros, system_clock
from longmind.settings import Settings

_PROBES = 2
_CLOCKS_AGREE: Micros = 1_000_000
_MEASUREMENTS = 10


def client_keepalive(settings: Settings) -> dict[str, Any]:
    """Return the options that a connection is opened with, for this end; options in the address win."""
    seconds = _seconds_per_probe(settings)
    options = {
        "keepalives": 1,
        "keepalives_idle": seconds,
        "keepalives_interval": seconds,
        "keepalives_count": _PROBES,
        "tcp_user_timeout": _to_milliseconds(settings.silence_seconds),
    }
    given = conninfo_to_dict(settings.url)
    return {name: value for name, value in options.items() if name not in given}


def server_keepalive(settings: Settings) -> dict[str, str]:
    """Return the settings for the server's end, so that it ends the session of a vanished engine."""
    seconds = str(_seconds_per_probe(settings))
    return {
        "tcp_keepalives_idle": seconds,
        "tcp_keepalives_interval": seconds,
        "tcp_keepalives_count": str(_PROBES),
        "tcp_user_timeout": str(_to_milliseconds(settings.silence_seconds)),
    }


def connect_unpooled(settings: Settings, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """Connect outside the pool with the role of the address; keepalive is set on both ends."""
    connection = psycopg.connect(
        settings.url,
        autocommit=autocommit,
        connect_timeout=max(1, round(min(settings.connect_timeout_seconds, 2**31 - 1))),
        client_encoding="UTF8",  # whatever the environment says: every text has to get through
        **client_keepalive(settings),
    )
    try:
        configure_keepalive(connection, settings)
    except BaseException:
        connection.close()
        raise
    return connection


def configure_keepalive(connection: psycopg.Connection[Any], settings: Settings) -> None:
    """Set the server's keepalive on a new connection."""
    names = server_keepalive(settings)
    connection.execute(
        "SELECT set_config(name, setting, false) FROM unnest(%s::text[], %s::text[]) AS given (name, setting)",
        (list(names), list(names.values())),
    )
    if not connection.autocommit:
        # The caller begins the first transaction with the isolation level that it needs.
        connection.commit()


def measure_clock_error(connection: psycopg.Connection[Any], known: Micros) -> Micros:
    """Return how far this machine's clock is behind the server's; 0 if they agree, `known` if the measure is unsure.

    Clocks that are set over the network agree within milliseconds, and then each machine's own clock is better.
    """
    took, error = compare_clocks(connection)
    if took <= _CLOCKS_AGREE and abs(error) <= _CLOCKS_AGREE:
        return 0
    # A difference matters, so it is measured several times; the quickest answer is the most exact.
    took, error = min([(took, error), *(compare_clocks(connection) for _ in range(_MEASUREMENTS))])
    if took > _CLOCKS_AGREE or abs(error - known) <= took:
        return known
    return error if abs(error) > _CLOCKS_AGREE else 0


def compare_clocks(connection: psycopg.Connection[Any]) -> tuple[Micros, Micros]:
    """Return how long the server took to tell its time, and how far this machine's clock is behind it."""
    before = system_clock()
    row = connection.execute("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)").fetchone()
    after = system_clock()
    assert row is not None
    return after - before, int(row[0]) - (before + after) // 2


def _seconds_per_probe(settings: Settings) -> int:
    # The system counts in whole seconds of at most 15 bits.
    return max(1, min(round(settings.silence_seconds / (_PROBES + 1)), 2**15 - 1))


def _to_milliseconds(seconds: float) -> int:
    return min(round(seconds * 1000), 2**31 - 1)
