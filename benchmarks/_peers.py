"""Asks other stores to measure themselves: each is a program with packages of its own, and answers with JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parent / "peers"


def ask_peers(names: Sequence[str], environments: Path, folder: Path, order: dict[str, Any]) -> dict[str, Any]:
    """The answers of those that there is an environment for; each gets a folder of its own to write in."""
    answers = {}
    for name in names:
        python = environments / name / "bin" / "python"
        if not python.exists():
            _say(f"{name} is skipped: there is no environment {python.parents[1]}; its first lines tell how to make it")
            continue
        _say(f"{name}: filling and asking")
        scratch = folder / name
        scratch.mkdir()
        done = subprocess.run(
            [str(python), "-m", f"benchmarks.peers.{name}", json.dumps({"folder": str(scratch), **order})],
            cwd=Path(__file__).parents[1],
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            stdout=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            _say(f"{name} failed and is left out")
            continue
        answers[name] = json.loads(done.stdout)
    return answers


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
