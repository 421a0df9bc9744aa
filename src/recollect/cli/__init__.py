"""The command line: `recollect models`, `reindex`, `jobs`, `audit`, `skill`, `bench`; and `ipc`, which calls tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. It ends with 0 when all went well, 1 when something could not be done, 2 when misused."""
    # `ipc` is in this package too, and does not wait for what draws tables.
    from rich.text import Text

    from recollect.cli.app import app
    from recollect.cli.output import problems
    from recollect.errors import RecollectError

    try:
        app(None if arguments is None else list(arguments))
    except RecollectError as error:
        # Texts of errors may hold what a user wrote: they are shown as they are, never read as markup.
        problems.print(Text(f"Error: {error.message}"), soft_wrap=True)
        if error.hint:
            problems.print(Text(f"Hint: {error.hint}"), soft_wrap=True)
        sys.exit(1)
