"""Asks other stores to measure themselves: each is a program with packages of its own, and answers with JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import Spent

PEERS = Path(__file__).parent / "peers"


class Peer:
    """A store that has answered, and is there to be measured again."""

    def __init__(self, program: subprocess.Popen[str], answer: dict[str, Any]) -> None:
        self._program = program
        self.answer = answer

    def measure(self, what: str, seconds: float, calls_per_round: int) -> Spent:
        """How long its calls take now: to `add`, or to recall from so many facts; of what it has not there are none."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        print(json.dumps([what, seconds, calls_per_round]), file=self._program.stdin, flush=True)
        answer = self._program.stdout.readline()
        if not answer:
            raise RuntimeError("The peer that was measured in turns with ours has ended.")
        return Spent(**json.loads(answer))


def ask_peers(names: Sequence[str], environments: Path, folder: Path, order: dict[str, Any]) -> dict[str, Any]:
    """The answers of those that there is an environment for."""
    answers = {}
    for name in names:
        with asked_peer(name, environments, folder, order) as peer:
            if peer is not None:
                answers[name] = peer.answer
    return answers


@contextmanager
def asked_peer(name: str, environments: Path, folder: Path, order: dict[str, Any]) -> Iterator[Peer | None]:
    """A peer that has filled its store, in a folder of its own, and measured it; None if it is not here or fails."""
    python = environments / name / "bin" / "python"
    if not python.exists():
        _say(f"{name} is skipped: there is no environment {python.parents[1]}; its first lines tell how to make it")
        yield None
        return
    _say(f"{name}: filling and asking")
    scratch = folder / name
    scratch.mkdir()
    with subprocess.Popen(
        [str(python), "-m", f"benchmarks.peers.{name}", json.dumps({"folder": str(scratch), **order})],
        cwd=Path(__file__).parents[1],
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        answer = program.stdout.readline()
        if not answer:
            _say(f"{name} failed and is left out")
        try:
            yield Peer(program, json.loads(answer)) if answer else None
        finally:
            # At the end of what it is asked it goes.
            program.stdin.close()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
