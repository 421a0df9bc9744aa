"""Runs one command, and is the one translator of what goes wrong: for people in words, with --json as JSON."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any, NoReturn

import typer
from rich.text import Text
from typer.main import get_command

from longmind.cli.app import app
from longmind.cli.exit_codes import Exit
from longmind.cli.output import problems
from longmind.errors import InvalidInput, LongmindError

# Typer has its own copy of what it is built on, and shows of it only what is below this.
_UsageError: Any = typer.BadParameter.__base__

_MOVED = {"demo": "./dev demo", "bench": "./dev bench"}
"""Commands of version 0.2 that left the package, and their successors."""


class Misused(InvalidInput):
    """The command was not called as it has to be."""


class NotConfirmed(InvalidInput):
    """It was not confirmed, so that nothing was done."""

    default_hint = "Give --yes if it is really meant."


class FileTrouble(InvalidInput):
    """A file cannot be read or written."""

    default_hint = "Check that it is there, who may use it, and whether there is room on the disk."


def run(arguments: list[str]) -> NoReturn:
    """Run a command, and end the program as `exits.py` says."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in options
    if options and options[0] in _MOVED:
        hint = f"Run {_MOVED[options[0]]} in a clone of the repository."
        _tell(Misused(f"longmind {options[0]} is no longer part of the package.", hint=hint), as_json)
        sys.exit(Exit.MISUSED)
    try:
        # Where people read, Typer itself shows how a command is called; programs get that as JSON, too.
        ended = _command()(arguments, standalone_mode=not as_json)
        sys.exit(ended if isinstance(ended, int) else Exit.OK)
    except LongmindError as error:
        _tell(error, as_json)
    except typer.Abort:
        _tell(NotConfirmed(), as_json)
    except _UsageError as error:
        hint = f"{error.ctx.command_path} --help shows how." if error.ctx else "longmind --help shows how."
        _tell(Misused(error.format_message(), hint=hint), as_json)
        sys.exit(Exit.MISUSED)
    except OSError as error:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        _tell(FileTrouble(f"{where}{error.strerror or error}."), as_json)
    sys.exit(Exit.FAILED)


@cache
def _command() -> Any:
    # It is made of some sixty functions, which takes a while; a process that calls several makes it once.
    return get_command(app)


def _tell(error: LongmindError, as_json: bool) -> None:
    if as_json:
        # The same as the server would answer.
        from longmind.server.problems import to_problem

        _, _, body = to_problem(error)
        print(body.decode(), file=sys.stderr)
        return
    # Texts of errors may hold what a user wrote: they are shown as they are, never read as markup.
    problems.print(Text(f"Error: {error.message}"), soft_wrap=True)
    if error.hint:
        problems.print(Text(f"Hint: {error.hint}"), soft_wrap=True)
