"""Files beside the database on a disk that is full: JSONL files, exports, and lines of the audit. Both engines."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import longmind
from longmind import StoreFull
from longmind.events.mirror.jsonl import read_jsonl
from prove.disk.full_disk import FullDiskWork
from prove.disk.small_disks import BALLAST, SmallDisk, small_disk
from prove.disk.surfaces import WHOSE, command, unclear
from prove.section import Check
from prove.world import ADA, context_of


def all_of_them(url: str) -> Iterator[Check]:
    yield mirror(url)
    yield export(url)
    yield audit(url)


def mirror(url: str) -> Check:
    """The JSONL files on a disk that is full: no write fails, and a rebuild mends them."""
    with small_disk(1) as room:
        settings: dict[str, Any] = {"events_jsonl_dir": str(room.folder / "events"), "events_jsonl_fsync": "always"}
        with longmind.open(url, embedder=None, **settings) as engine:
            filling = FullDiskWork(engine, random.Random(1))
            filling.go_on(20)
            room.fill()
            filling.go_on(60)
            filling.look("full")
            room.make_room()
            filling.go_on(20)
            ada = context_of(engine, ADA)
            missing = _count_unmirrored(filling, ada)
            engine.rebuild_jsonl()
            left = _count_unmirrored(filling, ada)
    wrong = filling.outcome.unclear + filling.outcome.changed + filling.outcome.stuck
    wrong += [f"{left} events are missing after a rebuild"] if left else []
    wrong += [] if missing else ["no line was missing, so nothing was shown"]
    claim = f"{_engine(url)}, JSONL files on a full disk: no write fails for them, and a rebuild brings what is missing"
    return Check(claim, not wrong, {"missing before": missing, "missing after": left}, "; ".join(wrong[:3]))


def _count_unmirrored(filling: FullDiskWork, ada: longmind.Context) -> int:
    events = {question.split(" ")[2] for question in filling.world if " event " in question}
    return len(events - {event["event_id"] for event in read_jsonl(ada.events.jsonl_files())})


def export(url: str) -> Check:
    """An archive and a document to a full disk: an error that says so, and no file."""
    wrong: list[str] = []
    with small_disk(2) as room, longmind.open(url, embedder=None) as engine:
        ada = context_of(engine, ADA)
        made = ada.conversations.create_conversation("chat")
        for number in range(40):
            ada.conversations.append_user_message(made.id, random.Random(number).randbytes(4000).hex())
        room.fill(leave=40_000)
        target = room.folder / "export.zip"
        try:
            ada.admin.export_user_archive(target)
            wrong.append("it was written though there is no room")
        except StoreFull as error:
            wrong += [] if error.hint else ["the error has no hint"]
        wrong += _find_leftovers(room)
        code, output = command("export", *WHOSE, "--url", url, "-o", f"{room.folder}/x.json")
        wrong += unclear(code, output) + _find_leftovers(room)
        room.make_room()
        ada.admin.export_user_archive(target)
    claim = f"{_engine(url)}, exports to a full disk say so, leave nothing behind, and work again"
    return Check(claim, not wrong, {}, "; ".join(wrong[:3]))


def audit(url: str) -> Check:
    """Lines of the audit to a full disk: none is lost, none is moved by half, and they are moved when there is room."""
    wrong: list[str] = []
    with longmind.open(url, embedder=None) as engine:
        tools = context_of(engine, ADA).tools
        for number in range(12):
            tools.memory_store("fact", random.Random(number).randbytes(400).hex())
    with small_disk(2) as room:
        folder = room.folder / "audit"
        folder.mkdir(mode=0o700)
        before = _count_audit_lines(url)
        room.fill()
        rotate = ("audit", "rotate", "--folder", str(folder), "--keep-days", "0", "--url", url, "--json")
        wrong += unclear(*command(*rotate)) + _find_leftovers(room)
        code, output = command("audit", "export", "--output", f"{room.folder}/lines.jsonl", "--url", url)
        wrong += unclear(code, output) + _find_leftovers(room)
        wrong += (
            []
            if _count_audit_lines(url) == before
            else [f"{_count_audit_lines(url)} lines are whole instead of {before}"]
        )
        room.make_room()
        code, output = command(*rotate)
        moved = sum(len(file.read_text().splitlines()) for file in folder.iterdir())
        wrong += [] if code == 0 and moved >= before else [f"with room {moved} of {before} lines were moved: {output}"]
        wrong += [] if before else ["there was no line"]
    claim = f"{_engine(url)}, lines of the audit that cannot be moved to a full disk stay, and are moved later"
    return Check(claim, not wrong, {"lines": before}, "; ".join(wrong[:3]))


def _count_audit_lines(url: str) -> int:
    code, output = command("audit", "verify", "--url", url, "--json")
    return int(json.loads(output)["lines"]) if code == 0 else -1


def _find_leftovers(room: SmallDisk) -> list[str]:
    return [f"{file.name} is left behind" for file in room.folder.rglob("*") if file.is_file() and file.name != BALLAST]


def _engine(url: str) -> str:
    return "SQLite" if url.startswith("sqlite") else "PostgreSQL"
