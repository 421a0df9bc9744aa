"""A disk that takes a write, and then fails to say that it has it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

import longmind


class UnsyncedFile(apsw.VFSFile):
    def __init__(self, disk: UnsyncedDisk, name: Any, flags: list[int]) -> None:
        super().__init__(disk.base_vfs, name, flags)
        self._disk = disk

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        if self._disk.fails:
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)


class UnsyncedDisk(apsw.VFS):
    """Keeps all that it is given, and answers every sync with an error while `fails` is set."""

    def __init__(self) -> None:
        self.fails = False
        # The default one until now: the empty name would soon mean this one.
        self.base_vfs = apsw.vfs_names()[0]
        super().__init__("unsynced", self.base_vfs, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> UnsyncedFile:
        return UnsyncedFile(self, name, flags)


@contextmanager
def unsynced() -> Iterator[UnsyncedDisk]:
    """What is opened in the block is on such a disk."""
    disk = UnsyncedDisk()
    try:
        yield disk
    finally:
        disk.unregister()


def test_a_write_whose_sync_failed_is_neither_done_nor_refused(tmp_path: Path) -> None:
    with unsynced() as disk, longmind.open(f"sqlite:///{tmp_path}/memory.db", embedder=None) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        talk = ada.conversations.create_conversation("chat").id
        disk.fails = True
        with pytest.raises(longmind.OutcomeUnknown, match="outcome is unknown") as caught:
            ada.conversations.append_user_message(talk, "Is it there?", idempotency_key="one")
        assert "idempotency key" in caught.value.hint
        with pytest.raises(longmind.ToolError) as refused:
            ada.tools.memory_store("fact", "Is this?")
        assert (refused.value.code, refused.value.retriable) == ("PLUGIN_TIMEOUT", False)
        # What somebody finds who opens the file after a crash at this moment.
        shutil.copytree(tmp_path, tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
        disk.fails = False
        ada.conversations.append_user_message(talk, "Is it there?", idempotency_key="one")
        assert [message.text for message in ada.conversations.get_messages(talk)] == ["Is it there?"]
    with longmind.open(f"sqlite:///{tmp_path}/crashed/memory.db", embedder=None) as engine:
        ada = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        ada.conversations.append_user_message(talk, "Is it there?", idempotency_key="one")
        assert [message.text for message in ada.conversations.get_messages(talk)] == ["Is it there?"]
