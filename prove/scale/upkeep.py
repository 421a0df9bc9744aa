"""The upkeep of a large store: checkpoints, vacuums, the growth of the write-ahead log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import apsw
import psycopg

from prove.scale.latency import OPERATIONS, person
from prove.scale.plans import find_unexpected, whole_reads
from prove.scale.population import context_of, open_engine
from prove.scale.stores import StorePair, path_of
from prove.section import Check

MOST_WAL_MEGABYTES = 64.0
"""The limit of SQLite's log for single operations. A bulk write makes it as long as that write is."""


def check_plans(pair: StorePair) -> Iterator[Check]:
    """Vacuum and checkpoint both stores, and check that PostgreSQL, with its statistics, reads by keys."""
    figures: dict[str, Any] = {}
    if pair.engine == "postgresql":
        for url in (pair.small, pair.big):
            with psycopg.connect(url, autocommit=True) as connection:
                for statement in ("VACUUM (ANALYZE)", "CHECKPOINT"):
                    figures[f"{statement} s"] = _seconds(lambda run=connection.execute, said=statement: run(said))
    with open_engine(pair.big) as engine:
        scope = context_of(engine, pair.measured[0]).scope
        found = whole_reads(engine, scope)
    wrong = find_unexpected(found)
    yield Check(
        f"{pair.engine}: at {pair.users:,} users no statement reads a whole table but the host's own few",
        not wrong,
        {"of the host's": sorted(found), **figures},
        "; ".join(wrong),
    )


def growth(pair: StorePair, appends: int, *, rebuild: bool) -> Iterator[Check]:
    """Measure the log while many users append turns, and the time of a checkpoint and of a rebuild."""
    longest = 0.0
    with open_engine(pair.big) as engine:
        step = max(1, pair.users // 200)
        people = cycle([person(engine, user) for user in range(0, pair.users // 2, step)])
        begun_at = _log_end(pair)
        for number in range(appends):
            OPERATIONS["append_turn"](next(people))
            if number % 50 == 0:
                longest = max(longest, _log_megabytes(pair))
        longest = max(longest, _log_megabytes(pair))
        figures: dict[str, Any] = {"appends": appends, "longest MB": round(longest, 1)}
        figures["checkpoint s"] = _seconds(lambda: _checkpoint(pair))
        if pair.engine == "postgresql":
            figures["log bytes of an append"] = round((_log_end(pair) - begun_at) / appends)
            figures["dead rows"] = _dead_rows(pair)
        if rebuild:
            figures["all written anew s"] = _seconds(engine._database.scrub)
    if pair.engine == "sqlite":
        yield Check(
            f"sqlite: the WAL file stays below {MOST_WAL_MEGABYTES:.0f} MB while many users write",
            longest <= MOST_WAL_MEGABYTES,
            figures,
            f"{longest:.0f} MB",
        )
    else:
        limit = _read_setting(pair, "max_wal_size")
        # The server keeps to it only roughly, since checkpoints merely aim at it.
        yield Check(
            "postgresql: pg_wal stays about its max_wal_size while many users write",
            longest <= 1.5 * limit,
            {**figures, "max_wal_size MB": limit},
            f"{longest:.0f} MB",
        )


def _log_megabytes(pair: StorePair) -> float:
    if pair.engine == "sqlite":
        return path_of(pair.big).with_name(path_of(pair.big).name + "-wal").stat().st_size / 2**20
    return _number(pair, "SELECT SUM(size) FROM pg_ls_waldir()") / 2**20


def _log_end(pair: StorePair) -> float:
    """Return the bytes of PostgreSQL's log ever written, which replicas and archives receive."""
    return 0.0 if pair.engine == "sqlite" else _number(pair, "SELECT pg_current_wal_lsn() - '0/0'")


def _checkpoint(pair: StorePair) -> None:
    if pair.engine == "sqlite":
        file = apsw.Connection(str(path_of(pair.big)))
        file.set_busy_timeout(10_000)
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        file.close()
        return
    with psycopg.connect(pair.big, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def _dead_rows(pair: StorePair) -> int:
    return int(_number(pair, "SELECT SUM(n_dead_tup) FROM pg_stat_user_tables WHERE schemaname = 'longmind'"))


def _read_setting(pair: StorePair, name: str) -> float:
    return _number(pair, f"SELECT setting::bigint FROM pg_settings WHERE name = '{name}'")


def _number(pair: StorePair, query: str) -> float:
    with psycopg.connect(pair.big) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return float(row[0] or 0)


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 3)
