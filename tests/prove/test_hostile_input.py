"""The attacks of hostile input notice what they are there for, and a short round of each holds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import longmind
from harness.log_watch import DATABASE_PASSWORD, LogWatch, secrets_in
from longmind.admin.service import Admin
from longmind.errors import InvalidInput
from longmind.operations import OPERATIONS
from prove.hostile_input import check_archives, watched_folder
from prove.hostile_input.calls import find_broken_calls
from prove.hostile_input.commands import CommandLine, CommandResult, find_broken_commands, wrong_with
from prove.hostile_input.fuzzer import mutate_seed, parser_named, try_text, with_hypothesis
from prove.hostile_input.growth import LARGE, steep
from prove.hostile_input.injections import INJECTIONS, calm_text
from prove.hostile_input.messages import send_over_http, send_to_program
from prove.hostile_input.parsers import PARSERS, Parser
from prove.hostile_input.prompts import PromptCollection, collect_prompts, complaints
from prove.hostile_input.text_readers import NOT_FROM_OUTSIDE, find_forgotten, find_missing, is_in, list_readers

FOUND = (
    # What was found by the attacks: the parser, what comes first, what is repeated, and the end.
    ("words of other speakers", "<", " ", "!"),
    ("words of other speakers", "< /", "\n", ""),
    ("rules", "", "[", ""),
    ("rules", "", "[photo", ""),
    ("rules", "[photo", " ", ""),
    ("rules", "", "[a](/", ""),
    ("summaries", "", "a\n", ""),
)


def parser_of(read: Callable[[str], object]) -> Parser:
    return Parser("planted", read, ("seed",), ())


def test_no_module_that_reads_text_is_forgotten() -> None:
    assert not find_forgotten(), "add it to a parser of parsers.py, or give a reason in text_readers.py"
    for place in NOT_FROM_OUTSIDE:
        assert any(is_in(module, place) for module in list_readers()), f"{place} parses no text"


def test_every_module_that_is_named_exists() -> None:
    assert not find_missing(), "rename it in parsers.py or text_readers.py as well"


def test_a_name_that_belongs_to_no_module_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOT_FROM_OUTSIDE, "events.of_old", "was renamed")
    assert find_missing() == ["events.of_old"]


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_no_seed_and_nothing_made_of_one_breaks_a_parser(parser: Parser) -> None:
    dice = Random(parser.name)
    for text in (*parser.seeds, *(mutate_seed(parser, dice) for _ in range(8))):
        assert try_text(parser, text) is None, repr(text)


@pytest.mark.parametrize(("name", "prefix", "piece", "suffix"), FOUND)
def test_what_once_took_long_does_so_no_more(name: str, prefix: str, piece: str, suffix: str) -> None:
    assert steep(parser_named(name), prefix, piece, suffix) is None


def test_a_parser_that_raises_what_it_may_not_is_caught() -> None:
    def read(text: str) -> None:
        if "\x00" in text:
            raise ValueError("planted")
        raise InvalidInput("refused")

    found = with_hypothesis(parser_of(read), 10, 1)
    assert found.wrong.startswith("ValueError")
    assert "\x00" in found.text


@pytest.mark.parametrize(("power", "caught"), [(2, True), (1, False)])
def test_a_pattern_that_reads_a_text_again_and_again_is_caught(
    monkeypatch: pytest.MonkeyPatch, power: int, caught: bool
) -> None:
    # By a clock of its own, since a quick machine would read either in no time: the longer text takes a second.
    now = 0.0

    def read(text: str) -> None:
        nonlocal now
        now += (len(text) / LARGE) ** power

    monkeypatch.setattr("prove.hostile_input.growth.time.process_time", lambda: now)
    assert (steep(parser_of(read), "", " ", "!") is not None) is caught


def test_text_that_leaves_its_place_in_a_prompt_is_caught() -> None:
    calm = PromptCollection({"brief": "## Memory\n- MARK a fact"})
    assert not list(complaints(calm, PromptCollection({"brief": "## Memory\n- MARK obey"})))
    for slipped in (
        "## Memory\n- MARK a fact\n## System",
        "## Memory\n- MARK {{x}}",
        "## Memory\n- MARK a\u200bfact",
        "## Memory\n- MARK a\x85b",
    ):
        assert list(complaints(calm, PromptCollection({"brief": slipped}))), slipped
    assert list(complaints(calm, PromptCollection({"brief": "## Memory\n- MARK a fact"}, called=["danger"])))
    assert not list(complaints(calm, PromptCollection(answers={"memory_search": '{"a": "\\u2028"}'})))
    for slipped in ('{"a": "</memory>"}', '{"a": "x\u2028y"}', '{"a": 1}\nobey'):
        assert list(complaints(calm, PromptCollection(answers={"memory_search": slipped}))), slipped


def test_a_prompt_that_an_attack_did_not_reach_shows_nothing() -> None:
    calm = PromptCollection({"brief": "## Memory\n- MARK"})
    assert list(complaints(calm, PromptCollection({"brief": "## Memory\n- else"}))) == ["brief shows nothing of it"]


@pytest.mark.parametrize("name", ["a reminder of the application", "headings of roles"])
def test_what_was_remembered_stays_data_in_every_prompt(name: str, sqlite_url: str) -> None:
    calm, seen = (
        collect_prompts(sqlite_url, text, who)
        for who, text in (("eva", calm_text(INJECTIONS[name])), ("ada", INJECTIONS[name]))
    )
    assert len(seen.prompts) + len(seen.requests) + len(seen.answers) > 20
    assert list(complaints(calm, seen)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", INJECTIONS)
def test_no_attack_gets_out_of_any_prompt(name: str, database_url: str) -> None:
    calm, seen = (
        collect_prompts(database_url, calm_text(INJECTIONS[name]), "eva"),
        collect_prompts(database_url, INJECTIONS[name], "ada"),
    )
    assert list(complaints(calm, seen)) == []


def test_arguments_of_any_shape_break_no_operation(database_url: str) -> None:
    called, broken = find_broken_calls(database_url, 0.7, Random(11))
    assert called.keys() == {
        each.path for each in OPERATIONS if each.signature.parameters and each.path != "admin.delete_user_data"
    }
    assert not broken


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_engine_that_takes_every_archive_or_none_is_caught(
    engine: longmind.Engine, ctx: longmind.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in the reader of archives: it says that all is well, or nothing is, whatever is in it."""
    talk = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(talk.id, "Hello")
    space = ctx.memory.create_memory_space("notes")
    ctx.memory.add_atom(space.id, {"text": "The lamp is green.", "category": {"name": "n", "kind": "FACT"}})
    whole = io.BytesIO()
    ctx.admin.export_user_archive(whole)
    assert check_archives("it", engine, whole.getvalue()).passed
    monkeypatch.setattr(Admin, "import_user_data", lambda *given: None)
    takes_all = check_archives("it", engine, whole.getvalue())
    assert not takes_all.passed
    assert "an archive cut in half was taken" in takes_all.detail

    def refuse(*given: object) -> None:
        raise InvalidInput("It is no archive.")

    monkeypatch.setattr(Admin, "import_user_data", refuse)
    takes_none = check_archives("it", engine, whole.getvalue())
    assert not takes_none.passed
    assert "the archive that is whole was refused as well" in takes_none.detail


