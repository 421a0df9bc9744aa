"""A process that is killed while it writes an archive: there is none then, and the next one can have its name."""

from __future__ import annotations

import os
import signal
import sys
import zipfile
from pathlib import Path
from types import FrameType
from typing import Any

import longmind
from harness.crew import Line, ada, start_process


def export_and_die(line: Line, url: str, target: Path) -> None:
    """Write an archive, and die when a few of its files are in it."""
    closed = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal closed
        closed += event == "return" and frame.f_code is zipfile._ZipWriteFile.close.__code__  # type: ignore[attr-defined]
        if closed == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    with ada(url) as (_, ctx):
        sys.setprofile(count)
        ctx.admin.export_user_archive(target)


def test_an_archive_whose_writer_was_killed_is_not_there_and_can_be_written_again(
    database_url: str, ctx: longmind.Context, tmp_path: Path
) -> None:
    ctx.conversations.append_user_message(ctx.conversations.create_conversation("chat").id, "Hello.")
    target = tmp_path / "archives" / "ada.zip"
    target.parent.mkdir()
    with start_process(export_and_die, database_url, target) as writer:
        assert writer.wait_until_dead() == -signal.SIGKILL
    assert not target.exists()

    ctx.admin.export_user_archive(target)
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        assert "manifest.json" in archive.namelist()
