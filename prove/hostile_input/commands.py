"""Commands with arguments and an environment of any shape, each in a process of its own.

A process is forked from one that has all of Longmind loaded, since to load it takes longer than a command does. It
ends as documented, with 0, 1 or 2 and words on standard error, and never with a traceback.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

import longmind
from longmind.cli import ipc, main
from longmind.settings import Caller, Settings
from prove.hostile_input.calls import STRANGE
from prove.hostile_input.fragments import FRAGMENTS
from tools.commands import all_commands

LONGEST = 30.0
"""Seconds after which a command hangs. Most take a tenth of one."""
AT_WORK = 2.0
"""Seconds that a service runs, started with arbitrary arguments, before it is stopped."""
SERVICES = ("serve", "worker")
LEFT_OUT = {
    "longmind models pull": "fetches from the network",
}
_PATHS = ("file", "output", "folder", "dir", "events_jsonl_dir", "models_folder")
_ADDRESSES = ("url", "from_", "to", "from")
_HOSTILE_ADDRESSES = (
    "sqlite:", "sqlite://", "sqlite:///.", "sqlite:///a\udcff.db", "sqlite://host/a.db", "sqlite:///none/a.db", "x",
    "postgresql://", "postgresql://[::1", "postgresql://u:p@127.0.0.1:1/db", "postgresql://h:99999/x", "mysql://u@h/d",
    "postgresql:///x?sslmode=what", "postgresql:///x?host=%2Fnone&connect_timeout=x", "sqlite:///" + "a" * 300, "://",
)  # fmt: skip
_TEXTS = tuple(text for text in STRANGE if isinstance(text, str))


@dataclass(frozen=True)
class CommandLine:
    """A command line and its environment variables."""

    program: str
    arguments: list[str]
    environment: dict[str, str]

    def __str__(self) -> str:
        return f"{self.environment} {self.program} {self.arguments}"[:300]


@dataclass(frozen=True)
class CommandResult:
    code: int | None
    """None when it had to be killed."""
    out: str
    err: str


class Runner:
    """Runs commands one after another, each in a process of its own and in an empty home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["prove.hostile_input.preload"])

    def run(self, typed: CommandLine) -> CommandResult:
        home = self._folder / "home" / "of" / "nobody"
        home.mkdir(parents=True, exist_ok=True)
        process = self._context.Process(target=_run_command, args=(typed, str(home), str(self._folder)), daemon=True)
        process.start()
        try:
            if typed.arguments[:1] and typed.arguments[0] in SERVICES:
                process.join(AT_WORK)
                process.terminate()
            process.join(LONGEST)
            code = process.exitcode
        finally:
            process.kill()
            process.join()
        return CommandResult(code, *((self._folder / name).read_text("utf-8", "replace") for name in ("out", "err")))


def _run_command(typed: CommandLine, home: str, folder: str) -> None:
    os.chdir(home)
    for name in [name for name in os.environ if name.startswith("LONGMIND_")]:
        del os.environ[name]
    os.environ.update({"HOME": home, "LONGMIND_OFFLINE": "1", **typed.environment})
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = [typed.program, *typed.arguments]
    {"longmind": main, "ipc": ipc.main}[typed.program](typed.arguments)


def wrong_with(typed: CommandLine, ended: CommandResult) -> str | None:
    """Return how the end of a command differs from the documentation; None when it does not."""
    if ended.code is None:
        return "it did not end"
    if "Traceback (most recent call last)" in ended.err:
        return f"a traceback: {ended.err[-300:]}"
    if ended.code not in ((0, 1) if typed.program == "ipc" else (0, 1, 2)):
        return f"it ended with {ended.code}: {ended.err[-200:]}"
    # A check that has found something wrong says so in its answer.
    if ended.code and not (ended.err.strip() or ended.out.strip()):
        return f"it ended with {ended.code} and no word"
    if ended.code and (typed.program == "ipc" or "--json" in typed.arguments) and not _json_in(ended):
        return f"an error that is no JSON: {ended.err[-200:]}"
    return None


