"""A program that is recorded and never ends by itself: it says who it is, and waits.

As a program of its own it is the one that records itself, and is ended as the proof is: python -m … FOLDER PIPE
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from prove.power_loss.recorders import record


def main(tell: Callable[[str], None], folder: str, pipe: str) -> None:
    Path(pipe).write_text(str(os.getpid()))
    signal.pause()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    record("tests.prove.endless_program", Path(sys.argv[1]), sys.argv[2])
