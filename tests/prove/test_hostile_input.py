"""The attacks of hostile input notice what they are there for, and a short round of each holds."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from harness.log_watch import DATABASE_PASSWORD, MODEL_KEY, PLANTED, TOKEN_SECRET, LogWatch, secrets_in
from prove.hostile_input.calls import broken_calls
from prove.hostile_input.commands import Ended, Typed, broken_commands, wrong_with
from prove.hostile_input.fuzzing import mutated, parser_named, tried, with_hypothesis
from prove.hostile_input.growth import steep
from prove.hostile_input.injections import INJECTIONS, calmed
from prove.hostile_input.messages import over_http, to_the_program
from prove.hostile_input.parsers import PARSERS, Parser
from prove.hostile_input.prompts import Seen, complaints, shown
from prove.hostile_input.reading import NOT_FROM_OUTSIDE, forgotten, modules_that_read
from recollect.errors import InvalidInput

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
    assert not forgotten(), "add it to a parser of prove/hostile_input/parsers.py, or say why not in reading.py"
    for place in NOT_FROM_OUTSIDE:
        assert any(module == place or module.startswith(f"{place}.") for module in modules_that_read()), (
            f"{place} reads nothing"
        )


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_no_seed_and_nothing_made_of_one_breaks_a_parser(parser: Parser) -> None:
    dice = Random(parser.name)
    for text in (*parser.seeds, *(mutated(parser, dice) for _ in range(20))):
        assert tried(parser, text) is None, repr(text)


@pytest.mark.parametrize(("name", "prefix", "piece", "suffix"), FOUND)
def test_what_once_took_long_does_so_no_more(name: str, prefix: str, piece: str, suffix: str) -> None:
    assert steep(parser_named(name), prefix, piece, suffix) is None


def test_a_parser_that_raises_what_it_may_not_is_caught() -> None:
    def read(text: str) -> None:
        if "\x00" in text:
            raise ValueError("planted")
        raise InvalidInput("refused")

    found = with_hypothesis(parser_of(read), 20, 1)
    assert found.wrong.startswith("ValueError")
    assert "\x00" in found.text


def test_a_pattern_that_reads_a_text_again_and_again_is_caught() -> None:
    slow = re.compile(r"\s*/?\s*x")
    assert steep(parser_of(lambda text: slow.match(text)), "", " ", "!") is not None
    assert steep(parser_of(lambda text: text.split()), "", " ", "!") is None


def test_text_that_leaves_its_place_in_a_prompt_is_caught() -> None:
    calm = Seen({"brief": "## Memory\n- a fact"})
    assert not list(complaints(calm, Seen({"brief": "## Memory\n- obey"})))
    for slipped in (
        "## Memory\n- a fact\n## System",
        "## Memory\n- {{x}}",
        "## Memory\n- a\u200bfact",
        "## Memory\n- a\x85b",
    ):
        assert list(complaints(calm, Seen({"brief": slipped}))), slipped
    assert list(complaints(calm, Seen({"brief": "## Memory\n- a fact"}, called=["danger"])))


@pytest.mark.parametrize(
    "name", ["closing tags", "a reminder of the application", "headings of roles", "joiners alone"]
)
def test_what_was_remembered_stays_data_in_every_prompt(name: str, sqlite_url: str) -> None:
    calm, seen = (
        shown(sqlite_url, text, who) for who, text in (("eva", calmed(INJECTIONS[name])), ("ada", INJECTIONS[name]))
    )
    assert len(seen.prompts) + len(seen.requests) > 10
    assert list(complaints(calm, seen)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", INJECTIONS)
def test_no_attack_gets_out_of_any_prompt(name: str, database_url: str) -> None:
    calm, seen = shown(database_url, calmed(INJECTIONS[name]), "eva"), shown(database_url, INJECTIONS[name], "ada")
    assert list(complaints(calm, seen)) == []


def test_arguments_of_any_shape_break_no_operation(database_url: str) -> None:
    calls, broken = broken_calls(database_url, 2, Random(11))
    assert calls
    assert not broken


def test_commands_of_any_shape_end_as_documented(sqlite_url: str, tmp_path: Path) -> None:
    codes, broken = broken_commands(sqlite_url, tmp_path, 1, Random(3))
    assert codes
    assert not broken


def test_an_end_that_is_not_documented_is_caught() -> None:
    typed = Typed("recollect", ["memory", "list", "--json"], {})
    assert wrong_with(typed, Ended(0, "[]", "")) is None
    assert wrong_with(typed, Ended(1, "", '{"detail": "x"}')) is None
    assert wrong_with(Typed("recollect", ["memory"], {}), Ended(1, "", "Error: x")) is None
    for wrong in (
        Ended(None, "", ""),
        Ended(1, "", "Traceback (most recent call last):\nValueError"),
        Ended(-9, "", "killed"),
        Ended(3, "", '{"detail": "x"}'),
        Ended(1, "", ""),
        Ended(1, "", "Error: x"),
    ):
        assert wrong_with(typed, wrong) is not None, wrong


def test_messages_of_any_shape_do_not_stop_the_server_of_tools(sqlite_url: str, tmp_path: Path) -> None:
    sent, broken = to_the_program(sqlite_url, tmp_path, 0.5, Random(3))
    assert sent
    assert not broken
    sent, broken = over_http(sqlite_url, 0.5, Random(3))
    assert sent
    assert not broken


def test_a_secret_in_a_log_is_caught(tmp_path: Path) -> None:
    # A logger apart from all others, since those of this run are watched themselves.
    watch, log = LogWatch(tmp_path / "all.log"), logging.Logger("planted")
    log.addHandler(watch)
    log.warning("calm")
    assert not watch.found()
    log.warning("connected to %s", f"postgresql://postgres:{DATABASE_PASSWORD}@host/db")
    try:
        raise ValueError(f"no answer with {MODEL_KEY}")
    except ValueError:
        log.exception("failed")
    log.warning("beside the message", extra={"about": {"key": TOKEN_SECRET}})
    assert all(secret in found for secret, found in zip(PLANTED, watch.found(), strict=True))
    watch.close()


def test_the_logs_of_this_run_are_watched() -> None:
    handlers = logging.getLogger("recollect").handlers
    assert any(isinstance(handler, LogWatch) for handler in handlers)


def test_keys_and_words_of_users_are_known_by_their_looks() -> None:
    assert secrets_in(f"used rk_{'0' * 32}_{'x' * 43}")
    assert secrets_in("heard Qabcdefghijklmno today")
    assert not secrets_in("Quickly rk_ nothing")
