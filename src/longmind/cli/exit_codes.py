"""Exit codes of commands. Scripts rely on them, so they are defined here and documented in docs/reference/cli.md."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command."""

    OK = 0
    """The command succeeded."""
    FAILED = 1
    """The command failed, or a check found a problem; standard error says what to do."""
    MISUSED = 2
    """The command line is wrong; standard error shows the usage."""
    INTERRUPTED = 130
    """Ctrl-C stopped the command. Everything committed before remains."""
    READER_GONE = 141
    """The program that reads the output ended first, such as `head` in a pipe."""
