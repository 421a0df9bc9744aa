"""Lets schemathesis loose on a server, for as long as there is time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import recollect
from tests.server.running import Client, serving

_SETTINGS = Path(__file__).parents[2] / "tests" / "server" / "schemathesis.toml"


def made_up_requests(url: str, folder: Path, seconds: float, seed: int) -> tuple[int, str]:
    """How many requests were made within about so many seconds, and what was wrong with an answer."""
    requests, until, round = 0, time.monotonic() + seconds, 0
    with recollect.open(url, embedder=None) as engine:
        key = engine.keys.create(tenant_id="acme", app_id="support", any_user=True)
        with serving(engine) as client:
            # At the least one round; further ones with other seeds as long as there is time.
            while round == 0 or time.monotonic() < until:
                made, complaint = _round(client, key.token, folder, seed + round)
                requests += made
                if complaint:
                    return requests, complaint
                round += 1
    return requests, ""


def _round(client: Client, key: str, folder: Path, seed: int) -> tuple[int, str]:
    report = folder / "schemathesis.json"
    program = str(Path(sys.executable).with_name("schemathesis"))
    if not Path(program).exists():
        program = "schemathesis"
    command = [program, "--config-file", str(_SETTINGS), "run", f"{client.address}/openapi.json", "--checks", "all"]
    command += ["--phases", "fuzzing", "-n", "2", "--seed", str(seed), "--no-shrink", "--continue-on-failure"]
    command += ["--header", f"Authorization: Bearer {key}", "--header", "X-Recollect-User: ada"]
    command += ["--report", "json", "--report-json-path", str(report), "--request-timeout", "90"]
    done = subprocess.run([*command, "--max-response-time", "90"], capture_output=True, text=True, cwd=folder)
    made = json.loads(report.read_text("utf-8"))["test_cases"]["generated"] if report.exists() else 0
    return made, "" if done.returncode == 0 else (done.stdout[-1_500:] + done.stderr[-500:])
