"""Fuzzing of the parsers: guided by coverage where atheris is installed, otherwise by hypothesis."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from random import Random
from typing import Any

from prove.hostile_input.fragments import FRAGMENTS
from prove.hostile_input.parsers import MOST, PARSERS, Parser, find_fault

SLOWEST = 5.0
"""Seconds of processor time that no text of a few thousand characters may take."""


@dataclass(frozen=True)
class FuzzResult:
    """The number of texts that one parser received, and the first that broke it."""

    texts: int
    text: str = ""
    wrong: str = ""


def tool() -> str:
    return "atheris" if find_spec("atheris") else "hypothesis"


def fuzz_parsers(seconds: float, seed: int) -> dict[str, FuzzResult]:
    """Fuzz each parser for the given time or until a text breaks it; return the results by the parser's name."""
    if tool() == "atheris":
        return with_atheris(seconds, seed)
    return {parser.name: with_hypothesis(parser, seconds, seed + place) for place, parser in enumerate(PARSERS)}


def try_text(parser: Parser, text: str) -> str | None:
    """Return what is wrong with how a parser handled a text; None when nothing is."""
    began = time.process_time()
    wrong = find_fault(parser, text[:MOST])
    taken = time.process_time() - began
    return wrong or (f"it took {taken:.1f} seconds" if taken > SLOWEST else None)


def with_hypothesis(parser: Parser, seconds: float, seed: int) -> FuzzResult:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    pieces = st.sampled_from([*FRAGMENTS, *parser.seeds]) | st.text(max_size=20)
    texts = st.lists(pieces, max_size=12).map("".join) | st.text(st.characters(), max_size=200)
    until, count, broken = time.monotonic() + seconds, 0, FuzzResult(0)

    def attempt(text: str) -> None:
        nonlocal count, broken
        if time.monotonic() < until:
            count += 1
            wrong = try_text(parser, text)
            if wrong is not None:
                # hypothesis shrinks a failing text, so the last one is the shortest.
                broken = FuzzResult(count, text, wrong)
                raise AssertionError(wrong)

    round = 0
    while time.monotonic() < until and not broken.wrong:
        run = settings(
            max_examples=200,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )(seeded(seed + round)(given(texts)(attempt)))
        try:
            run()
        except Exception:
            # hypothesis also raises when a failure does not recur, as when the time runs out.
            if not broken.wrong:
                raise
        round += 1
    return broken if broken.wrong else FuzzResult(count)


def mutate_seed(parser: Parser, dice: Random) -> str:
    """A seed with pieces put in, taken out or repeated."""
    text = dice.choice(parser.seeds)
    for _ in range(dice.randint(1, 6)):
        at, to = sorted((dice.randint(0, len(text)), dice.randint(0, len(text))))
        piece = dice.choice(FRAGMENTS) * dice.choice((1, 1, 2, 40))
        text = dice.choice((text[:at] + piece + text[at:], text[:at] + text[to:], text[:to] + text[at:to] + text[to:]))
    return text[:MOST]


def with_atheris(seconds: float, seed: int) -> dict[str, FuzzResult]:
    command = [sys.executable, "-m", "prove.hostile_input.coverage_guided", str(max(1, round(seconds))), str(seed)]
    # A group of its own, so that nothing is left of it, the process of a parser included, when this is interrupted.
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = program.communicate(timeout=(seconds + 20) * len(PARSERS) + 120)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    reports = {line["parser"]: line for line in map(json.loads, filter(_is_json, out.splitlines()))}
    silent = FuzzResult(0, wrong=f"atheris printed no result: {err[-300:]}")
    return {name: _to_result(reports[name]) if name in reports else silent for name in (each.name for each in PARSERS)}


def _is_json(line: str) -> bool:
    return line.startswith('{"parser"')


def _to_result(line: dict[str, Any]) -> FuzzResult:
    return FuzzResult(line["texts"], line["text"], line["wrong"])


def parser_named(name: str) -> Parser:
    return next(parser for parser in PARSERS if parser.name == name)
