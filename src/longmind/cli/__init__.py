"""The command line: `longmind`, with a command for each thing to do; and `ipc`, which calls tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. `exits.py` says what it ends with."""
    try:
        # `ipc` is in this package too, and does not wait for what draws tables.
        from longmind.cli.entry_point import run

        run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        # Within a command it is taken care of; this is for the moment while all of it is loaded.
        sys.exit(130)
