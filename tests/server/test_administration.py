"""Export and erasure over HTTP."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

import longmind
from tests.server.live_server import Client, serving

ADA: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}


@pytest.mark.conforms("A0.5")
def test_a_user_takes_everything_away_and_has_it_erased(engine: longmind.Engine) -> None:
    ada, bob = engine.context(**ADA), engine.context(**{**ADA, "user_id": "bob"})
    for ctx in (ada, bob):
        conversation = ctx.conversations.create_conversation("daily-checkin")
        ctx.conversations.append_user_message(conversation.id, "I live in Graz.")
    key = engine.keys.create(**ADA)
    with serving(engine) as server:
        client = server.with_key(key.token)
        document = client.post("/ai-admin/export").json
        assert [each["userId"] for each in document["conversations"]] == ["ada"]
        archive = client.post("/ai-admin/export-archive")
        assert (archive.status, archive.headers["content-type"]) == (200, "application/zip")
        with zipfile.ZipFile(io.BytesIO(archive.body)) as files:
            assert files.testzip() is None
            assert any(b"I live in Graz." in files.read(name) for name in files.namelist())
        # Somebody else's is not theirs to take or to erase, and a file of the server's is nobody's.
        assert client.post("/ai-admin/export", {"userId": "bob"}).status == 403
        assert client.post("/ai-admin/export-archive", {"userId": "bob"}).status == 403
        assert client.post("/ai-admin/delete", {"userId": "bob", "confirm": True}).status == 403
        assert client.post("/ai-admin/export-archive", {"target": "/tmp/export.zip"}).status == 400
        assert client.post("/ai-admin/import", {"source": "/etc/passwd"}).status == 400
        assert client.post("/ai-admin/delete").status == 400
        assert client.post("/ai-admin/delete", {"confirm": True}).json["deleted"]["conversations"] == 1
        # The key was the user's, and is gone with everything else.
        assert client.post("/ai-admin/export").status == 401
    assert ada.conversations.list_conversations() == []
    assert len(bob.conversations.list_conversations()) == 1


def test_an_administrator_moves_a_user(engine: longmind.Engine, client: Client) -> None:
    # In single-user mode whoever sits at the machine is the administrator too.
    client.post("/ai-conversations", {"namespace": "daily-checkin", "title": "Monday"})
    document = client.post("/ai-admin/export").json
    client.post("/ai-admin/delete", {"confirm": True})
    moved = client.post("/ai-admin/import", {"source": document, "userId": "grace"})
    assert moved.status == 200, moved.body
    grace = engine.context(tenant_id="local", app_id="ipc", user_id="grace")
    assert [each.title for each in grace.conversations.list_conversations()] == ["Monday"]
