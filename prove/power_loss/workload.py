"""The recorded program: it creates a store in a new folder, works in it, and announces what it has done."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

import longmind
from prove.mixed_work import CompletedOperation, MixedWork
from prove.world import ADA, World, context_of

DATABASE = "new/store/memory.db"
"""In folders that do not exist yet."""
MIRROR = "mirror/events"
ARCHIVE = "export.zip"
REOPENINGS = 3
_PAGES_TO_CHECKPOINT = 60
"""Few pages, so that the recording includes a WAL file that restarts over its old pages; SQLite's default is 1,000."""


def main(say: Callable[[str], None], folder: str, seed: str, operations: str, durability: str, fsync: str) -> None:
    place = Path(folder)
    apsw.connection_hooks.append(lambda connection: connection.wal_autocheckpoint(_PAGES_TO_CHECKPOINT))

    def tell(done: CompletedOperation, **more: Any) -> None:
        say(json.dumps({**vars(done), **more}))

    mirror = {"events_jsonl_dir": str(place / MIRROR), "events_jsonl_fsync": fsync}
    settings: dict[str, Any] = {"durability": durability, **mirror}
    url = f"sqlite:///{place}/{DATABASE}"
    dice = random.Random(seed)
    work: MixedWork | None = None
    for round in range(REOPENINGS):
        with longmind.open(url, embedder=None, **settings) as engine:
            if work is None:
                tell(CompletedOperation("open"))
                work = MixedWork(engine, dice, length=200)
                tell(CompletedOperation("begin", at_once=False))
            else:
                work.go_on(engine)
            for _ in range(int(operations) // REOPENINGS):
                done = work.do()
                tell(done, lines=_lines(done.world))
            if round == 1:
                tell(work.erase(), erased=True)
                # New files replace the old ones, and later lines are added to them.
                engine.rebuild_jsonl()
                context_of(engine, ADA).admin.export_user_archive(place / ARCHIVE)
                tell(CompletedOperation("export"), archive=True)


def _lines(world: World) -> list[str]:
    """Return the events that must have a line in the JSONL files."""
    return [question.split(" ")[2] for question, _ in world.items() if " event " in question]
