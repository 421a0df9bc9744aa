"""The command line: `longmind`, with one command per task, and `ipc`, which calls memory tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and end the process with one of the codes of exit_codes.py."""
    try:
        # Imported late: `ipc` is in this package too and must not load typer and rich.
        from longmind.cli.entry_point import run

        run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        # Within a command, typer handles Ctrl-C; this covers the imports above.
        sys.exit(130)
