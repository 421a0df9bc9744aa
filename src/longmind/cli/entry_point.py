"""The entry point of `longmind`: runs one command, and translates errors into text or, with --json, into JSON.

It is the only place where errors of commands are caught. Everything that is not an answer goes to standard error, so
that the output of a command can be piped.
"""

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
from longmind.cli.output import escape_what_streams_lack, stderr
from longmind.errors import InvalidInput, LongmindError

# Typer bundles its own click and exports only subclasses of the error that covers all misuse.
_UsageError: Any = typer.BadParameter.__base__
_MOVED = {"demo": "./dev demo", "bench": "./dev bench"}
"""Commands of version 0.2 that left the package, and their successors."""
_TRIED = {
    'add "…"': "remember store",
    "erase --user NAME": "reset",
    "memory delete ATOM_ID": "delete forget",
    "memory entities": "entities",
    "memory list": "facts list ls",
    "memory profile": "profile",
    "memory show ATOM_ID": "get show",
    "memory spaces": "spaces",
    'memory supersede ATOM_ID "…"': "edit update",
    "recall timeline": "history timeline",
    'search "…"': "ask find query",
}
"""Commands, and other names for them that people try, mostly those of the library."""
_CALLED_OTHERWISE = {name: command for command, names in _TRIED.items() for name in names.split()}
_TAKEN_BY_OPTION = {("export",): "-o", ("recall", "timeline"): "--query"}
"""Commands without arguments that are often given one, and the option that takes it."""
_OF_COMMANDS = {"--agent", "--app", "--group", "--json", "--session", "--space", "--tenant", "--url", "--user"}
"""Options that each command has for itself."""


class Misused(InvalidInput):
    """The command line is wrong."""


class NotConfirmed(InvalidInput):
    """The action was not confirmed, so nothing was done."""

    default_hint = "Give --yes to confirm it."


class FileTrouble(InvalidInput):
    """A file cannot be read or written."""

    default_hint = "Check its path, its permissions and the free space on the disk."


def run(arguments: list[str]) -> NoReturn:
    """Run a command and end the process with an exit code of exit_codes.py.

    With --json anywhere before `--`, errors are printed as JSON too, even errors about the command line itself.
    """
    escape_what_streams_lack()
    # Everything after -- is text of the user, even if it looks like an option.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    as_json = "--json" in options
    if options and options[0] in _MOVED:
        hint = f"Run {_MOVED[options[0]]} in a clone of the repository."
        _report(Misused(f"longmind {options[0]} is no longer part of the package.", hint=hint), as_json)
        sys.exit(Exit.MISUSED)
    if (mistake := _find_mistake(options)) is not None:
        _report(mistake, as_json)
        sys.exit(Exit.MISUSED)
    try:
        # Standalone mode makes typer print usage errors itself; with --json they are printed here, as JSON.
        ended = _make_command()(arguments, prog_name="longmind", standalone_mode=not as_json)
        sys.exit(ended if isinstance(ended, int) else Exit.OK)
    except LongmindError as error:
        _report(error, as_json)
    except typer.Abort:
        _report(NotConfirmed(), as_json)
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else "longmind"
        _report(Misused(error.format_message(), hint=f"Run {command} --help."), as_json)
        sys.exit(Exit.MISUSED)
    except OSError as error:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        _report(FileTrouble(f"{where}{error.strerror or error}."), as_json)
    sys.exit(Exit.FAILED)


def _find_mistake(arguments: list[str]) -> Misused | None:
    """Return the error about the beginning of a command line that is often tried, with what is meant.

    No more than the beginning is looked at: what follows may be a text of the user, which is never refused.
    """
    for command, option in _TAKEN_BY_OPTION.items():
        words, after = tuple(arguments[: len(command)]), arguments[len(command) : len(command) + 1]
        if words == command and after and not after[0].startswith("-"):
            written = " ".join(("longmind", *command))
            return Misused(f"{written} takes no argument {after[0]!r}.", hint=f"Write: {written} {option} {after[0]!r}")
    first = arguments[0] if arguments else ""
    option = first.partition("=")[0]
    if option in _OF_COMMANDS:
        hint = f'Write it after the command, such as: longmind search "…" {option}'
        return Misused(f"{option} stands before the command.", hint=hint)
    if first in _CALLED_OTHERWISE:
        return Misused(f"No such command {first!r}.", hint=f"Use: longmind {_CALLED_OTHERWISE[first]}")
    return None


@cache
def _make_command() -> Any:
    """Return the command tree as click runs it."""
    # Typer inspects some sixty functions for this; tests and proofs, which run many commands, do it once.
    command = get_command(app)
    _hide_flag_types(command, None)
    return command


def _hide_flag_types(command: Any, parent: Any) -> None:
    """Have --help show no type after a flag, which takes no value."""
    context = command.context_class(command, parent=parent, **command.context_settings)
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for member in getattr(command, "commands", {}).values():
        _hide_flag_types(member, context)


def _report(error: LongmindError, as_json: bool) -> None:
    """Print an error to standard error.

    With --json it is the problem document that the server would send, so that programs need only one parser.
    """
    if as_json:
        # Imported late: it is needed for errors only.
        from longmind.server.problems import to_problem

        _, _, body = to_problem(error)
        print(body.decode(), file=sys.stderr)
        return
    # Messages may quote what a user wrote, so they are never parsed as rich markup.
    stderr.print(Text(f"Error: {error.message}"), soft_wrap=True)
    if error.hint:
        stderr.print(Text(f"Hint: {error.hint}"), soft_wrap=True)
