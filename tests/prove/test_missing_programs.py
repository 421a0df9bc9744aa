"""What a machine lacks is told in words, and what needs it is skipped: no pass, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from prove import disk, machines, power_loss, upgrades
from prove.disk import limits, small_disks
from prove.section import Check, Plan
from prove.supply_chain import outside_audits, package
from prove.upgrades.recorder import VERSIONS, is_here


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return Plan(seconds=60, seed=1, engines=("postgresql",), folder=tmp_path)


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")


def whys(checks: Iterator[Check]) -> list[str]:
    found = list(checks)
    assert all(check.skipped and not check.passed for check in found)
    return [check.detail for check in found]


@pytest.mark.usefixtures("no_programs")
def test_without_programs_there_are_no_machines_and_no_disks(plan: Plan) -> None:
    assert whys(machines.run(plan)) == ["the command ip of iproute2 is not there"]
    assert small_disks.find_breakable_obstacle() == "the command mkfs.ext4 is not there"
    if os.geteuid() == 0:
        assert whys(disk.run(plan)) == ["the command mount is not there"]


@pytest.mark.usefixtures("no_programs")
def test_without_git_there_is_no_history(tmp_path: Path, plan: Plan) -> None:
    assert package.list_tracked() is None
    assert not is_here(VERSIONS["v0.1.0"])
    places = upgrades.NewDatabases("sqlite", tmp_path, ExitStack())
    check = upgrades.check_versions_at_work(places, plan, 0.0)
    assert check.skipped
    assert check.detail.startswith("the history is not here: schema-02-first, ")


def test_a_commit_that_the_history_does_not_have_is_not_here() -> None:
    assert not is_here("0" * 40)


def test_a_user_who_is_not_root_is_told_what_needs_root(tmp_path: Path) -> None:
    """As somebody else, in a process of its own: rights that were given up do not come back."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from prove import disk, machines\n"
        "from prove.section import Plan\n"
        "os.geteuid() or os.setuid(65534)\n"
        "plan = Plan(seconds=60, seed=1, engines=('postgresql',), folder=Path('/tmp'))\n"
        "for part in (disk, machines):\n"
        "    print(*(f'{check.skipped} {check.detail}' for check in part.run(plan)), sep='\\n')\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert told.stdout == "True only root may mount a small disk\nTrue network namespaces need root\n", told.stderr


def test_without_an_index_that_answers_nothing_can_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/simple")
    # A machine may have packages of its own, or another index, that are looked at too.
    for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "1")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert outside_audits.no_index(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_power_loss_is_not_for_postgresql_alone(plan: Plan) -> None:
    assert whys(power_loss.run(plan)) == ["only SQLite's files are ours to lose; PostgreSQL has its own proofs of this"]


def test_folders_that_were_opened_for_a_check_are_closed_again(tmp_path: Path) -> None:
    folder = tmp_path / "closed" / "folder"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        each.chmod(0o700)
    before = {each: each.stat().st_mode for each in (folder, *folder.parents)}
    with limits.passable(folder):
        assert all(each.stat().st_mode & 0o001 for each in before)
    assert {each: each.stat().st_mode for each in before} == before
