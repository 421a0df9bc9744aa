"""`longmind serve` and `longmind worker` as processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import longmind
from longmind.cli import main
from tests.server.live_server import Client

COMMAND = [sys.executable, "-m", "longmind.cli"]


@contextmanager
def started(*arguments: str, says: str, home: Path) -> Iterator[tuple[subprocess.Popen[str], re.Match[str]]]:
    """A command that runs until it is told to stop, from the line on by which it says that it is ready."""
    environment = {**os.environ, "HOME": str(home), "LONGMIND_EMBEDDER": "none"}
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        found = next((match for line in process.stderr if (match := re.search(says, line))), None)
        assert found is not None, "it has ended without a word"
        yield process, found
    finally:
        process.kill()
        process.communicate()


def test_a_server_that_is_told_to_stop_finishes_what_it_has_accepted(database_url: str, tmp_path: Path) -> None:
    listening = r"listens on (http://\S+) \(single-user mode"
    with started("serve", "--url", database_url, "--port", "0", says=listening, home=tmp_path) as (process, found):
        client = Client(found[1])
        conversation = client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
        path = f"/ai-conversations/{conversation}/messages/user"
        acknowledged: list[str] = []
        busy = threading.Barrier(5)

        def append() -> None:
            for number in range(1000):
                try:
                    answer = client.post(path, {"content": f"Hello {number}."})
                except OSError:
                    # It takes no more connections: the request was not accepted.
                    return
                assert answer.status == 201, answer.body
                acknowledged.append(answer.json["id"])
                if number == 2:
                    busy.wait()

        threads = [threading.Thread(target=append) for _ in range(4)]
        for thread in threads:
            thread.start()
        busy.wait()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        for thread in threads:
            thread.join()
    with longmind.open(database_url, embedder=None) as engine:
        me = engine.context(tenant_id="local", app_id="ipc", user_id="default")
        kept = [message.id for message in me.conversations.get_messages(conversation, limit=10_000)]
        # Each request was answered and kept, or was never taken: none was cut off between.
        assert set(kept) == set(acknowledged)


def test_a_worker_alone_does_what_a_server_has_queued(sqlite_url: str, tmp_path: Path) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        space = ctx.memory.create_memory_space("personal")
        ctx.memory.create_binding({"namespace": "daily-checkin", "userId": "ada"}, [space.id])
        conversation = ctx.conversations.create_conversation("daily-checkin")
        ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
        ctx.conversations.close_conversation(conversation.id)
        with started("worker", "--url", sqlite_url, says="1 worker is at work", home=tmp_path) as (process, _):
            added = next(change for change in engine.follow(wait=60.0) if change.kind == "atoms.added")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        assert added.user_id == "ada"
        assert [atom.source_conversation_id for atom in ctx.memory.list_atoms(space.id)] == [conversation.id]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--host", "0.0.0.0"), "cannot listen on '0.0.0.0' without a key"),
        (("--workers", "99"), "--workers is 99"),
        (("--port", "70000"), "cannot listen"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(
    arguments: tuple[str, ...],
    says: str,
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--url", sqlite_url, "--port", "0", *arguments])
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert says in " ".join(told.err.split())
    assert "Hint:" in told.err
