"""The reference of the command line, read from the commands themselves."""

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

# Said once at the top of the page, since nearly every command has them.
WHOSE = {each.name for each in fields(Caller)}


def all_commands() -> dict[str, Any]:
    """Every command by its whole name, such as `longmind memory add`."""
    return dict(_walk("longmind", get_command(app)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    members = getattr(command, "commands", {})
    # Some groups do something by themselves as well.
    if not members or command.invoke_without_command:
        yield name, command
    for member, each in members.items():
        yield from _walk(f"{name} {member}", each)


def reference() -> str:
    return "\n\n".join(part for name, command in all_commands().items() for part in _section(name, command))


def _section(name: str, command: Any) -> Iterator[str]:
    names = {each.name for each in command.params}
    whose = names >= WHOSE
    shared = {"help", "url", *(WHOSE if whose else ())}
    own = [each for each in command.params if each.name not in shared]
    arguments = [each for each in own if each.param_type_name == "argument"]
    options = [each for each in own if each.param_type_name == "option"]
    yield f"### {name}"
    yield f"`{' '.join([name, *map(_written, arguments), *(['[OPTIONS]'] if command.params else [])])}`"
    yield inspect.cleandoc(command.help or "").replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")
    told = [_line(f"`{_written(each)}`", each) for each in arguments]
    told += [_line(", ".join(f"`{opt}`" for opt in (*each.opts, *each.secondary_opts)), each) for each in options]
    if told:
        yield "\n".join(told)
    if "url" in names:
        yield "It takes `--url`" + (" and the options that say whose memory it is." if whose else ".")


def _written(argument: Any) -> str:
    name = argument.name.upper()
    return name if argument.required else f"[{name}]"


def _line(written: str, parameter: Any) -> str:
    shown = parameter.default not in (None, "") and not isinstance(parameter.default, bool | Callable)
    default = f" Default: `{parameter.default}`." if shown else ""
    return f"- {written}: {parameter.help}{default}"


def exits_table() -> str:
    """What a command ends with, from the one place that says it."""
    meanings = _texts_under(Exit)
    rows = [f"| {each.value} | {meanings[each.name]} |" for each in Exit]
    return "\n".join(["| code | meaning |", "| --- | --- |", *rows])


def _texts_under(owner: type) -> dict[str, str]:
    """The texts that stand under the members of an enumeration."""
    body = ast.parse(inspect.getsource(owner)).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = words
    return found
