"""A headless Chromium, driven over a pipe with its own protocol; no package is needed for that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One tab; `complaints` holds what the browser has refused to load, and errors of the page."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        self._number = 0
        self._read = b""
        self.complaints: list[str] = []
        self._session: str | None = None
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self._call(f"{domain}.enable", session=self._session)

    def open(self, url: str, *, width: int = 1200, dark: bool = False) -> None:
        """Load a page in a window of a width, in the light or the dark scheme, and wait until it is there."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", size, self._session)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", {"features": [scheme]}, self._session)
        self._call("Page.navigate", {"url": url}, self._session)
        while self.run("document.readyState") != "complete":
            pass

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self._call("Runtime.evaluate", asked, self._session)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _call(self, method: str, parameters: dict[str, Any] | None = None, session: str | None = None) -> Any:
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
        os.write(self._requests, json.dumps(asked | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") == "Log.entryAdded":
                self.complaints.append(answer["params"]["entry"]["text"])
            if answer.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(str(answer["params"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            piece = os.read(self._answers, 65536)
            assert piece, "the browser has ended"
            self._read += piece
        line, _, self._read = self._read.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """Run a browser while this lasts, with a profile of its own in a folder."""
    assert CHROMIUM is not None
    to_browser, requests = os.pipe()
    answers, from_browser = os.pipe()
    # The browser reads its commands from descriptor 3 and writes to 4. The copies come first: one may be 3 or 4 itself.
    script = (
        "import fcntl, os, sys;"
        "requests, answers = (fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]);"
        "os.dup2(requests, 3); os.dup2(answers, 4); os.execv(sys.argv[3], sys.argv[3:])"
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"]
    launcher = [sys.executable, "-c", script, str(to_browser), str(from_browser)]
    command = [*launcher, CHROMIUM, *options, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(
        command, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(requests, answers)
    finally:
        os.close(requests)
        os.close(answers)
        process.terminate()
        process.wait(30)
