"""The command in a real shell: pipes, Ctrl-C, completion, colours, and the demonstration."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from rich.console import Console

import longmind
from examples.demo.stage import Stage
from examples.demo.story import Story, TravellingClock
from harness.crew import wait_until
from tests.cli.test_commands import COMMAND
from tools.commands import all_commands

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "cli.md"
# It speaks a protocol, which is JSON already.
WITHOUT_JSON = {"longmind mcp"}


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "LONGMIND_EMBEDDER": "none", **more}


@pytest.mark.parametrize("options", [["--json"], pytest.param([], marks=pytest.mark.slow)], ids=["json", "table"])
def test_a_reader_that_goes_away_ends_the_command_without_a_word(sqlite_url: str, options: list[str]) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine:
        memory = engine.context(tenant_id="local", app_id="ipc", user_id="default").memory
        space = memory.create_memory_space("default")
        memory.add_atom(space.id, {"text": "Ada has a cat.", "category": {"name": "pets", "kind": "FACT"}})
    reading, writing = os.pipe()
    os.close(reading)
    listing = subprocess.run(
        [str(COMMAND), "memory", "list", *options],
        env=environment(LONGMIND_URL=sqlite_url),
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writing)
    assert (listing.returncode, listing.stderr) == (141, b"")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_characters_that_a_pipe_lacks_are_escaped(sqlite_url: str, encoding: str) -> None:
    text = "User lives in M\u00fcnchen \u6771\u4eac \U0001f422."
    with longmind.open(sqlite_url, embedder=None) as engine:
        memory = engine.context(tenant_id="local", app_id="ipc", user_id="default").memory
        space = memory.create_memory_space("default")
        memory.add_atom(space.id, {"text": text, "category": {"name": "home", "kind": "FACT"}})

    def call(*arguments: str) -> bytes:
        told = environment(LONGMIND_URL=sqlite_url, PYTHONIOENCODING=encoding)
        return subprocess.run([str(COMMAND), *arguments], env=told, check=True, capture_output=True, timeout=60).stdout

    assert json.loads(call("memory", "list", "--json").decode(encoding))[0]["text"] == text
    assert json.loads(call("export", "--user", "default").decode(encoding))["atoms"][0]["text"] == text
    assert text.encode(encoding, "backslashreplace") in call("memory", "list")


def seconds_of_children() -> float:
    """How long programs that this one has started, and that have ended, were at work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bytes_in(pipe: int) -> int:
    """How much nobody has read yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_ctrl_c_ends_with_130_and_no_traceback(sqlite_url: str) -> None:
    # It reads the text from a pipe that is not closed.
    waiting = subprocess.Popen(
        [str(COMMAND), "memory", "add", "-"],
        env=environment(LONGMIND_URL=sqlite_url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell runs in the background, and all that it starts, would not hear of Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert waiting.stdin is not None
        waiting.stdin.write("I live in")
        waiting.stdin.flush()
        # When it has taken the first words, it waits for the rest.
        pipe = waiting.stdin.fileno()
        wait_until(lambda: waiting.poll() is not None or bytes_in(pipe) == 0)
        waiting.send_signal(signal.SIGINT)
        _, problems = waiting.communicate(timeout=60)
    finally:
        waiting.kill()
    assert waiting.returncode == 130
    assert "Traceback" not in problems


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("longmind recall topic --exp", "--explain"),
        pytest.param("longmind mem", "memory", marks=pytest.mark.slow),
        pytest.param("longmind memory sup", "supersede", marks=pytest.mark.slow),
    ],
)
def test_the_shell_completes_commands_and_options(typed: str, offered: str) -> None:
    words = typed.split(" ")
    done = subprocess.run(
        [str(COMMAND)],
        env=environment(_LONGMIND_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert offered in done.stdout.split()


@pytest.mark.slow
def test_colours_are_for_terminals(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine:
        memory = engine.context(tenant_id="local", app_id="ipc", user_id="default").memory
        memory.create_memory_space("default")
    told = {
        forced: subprocess.run(
            [str(COMMAND), "memory", "spaces"],
            env=environment(LONGMIND_URL=sqlite_url, TERM="xterm-256color", **({"FORCE_COLOR": "1"} if forced else {})),
            capture_output=True,
            timeout=60,
        ).stdout
        for forced in (False, True)
    }
    assert b"default" in told[False]
    assert b"\x1b[" not in told[False]
    assert b"\x1b[" in told[True]


def test_the_demonstration_tells_the_whole_story_in_under_thirty_seconds(tmp_path: Path) -> None:
    before = seconds_of_children()
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=ROOT,
        env={**os.environ, "HOME": str(tmp_path), "OPENAI_API_KEY": "", "LONGMIND_EXTRACTOR": "model:openai:gpt-5"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    # What others do on the machine meanwhile does not count.
    assert seconds_of_children() - before < 30
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[FAILED]" not in done.stdout
    assert done.stdout.count("[ok]") >= 18
    assert done.stderr == ""
    assert not (tmp_path / ".longmind").exists()


def test_the_demonstration_says_so_when_something_is_not_as_it_should_be() -> None:
    stage, clock = Stage(Console(quiet=True)), TravellingClock()
    with longmind.open("sqlite:///:memory:", clock=clock, extractor="none", embedder=None) as engine:
        Story(stage, engine, clock, "demo").tell()
    assert stage.failures >= 5
    assert stage.checks[0] == ("four facts were learned", False)


@pytest.mark.slow
def test_the_checks_of_the_demonstration_can_be_printed_as_json(sqlite_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--json", "--url", sqlite_url],
        cwd=ROOT,
        capture_output=True,
        timeout=240,
        check=True,
    )
    checks = json.loads(done.stdout)
    assert len(checks) >= 16
    assert all(check["holds"] for check in checks)


def test_every_command_is_documented_and_answers_with_json() -> None:
    page = PAGE.read_text("utf-8")
    commands = all_commands()
    assert len(commands) > 30
    assert [name for name in commands if f"\n### {name}\n" not in page] == []
    assert [name for name, command in commands.items() if not (command.help or "").strip()] == []
    without = {name for name, each in commands.items() if not any(param.name == "as_json" for param in each.params)}
    assert without == WITHOUT_JSON
    unexplained = [
        f"{name} {param.name}"
        for name, command in commands.items()
        for param in command.params
        if not getattr(param, "help", None)
    ]
    assert unexplained == []


def test_plain_commands_load_neither_the_server_nor_the_protocol() -> None:
    code = (
        "import sys; from longmind.cli.app import app; "
        "print([name for name in ('mcp', 'starlette', 'uvicorn', 'jwt', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_exit_codes_are_told_in_one_place() -> None:
    from longmind.cli import exit_codes as exits

    codes = [each.value for each in exits.Exit]
    assert codes == [0, 1, 2, 130, 141]
    assert all(f"| {code} | " in PAGE.read_text("utf-8") for code in codes)
    assert inspect.getdoc(exits) is not None