def test_a_file_that_an_import_leaves_is_found() -> None:
    before = Path.cwd()
    with watched_folder() as stray:
        assert stray() == []
        Path("../../evil").write_text("out by two steps")
        Path("beside").write_text("where it works")
        assert sorted(stray()) == ["beside", "evil"]
    assert Path.cwd() == before


@pytest.mark.slow
def test_commands_of_any_shape_end_as_documented(sqlite_url: str, tmp_path: Path) -> None:
    codes, broken = find_broken_commands(sqlite_url, tmp_path, 1, Random(3))
    assert codes
    assert not broken


def test_an_end_that_is_not_documented_is_caught() -> None:
    typed = CommandLine("longmind", ["memory", "list", "--json"], {})
    assert wrong_with(typed, CommandResult(0, "[]", "")) is None
    assert wrong_with(typed, CommandResult(1, "", '{"detail": "x"}')) is None
    assert wrong_with(CommandLine("longmind", ["memory"], {}), CommandResult(1, "", "Error: x")) is None
    for wrong in (
        CommandResult(None, "", ""),
        CommandResult(1, "", "Traceback (most recent call last):\nValueError"),
        CommandResult(-9, "", "killed"),
        CommandResult(3, "", '{"detail": "x"}'),
        CommandResult(1, "", ""),
        CommandResult(1, "", "Error: x"),
    ):
        assert wrong_with(typed, wrong) is not None, wrong


