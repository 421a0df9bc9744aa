"""The checker of the kills: it holds its peace over what is right, and finds every wrong that is planted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import apsw
import pytest

import longmind
from longmind.keys.token import read_token
from prove.kills import compare
from prove.kills.transports import APP, TENANT
from tests.prove.story import ADA, BEN, CLEO, Story, told


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Story:
    folder = tmp_path_factory.mktemp("story")
    return told(f"sqlite:///{folder}/memory.db", folder / "journals")


@dataclass(frozen=True)
class Copy:
    """A story of one's own to do wrong to."""

    story: Story
    path: Path

    def sql(self, statement: str, *values: object) -> int:
        connection = apsw.Connection(str(self.path))
        try:
            connection.execute(statement, values)
            return connection.changes()
        finally:
            connection.close()

    @property
    def archive(self) -> Path:
        return Path(self.story.entries(ADA, "archive_file")[0].given["file"])


@pytest.fixture
def copy(finished: Story, tmp_path: Path) -> Copy:
    source = Path(finished.attack.url.removeprefix("sqlite:///"))
    shutil.copytree(source.parent, tmp_path / "copy")
    path = tmp_path / "copy" / source.name
    journals = tmp_path / "copy" / "journals"
    for journal in journals.glob("*.jsonl"):
        # It names files by their whole paths.
        journal.write_text(journal.read_text().replace(str(source.parent), str(path.parent)))
    return Copy(Story(replace(finished.attack, url=f"sqlite:///{path}", folder=journals)), path)


def wrongs(copy: Copy) -> str:
    return "\n".join(compare(copy.story.attack))


def test_what_was_done_in_good_order_is_found_right(database_url: str, tmp_path: Path) -> None:
    assert compare(told(database_url, tmp_path / "journals").attack) == []


def test_what_a_killed_rebuild_has_left_is_no_wrong_and_the_next_one_removes_it(
    database_url: str, tmp_path: Path
) -> None:
    attack = told(database_url, tmp_path / "journals").attack
    mirror = attack.folder / "mirror"
    for files in mirror.glob("[!.]*"):
        shutil.copytree(files, mirror / ".new" / files.name)
    assert list(mirror.glob(".new/**/*.jsonl"))
    assert compare(attack) == []
    assert not list(mirror.glob(".new/**/*.jsonl"))


_LIKE = "text LIKE ? || '%'"
_OF_MESSAGE = "sequence IS NOT NULL AND content LIKE '%' || ? || '%'"


