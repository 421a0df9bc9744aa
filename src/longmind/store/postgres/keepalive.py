"""How each end of a connection notices that the other is gone without a word: its machine, or the network between.

Left to themselves, systems wait for hours. An engine would wait as long for an answer that does not come; and the
server would keep what a vanished engine has locked, so that nobody else could go on with it.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from longmind.clock import Micros, system_clock
from longmind.settings import Settings

_PROBES = 2
_CLOCKS_AGREE: Micros = 1_000_000
_LOOKS = 10


def client_keepalive(settings: Settings) -> dict[str, Any]:
    """What a connection is opened with, for our end. What the address itself says goes first."""
    seconds = _between_probes(settings)
    options = {
        "keepalives": 1,
        "keepalives_idle": seconds,
        "keepalives_interval": seconds,
        "keepalives_count": _PROBES,
        "tcp_user_timeout": _milliseconds(settings.silence_seconds),
    }
    given = conninfo_to_dict(settings.url)
    return {name: value for name, value in options.items() if name not in given}


def server_keepalive(settings: Settings) -> dict[str, str]:
    """What the server is told for its end, so that it ends the session of an engine that is gone."""
    seconds = str(_between_probes(settings))
    return {
        "tcp_keepalives_idle": seconds,
        "tcp_keepalives_interval": seconds,
        "tcp_keepalives_count": str(_PROBES),
        "tcp_user_timeout": str(_milliseconds(settings.silence_seconds)),
    }


def connect_unpooled(settings: Settings, *, autocommit: bool = False) -> psycopg.Connection[Any]:
    """A connection beside the pool, as the role of the address, that both ends look after all the same."""
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
    """Have the server look after its end, on a connection that was just made."""
    names = server_keepalive(settings)
    connection.execute(
        "SELECT set_config(name, setting, false) FROM unnest(%s::text[], %s::text[]) AS given (name, setting)",
        (list(names), list(names.values())),
    )
    if not connection.autocommit:
        # Who asked begins the first transaction, in the manner it needs.
        connection.commit()


def measure_clock_error(connection: psycopg.Connection[Any], known: Micros) -> Micros:
    """By how much this machine's clock is behind the server's; 0 when it is right, and what is known when it is unsure.

    Clocks that are kept right by the network agree within milliseconds, and then each machine's own is the better one.
    """
    took, error = compare_clocks(connection)
    if took <= _CLOCKS_AGREE and abs(error) <= _CLOCKS_AGREE:
        return 0
    # It matters now, so that it is worth several looks: the quickest of them is the most exact.
    took, error = min([(took, error), *(compare_clocks(connection) for _ in range(_LOOKS))])
    if took > _CLOCKS_AGREE or abs(error - known) <= took:
        return known
    return error if abs(error) > _CLOCKS_AGREE else 0


def compare_clocks(connection: psycopg.Connection[Any]) -> tuple[Micros, Micros]:
    """How long it took to ask the server for the time, and how far ours is behind it."""
    before = system_clock()
    row = connection.execute("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)").fetchone()
    after = system_clock()
    assert row is not None
    return after - before, int(row[0]) - (before + after) // 2


def _between_probes(settings: Settings) -> int:
    # The system counts in whole seconds, and knows no longer times than fit into 15 bits.
    return max(1, min(round(settings.silence_seconds / (_PROBES + 1)), 2**15 - 1))


def _milliseconds(seconds: float) -> int:
    return min(round(seconds * 1000), 2**31 - 1)
