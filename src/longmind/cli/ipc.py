"""The program `ipc tool.invoke.<tool> '<json>'`, with which an agent calls a memory tool from a shell.

The answer is JSON on standard output, with exit code 0; an error is JSON on standard error, with exit code 1. Agents
call it often, so it imports only what a call needs: neither typer nor rich.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TextIO

from longmind.cli.caller_process import name_caller_process
from longmind.cli.typing_mistakes import find_address
from longmind.engine import open
from longmind.errors import LongmindError, ToolError
from longmind.settings import load_caller
from longmind.tools.invocation import TOPIC

_EXAMPLE = """ipc tool.invoke.memory_search '{"query": "TypeScript"}'"""
SCOPE_NAMES = ("tenant", "app", "user", "agent", "group", "session")


class _IpcParser(argparse.ArgumentParser):
    """A parser that raises a ToolError instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        """Raise the message as a validation error."""
        raise ToolError("VALIDATION_FAILED", f"{message[:1].upper()}{message[1:]}. For example: {_EXAMPLE}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Call a tool, print its answer, and end the process."""
    try:
        options = _make_parser().parse_args(arguments)
        run_tool(options.topic, options.arguments, options.url, {name: getattr(options, name) for name in SCOPE_NAMES})
    except ToolError as error:
        _write(sys.stderr, error.as_json())
        sys.exit(1)


def run_tool(topic: str, arguments: str, url: str | None, scope: Mapping[str, str | None]) -> None:
    """Call a tool and print its answer; print an error to standard error, and end the process with 1.

    topic: `tool.invoke.` and the name of the tool.
    arguments: a JSON object.
    scope: the options that name the caller.
    """
    try:
        if not _write(sys.stdout, _invoke(topic, arguments, url, scope)):
            raise ToolError("PLUGIN_ERROR", "The tool ran, but its answer could not be written.")
    except ToolError as error:
        _write(sys.stderr, error.as_json())
        sys.exit(1)
    except LongmindError as error:
        # The database cannot be opened, or the environment does not name a user.
        # Agents know only the error codes of the tools.
        unavailable = ToolError("PLUGIN_UNAVAILABLE", f"{error.message} {error.hint}".strip())
        _write(sys.stderr, unavailable.as_json())
        sys.exit(1)


def _make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = _IpcParser(prog="ipc", description="Call a memory tool.", epilog=f"For example: {_EXAMPLE}")
    parser.add_argument("topic", help=f"{TOPIC} and the name of the tool")
    parser.add_argument("arguments", help="the arguments of the tool, as a JSON object")
    parser.add_argument("--url", help="the database; LONGMIND_URL by default")
    for name in SCOPE_NAMES:
        parser.add_argument(f"--{name}", help=f"the {name}; LONGMIND_{name.upper()} by default")
    return parser


def _invoke(topic: str, given: str, url: str | None, scope: Mapping[str, str | None]) -> dict[str, Any]:
    """Call the tool of a topic, and return its answer."""
    tool = topic.removeprefix(TOPIC)
    if tool == topic:
        raise ToolError("UNKNOWN_TOOL", f"The topic does not begin with {TOPIC!r}. For example: {_EXAMPLE}", stage=1)
    try:
        arguments = json.loads(given)
    except (ValueError, RecursionError):
        raise ToolError("VALIDATION_FAILED", f"The arguments are not JSON. For example: {_EXAMPLE}", stage=3) from None
    caller = load_caller(scope)
    # A tool call extracts nothing, so the extractor's package is not imported.
    with open(find_address(url), extractor="none") as engine:
        context = engine.context(
            tenant_id=caller.tenant,
            app_id=caller.app,
            user_id=caller.user,
            agent_id=caller.agent,
            group=caller.group,
            session_id=caller.session or name_caller_process(),
        )
        return context.tools.invoke(tool, arguments)


def _write(stream: TextIO | None, value: dict[str, Any]) -> bool:
    """Write a value as a line of JSON; return False if no one reads the stream or the disk is full."""
    if stream is None:
        return False
    try:
        # As bytes: in a terminal with another encoding, a text could raise UnicodeEncodeError.
        stream.buffer.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        stream.flush()
    except OSError:
        # Python flushes the stream at exit, and that would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