def doubled(copy: Copy, table: str, where: str, *values: object, **changed: str) -> int:
    """Put a row in once more, with some columns changed."""
    connection = apsw.Connection(str(copy.path))
    columns = [f'"{row[1]}"' for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    others = [column for column in columns if column.strip('"') not in changed]
    return copy.sql(
        f"INSERT INTO {table} ({', '.join([*others, *changed])}) "
        f"SELECT {', '.join([*others, *changed.values()])} FROM {table} WHERE {where}",
        *values,
    )


def without_row(copy: Copy, token: str, role: str) -> int:
    """Take the last row of a conversation away so that no number is missing."""
    found = copy.sql(f"DELETE FROM events WHERE {_OF_MESSAGE} AND stage = ?", token, role)
    copy.sql(
        "UPDATE conversations SET next_sequence = 1 + (SELECT COALESCE(MAX(sequence), 0) FROM events "
        "WHERE events.scope_id = conversations.scope_id AND conversation_id = conversations.id)"
    )
    return found


def _change_index(copy: Copy) -> int:
    """Let SQLite take an index for one of other rows than it was made of."""
    connection = apsw.Connection(str(copy.path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'chat.turn', 'note') WHERE name = 'events_said'")
    changed = connection.changes()
    connection.close()
    return changed


def in_the_files(copy: Copy, change: Callable[[list[str]], list[str]]) -> int:
    """Change the lines of a file of the mirror."""
    file = next(copy.story.attack.folder.joinpath("mirror").rglob("*.jsonl"))
    lines = file.read_text().splitlines()
    file.write_text("".join(f"{line}\n" for line in change(lines)))
    return len(lines)


def in_the_journal(copy: Copy, operation: str, answered: str, instead: str) -> int:
    """Change what the only operation of a kind of a user was answered with."""
    journal = copy.story.attack.folder / f"{CLEO}.jsonl"
    [entry] = copy.story.entries(CLEO, operation)
    line = f'{{"n": {entry.number}, {answered}'
    text = journal.read_text()
    journal.write_text(text.replace(line, f'{{"n": {entry.number}, {instead}'))
    return text.count(line)


def without_files_of(copy: Copy, user: str) -> int:
    files = [
        file for file in copy.story.attack.folder.joinpath("mirror").rglob("*.jsonl") if f'"{user}"' in file.read_text()
    ]
    for file in files:
        file.unlink()
    return len(files)


def without_user(copy: Copy, user: str) -> int:
    with longmind.open(copy.story.attack.url, embedder=None) as engine:
        host = engine.context(tenant_id=TENANT, app_id=APP, user_id="host", capabilities={"admin"})
        erased = host.admin.delete_user_data(user, confirm=True)
    return sum(erased["deleted"].values())


def _let_erased_in(copy: Copy) -> int:
    """Make the key of an erased user what it was."""
    [made] = copy.story.entries(BEN, "key")
    token = read_token((made.answer or {})["token"])
    assert token is not None
    return copy.sql(
        "UPDATE access_keys SET user_id = ?, digest = ?, revoked_at = NULL WHERE id = ?", BEN, token.digest, token.id
    )


_OF_COPY = f"scope_id = (SELECT scope_id FROM conversations WHERE user_id = '{CLEO}-copy' LIMIT 1)"
_SLEEPERS = "agent_id = 'sleeper' AND content IS NOT NULL"

PLANTS: dict[str, tuple[Callable[[Copy], int], str]] = {
    "a message is lost": (lambda copy: without_row(copy, copy.story.token("message"), "user"), "0 there, 1 expected"),
    "half of a turn is lost": (lambda copy: without_row(copy, copy.story.token("turn", -1), "assistant"), "torn apart"),
    "the end of a turn that was run is lost": (
        lambda copy: without_row(copy, copy.story.token("run"), "assistant"),
        "not whole",
    ),
    "a message is there twice": (
        lambda copy: doubled(
            copy, "events", _OF_MESSAGE, copy.story.token("message"),
            position="NULL", event_id="'msg_twice'", sequence="99", idempotency_key="NULL",
        ),
        "2 there, 1 expected",
    ),
    "a conversation is open again": (
        lambda copy: copy.sql("UPDATE conversations SET status = 'open' WHERE status = 'closed'"),
        "was closed and is open",
    ),
    "a conversation is closed by itself": (
        lambda copy: copy.sql("UPDATE conversations SET status = 'closed' WHERE status = 'open'"),
        "nobody has closed it",
    ),
    "a version of a summary is lost": (lambda copy: copy.sql("DELETE FROM rolling_summaries"), "its versions say"),
    "an atom is lost": (
        lambda copy: copy.sql(f"DELETE FROM atoms WHERE {_LIKE}", copy.story.token("atom", -1)),
        "what is not deleted of atom",
    ),
    "one of three atoms is lost": (
        lambda copy: copy.sql(f"DELETE FROM atoms WHERE {_LIKE}", copy.story.token("batch") + " second"),
        "1 there, 2 expected",
    ),
    "an atom is superseded by halves": (
        lambda copy: copy.sql("UPDATE atoms SET superseded_by = NULL WHERE origin = 'app'"),
        "does not know of it",
    ),
    "an archived atom is active": (
        lambda copy: copy.sql("UPDATE atoms SET status = 'ACTIVE' WHERE status = 'ARCHIVED'"),
        "was archived and is active",
    ),
    "a deleted atom is there": (
        lambda copy: doubled(
            copy, "atoms", _LIKE, copy.story.token("batch") + " first", id="'atom_back'", position="999",
            text=f"'{copy.story.entries(ADA, 'delete')[0].given['mark']} again'",
        ),
        "was deleted and is there",
    ),
    "the search index is lost": (lambda copy: copy.sql("DELETE FROM term_segments"), "recall by words alone in"),
    "vectors are lost": (
        lambda copy: copy.sql("DELETE FROM vector_segments WHERE first > 0"),
        "atoms whose vectors are not in the index",
    ),
    "a merge is undone": (lambda copy: copy.sql("UPDATE entities SET merged_into = NULL"), "was merged and is not"),
    "an entity has lost its names": (lambda copy: copy.sql("DELETE FROM entity_names"), "not found by its name"),
    "a block holds what it held before": (
        lambda copy: copy.sql(
            "UPDATE blocks SET content = r.content FROM block_revisions AS r WHERE r.scope_id = blocks.scope_id "
            "AND r.agent_id = blocks.agent_id AND r.block_type = blocks.block_type"
        ),
        "the last write was",
    ),
    "what a block held before is lost": (lambda copy: copy.sql("DELETE FROM block_revisions"), "writes are lost"),
    "a write of a block is counted twice": (
        lambda copy: copy.sql("UPDATE blocks SET version = version + 5"),
        "its version is",
    ),
    "a quota counts too much": (lambda copy: copy.sql("UPDATE tool_quotas SET stores = stores + 1"), "has used"),
    "a quota counts too little": (lambda copy: copy.sql("UPDATE tool_quotas SET deletes = 0"), "has used"),
    "a line of the audit is changed": (
        lambda copy: copy.sql("UPDATE tool_audit SET body = replace(body, 'memory_brief', 'memory_store')"),
        "does not follow the one before it",
    ),
    "the last line of the audit is lost": (
        lambda copy: copy.sql(
            "DELETE FROM tool_audit WHERE seq = (SELECT MAX(seq) FROM tool_audit WHERE \"group\" = 'default')"
        ),
        "do not end where their head says",
    ),
    "the receipt of an erasure is lost": (
        lambda copy: copy.sql("DELETE FROM tool_audit WHERE \"group\" = 'admin'"),
        "does not stand in the log",
    ),
    "an event is lost": (
        lambda copy: copy.sql(f"DELETE FROM events WHERE kind = 'note' AND {_LIKE}", copy.story.token("event")),
        "the events of event",
    ),
    "one of three events is lost": (
        lambda copy: copy.sql(f"DELETE FROM events WHERE {_LIKE}", copy.story.token("events") + " third"),
        "2 there, 3 expected",
    ),
    "an event is there twice": (
        lambda copy: doubled(
            copy, "events", _LIKE, copy.story.token("chat"), position="NULL", event_id="'evt_twice'"
        ),
        "2 there, 1 expected",
    ),
    "a state is stale": (
        lambda copy: copy.sql("UPDATE events SET ts = 0 WHERE data LIKE ?", f"%{copy.story.token('state', -1)}%"),
        "the latest state",
    ),
    "a job is done twice": (
        lambda copy: doubled(
            copy, "events", "kind = 'remark.left' AND data LIKE ?", f"%{copy.story.token('job')}\"%",
            position="NULL", event_id="'evt_twice'",
        ),
        "queued 1 times and done 2 times",
    ),
    "a job is not done": (
        lambda copy: copy.sql("DELETE FROM events WHERE kind = 'remark.left'"),
        "queued 1 times and done 0 times",
    ),
    "a job is lost": (lambda copy: copy.sql("DELETE FROM jobs WHERE kind = 'remark'"), "the job of job"),
    "a job is dead": (lambda copy: copy.sql("UPDATE jobs SET status = 'dead' WHERE kind = 'remark'"), "is dead after"),
    "something was learned twice": (
        lambda copy: doubled(
            copy, "atoms", f"extraction_version IS NOT NULL AND {_LIKE}", copy.story.token("turn"),
            id="'atom_twice'", position="999",
        ),
        "was learned as",
    ),
    "something was not learned": (
        lambda copy: copy.sql("DELETE FROM atoms WHERE extraction_version IS NOT NULL"),
        "was learned as []",
    ),
    "a row of an erased user is back": (
        lambda copy: doubled(
            copy, "events", _LIKE, copy.story.token("event", -1, BEN), position="NULL", event_id="'evt_back'",
            text=f"'{copy.story.token('event', 0, BEN)} noted'", tags="NULL", data="NULL",
        ),
        "which was erased or refused",
    ),
    "a message without a conversation": (
        lambda copy: copy.sql("DELETE FROM conversations WHERE status = 'closed'"),
        "messages without their conversation",
    ),
    "a line of the mirror is lost": (
        lambda copy: in_the_files(copy, lambda lines: lines[:-2]),
        "is not in the files",
    ),
    "a line of the mirror is there twice": (
        lambda copy: in_the_files(copy, lambda lines: [*lines, lines[0]]),
        "twice in the files",
    ),
    "a line of the mirror is of an erased user": (
        lambda copy: in_the_files(copy, lambda lines: [*lines, re.sub("(evt|msg)_", "evt_gone", lines[0])]),
        "not in the ledger",
    ),
    "a page of the file has words of an erased user": (
        lambda copy: copy.path.open("ab").write(f"{copy.story.token('turn', 0, BEN)} said it".encode()),
        "were said to be gone",
    ),
    "an archive breaks off": (
        lambda copy: copy.archive.write_bytes(copy.archive.read_bytes()[:1000]),
        "is there and not whole",
    ),
    "an archive is lost": (
        lambda copy: len(str(copy.archive.rename(f"{copy.archive}.elsewhere"))),
        "was answered and is not there",
    ),
    "a turn that a server has run is lost by halves": (
        lambda copy: without_row(copy, copy.story.token("run_served", -1, CLEO), "assistant"),
        "is not whole",
    ),
    "a grant is lost": (lambda copy: copy.sql("DELETE FROM space_grants"), "is not there after"),
    "a grant that nobody has given": (
        lambda copy: doubled(copy, "space_grants", "user_id = '*'", user_id="'guest'"),
        "is there after []",
    ),
    "a grant was given anew": (
        lambda copy: copy.sql("UPDATE space_grants SET created_at = created_at + 1"),
        "was given at",
    ),
    "a grant was told twice": (
        lambda copy: doubled(
            copy, "events", "kind = 'space.granted'", position="NULL", event_id="'evt_' || event_id"
        ),
        "the ledger has",
    ),
    "a reader does not find what was granted": (
        lambda copy: copy.sql("UPDATE spaces SET kind = 'user' WHERE kind = 'shared'"),
        "finds the spaces []",
    ),
    "a key is lost": (
        lambda copy: copy.sql("DELETE FROM access_keys WHERE name = ?", copy.story.token("key")),
        "0 there, 1 expected",
    ),
    "a key is there twice": (
        lambda copy: doubled(copy, "access_keys", "name = ?", copy.story.token("key"), id="'rk_twice'"),
        "2 there, 1 expected",
    ),
    "a key is of nobody": (
        lambda copy: doubled(copy, "access_keys", "name = ?", copy.story.token("key"), id="'rk_no'", name="'u1n999'"),
        "nobody has made the keys",
    ),
    "a revoked key is good again": (
        lambda copy: copy.sql("UPDATE access_keys SET revoked_at = NULL WHERE name <> ''"),
        "was revoked and is not",
    ),
    "a key is revoked by itself": (
        lambda copy: copy.sql("UPDATE access_keys SET revoked_at = 1 WHERE name <> '' AND revoked_at IS NULL"),
        "is revoked and nobody has done it",
    ),
    "a key was revoked at another time": (
        lambda copy: copy.sql("UPDATE access_keys SET revoked_at = 1 WHERE name <> '' AND revoked_at IS NOT NULL"),
        "was revoked at",
    ),
    "a key does not open": (
        lambda copy: copy.sql("UPDATE access_keys SET digest = 'x' WHERE name <> '' AND revoked_at IS NULL"),
        "does not although it is not",
    ),
    "a key of an erased user opens": (_let_erased_in, "and its user was erased since"),
    "the rule of sleep-time memory is lost": (lambda copy: copy.sql("DELETE FROM sleep_time"), "was set and is off"),
    "sleep-time memory is on by itself": (
        lambda copy: copy.sql(
            "INSERT INTO sleep_time (scope_id, agent_id, enabled, idle, updated_at) "
            "SELECT scope_id, 'sleeper', 1, 0, 0 FROM conversations WHERE user_id = ? LIMIT 1", BEN,
        ),
        "is on and nobody has set it",
    ),
    "a block has not taken in a line": (
        lambda copy: copy.sql(
            f"UPDATE blocks SET content = substr(content, 1, instr(content, char(10)) - 1) WHERE {_SLEEPERS}"
        ),
        "blocks have not taken in",
    ),
    "a block has taken in a line twice": (
        lambda copy: copy.sql(f"UPDATE blocks SET content = content || char(10) || content WHERE {_SLEEPERS}"),
        "taken in twice",
    ),
    "a block has taken in what nobody has said": (
        lambda copy: copy.sql(f"UPDATE blocks SET content = content || char(10) || 'and more' WHERE {_SLEEPERS}"),
        "what nobody has said",
    ),
    "a write of sleep-time memory is counted twice": (
        lambda copy: copy.sql(f"UPDATE blocks SET version = version + 1 WHERE {_SLEEPERS}"),
        "have gaps",
    ),
    "a conversation is not marked as read": (
        lambda copy: copy.sql("UPDATE conversations SET slept_until = 0 WHERE agent_id = 'sleeper'"),
        "was read until 0",
    ),
    "a conversation has lost its agent": (
        lambda copy: copy.sql("UPDATE conversations SET agent_id = NULL WHERE agent_id = 'sleeper'"),
        "and is not theirs",
    ),
    "what a job has distilled is lost": (
        lambda copy: copy.sql("DELETE FROM events WHERE tags LIKE ?", f"%{copy.story.token('distill_job')}\"%"),
        "has made the summary",
    ),
    "what a job has distilled is there twice": (
        lambda copy: doubled(
            copy, "events", "tags LIKE ?", f"%{copy.story.token('distill_job')}\"%",
            position="NULL", event_id="'evt_twice'",
        ),
        "was tried 1 times and has made 2 summaries",
    ),
    "a job that distills is lost": (
        lambda copy: copy.sql("DELETE FROM jobs WHERE kind = 'distill'"),
        "the job of distill_job",
    ),
    "a summary was made of what is not there": (
        lambda copy: copy.sql("UPDATE events SET data = replace(data, '[\"msg_', '[\"gone_') WHERE stage = 'summary'"),
        "events that are not all there",
    ),
    "an import is torn": (
        lambda copy: copy.sql(f"DELETE FROM events WHERE kind = 'song' AND data LIKE '%7%' AND {_OF_COPY}"),
        "of a copy there is torn (events)",
    ),
    "an import has changed a word": (
        lambda copy: copy.sql(f"UPDATE blocks SET content = 'another' WHERE {_OF_COPY}"),
        "of a copy there is torn (blocks)",
    ),
    "an import is lost": (lambda copy: without_user(copy, f"{CLEO}-copy"), "of a copy there is None"),
    "an import cannot be searched": (
        lambda copy: copy.sql(f"DELETE FROM term_segments WHERE {_OF_COPY}"),
        "does not find",
    ),
    "an import is not in the files": (
        lambda copy: without_files_of(copy, f"{CLEO}-copy"),
        "what was brought in is not in the files",
    ),
    "an import is refused and nothing is in its way": (
        lambda copy: in_the_journal(copy, "import", '"ok": {"new": 163}', '"no": "Conflict"'),
        "nothing was in its way",
    ),
    "an import has brought in less": (
        lambda copy: in_the_journal(copy, "import", '"ok": {"new": 163}', '"ok": {"new": 162}'),
        "has brought in 162 rows",
    ),
    "a row of a copy that was removed is back": (
        lambda copy: doubled(
            copy, "events", "kind = 'note' AND user_id = ?", BEN,
            position="NULL", event_id="'evt_back'", user_id=f"'{BEN}-copy'",
        ),
        f"mentions {BEN}-copy, a removed user",
    ),
    "an index says something else than its table": (_change_index, "events_said"),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTS)
def test_every_planted_wrong_is_found(copy: Copy, plant: str) -> None:
    do_wrong, said = PLANTS[plant]
    assert do_wrong(copy) > 0, "nothing was planted"
    assert said in wrongs(copy)
