"""Full and read-only disks below both engines, in the middle of writes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import psycopg

import longmind
from harness.postgres import PostgresServer
from longmind import OutcomeUnknown, StoreError, StoreFull, StoreReadOnly, StoreUnavailable
from prove.disk.full_disk import FullDiskOutcome, FullDiskWork
from prove.disk.small_disks import SmallDisk, breakable_disk, small_disk
from prove.section import Check

_LEFT = (0, 4096, 20_000, 100_000, 400_000)
"""Bytes left free, varied so that different parts of a write find no room."""
_SERVER_SECONDS = 10.0
_TIMES_A_STORE = 10
"""Cycles after which a new store is created: its content would fill a small disk in the end."""


def full_sqlite(dice: random.Random, cycles: int, more: Callable[[], bool]) -> Iterator[Check]:
    outcome, tried = FullDiskOutcome(), 0
    whole: tuple[bool, dict[str, int], str] = (True, {}, "")
    while tried < cycles and (tried == 0 or more()):
        with small_disk(24) as room, longmind.open(f"sqlite:///{room.folder}/memory.db", embedder=None) as engine:
            filling = FullDiskWork(engine, dice, outcome=outcome)
            tried += _cycles(filling, room, dice, min(_TIMES_A_STORE, cycles - tried), (StoreFull,), more)
            found = _whole(room.folder / "memory.db")
            whole = found if whole[0] else whole
    yield from make_checks("SQLite, disk full", outcome, tried)
    yield Check("SQLite, disk full: the file is whole afterwards", *whole)


def read_only_sqlite(folder: Path, dice: random.Random, times: int = 1) -> Iterator[Check]:
    outcome = FullDiskOutcome()
    whole: tuple[bool, dict[str, int], str] = (True, {}, "")
    for number in range(times):
        file = folder / f"sqlite-{number}.ext4"
        with (
            breakable_disk(file) as room,
            longmind.open(f"sqlite:///{room.folder}/memory.db", embedder=None) as engine,
        ):
            filling = FullDiskWork(engine, dice, outcome=outcome)
            filling.go_on(20)
            with filling.break_during(room, dice.uniform(0.0, 0.4)):
                filling.work_until_failure((StoreReadOnly, OutcomeUnknown))
            filling.look("read-only", can_write=False)
        with breakable_disk(file) as room:
            with longmind.open(f"sqlite:///{room.folder}/memory.db", embedder=None) as engine:
                filling.engine = engine
                filling.work.go_on(engine)
                filling.look("mounted anew")
                filling.go_on()
            found = _whole(room.folder / "memory.db")
            whole = found if whole[0] else whole
        file.unlink()
    yield from make_checks("SQLite, disk gone read-only", outcome, times)
    yield Check("SQLite, disk gone read-only: the file is whole afterwards", *whole)


def full_postgres(dice: random.Random, cycles: int, more: Callable[[], bool]) -> Iterator[Check]:
    outcome, tried = FullDiskOutcome(), 0
    with small_disk(1024) as room, PostgresServer(within=room.folder) as server:
        while tried < cycles and (tried == 0 or more()):
            url = server.create_database(f"full_{tried}")
            with longmind.open(url, embedder=None, connect_timeout_seconds=2) as engine:
                filling = FullDiskWork(engine, dice, outcome=outcome)
                filling.go_on()
                times = min(_TIMES_A_STORE, cycles - tried)
                tried += _cycles(filling, room, dice, times, (StoreFull, StoreUnavailable), more, server)
        yield from make_checks("PostgreSQL, disk full", outcome, tried)
        with longmind.open(server.create_database("log"), embedder=None, connect_timeout_seconds=2) as engine:
            filling = FullDiskWork(engine, dice)
            filling.go_on()
            started = _fill_log(server, room, filling)
            yield from make_checks(
                "PostgreSQL, no room for its write-ahead log", filling.outcome, 1, {"started": started}
            )


def read_only_postgres(folder: Path, dice: random.Random) -> Iterator[Check]:
    file = folder / "postgres.ext4"
    with (
        breakable_disk(file, 400) as room,
        PostgresServer(kept=_make_server_folder(room)) as server,
        longmind.open(server.create_database("gone"), embedder=None, connect_timeout_seconds=2) as engine,
    ):
        # The folder of a server is made in haste here, without a sync; what it writes from now on is its own affair.
        room.settle()
        filling = FullDiskWork(engine, dice)
        filling.go_on(20)
        with filling.break_during(room, dice.uniform(0.0, 0.4)):
            filling.work_until_failure((StoreFull, StoreReadOnly, StoreUnavailable))
    with breakable_disk(file, at=room.folder) as room, PostgresServer(kept=_make_server_folder(room)) as server:
        with longmind.open(server.url("gone"), embedder=None) as engine:
            filling.engine = engine
            filling.work.go_on(engine)
            filling.look("mounted anew")
            filling.go_on()
        yield from make_checks("PostgreSQL, disk gone read-only", filling.outcome, 1)


def _make_server_folder(room: SmallDisk) -> Path:
    folder = room.folder / "server"
    folder.mkdir(exist_ok=True)
    return folder


def _cycles(
    filling: FullDiskWork,
    room: SmallDisk,
    dice: random.Random,
    cycles: int,
    expected: tuple[type[longmind.LongmindError], ...],
    more: Callable[[], bool],
    server: PostgresServer | None = None,
) -> int:
    tried = unready = 0
    while tried < cycles and (tried < 2 or more()):
        room.fill(leave=_LEFT[tried % len(_LEFT)])
        if not filling.work_until_failure(expected):
            filling.outcome.unclear.append("nothing failed on a full disk")
        # A server without room for its log stops completely, so it cannot be checked while the disk is full.
        if server is None or answers(server):
            filling.look("full", can_write=False)
        unready += _not_ready(filling.engine)
        room.make_room()
        if server is not None and not answers(server):
            come_back(server, filling.engine)
        filling.go_on()
        filling.look("room again")
        tried += 1
    # Not each time: a small write may have found room after a larger one had not.
    if not unready:
        filling.outcome.unclear.append("check_database() found nothing wrong with a full disk")
    return tried


def _not_ready(engine: longmind.Engine) -> bool:
    try:
        engine.check_database()
    except StoreError:
        return True
    return False


def _fill_log(server: PostgresServer, room: SmallDisk, filling: FullDiskWork) -> str:
    """Leave no room for the next segment of the log: PostgreSQL stops, and may not come up before there is some."""
    room.fill()
    with suppress(psycopg.Error), psycopg.connect(server.url(), autocommit=True) as connection:
        for _ in range(64):
            connection.execute("SELECT pg_switch_wal()")
            connection.execute("CHECKPOINT")
    filling.work_until_failure((StoreFull, StoreUnavailable))
    room.make_room()
    started = come_back(server, filling.engine)
    filling.go_on()
    filling.look("room again")
    return started


def come_back(server: PostgresServer, engine: longmind.Engine) -> str:
    """Wait for a server that has stopped for want of room, and start it if it does not come up by itself."""
    started = "by itself"
    deadline = time.monotonic() + _SERVER_SECONDS
    while not answers(server):
        if time.monotonic() > deadline:
            started = "by hand"
            server.restart()
            break
        time.sleep(0.1)
    # The pool tries again now and then.
    while time.monotonic() < deadline + _SERVER_SECONDS and _not_ready(engine):
        time.sleep(0.1)
    return started


def answers(server: PostgresServer) -> bool:
    with suppress(psycopg.Error), psycopg.connect(server.url(), connect_timeout=2) as connection:
        return connection.execute("SELECT NOT pg_is_in_recovery()").fetchone() == (True,)
    return False


def _whole(file: Path) -> tuple[bool, dict[str, int], str]:
    connection = apsw.Connection(str(file))
    try:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        found += connection.execute("PRAGMA foreign_key_check").fetchall()
        return found == [("ok",)], {}, "" if found == [("ok",)] else str(found[:3])
    finally:
        connection.close()


def make_checks(name: str, outcome: FullDiskOutcome, tried: int, more: dict[str, str] | None = None) -> Iterator[Check]:
    figures = {"times": tried, "operations": outcome.done, **outcome.errors, **(more or {})}
    claims = {
        "every operation that fails says clearly why, and what to do": outcome.unclear,
        "nothing is lost and nothing is half written, and reading goes on": outcome.changed,
        "the engine works again when it can": outcome.stuck,
    }
    for claim, wrong in claims.items():
        passed = not wrong and outcome.failures > 0
        detail = "; ".join(wrong[:3]) or "nothing failed, so nothing was shown"
        yield Check(f"{name}: {claim}", passed, figures, "" if passed else detail)
