"""The proof about disks: it holds, and its checks catch bugs that were planted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import longmind
from prove.disk import engines, files, limits, long_work, small_disks, surfaces, temporary
from prove.disk.full_disk import FullDiskWork
from prove.section import Check

WHY_NOT = small_disks.find_obstacle()
needs_disks = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def filling(file: Path) -> Iterator[FullDiskWork]:
    with longmind.open(f"sqlite:///{file}", embedder=None) as engine:
        filling = FullDiskWork(engine, random.Random(2))
        filling.go_on(25)
        assert filling.outcome.done == 25
        yield filling


def spoil(file: Path, statement: str) -> None:
    connection = apsw.Connection(str(file))
    connection.set_busy_timeout(1000)
    connection.execute(statement)
    connection.close()


def all_held(checks: Iterator[Check]) -> bool:
    found = list(checks)
    assert [(check.claim, check.detail) for check in found if not check.passed and not check.skipped] == []
    return bool(found)


def test_nothing_is_found_wrong_where_nothing_is(filling: FullDiskWork) -> None:
    filling.look("now")
    assert filling.outcome.changed == []


@pytest.mark.parametrize(
    "planted",
    [
        "DELETE FROM events WHERE sequence = 1",
        "UPDATE atoms SET text = 'something else'",
        "DELETE FROM block_revisions; DELETE FROM blocks",
        "DELETE FROM events WHERE kind = 'visit'",
    ],
)
def test_what_was_lost_or_half_written_is_caught(filling: FullDiskWork, file: Path, planted: str) -> None:
    spoil(file, f"PRAGMA foreign_keys = OFF; {planted}")
    filling.look("now")
    assert filling.outcome.changed != []


def test_an_error_that_does_not_say_what_is_wrong_is_caught(filling: FullDiskWork) -> None:
    filling.engine.close()
    assert filling.work_until_failure((longmind.StoreFull,))
    assert "EngineClosed" in filling.outcome.unclear[0]


def test_an_engine_that_does_not_work_again_is_caught(filling: FullDiskWork) -> None:
    filling.engine.close()
    filling.go_on()
    assert filling.outcome.stuck != []


def test_a_disk_on_which_nothing_fails_proves_nothing(filling: FullDiskWork) -> None:
    checks = list(engines.make_checks("a large disk", filling.outcome, 1))
    assert [check.passed for check in checks] == [False, False, False]


@needs_disks
def test_sqlite_bears_with_a_full_disk() -> None:
    assert all_held(engines.full_sqlite(random.Random(1), 2, lambda: True))


@needs_disks
def test_sqlite_bears_with_a_disk_that_is_gone_read_only(tmp_path: Path) -> None:
    assert all_held(engines.read_only_sqlite(tmp_path, random.Random(1)))


@needs_disks
@pytest.mark.slow
def test_workers_imports_and_erasures_bear_with_a_full_disk() -> None:
    assert all_held(long_work.check_sqlite())
    assert all_held(long_work.check_postgres())


class Endless(small_disks.SmallDisk):
    """A disk that never gets full."""

    def fill(self, leave: int = 0) -> None:
        pass


def test_what_never_had_to_wait_for_room_proves_nothing(tmp_path: Path) -> None:
    with longmind.open(f"sqlite:///{tmp_path}/memory.db", embedder=None) as engine:
        place = long_work.SmallDiskStore("SQLite", Endless(tmp_path), engine, lambda: None)
        imported = long_work.check_import(place)
    assert not imported.passed
    assert "it was done though there is no room" in imported.detail
    assert "messages of an import that was refused are there" in imported.detail


@needs_disks
def test_files_beside_the_database_bear_with_a_full_disk(tmp_path: Path) -> None:
    assert all_held(files.all_of_them(f"sqlite:///{tmp_path}/beside.db"))


def test_an_engine_bears_with_the_limits_of_its_process(tmp_path: Path) -> None:
    assert all_held(limits.limits(tmp_path))


@needs_disks
def test_a_user_is_erased_without_room_for_temporary_files(tmp_path: Path) -> None:
    assert all_held(iter([temporary.no_temporary_files(tmp_path)]))


@needs_disks
@pytest.mark.slow
def test_the_server_sends_no_half_archive_without_room_for_temporary_files(tmp_path: Path) -> None:
    assert all_held(surfaces.archive(tmp_path))


@needs_disks
@pytest.mark.slow
def test_postgresql_bears_with_a_disk_that_is_gone_read_only(tmp_path: Path) -> None:
    assert all_held(engines.read_only_postgres(tmp_path, random.Random(1)))


@needs_disks
@pytest.mark.slow
def test_commands_and_the_server_bear_with_a_full_disk() -> None:
    assert all_held(surfaces.commands())
    assert all_held(surfaces.server())


@needs_disks
@pytest.mark.slow
def test_postgresql_bears_with_a_full_disk() -> None:
    assert all_held(engines.full_postgres(random.Random(1), 2, lambda: True))
