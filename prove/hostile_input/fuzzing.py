"""Gives parsers texts that were made up: led by coverage where atheris is installed, else by hypothesis."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from random import Random

from prove.hostile_input.fragments import FRAGMENTS
from prove.hostile_input.parsers import MOST, PARSERS, Parser, refused_or_read

SLOWEST = 5.0
"""Seconds of processor time that no text of a few thousand characters may take."""


@dataclass(frozen=True)
class Fuzzed:
    """How many texts one parser was given, and the first that it did not take well."""

    texts: int
    text: str = ""
    wrong: str = ""


def tool() -> str:
    return "atheris" if find_spec("atheris") else "hypothesis"


def fuzz(parser: Parser, seconds: float, seed: int) -> Fuzzed:
    """Try a parser for so long, or until a text breaks it."""
    return _with_atheris(parser, seconds, seed) if tool() == "atheris" else with_hypothesis(parser, seconds, seed)


def tried(parser: Parser, text: str) -> str | None:
    """What is wrong with how a text was taken."""
    began = time.process_time()
    wrong = refused_or_read(parser, text[:MOST])
    taken = time.process_time() - began
    return wrong or (f"it took {taken:.1f} seconds" if taken > SLOWEST else None)


def with_hypothesis(parser: Parser, seconds: float, seed: int) -> Fuzzed:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    pieces = st.sampled_from([*FRAGMENTS, *parser.seeds]) | st.text(max_size=20)
    texts = st.lists(pieces, max_size=12).map("".join) | st.text(st.characters(), max_size=200)
    until, count, broken = time.monotonic() + seconds, 0, Fuzzed(0)

    def attempt(text: str) -> None:
        nonlocal count, broken
        if time.monotonic() < until:
            count += 1
            wrong = tried(parser, text)
            if wrong is not None:
                # The last to be seen is the shortest: it is made smaller as long as it breaks.
                broken = Fuzzed(count, text, wrong)
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
            # Beside the failure itself: that it did not come again, since the time was over meanwhile.
            if not broken.wrong:
                raise
        round += 1
    return broken if broken.wrong else Fuzzed(count)


def mutated(parser: Parser, dice: Random) -> str:
    """A seed with pieces put in, taken out or repeated."""
    text = dice.choice(parser.seeds)
    for _ in range(dice.randint(1, 6)):
        at, to = sorted((dice.randint(0, len(text)), dice.randint(0, len(text))))
        piece = dice.choice(FRAGMENTS) * dice.choice((1, 1, 2, 40))
        text = dice.choice((text[:at] + piece + text[at:], text[:at] + text[to:], text[:to] + text[at:to] + text[to:]))
    return text[:MOST]


def _with_atheris(parser: Parser, seconds: float, seed: int) -> Fuzzed:
    # It ends its process when its time is over, so it has one of its own.
    command = [sys.executable, "-m", "prove.hostile_input.coverage_guided", parser.name, f"{seconds:.0f}", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds * 3 + 120)
    told = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not told:
        return Fuzzed(0, wrong=f"atheris ended with {done.returncode}: {done.stderr[-500:]}")
    return Fuzzed(**json.loads(told[-1]))


def parser_named(name: str) -> Parser:
    return next(parser for parser in PARSERS if parser.name == name)
