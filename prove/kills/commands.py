"""`longmind serve`, `longmind worker` and others as real commands, to be killed like the other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prove.kills import vendor
from prove.kills.processes import LEASE, mirror_of


class Command:
    """A running command, killed in the same way as a process of the crew."""

    def __init__(self, url: str, folder: Path, model_url: str, *words: str) -> None:
        # Without an extractor its workers leave conversations to those that have the one of the attack.
        settings = {
            "URL": url,
            "EMBEDDER": "none",
            "EXTRACTOR": "none",
            "JOB_ATTEMPTS": "100",
            "JOB_LEASE_SECONDS": str(LEASE),
            "ROLLING_SUMMARY_TURNS": "4",
            "EVENTS_JSONL_DIR": str(mirror_of(folder)),
            "EVENTS_JSONL_FSYNC": "never",
        }
        # Not a pipe, which would fill up unread while the command runs.
        self._trouble = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the command
        self._process = subprocess.Popen(
            [sys.executable, "-m", "longmind.cli", *words, "--json"],
            env={
                **os.environ,
                **vendor.environment(model_url),
                **{f"LONGMIND_{name}": value for name, value in settings.items()},
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._trouble,
        )

    def hear(self) -> str:
        """Wait until it reports that it is ready."""
        assert self._process.stdout is not None
        return "ready" if self._process.stdout.readline() else f"ended with {self._process.wait()}"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> tuple[int, str, str]:
        """Wait for its end; return its exit code, output and error output."""
        output, _ = self._process.communicate()
        self._trouble.seek(0)
        return self._process.returncode, output.decode(), self._trouble.read()

    def close(self) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._trouble.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait_until_dead(self) -> int | None:
        return self._process.wait()


@contextmanager
def command(url: str, folder: Path, model_url: str, *words: str) -> Iterator[Command]:
    """A command, gone at the end of the block."""
    running = Command(url, folder, model_url, *words)
    try:
        yield running
    finally:
        running.close()