def _json_in(ended: CommandResult) -> bool:
    for text in (ended.err, ended.err.strip().rpartition("\n")[2], ended.out):
        try:
            return isinstance(json.loads(text), dict | list)
        except ValueError:
            continue
    return False


def command_lines(url: str, dice: Random) -> Iterator[CommandLine]:
    """Command lines without end; most have something in them that is wrong."""
    # Some addresses have no server; a short timeout finds that out quickly.
    usual = {"LONGMIND_URL": url, "LONGMIND_EMBEDDER": "none", "LONGMIND_CONNECT_TIMEOUT_SECONDS": "1"}
    commands = {name: each for name, each in all_commands().items() if name not in LEFT_OUT}
    names = [each.name for kind in (Settings, Caller) for each in fields(kind)]
    while True:
        environment = dict(usual)
        if dice.random() < 0.4:
            name = dice.choice(names)
            environment[f"LONGMIND_{name.upper()}"] = _value(name, dice)
        if dice.random() < 0.1:
            yield CommandLine("ipc", [_tool(dice), _text(dice), *_options(["--user", "--url"], dice)], environment)
            continue
        name = dice.choice([*commands])
        yield CommandLine("longmind", [*name.split()[1:], *_arguments(commands[name], dice)], environment)


def _arguments(command: Any, dice: Random) -> Iterator[str]:
    for each in command.params:
        if each.param_type_name == "argument":
            yield _value(each.name, dice)
        elif each.name == "port":
            yield from ("--port", dice.choice(("0", "0", "-1", "65536", _text(dice))))
        elif each.required or dice.random() < 0.3:
            yield each.opts[0]
            if not each.is_flag:
                yield _value(each.name, dice)
    if dice.random() < 0.05:
        yield _text(dice)


def _options(names: list[str], dice: Random) -> Iterator[str]:
    for name in names:
        if dice.random() < 0.3:
            yield from (name, _value(name.strip("-"), dice))


def _tool(dice: Random) -> str:
    return dice.choice(("tool.invoke.memory_search", "tool.invoke.memory_store", "tool.invoke.", _text(dice)))


def _value(name: str, dice: Random) -> str:
    if name in _ADDRESSES:
        return dice.choice((*_HOSTILE_ADDRESSES, _text(dice).replace("/", "")))
    if name in _PATHS:
        # Below the home: what is attacked is Longmind, and not the machine.
        return "a" + _text(dice).replace("/", "").replace("..", "")[:300]
    return _text(dice)


def _text(dice: Random) -> str:
    text = (
        dice.choice(_TEXTS)
        if dice.random() < 0.5
        else "".join(dice.choices((*FRAGMENTS, "--", "-x", "\udcff"), k=dice.randint(1, 5)))
    )
    # The system ends a text at a NUL, and hands on bytes of any kind.
    return text.replace("\x00", "").encode("utf-8", "surrogateescape" if _is_bytes(text) else "replace").decode(
        "utf-8", "surrogateescape"
    )  # fmt: skip


def _is_bytes(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def find_broken_commands(
    url: str, folder: Path, seconds: float, dice: Random
) -> tuple[dict[int | None, int], list[str]]:
    """Run commands until the time is over; return how many ended with each code, and what was wrong."""
    with longmind.open(url, embedder=None):
        pass
    runner = Runner(folder)
    # The process that the others are forked from has to load all of it first, which takes seconds.
    runner.run(CommandLine("longmind", ["--version"], {}))
    until = time.monotonic() + seconds
    codes: dict[int | None, int] = {}
    broken: list[str] = []
    for typed in command_lines(url, dice):
        ended = runner.run(typed)
        codes[ended.code] = codes.get(ended.code, 0) + 1
        wrong = wrong_with(typed, ended)
        if wrong is not None:
            broken.append(f"{typed}: {wrong}")
        if time.monotonic() > until:
            break
    return codes, broken
