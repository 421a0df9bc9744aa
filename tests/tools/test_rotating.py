"""Rotation: old lines of the audit go to files, and what is left, the files and how they join is still proved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.audit.chain_export import export, verify_exported
from longmind.audit.rotation import Rotation, rotate
from longmind.audit.segment_join import find_gaps, read_moved
from longmind.audit.verification import VerificationReport, verify
from longmind.clock import to_micros
from longmind.store.tables import audit
from tests.clock import SettableClock
from tests.store.test_parity import execute
from tests.tools.conftest import OWNER

DAY = 24 * 60 * 60
KEY = "a secret of the host"


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    """Two chains with a line a day, five days long."""
    with longmind.open(database_url, clock=clock, embedder=None, audit_key=KEY) as engine:
        for _ in range(5):
            for group in ("default", "others"):
                engine.context(**OWNER, group=group).tools.memory_brief()
            clock.advance(DAY)
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "audit"


def lines(engine: longmind.Engine, group: str = "others") -> list[longmind.AuditEntry]:
    return list(engine.context(**OWNER, group=group).tools.audit())


def moved(engine: longmind.Engine, folder: Path, seq: int) -> Rotation:
    """Rotate what is older than a line."""
    point = next(line.timestamp for line in lines(engine) if line.seq == seq)
    return rotate(engine._database, KEY, to_micros(point), folder)


def checked(engine: longmind.Engine) -> VerificationReport:
    return verify(engine._database, KEY)


def of_file(path: Path) -> VerificationReport:
    return verify_exported(path.read_text("utf-8").splitlines(), KEY)


def unjoined(engine: longmind.Engine, path: Path) -> list[str]:
    file = read_moved(path)
    assert file is not None
    return [problem.what for problem in find_gaps(engine._database, file, KEY)]


def file_of(rotation: Rotation, folder: Path) -> Path:
    """The file of the group `others`."""
    return next(folder / each.file for each in rotation.moved if each.group == "others")


@pytest.mark.conforms("B5.4")
def test_old_lines_are_moved_to_private_files_and_the_rest_is_still_whole(
    engine: longmind.Engine, folder: Path
) -> None:
    before = lines(engine)
    rotation = moved(engine, folder, 4)
    assert [(each.group, each.first, each.last) for each in rotation.moved] == [("default", 1, 3), ("others", 1, 3)]
    assert lines(engine) == before[3:]
    report = checked(engine)
    assert (report.chains, report.lines, report.problems) == (2, 4, [])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(os.listdir(folder)) == sorted(each.file for each in rotation.moved)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    for path in folder.iterdir():
        assert (of_file(path).chains, of_file(path).lines, of_file(path).problems) == (1, 3, [])
        assert unjoined(engine, path) == []


@pytest.mark.conforms("B5.4")
def test_numbers_go_on_and_later_rotations_follow_the_ones_before(engine: longmind.Engine, folder: Path) -> None:
    first = moved(engine, folder, 3)
    engine.context(**OWNER, group="others").tools.memory_brief()
    second = moved(engine, folder, 5)
    assert [line.seq for line in lines(engine)] == [5, 6]
    assert [(each.first, each.last) for each in second.moved] == [(3, 4), (3, 4)]
    assert checked(engine).problems == []
    for rotation in (first, second):
        path = file_of(rotation, folder)
        assert (of_file(path).problems, unjoined(engine, path)) == ([], [])
    # The older file is proved by way of the newer one.
    file_of(second, folder).unlink()
    assert "is missing from the folder" in unjoined(engine, file_of(first, folder))[0]


def test_the_whole_chain_can_be_moved_and_goes_on(engine: longmind.Engine, folder: Path, clock: SettableClock) -> None:
    rotate(engine._database, KEY, clock(), folder)
    assert (lines(engine), checked(engine).problems) == ([], [])
    engine.context(**OWNER, group="others").tools.memory_brief()
    assert ([line.seq for line in lines(engine)], checked(engine).problems) == ([6], [])


def test_nothing_is_moved_where_nothing_is_old(engine: longmind.Engine, folder: Path) -> None:
    assert moved(engine, folder, 1) == Rotation()
    assert (os.listdir(folder), checked(engine).lines) == ([], 10)


def test_a_newer_line_keeps_those_after_it_when_the_clock_went_back(
    engine: longmind.Engine, folder: Path, clock: SettableClock
) -> None:
    clock.advance(-10 * DAY)
    engine.context(**OWNER, group="others").tools.memory_brief()
    moved(engine, folder, 3)
    assert [line.seq for line in lines(engine)] == [3, 4, 5, 6]
    assert checked(engine).problems == []


def test_an_export_after_a_rotation_is_whole(engine: longmind.Engine, folder: Path) -> None:
    moved(engine, folder, 4)
    exported = [json.dumps(line) for line in export(engine._database, KEY)]
    assert (verify_exported(exported, KEY).lines, verify_exported(exported, KEY).problems) == (4, [])
    assert verify_exported(exported[1:], KEY).problems != []
    assert verify_exported([*exported[:2], exported[0], *exported[2:]], KEY).problems != []
    assert verify_exported([line.replace('"anchor": 3', '"anchor": 2') for line in exported], KEY).problems != []


ANCHORS = {
    "another number": "UPDATE tool_audit_heads SET anchor_seq = 2 WHERE \"group\" = 'others'",
    "another hash": "UPDATE tool_audit_heads SET anchor_hash = 'abc' WHERE \"group\" = 'others'",
    "another file": "UPDATE tool_audit_heads SET anchor_file = 'abc' WHERE \"group\" = 'others'",
    "another digest": "UPDATE tool_audit_heads SET anchor_digest = 'abc' WHERE \"group\" = 'others'",
    "another seal": "UPDATE tool_audit_heads SET anchor_seal = seal WHERE \"group\" = 'others'",
    "none": (
        "UPDATE tool_audit_heads SET anchor_seq = 0, anchor_hash = '', anchor_file = '', anchor_digest = '', "
        "anchor_seal = '' WHERE \"group\" = 'others'"
    ),
    "that of another chain": (
        "UPDATE tool_audit_heads SET "
        + ", ".join(
            f"anchor_{name} = (SELECT anchor_{name} FROM tool_audit_heads WHERE \"group\" = 'default')"
            for name in ("seq", "hash", "file", "digest", "seal")
        )
        + " WHERE \"group\" = 'others'"
    ),
    "one further on, with the lines": (
        "DELETE FROM tool_audit WHERE \"group\" = 'others' AND seq = 4;"
        "UPDATE tool_audit_heads SET anchor_seq = 4 WHERE \"group\" = 'others'"
    ),
    "a line less": "DELETE FROM tool_audit WHERE \"group\" = 'others' AND seq = 4",
    "no line": "DELETE FROM tool_audit WHERE \"group\" = 'others'",
    "the end where the file ends": (
        "DELETE FROM tool_audit WHERE \"group\" = 'others';"
        "UPDATE tool_audit_heads SET seq = 3, hash = anchor_hash, seal = '{moved}' WHERE \"group\" = 'others'"
    ),
    "a removed line again": (
        """INSERT INTO tool_audit (scope_id, "group", seq, at, correlation, topic, outcome, body, hash)
        SELECT scope_id, "group", 3, at, correlation, topic, outcome, body, hash FROM tool_audit
        WHERE "group" = 'others' AND seq = 4"""
    ),
}


@pytest.mark.patient
@pytest.mark.conforms("B5.4")
@pytest.mark.parametrize("how", ANCHORS)
def test_tampering_after_a_rotation_is_found(
    engine: longmind.Engine, folder: Path, database_url: str, how: str
) -> None:
    path = file_of(moved(engine, folder, 4), folder)
    seal = json.loads(path.read_text("utf-8").splitlines()[-2])["seal"]
    for statement in ANCHORS[how].replace("{moved}", seal).split(";"):
        execute(database_url, statement)
    assert {problem.group for problem in checked(engine).problems} == {"others"}
    # It stays as it is: what is not whole is not moved.
    left = len(lines(engine))
    again = rotate(engine._database, KEY, to_micros("2100-01-01T00:00:00Z"), folder)
    assert [each.group for each in again.moved] == ["default"]
    assert {problem.group for problem in again.problems} == {"others"}
    assert len(lines(engine)) == left


@pytest.mark.conforms("B5.4")
@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [line.replace('"routed"', '"rejected"') for line in lines],
        lambda lines: lines[1:],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [*lines[:-3], *lines[-2:]],
        lambda lines: [*lines[:-2], lines[-1]],
        lambda lines: lines[:-1],
        lambda lines: [line.replace('"digest": "', '"digest": "0') for line in lines],
        lambda lines: [line.replace('"moved": 4', '"moved": 3') for line in lines],
    ],
    ids=["changed", "its beginning", "first", "last", "its end", "end mark", "what it follows", "another end"],
)
def test_a_file_that_was_changed_is_found_out(
    engine: longmind.Engine, folder: Path, tamper: Callable[[list[str]], list[str]]
) -> None:
    moved(engine, folder, 3)
    path = file_of(moved(engine, folder, 5), folder)
    told = path.read_text("utf-8").splitlines()
    assert verify_exported(told, KEY).problems == []
    assert verify_exported(tamper(told), KEY).problems != []


@pytest.mark.conforms("B5.4")
def test_a_file_that_is_whole_but_not_the_one_that_was_moved_does_not_join(
    engine: longmind.Engine, folder: Path, database_url: str
) -> None:
    path = file_of(moved(engine, folder, 4), folder)
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    assert of_file(path).problems == []
    assert unjoined(engine, path) == ["this is not the file that the lines were moved to"]
    execute(database_url, "UPDATE tool_audit_heads SET anchor_file = 'x'")
    assert unjoined(engine, path) == ["the beginning of the chain in the database was changed"]
    execute(database_url, "DELETE FROM tool_audit_heads")
    assert unjoined(engine, path) == ["the database lacks the chain of this file"]


def interrupted(engine: longmind.Engine, folder: Path) -> Path:
    """The file of a rotation that ended between writing it and removing its lines."""
    link = os.link

    def crash(*paths: Path) -> None:
        link(*paths)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "link", crash)
        with pytest.raises(KeyboardInterrupt):
            moved(engine, folder, 4)
    (path,) = folder.iterdir()
    return path


def test_a_rotation_that_was_interrupted_is_done_again(engine: longmind.Engine, folder: Path) -> None:
    name = interrupted(engine, folder).name
    written = (folder / name).read_bytes()
    # The lines are in both places, and fit together.
    assert (checked(engine).lines, checked(engine).problems) == (10, [])
    assert unjoined(engine, folder / name) == []
    again = moved(engine, folder, 4)
    assert name in {each.file for each in again.moved}
    assert (folder / name).read_bytes() == written
    assert (checked(engine).lines, checked(engine).problems) == (4, [])


def test_a_file_is_never_written_over(engine: longmind.Engine, folder: Path) -> None:
    path = interrupted(engine, folder)
    path.write_text("mine", "utf-8")
    with pytest.raises(longmind.Conflict, match="exists with other content"):
        moved(engine, folder, 4)
    assert path.read_text("utf-8") == "mine"
    # It is the first chain that was interrupted, so that none was cut.
    assert (checked(engine).lines, checked(engine).problems) == (10, [])
    assert [name for name in os.listdir(folder) if name.startswith(".")] == []


def test_lines_that_go_missing_meanwhile_stop_the_removal(
    engine: longmind.Engine, folder: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def late(*paths: Path) -> None:
        execute(database_url, "DELETE FROM tool_audit WHERE seq = 2")
        real(*paths)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(longmind.Conflict, match="none was removed"):
        moved(engine, folder, 4)
    assert [line.seq for line in lines(engine)] == [1, 3, 4, 5]


def test_a_rotation_while_the_audit_is_verified_is_no_problem(
    engine: longmind.Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, calls = audit.list_lines, 0

    def late(run: Any, group: str, **asked: Any) -> list[audit.AuditLine]:
        # Just after it was read where the chain begins, it begins later.
        nonlocal calls
        calls += 1
        if calls == 1:
            moved(engine, folder, 4)
        return read(run, group, **asked)

    monkeypatch.setattr(audit, "list_lines", late)
    report = checked(engine)
    assert (report.lines, report.problems) == (4, [])
    assert len(os.listdir(folder)) == 2


def test_a_folder_that_others_may_read_is_refused(engine: longmind.Engine, folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(longmind.InvalidInput, match="open to other users"):
        moved(engine, folder, 4)
    folder.rmdir()
    folder.write_text("a file", "utf-8")
    with pytest.raises(longmind.StoreUnavailable, match="cannot be written"):
        moved(engine, folder, 4)
    assert len(lines(engine)) == 5
