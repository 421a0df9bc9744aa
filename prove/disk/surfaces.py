"""Full and read-only disks as they are seen from outside: files beside the database, commands, and the server."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import recollect
from prove.disk.filling import Filling
from prove.disk.rooms import Room, small_disk
from prove.section import Check
from prove.world import ADA, context_of
from recollect import StoreFull
from recollect.events.jsonl import read_jsonl

_SECONDS = 30.0
_WHOSE = ("--tenant", "acme", "--app", "support", "--user", ADA)


def mirror(folder: Path) -> Check:
    """The JSONL files on a disk that is full: no write fails, and a rebuild mends them."""
    with small_disk(1) as room:
        settings: dict[str, Any] = {"events_jsonl_dir": str(room.folder / "events"), "events_jsonl_fsync": "always"}
        with recollect.open(f"sqlite:///{folder}/mirrored.db", embedder=None, **settings) as engine:
            filling = Filling(engine, random.Random(1))
            filling.go_on(20)
            room.fill()
            filling.go_on(60)
            filling.look("full")
            room.make_room()
            filling.go_on(20)
            ada = context_of(engine, ADA)
            missing = _unmirrored(filling, ada)
            engine.rebuild_jsonl()
            left = _unmirrored(filling, ada)
    wrong = filling.outcome.unclear + filling.outcome.changed + filling.outcome.stuck
    wrong += [f"{left} events are missing after a rebuild"] if left else []
    wrong += [] if missing else ["no line was missing, so nothing was shown"]
    claim = "JSONL files on a full disk: no write fails for them, and a rebuild brings what is missing"
    return Check(claim, not wrong, {"missing before": missing, "missing after": left}, "; ".join(wrong[:3]))


def _unmirrored(filling: Filling, ada: recollect.Context) -> int:
    events = {question.split(" ")[2] for question in filling.world if " event " in question}
    return len(events - {event["event_id"] for event in read_jsonl(ada.events.jsonl_files())})


def export(folder: Path) -> Check:
    """An archive and a document to a full disk: an error that says so, and no file."""
    wrong: list[str] = []
    with small_disk(2) as room, recollect.open(f"sqlite:///{folder}/exported.db", embedder=None) as engine:
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
        wrong += ["half an archive is left"] if target.exists() else []
        code, said = _command("export", *_WHOSE, "--url", _url(folder / "exported.db"), "-o", f"{room.folder}/x.json")
        wrong += _unclear(code, said) + (["half a document is left"] if (room.folder / "x.json").exists() else [])
        room.make_room()
        ada.admin.export_user_archive(target)
    return Check("exports to a full disk say so, leave nothing behind, and work again", not wrong, {}, "; ".join(wrong))


def commands() -> Iterator[Check]:
    """`recollect` on a disk that is full, and on one that is read-only."""
    with small_disk(8) as room:
        file = room.folder / "memory.db"
        recollect.open(_url(file), embedder=None).close()
        room.fill()
        yield _commands("a full disk", room, "no room left")
        room.make_room()
        code, said = _command("keys", "create", *_WHOSE, "--url", _url(file))
        yield Check("commands work again when there is room", code == 0, {}, said)
        room.read_only()
        yield _commands("a read-only disk", room, "")


def _commands(where: str, room: Room, expected: str) -> Check:
    wrong: list[str] = []
    tried = 0
    for arguments in (
        ("keys", "create", *_WHOSE, "--url", _url(room.folder / "memory.db")),
        ("migrate", "apply", "--url", _url(room.folder / "new.db")),
        ("migrate", "apply", "--url", _url(room.folder / "new" / "new.db")),
        ("keys", "create", *_WHOSE, "--url", _url(room.folder / "memory.db"), "--json"),
    ):
        code, said = _command(*arguments)
        tried += 1
        wrong += [f"{' '.join(arguments[:2])}: {each}" for each in _unclear(code, said)]
        if expected and "new/new.db" not in arguments[-1] and expected not in said:
            wrong.append(f"{' '.join(arguments[:2])} does not speak of it: {said}")
    claim = f"commands on {where} end with 1, an error and a hint, and no traceback"
    return Check(claim, not wrong, {"commands": tried}, "; ".join(wrong[:3]))


def _unclear(code: int, said: str) -> list[str]:
    wrong = [] if code == 1 else [f"it ended with {code}: {said}"]
    wrong += [f"a traceback: {said}"] if "Traceback" in said else []
    return wrong + ([] if "hint" in said.lower() else [f"no hint: {said}"])


def _command(*arguments: str) -> tuple[int, str]:
    ended = subprocess.run([sys.executable, "-m", "recollect.cli", *arguments], capture_output=True, text=True)
    return ended.returncode, (ended.stdout + ended.stderr).strip()[-600:]


def _url(file: Path) -> str:
    return f"sqlite:///{file}"


def server() -> Iterator[Check]:
    """Requests to a server whose disk is full: 507 with a hint, not ready, and as before when there is room."""
    with small_disk(8) as room, _serving(_url(room.folder / "memory.db")) as port:
        wrong: list[str] = []
        room.fill()
        answers = [
            _ask(port, "POST", "/ai-conversations", {"namespace": "chat", "title": "x" * 200}) for _ in range(60)
        ]
        refused = [body for status, body in answers if status == 507]
        wrong += [] if refused else [f"nothing was answered with 507, but with {sorted({each for each, _ in answers})}"]
        wrong += [str(body) for body in refused if not body.get("hint") or "store-full" not in body.get("type", "")]
        wrong += [f"{status}: {body}" for status, body in answers if status not in (201, 507)]
        ready, why = _ask(port, "GET", "/readyz")
        wrong += [] if ready == 503 and why.get("why") == "StoreFull" else [f"/readyz: {ready} {why}"]
        listed, _ = _ask(port, "GET", "/ai-conversations")
        wrong += [] if listed == 200 else [f"reading was answered with {listed}"]
        room.make_room()
        again, body = _ask(port, "POST", "/ai-conversations", {"namespace": "chat"})
        wrong += [] if again == 201 else [f"with room again: {again} {body}"]
        ready, why = _ask(port, "GET", "/readyz")
        wrong += [] if ready == 200 else [f"/readyz with room again: {ready} {why}"]
        figures = {"507": len(refused), "requests": len(answers)}
        claim = "the server on a full disk answers 507 with a hint, is not ready, and goes on when there is room"
        yield Check(claim, not wrong, figures, "; ".join(wrong[:3]))


@contextmanager
def _serving(url: str) -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    command = [sys.executable, "-m", "recollect.cli", "serve", "--url", url, "--port", str(port), "--workers", "0"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _SECONDS
        while _ask(port, "GET", "/readyz")[0] != 200:
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _ask(port: int, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"content-type": "application/json"})
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"{}")
        return answer.status, told if isinstance(told, dict) else {}
    except OSError:
        return 0, {}
    finally:
        connection.close()
