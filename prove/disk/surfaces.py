"""Full and read-only disks as they are seen from outside: commands, and the server."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import longmind
from harness.postgres import free_port
from prove.disk.small_disks import SmallDisk, small_disk
from prove.section import Check
from prove.world import ADA

_SECONDS = 30.0
WHOSE = ("--tenant", "acme", "--app", "support", "--user", ADA)


def commands() -> Iterator[Check]:
    """`longmind` on a disk that is full, and on one that is read-only."""
    with small_disk(8) as room:
        file = room.folder / "memory.db"
        longmind.open(_url(file), embedder=None).close()
        room.fill()
        yield _commands("a full disk", room, "no room left")
        room.make_room()
        code, output = command("keys", "create", *WHOSE, "--url", _url(file))
        yield Check("commands work again when there is room", code == 0, {}, output)
        room.read_only()
        yield _commands("a read-only disk", room, "")


def _commands(where: str, room: SmallDisk, expected: str) -> Check:
    wrong: list[str] = []
    tried = 0
    for arguments in (
        ("keys", "create", *WHOSE, "--url", _url(room.folder / "memory.db")),
        ("migrate", "apply", "--url", _url(room.folder / "new.db")),
        ("migrate", "apply", "--url", _url(room.folder / "new" / "new.db")),
        ("keys", "create", *WHOSE, "--url", _url(room.folder / "memory.db"), "--json"),
    ):
        code, output = command(*arguments)
        tried += 1
        wrong += [f"{' '.join(arguments[:2])}: {each}" for each in unclear(code, output)]
        if expected and "new/new.db" not in arguments[-1] and expected not in output:
            wrong.append(f"{' '.join(arguments[:2])} does not speak of it: {output}")
    claim = f"commands on {where} end with 1, an error and a hint, and no traceback"
    return Check(claim, not wrong, {"commands": tried}, "; ".join(wrong[:3]))


def unclear(code: int, said: str) -> list[str]:
    wrong = [] if code == 1 else [f"it ended with {code}: {said}"]
    wrong += [f"a traceback: {said}"] if "Traceback" in said else []
    return wrong + ([] if "hint" in said.lower() else [f"no hint: {said}"])


def command(*arguments: str) -> tuple[int, str]:
    ended = subprocess.run([sys.executable, "-m", "longmind.cli", *arguments], capture_output=True, text=True)
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


def archive(folder: Path) -> Iterator[Check]:
    """An archive from a server that has no room for temporary files."""
    wrong: list[str] = []
    with small_disk(128) as room, _serving(_url(folder / "archived.db"), TMPDIR=str(room.folder)) as port:
        _, made = _ask(port, "POST", "/ai-conversations", {"namespace": "chat"})
        for number in range(60):
            text = random.Random(number).randbytes(100_000).hex()
            status, answer = _ask(port, "POST", f"/ai-conversations/{made['id']}/messages/user", {"content": text})
            wrong += [] if status == 201 else [f"a message was answered with {status}: {answer}"]
        # Python chooses its folder for temporary files at the first of them, and takes another if there is no room.
        for full in (False, True, False):
            if full:
                room.fill()
            status, answer = _ask(port, "POST", "/ai-admin/export-archive", {})
            as_expected = (status, bool(answer.get("hint"))) == ((507, True) if full else (200, False))
            wrong += [] if as_expected else [f"{'without' if full else 'with'} room: {status} {answer}"]
            room.make_room()
        ready, _ = _ask(port, "GET", "/readyz")
        wrong += [] if ready == 200 else [f"/readyz: {ready}"]
    claim = "the server without room for temporary files answers an export with 507 and a hint, and goes on"
    yield Check(claim, not wrong, {}, "; ".join(wrong[:3]))


@contextmanager
def _serving(url: str, **environment: str) -> Iterator[int]:
    port = free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("LONGMIND_")},
        "LONGMIND_OFFLINE": "1",
        **environment,
    }
    command = [sys.executable, "-m", "longmind.cli", "serve", "--url", url, "--port", str(port), "--workers", "0"]
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
        connection.request(
            method, path, None if body is None else json.dumps(body), {"content-type": "application/json"}
        )
        answer = connection.getresponse()
        data = answer.read()
        document = json.loads(data or "{}") if "json" in answer.headers.get("content-type", "") else {}
        return answer.status, document if isinstance(document, dict) else {}
    except OSError:
        return 0, {}
    finally:
        connection.close()
