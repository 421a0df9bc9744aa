"""No room for temporary files: a program that works without them, and the check of its results.

python -m prove.disk.temporary URL

It is a program of its own, since SQLite looks for its folder of temporary files once, when it is loaded.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import longmind
from prove.disk.small_disks import small_disk
from prove.section import Check
from prove.world import ADA, context_of

CLAIM = "SQLite, no room for temporary files: users are still erased, and what is left to do is told"
_MESSAGES, _LENGTH = 60, 100_000
"""More than SQLite keeps in memory when it rewrites a file."""


def no_temporary_files(folder: Path) -> Check:
    url = f"sqlite:///{folder}/temporary.db"
    with small_disk(1) as room:
        room.fill()
        full = _run_erasure(url, room.folder)
    with small_disk(64) as room:
        roomy = _run_erasure(url, room.folder)
    wrong = full["wrong"] + roomy["wrong"]
    wrong += ["the file was rebuilt without room, so nothing was shown"] if full["done"] else []
    wrong += [] if roomy["done"] else [f"the file was not rebuilt though there was room: {roomy['left']}"]
    return Check(CLAIM, not wrong, {"left to do": full["left"]}, "; ".join(wrong[:3]))


def _run_erasure(url: str, temporary: Path) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-m", "prove.disk.temporary", url],
        env={**os.environ, "SQLITE_TMPDIR": str(temporary), "TMPDIR": str(temporary)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        return {"done": False, "left": None, "wrong": [ended.stderr[-600:]]}
    report: dict[str, Any] = json.loads(ended.stdout)
    return report


def main(url: str) -> None:
    """Keep one user and erase another; then continue."""
    with longmind.open(url, embedder=None) as engine:
        ada, stays = context_of(engine, ADA), context_of(engine, "stays")
        for context in (stays, ada):
            made = context.conversations.create_conversation("chat")
            for number in range(_MESSAGES):
                text = random.Random(number).randbytes(_LENGTH // 2).hex()
                context.conversations.append_user_message(made.id, text)
        physical = ada.admin.delete_user_data(confirm=True)["physical"]
        wrong = [] if not ada.conversations.list_conversations() else ["the user is still there"]
        if not physical["done"] and not physical["left"]:
            wrong.append("it does not say what is left to do")
        again = ada.conversations.create_conversation("chat")
        ada.conversations.append_user_message(again.id, "and on")
        if len(stays.conversations.list_conversations()) == 0:
            wrong.append("another user is gone")
    print(json.dumps({"done": physical["done"], "left": physical["left"], "wrong": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
