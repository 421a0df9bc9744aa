"""Requests that schemathesis makes up from the description of the server, for as long as there is time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import longmind
from tests.server.live_server import Client, serving

_SETTINGS = Path(__file__).parents[2] / "tests" / "server" / "schemathesis.toml"
SLOWEST = 30
"""Seconds that no answer may take. The first that names a model waits until the library of models is loaded."""
GRACE = 120
"""Seconds to wait beyond its time: schemathesis ends between two requests, never within one."""


def run_schemathesis(url: str, folder: Path, seconds: float, seed: int) -> tuple[int, str]:
    """Send requests for about `seconds`; return their number, and what was wrong with an answer."""
    with longmind.open(url, embedder=None) as engine:
        # Not a key of the user's own, which would be gone with the first request to erase everything.
        key = engine.keys.create(tenant_id="acme", app_id="support", any_user=True)
        with serving(engine) as client:
            return _run(client, key.token, folder, max(1, round(seconds)), seed)


def _run(client: Client, key: str, folder: Path, seconds: int, seed: int) -> tuple[int, str]:
    report = folder / "schemathesis.json"
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program) if program.exists() else "schemathesis", "--config-file", str(_SETTINGS)]
    command += ["run", f"{client.address}/openapi.json", "--checks", "all", "--phases", "fuzzing"]
    # A few requests to each operation, over and over with other ones until the time is over: all have their turn.
    command += ["-n", "2", "--max-time", str(seconds), "--seed", str(seed), "--no-shrink", "--continue-on-failure"]
    command += ["--header", f"Authorization: Bearer {key}", "--header", "X-Longmind-User: ada"]
    command += ["--request-timeout", str(SLOWEST), "--max-response-time", str(SLOWEST)]
    command += ["--report", "json", "--report-json-path", str(report)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=seconds + GRACE)
    except subprocess.TimeoutExpired as late:
        return 0, f"it did not end: {(late.stdout or b'')[-1_500:].decode('utf-8', 'replace')}"
    if not report.exists():
        return 0, f"it ended with {done.returncode} and no report: {done.stdout[-1_500:]}{done.stderr[-500:]}"
    made: int = json.loads(report.read_text("utf-8"))["test_cases"]["generated"]
    return made, "" if done.returncode == 0 else done.stdout[-1_500:] + done.stderr[-500:]
