"""`ipc tool.invoke.<tool> '<json>'`: calls a memory tool, as an agent does from a shell.

The answer is JSON on standard output, and the command ends with 0; or an error is JSON on standard error, and it ends
with 1. A call is short, so nothing is loaded here that it does not need.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from longmind.engine import open
from longmind.errors import LongmindError, ToolError
from longmind.settings import load_caller
from longmind.tools.invocation import TOPIC

_EXAMPLE = """ipc tool.invoke.memory_search '{"query": "TypeScript"}'"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ToolError("VALIDATION_FAILED", f"{message[:1].upper()}{message[1:]}. Use it like: {_EXAMPLE}")


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        answer = _invoke(_parser().parse_args(arguments))
        if not _written(sys.stdout, answer):
            raise ToolError("PLUGIN_ERROR", "The call was done, and its answer could not be written.")
    except ToolError as error:
        _written(sys.stderr, error.as_json())
        sys.exit(1)
    except LongmindError as error:
        # The database cannot be opened, or the environment names nobody.
        unavailable = ToolError("PLUGIN_UNAVAILABLE", f"{error.message} {error.hint}".strip())
        _written(sys.stderr, unavailable.as_json())
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="ipc", description="Call a memory tool.", epilog=f"For example: {_EXAMPLE}")
    parser.add_argument("topic", help=f"{TOPIC} and the name of the tool")
    parser.add_argument("arguments", help="the arguments of the tool, as a JSON object")
    parser.add_argument("--url", help="where the memory is kept; LONGMIND_URL by default")
    for name in ("tenant", "app", "user", "agent", "group", "session"):
        parser.add_argument(f"--{name}", help=f"whose memory it is; LONGMIND_{name.upper()} by default")
    return parser


def _invoke(given: argparse.Namespace) -> dict[str, Any]:
    tool = given.topic.removeprefix(TOPIC)
    if tool == given.topic:
        raise ToolError("UNKNOWN_TOOL", f"A topic begins with {TOPIC!r}. Use it like: {_EXAMPLE}", stage=1)
    try:
        arguments = json.loads(given.arguments)
    except (ValueError, RecursionError):
        raise ToolError("VALIDATION_FAILED", f"The arguments are not JSON. Use it like: {_EXAMPLE}", stage=3) from None
    names = ("tenant", "app", "user", "agent", "group", "session")
    caller = load_caller({name: getattr(given, name) for name in names})
    with open(given.url, extractor="none") as engine:
        context = engine.context(
            tenant_id=caller.tenant,
            app_id=caller.app,
            user_id=caller.user,
            agent_id=caller.agent,
            group=caller.group,
            session_id=caller.session,
        )
        return context.tools.invoke(tool, arguments)


def _written(stream: TextIO | None, value: dict[str, Any]) -> bool:
    """Write a value; False when nobody reads there, or there is no room."""
    if stream is None:
        return False
    try:
        # As bytes: a terminal that is set to another encoding must not make an answer fail.
        stream.buffer.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        stream.flush()
    except OSError:
        # What is left would be written once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True
