"""The JSONL mirror: what is recorded is a line in a file, and whatever becomes of the file, the ledger is the truth."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import resource
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import apsw
import psycopg
import pytest

import longmind
from harness.crew import wait_until
from longmind.clock import to_micros
from longmind.events import read_jsonl
from tests.clock import SettableClock
from tests.events.samples import context_of


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def engine(database_url: str, clock: SettableClock, files: Path) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="none", clock=clock, events_jsonl_dir=str(files)) as engine:
        yield engine


def lines_of(ctx: longmind.Context) -> list[dict[str, Any]]:
    """Every line of a timeline's files as it stands there."""
    return [json.loads(line) for file in ctx.events.jsonl_files() for line in file.read_text("utf-8").splitlines()]


def assert_agree(ctx: longmind.Context) -> None:
    """The files have each event of the ledger once, in its order, and nothing else."""
    lines = lines_of(ctx)
    positions = [line.pop("position") for line in lines]
    assert lines == ctx.events.recent_persisted(limit=10_000, return_event=False)
    assert positions == sorted(set(positions))


def erase(url: str, user_id: str) -> None:
    """What an erasure leaves of a user's events in the ledger: nothing."""
    if url.startswith("sqlite:///"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute("DELETE FROM events WHERE user_id = ?", (user_id,))
        connection.close()
        return
    with psycopg.connect(url) as postgres:
        postgres.execute("DELETE FROM longmind.events WHERE user_id = %s", (user_id,))


@pytest.mark.conforms("D0.2", "D1.10")
def test_every_event_and_message_of_a_timeline_is_a_line_as_reads_give_it(ctx: longmind.Context) -> None:
    ctx.events.record("note", {"höhe": 3, "line": "one\ntwo\u2028three\x85"}, tags=["a", "b"], metrics={"cost": 0.5})
    conversation = ctx.conversations.create_conversation("chat", session_id="s1")
    ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Hi"})
    ctx.events.record_many([{"kind": "step", "data": number, "topic": "t"} for number in range(3)])

    assert_agree(ctx)
    assert [line["kind"] for line in lines_of(ctx)] == ["note", "chat.turn", "chat.turn", "step", "step", "step"]
    assert read_jsonl(ctx.events.jsonl_files()) == lines_of(ctx)


@pytest.mark.conforms("D0.2")
def test_there_is_one_file_for_each_timeline_and_day(ctx: longmind.Context, clock: SettableClock, files: Path) -> None:
    clock.now = to_micros("2026-03-01T23:59:59.999999Z")
    ctx.events.record("note", "late")
    clock.now += 1
    ctx.events.record("note", "early")
    ctx.events.at("user").record("note", "elsewhere")

    days = [file.name for file in ctx.events.jsonl_files()]
    assert days == ["2026-03-01.jsonl", "2026-03-02.jsonl"]
    assert len(list(files.glob("*/mem/*/events/*.jsonl"))) == 3
    assert [line["text"] for line in lines_of(ctx)] == ["late", "early"]


@pytest.mark.conforms("T25")
def test_no_two_users_or_timelines_share_a_file_and_no_id_leads_out_of_the_folder(
    engine: longmind.Engine, files: Path
) -> None:
    ids = ["a", "A", "..", "../../escape", "a|b", "a:b", "a/b", "/etc", "a%2Fb", "ü" * 255, "x" * 255, "x" * 254, "~"]
    contexts = [context_of(engine, session_id=each) for each in ids]
    contexts += [context_of(engine, user_id=each) for each in ids]
    contexts += [context_of(engine, tenant_id=each, session_id="s") for each in ids]
    contexts += [context_of(engine, app_id=each, session_id="s") for each in ids]
    for number, ctx in enumerate(contexts):
        ctx.events.record("note", f"event {number}")

    for number, ctx in enumerate(contexts):
        assert [line["text"] for line in lines_of(ctx)] == [f"event {number}"]
    written = list(files.rglob("*.jsonl"))
    assert len(written) == len(contexts)
    assert len({str(file).lower() for file in written}) == len(contexts)
    assert {file.relative_to(files).parts[1::2] for file in written} == {("mem", "events")}
    assert {each.name for each in files.parent.iterdir()} <= {"files", "memory.db", "memory.db-wal", "memory.db-shm"}
    assert all(file.stat().st_mode & 0o077 == 0 for file in files.rglob("*"))


def test_an_address_leads_to_the_file_that_has_the_event(
    ctx: longmind.Context, database_url: str, clock: SettableClock
) -> None:
    event = ctx.events.record("note", "here")
    for each in (event, ctx.events.at("org").record("note", "there")):
        address = urlsplit(ctx.events.uri_of(each))
        assert address.scheme == "file"
        assert address.fragment == each.event_id
        [line] = read_jsonl([Path(unquote(address.path))])
        assert line["event_id"] == each.event_id

    with longmind.open(database_url, embedder="none") as without:
        events = context_of(without, session_id="s1").events
        assert events.uri_of(event).startswith("longmind://mem/")
        assert events.uri_of(event).endswith(f"/events/{event.event_id}")
        assert events.jsonl_files() == []
        with pytest.raises(longmind.InvalidInput, match="events_jsonl_dir is not set"):
            without.rebuild_jsonl()


def test_a_hidden_message_is_in_no_file(engine: longmind.Engine, ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("chat", session_id="s1")
    ctx.conversations.append_user_message(conversation.id, "seen")
    ctx.conversations.append_user_message(conversation.id, "not seen", visibility="hidden")
    for _ in range(2):
        assert [line["text"] for line in lines_of(ctx)] == ["seen"]
        engine.rebuild_jsonl()


def test_a_rebuild_writes_the_same_bytes_that_were_appended(
    engine: longmind.Engine, ctx: longmind.Context, files: Path
) -> None:
    conversation = ctx.conversations.create_conversation("chat", session_id="s1")
    ctx.conversations.append_turn(conversation.id, user_content="Hello", assistant={"content": "Hi"})
    ctx.events.record("note", {"a": [1, 2.5, None]}, inputs_ref=[{"b": 1}], metrics={"cost": 1, "time": 0.25})
    context_of(engine, user_id="bob").events.record_raw(base={"kind": "k", "topic": "t", "pii_flags": {"name": True}})
    before = {file: file.read_bytes() for file in files.rglob("*.jsonl")}
    told: list[tuple[int, int]] = []

    rebuilt = engine.rebuild_jsonl(progress=lambda done, total: told.append((done, total)))

    assert {file: file.read_bytes() for file in files.rglob("*.jsonl")} == before
    assert (rebuilt.users, rebuilt.files, rebuilt.events) == (2, 2, 4)
    assert told[0] == (0, 4)
    assert told[-1] == (4, 4)


def test_what_happened_to_the_files_is_undone_by_a_rebuild(
    engine: longmind.Engine, ctx: longmind.Context, files: Path
) -> None:
    other = context_of(engine, session_id="s2")
    for number in range(5):
        ctx.events.record("note", f"event {number}")
        other.events.record("note", f"other {number}")
    [file] = ctx.events.jsonl_files()
    file.write_bytes(file.read_bytes()[:-30] + b"\nnonsense\n[1]\n" + b"[" * 100_000 + b"\n")
    shutil.rmtree(other.events.jsonl_files()[0].parents[1])
    stranger = files / ("z" * 24) / "mem" / "t" / "events" / "2026-01-01.jsonl"
    stranger.parent.mkdir(parents=True)
    stranger.write_text('{"position": 1, "ts": "2026-01-01T00:00:00.000000Z"}\n')
    assert len(read_jsonl([file])) == 4

    engine.rebuild_jsonl()

    assert_agree(ctx)
    assert_agree(other)
    assert not stranger.exists()


def test_a_rebuild_of_one_tenant_leaves_the_files_of_others(engine: longmind.Engine) -> None:
    contexts = [context_of(engine, tenant_id=tenant) for tenant in ("acme", "umbrella")]
    for ctx in contexts:
        ctx.events.record("note", "event")
        for file in ctx.events.jsonl_files():
            file.write_bytes(b"")
    rebuilt = engine.rebuild_jsonl(tenant_id="acme")
    assert (rebuilt.users, rebuilt.events) == (1, 1)
    assert [len(lines_of(ctx)) for ctx in contexts] == [1, 0]


def test_what_a_power_cut_leaves_torn_stays_alone(engine: longmind.Engine, ctx: longmind.Context, files: Path) -> None:
    ctx.events.record("note", "whole")
    ctx.events.record("note", "torn")
    [file] = ctx.events.jsonl_files()
    file.write_bytes(file.read_bytes()[:-10])

    for lock in (files / ".locks").iterdir():
        lock.write_bytes(bytes(20))

    ctx.events.record("note", "next")

    assert [line["text"] for line in read_jsonl([file])] == ["whole", "next"]
    assert len(file.read_bytes().splitlines()) == 3
    engine.rebuild_jsonl()
    assert_agree(ctx)


def test_trouble_with_the_files_fails_no_write_and_is_logged_once(
    engine: longmind.Engine, ctx: longmind.Context, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files.write_text("A file where the folder should be.")
    with caplog.at_level(logging.WARNING, "longmind.mirror"):
        for number in range(3):
            ctx.events.record("note", f"event {number}")
    assert len(ctx.events.recent()) == 3
    assert len(caplog.records) == 1
    assert "rebuild-jsonl" in caplog.text
    with pytest.raises(longmind.StoreUnavailable, match="cannot be written"):
        engine.rebuild_jsonl()

    files.unlink()
    ctx.events.record("note", "after")
    assert [line["text"] for line in lines_of(ctx)] == ["after"]
    engine.rebuild_jsonl()
    assert_agree(ctx)


def test_a_process_that_was_stopped_with_the_files_locked_holds_up_one_write_and_not_the_next(
    engine: longmind.Engine,
    ctx: longmind.Context,
    files: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited = 0.0

    def wait(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    # Time passes by waiting alone, so that a busy machine's slowness is not taken for it.
    passing = SimpleNamespace(monotonic=lambda: waited, sleep=wait)
    monkeypatch.setattr("longmind.events.mirror.folder.time", passing)
    ctx.events.record("note", "before")
    [lock] = [each for each in (files / ".locks").iterdir() if each.suffix == ""]
    with lock.open() as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        ctx.events.record("note", "waits")
        assert waited >= 2
        waited = 0.0
        ctx.events.record("note", "does not wait")
        assert waited == 0
    assert "rebuild-jsonl" in caplog.text
    assert [line["text"] for line in lines_of(ctx)] == ["before"]
    engine.rebuild_jsonl()
    assert_agree(ctx)


def test_a_forgotten_user_has_no_files_and_late_appends_bring_none_back(
    engine: longmind.Engine, database_url: str, files: Path
) -> None:
    ada, bob = (context_of(engine, user_id=user) for user in ("ada", "bob"))
    bob.events.record("note", "first")
    told, go_on = threading.Event(), threading.Event()

    def dawdle(change: longmind.Change) -> None:
        told.set()
        assert go_on.wait(60)

    # Who writes tells what others have committed too: while ada's change is being told, bob's has to wait.
    stop = engine.subscribe(dawdle)
    slow = threading.Thread(target=ada.events.record, args=("note", "slow"))
    slow.start()
    assert told.wait(60)
    stop()
    bob.events.record("note", "late")
    assert [line["text"] for line in lines_of(bob)] == ["first"]

    erase(database_url, "bob")
    engine.forget_jsonl(bob.scope)
    assert bob.events.jsonl_files() == []
    go_on.set()
    slow.join()
    ada.events.record("note", "all is told")

    # On a slow machine a thread in the background tells the rest; what comes last is appended after all before it.
    wait_until(lambda: len(lines_of(ada)) == 2)
    assert bob.events.jsonl_files() == []
    assert [file for file in files.rglob("*.jsonl") if b"bob" in file.read_bytes()] == []
    bob.events.record("note", "anew")
    wait_until(lambda: bool(lines_of(bob)))
    assert [line["text"] for line in lines_of(bob)] == ["anew"]


def test_files_are_removed_although_there_is_no_room_to_note_it(
    engine: longmind.Engine, ctx: longmind.Context, database_url: str
) -> None:
    ctx.events.record("note", "to be forgotten")
    erase(database_url, "ada")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file can grow any more, as on a disk that is full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(longmind.StoreUnavailable, match="cannot be written"):
            engine.forget_jsonl(ctx.scope)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ctx.events.jsonl_files() == []


def test_what_is_imported_is_mirrored_too(
    engine: longmind.Engine, ctx: longmind.Context, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ctx.events.record_many([{"kind": "note", "data": f"event {number}"} for number in range(3)])
    export = ctx.admin.export_user_data()
    ctx.admin.delete_user_data(confirm=True)
    assert list(files.rglob("*.jsonl")) == []
    admin = context_of(engine, user_id="root", capabilities={"admin"})

    admin.admin.import_user_data(export, "ada")
    assert len(lines_of(ctx)) == 3
    assert_agree(ctx)

    # Trouble with the files fails no import: its rows are committed.
    ctx.admin.delete_user_data(confirm=True)
    shutil.rmtree(files)
    files.write_text("A file where the folder should be.")
    assert admin.admin.import_user_data(export, "ada")["imported"]["events"] == 3
    assert "rebuild-jsonl" in caplog.text


def test_forgetting_keeps_what_the_ledger_still_has(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.events.record("note", "not erased")
    engine.forget_jsonl(ctx.scope)
    assert_agree(ctx)


def test_a_database_that_is_begun_anew_is_mirrored_in_the_same_folder(tmp_path: Path, files: Path) -> None:
    for number, events in enumerate((5, 2)):
        url = f"sqlite:///{tmp_path}/life_{number}.db"
        with longmind.open(url, embedder="none", events_jsonl_dir=str(files)) as engine:
            ctx = context_of(engine)
            ctx.events.record_many([{"kind": "note", "data": f"life {number}"}] * events)
            assert len([line for line in lines_of(ctx) if line["text"] == f"life {number}"]) == events
            engine.rebuild_jsonl()
            assert_agree(ctx)
        for lock in (files / ".locks").iterdir():
            # As if it had been a while ago.
            os.utime(lock, (1_000_000_000, 1_000_000_000))


@pytest.mark.parametrize("policy", ["always", "interval", "never"])
def test_every_policy_of_syncing_writes_the_same(tmp_path: Path, policy: Any) -> None:
    folder = str(tmp_path / "files")
    with longmind.open(
        f"sqlite:///{tmp_path}/m.db", embedder="none", events_jsonl_dir=folder, events_jsonl_fsync=policy
    ) as engine:
        ctx = context_of(engine)
        for number in range(3):
            ctx.events.record("note", f"event {number}")
        assert_agree(ctx)


def test_an_unknown_policy_of_syncing_is_refused() -> None:
    with pytest.raises(longmind.InvalidInput, match="events_jsonl_fsync"):
        longmind.open("sqlite:///:memory:", events_jsonl_fsync="sometimes")  # type: ignore[arg-type]  # a mistake on purpose