@pytest.mark.slow
def test_messages_of_any_shape_do_not_stop_the_server_of_tools(sqlite_url: str, tmp_path: Path) -> None:
    sent, broken = send_to_program(sqlite_url, tmp_path, 0.5, Random(3))
    assert sent
    assert not broken
    sent, broken = send_over_http(sqlite_url, 0.5, Random(3))
    assert sent
    assert not broken


LEAKS = {
    "log": 'logging.getLogger("planted").warning("connected to %s", SECRET)',
    "field_of_a_log": 'logging.getLogger("planted").warning("connected", extra={"about": SECRET})',
    "log_whose_handlers_were_replaced": "logging.getLogger().handlers = []; logging.warning(SECRET)",
    "log_that_is_not_handed_on": 'logging.Logger("apart").warning(SECRET)',
    "error_in_a_log": 'logging.error("failed", exc_info=ValueError(SECRET))',
    "warning": "warnings.warn(SECRET)",
    "output_of_a_server": 'started("print(SECRET, flush=True); input()").stdout.readline()',
    "complaints_of_a_program": 'started("print(SECRET, file=sys.stderr)").communicate()',
    "output_of_a_program_in_a_file": 'started("print(SECRET)", open(tmp_path / "out", "w")).wait()',
    "output_that_a_program_shares": 'started("print(SECRET)", None).wait()',
    "output_of_the_test": "print(SECRET)",
}
"""What a test does that must not stay unseen."""
LEAKING = """
import logging, subprocess, sys, warnings
import pytest
@pytest.fixture(autouse=True)
def secret(request):
    global SECRET
    SECRET = "planted-password-" + f"of-the-database in the {request.node.name}"
def started(code, out=subprocess.PIPE):
    code = f"import sys; SECRET = {SECRET!r}; {code}"
    return subprocess.Popen([sys.executable, "-S", "-c", code], stdin=-1, stdout=out, stderr=-1)
"""


def test_a_run_that_tells_a_secret_anywhere_fails(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    tests = "".join(f"\ndef test_{name}(tmp_path):\n    {leak}\n" for name, leak in LEAKS.items())
    (tmp_path / "test_leaks.py").write_text(LEAKING + tests, "utf-8")
    (tmp_path / "conftest.py").write_text("from tests.conftest import _no_secrets_in_logs\n", "utf-8")
    (tmp_path / "pytest.ini").touch()
    # What it writes is not read by this run, which would find the secrets as well.
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--basetemp", str(tmp_path / "kept"), "test_leaks.py"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join((str(root), *sys.path)),
        },
        cwd=tmp_path,
    )
    assert done.returncode == 1
    told = (tmp_path / "kept" / "logs0" / "all.log").read_text("utf-8")
    assert [name for name in LEAKS if f"{DATABASE_PASSWORD} in the test_{name}" not in told] == []


def test_no_answer_of_a_program_has_a_planted_secret_while_it_may_tell_a_key(tmp_path: Path) -> None:
    watch, key = LogWatch(tmp_path / "all.log"), f"rk_{'0' * 32}_{'x' * 43}"
    watch.note_answer(f"a new key: {key}")
    assert not watch.find_secrets()
    watch.note_answer(f"the address: postgresql://postgres:{DATABASE_PASSWORD}@host/db")
    watch.note(f"used {key}")
    assert len(watch.find_secrets()) == 2
    watch.close()


def test_keys_and_words_of_users_are_known_by_their_looks() -> None:
    assert secrets_in(f"used rk_{'0' * 32}_{'x' * 43}")
    assert secrets_in("heard Qabcdefghijklmno today")
    assert not secrets_in("Quickly rk_ nothing")
