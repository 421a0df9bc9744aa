"""Databases of earlier versions: opened by this one, everything is there and goes on."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import longmind
from longmind.store.migrations import load_migrations
from prove.upgrades import find_problems
from prove.upgrades.attacks import kill_upgrade, open_during_upgrade, open_newer_schema
from prove.upgrades.checks import open_now
from prove.upgrades.recorder import RECORDED, ROOT, VERSIONS
from prove.upgrades.recordings import RecordedDatabase, list_applied

OLDEST, RELEASED, RENAMED = "schema-02-first", "v0.1.0", "v0.2.0"
# In an ordinary run PostgreSQL has the ends and the middle of the history; the slow run has all of it.
ORDINARY = (OLDEST, "schema-14", RELEASED, RENAMED)
EVERY = [
    pytest.param(engine, version, marks=[pytest.mark.slow] if engine != "sqlite" and version not in ORDINARY else [])
    for engine in ("sqlite", "postgresql")
    for version in VERSIONS
]


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(request: pytest.FixtureRequest, engine_name: str) -> str:
    return str(request.getfixturevalue("sqlite_url" if engine_name == "sqlite" else "postgres_url"))


@pytest.fixture
def fresh(request: pytest.FixtureRequest, engine_name: str, tmp_path: Path) -> Iterator[str]:
    """A database that is made by this version."""
    if engine_name == "sqlite":
        url = f"sqlite:///{tmp_path}/fresh.db"
        longmind.open(url).close()
        yield url
        return
    with request.getfixturevalue("postgres_databases").lend() as url:
        yield url


@pytest.mark.parametrize(("engine_name", "version"), EVERY, indirect=["engine_name"])
def test_a_database_of_an_earlier_version_has_everything_and_goes_on(
    engine_name: str, version: str, url: str, fresh: str
) -> None:
    recording = RecordedDatabase(version, engine_name)
    recording.put_into(url)
    problems = find_problems(url, recording.manifest, fresh)
    assert {claim: found for claim, found in problems.items() if found} == {}
    assert len(problems) == 7


@pytest.mark.parametrize("attack", [kill_upgrade, open_during_upgrade, open_newer_schema])
def test_an_attack_on_the_moment_of_upgrading_does_no_harm(attack, engine_name: str, url: str) -> None:
    RecordedDatabase("schema-14", engine_name).put_into(url)
    assert attack(url) == []


READ_ONLY = """
import os, sys
import longmind
longmind.open("sqlite:///:memory:").close()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    longmind.open(sys.argv[1]).close()
    print("opened")
except longmind.LongmindError as error:
    print(type(error).__name__, "|", error)
"""


def test_an_older_file_that_cannot_be_written_says_what_to_do() -> None:
    # Root may write everything, so it is another account that opens it; that one cannot look into pytest's folders.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        path = Path(folder) / "memory.db"
        RecordedDatabase(RELEASED, "sqlite").put_into(f"sqlite:///{path}")
        path.chmod(0o444)
        before = path.read_bytes()
        answer = subprocess.run(
            [sys.executable, "-c", READ_ONLY, f"sqlite:///{path}"], capture_output=True, text=True, timeout=60
        )
        assert path.read_bytes() == before
    assert answer.stdout.startswith("StoreReadOnly | "), answer
    assert "longmind migrate apply" in answer.stdout


def test_an_older_database_on_a_replica_says_what_to_do(postgres_url: str) -> None:
    RecordedDatabase(RELEASED, "postgresql").put_into(postgres_url)
    newest = load_migrations("postgres")[-1].version
    read_only = f"{postgres_url}&options=-c%20default_transaction_read_only%3Don"
    with pytest.raises(longmind.StoreReadOnly, match=f"version 19, this Longmind needs {newest}") as caught:
        longmind.open(read_only)
    assert "longmind migrate apply" in caught.value.hint
    assert list_applied(postgres_url)[-1] == 19
    longmind.open(postgres_url).close()
    longmind.open(read_only).close()


def test_an_upgrade_that_fails_half_way_leaves_the_version_it_began_with(sqlite_url: str) -> None:
    RecordedDatabase("schema-08", "sqlite").put_into(sqlite_url)
    connection = apsw.Connection(sqlite_url.removeprefix("sqlite:///"))
    connection.execute("CREATE TABLE blocks (in_the_way TEXT)")
    connection.close()
    with pytest.raises(longmind.StoreError, match="blocks"):
        open_now(sqlite_url)
    assert list_applied(sqlite_url) == list(range(1, 9))


def test_every_recording_is_small_and_tells_nothing_of_the_machine_it_was_made_on() -> None:
    files = [path for path in RECORDED.rglob("*") if path.is_file()]
    assert len(files) == 4 * len(VERSIONS)
    for path in files:
        assert path.stat().st_size < 100_000
        assert not re.search(rb"/(?:home|root|tmp|work|Users|var)/\w", gzip.decompress(path.read_bytes())), path


def test_every_recording_holds_what_its_version_could_keep() -> None:
    for version in VERSIONS:
        for engine in ("sqlite", "postgresql"):
            seen = RecordedDatabase(version, engine).manifest["users"]["ada"]
            assert len(seen["conversations"]) >= 3
            assert [len(messages) for messages in seen["messages"].values()].count(7) == 1
            schema = {RELEASED: 19, RENAMED: 23}.get(version) or int(version.split("-")[1])
            for part, since in {"spaces": 3, "bindings": 8, "blocks": 14, "entries": 14, "events": 19}.items():
                assert bool(seen.get(part)) == (schema >= since), (version, part)


def history(*arguments: str) -> list[str]:
    answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if answer.returncode:
        pytest.skip("the history is not here")
    return answer.stdout.split()


def test_every_release_is_recorded() -> None:
    assert set(history("tag", "--list", "v*")) <= VERSIONS.keys()


def test_every_schema_before_the_first_release_is_recorded() -> None:
    folder = "src/recollect/store/sql/migrations"
    if history("rev-parse", "--is-shallow-repository") != ["false"]:
        pytest.skip("the history is cut off")
    commits = history("log", "--first-parent", "--format=%H", VERSIONS[RELEASED], "--", folder)
    assert set(commits) == set(VERSIONS.values()) - {VERSIONS[RELEASED], VERSIONS[RENAMED]}
