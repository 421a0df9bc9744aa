"""Exit codes of the command line. Scripts rely on them; docs/reference/cli.md lists them."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    """All went well."""
    FAILED = 1
    """It could not be done, or a check has found something wrong; standard error says what, and what to do."""
    MISUSED = 2
    """The command was not called as it has to be; standard error shows how."""
    INTERRUPTED = 130
    """It was stopped by Ctrl-C. What was committed before stays."""
    READER_GONE = 141
    """The program that reads the output has ended, such as `head` in a pipe."""
