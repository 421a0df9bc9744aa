"""Other stores, each measured by a program in an environment of its own that answers with JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Spent

PEERS = Path(__file__).parent / "peers"


class Peer:
    """A store that was measured, and can be measured again."""

    def __init__(self, program: subprocess.Popen[str], answer: dict[str, Any]) -> None:
        self._program = program
        self.answer = answer

    def measure(self, what: str, seconds: float, calls_per_round: int) -> Spent:
        """Measure the calls of a peer again; operations that it does not have are left out."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        print(json.dumps([what, seconds, calls_per_round]), file=self._program.stdin, flush=True)
        answer = self._program.stdout.readline()
        if not answer:
            raise RuntimeError("The peer's process ended during the measurement in turns.")
        return Spent(**json.loads(answer))


@dataclass(frozen=True)
class Skipped:
    """A store that was not measured, with the reason."""

    reason: str
    """Why not, without the names of folders: it stands in the results."""


def ask_peers(
    names: Sequence[str], environments: Path, folder: Path, order: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the answers of the stores, and the reasons why others gave none."""
    answers: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name in names:
        with measure_peer(name, environments, folder, order) as peer:
            match peer:
                case Peer():
                    answers[name] = peer.answer
                case Skipped():
                    skipped[name] = peer.reason
    return answers, skipped


@contextmanager
def measure_peer(name: str, environments: Path, folder: Path, order: dict[str, Any]) -> Iterator[Peer | Skipped]:
    """Start a peer that fills and measures its store in a folder of its own; yield it, or why it was skipped."""
    python = environments / name / "bin" / "python"
    if not python.exists():
        reason = f"it has no environment; the first lines of benchmarks/peers/{name}.py show how to make one"
        _say(f"{name} is skipped: {reason}, in {python.parents[1]}")
        yield Skipped(reason)
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
        try:
            if answer:
                yield Peer(program, json.loads(answer))
            else:
                reason = f"it failed with exit code {program.wait()}"
                _say(f"{name} is left out: {reason}")
                yield Skipped(reason)
        finally:
            # The peer ends when its standard input ends.
            program.stdin.close()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
