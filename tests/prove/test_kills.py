"""A short attack: writers and a worker are killed on each engine, and what was answered is there."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from prove.kills import compare, journal, rounds
from prove.kills.import_kill import kill_an_import
from prove.kills.rounds import KillAttack


@pytest.fixture
def attack(database_url: str, tmp_path: Path) -> KillAttack:
    return rounds.prepare(database_url, tmp_path / "journals", random.Random(3))


@pytest.mark.conforms("A1.11")
def test_what_was_answered_outlives_the_kill_of_a_writer_and_of_a_worker(attack: KillAttack) -> None:
    attack.round(writers=1)
    assert attack.tally.kills == {"writers": 1, "workers": 1}
    assert compare(attack) == []


def test_an_import_that_is_killed_is_there_wholly_or_not_at_all(attack: KillAttack) -> None:
    kill_an_import(attack.url, attack.folder, "u1", random.Random(4))
    [entry] = journal.read(attack.folder, "u1").entries
    assert entry.operation == "import_file"
    assert compare(attack) == []


@pytest.mark.slow
@pytest.mark.parametrize("by_command", [False, True])
def test_what_was_answered_outlives_kills_of_writers_workers_and_servers(attack: KillAttack, by_command: bool) -> None:
    for _ in range(4):
        attack.round(served=True, by_command=by_command)
    kills = {name: attack.tally.kills[name] for name in ("writers", "workers", "servers")}
    assert kills == {"writers": 28, "workers": 4, "servers": 4}
    assert attack.tally.cut.total() > 0
    assert compare(attack) == []
