"""Reference of the command line, read from the commands themselves."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from typer.main import get_command

from longmind.cli.app import app
from longmind.cli.exit_codes import Exit
from longmind.settings import Caller

# Options that the page explains once, since nearly every command takes them.
SHARED = {"help", "url", "as_json", *(each.name for each in fields(Caller))}


def all_commands() -> dict[str, Any]:
    """Return every command by its whole name, such as `longmind memory add`."""
    return dict(_walk("longmind", get_command(app)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    members = getattr(command, "commands", {})
    # Some groups do something by themselves as well.
    if not members or command.invoke_without_command:
        yield name, command
    for member, each in members.items():
        yield from _walk(f"{name} {member}", each)


def reference() -> str:
    """Return one short section for each command: its purpose, its arguments and its own options."""
    return "\n\n".join(part for name, command in all_commands().items() for part in _section(name, command))


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"### {name}"
    yield inspect.cleandoc(command.help or "").partition("\n\n")[0].replace("\n", " ")
    own = [each for each in command.params if each.name not in SHARED]
    arguments = [_format_argument(each) for each in own if each.param_type_name == "argument"]
    options = [_format_option(each) for each in own if each.param_type_name == "option"]
    if arguments or options:
        yield f"`{' '.join([*arguments, *options])}`"


def _format_argument(argument: Any) -> str:
    name = argument.name.upper()
    return name if argument.required else f"[{name}]"


def _format_option(option: Any) -> str:
    has_default = option.default not in (None, "") and not isinstance(option.default, bool | Callable)
    return "/".join((*option.opts, *option.secondary_opts)) + (f"={option.default}" if has_default else "")


def exits_table() -> str:
    """Return the table of exit codes, from the enumeration that declares them."""
    meanings = _member_docstrings(Exit)
    rows = [f"| {each.value} | {meanings[each.name]} |" for each in Exit]
    return "\n".join(["| code | meaning |", "| --- | --- |", *rows])


def _member_docstrings(owner: type) -> dict[str, str]:
    """Return the docstrings under the members of an enumeration, by member."""
    body = ast.parse(inspect.getsource(owner)).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = words
    return found
