"""The checks of old databases see what was lost: each is shown one from which something was taken."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import longmind
from prove.upgrades import checks, find_problems
from prove.upgrades.checks import differences
from prove.upgrades.recordings import RecordedDatabase
from prove.upgrades.schema import unlike

# What a bad upgrade might do, and the word that the check has to say about it.
HARM = {
    "UPDATE events SET content = replace(content, 'Graz', 'Wien') WHERE sequence = 1": "messages",
    "DELETE FROM events WHERE sequence = 7": "messages",
    "UPDATE events SET ts = ts + 1 WHERE sequence = 2": "created_at",
    "UPDATE conversations SET title = NULL": "title",
    "UPDATE atoms SET importance = 1 WHERE importance = 5": "importance",
    "UPDATE atoms SET status = 'ACTIVE' WHERE status = 'ARCHIVED'": "status",
    "DELETE FROM atom_entities": "entit",
    "UPDATE blocks SET version = version + 5": "version",
    "DELETE FROM block_revisions": "revisions",
    "UPDATE bindings SET enabled = 0": "enabled",
    "UPDATE tool_quotas SET stores = 0": "entries do not go on",
    "DELETE FROM tool_audit WHERE seq = 2": "audit",
    "UPDATE jobs SET payload = '{}' WHERE kind = 'count-words'": "payload",
    "DELETE FROM jobs WHERE kind <> 'count-words'": "jobs",
    "DELETE FROM access_keys": "keys do not go on",
    "UPDATE access_keys SET revoked_at = NULL": "keys do not go on",
    "DELETE FROM space_grants": "grants",
    "UPDATE events SET state_key = NULL": "state",
}


def damaged(url: str, statement: str) -> RecordedDatabase:
    recording = RecordedDatabase("v0.1.0", "sqlite")
    recording.put_into(url)
    connection = apsw.Connection(url.removeprefix("sqlite:///"))
    connection.execute(statement)
    connection.close()
    return recording


@pytest.mark.parametrize(("statement", "word"), HARM.items())
def test_what_an_upgrade_would_lose_is_noticed(statement: str, word: str, sqlite_url: str) -> None:
    manifest = damaged(sqlite_url, statement).manifest
    with checks.open_now(sqlite_url) as engine:
        found = checks.find_lost(engine, manifest) + checks.find_unwritable(engine, manifest)
    assert any(word in each for each in found), found


def test_a_job_that_is_not_done_is_noticed(sqlite_url: str) -> None:
    manifest = damaged(sqlite_url, "UPDATE jobs SET due_at = due_at + 1000000000000000").manifest
    with checks.open_now(sqlite_url) as engine:
        assert "ada's count-words is queued: None" in checks.find_undone(engine, manifest)


def test_an_erasure_that_takes_too_much_is_noticed(sqlite_url: str) -> None:
    recording = damaged(
        sqlite_url,
        "CREATE TRIGGER too_much AFTER DELETE ON conversations BEGIN DELETE FROM conversations; END",
    )
    with checks.open_now(sqlite_url) as engine:
        assert any(each.startswith("bob: ") for each in checks.find_unerased(engine, recording.manifest))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE INDEX one_more ON conversations (title)",
        "ALTER TABLE jobs ADD COLUMN one_more TEXT",
        "DROP TABLE running_turns",
    ],
)
def test_a_schema_that_differs_is_noticed(statement: str, sqlite_url: str, tmp_path: Path) -> None:
    fresh = f"sqlite:///{tmp_path}/fresh.db"
    for url in (fresh, sqlite_url):
        longmind.open(url).close()
    assert unlike(sqlite_url, fresh) == []
    connection = apsw.Connection(sqlite_url.removeprefix("sqlite:///"))
    connection.execute(statement)
    connection.close()
    assert unlike(sqlite_url, fresh)


def test_a_first_column_that_is_missing_makes_every_claim_about_writing_fail(sqlite_url: str, tmp_path: Path) -> None:
    recording = RecordedDatabase("schema-02-first", "sqlite")
    recording.put_into(sqlite_url)
    fresh = f"sqlite:///{tmp_path}/fresh.db"
    longmind.open(fresh).close()
    longmind.open(sqlite_url).close()
    connection = apsw.Connection(sqlite_url.removeprefix("sqlite:///"))
    connection.execute("ALTER TABLE conversations DROP COLUMN asked_again")
    connection.close()
    assert sum(bool(found) for found in find_problems(sqlite_url, recording.manifest, fresh).values()) >= 3


def test_a_difference_is_told_with_its_place() -> None:
    before = {"a": [{"b": 1}, {"b": 2}], "gone": 0, "same": None}
    now = {"a": [{"b": 1, "more": 1}, {"b": 3}], "same": None, "new": 1}
    assert list(differences(before, now, "")) == [".a[1].b was 2 and is 3", ".gone is gone"]
    assert list(differences([1, 2], [1], "x")) == ["x was [1, 2] and is [1]"]
