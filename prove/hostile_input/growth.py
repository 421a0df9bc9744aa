"""Longer and longer texts of repeated pieces: time must grow no faster than they do."""

from __future__ import annotations

import time
import tracemalloc
from random import Random

from prove.hostile_input.fragments import FRAGMENTS, PREFIXES, SUFFIXES
from prove.hostile_input.parsers import Parser, find_fault

SMALL, LARGE = 4_000, 16_000
NOTICEABLE = 0.2
"""Seconds of processor time below which growth is not judged: a pause of the garbage collector takes as long."""
STEEPEST = 9.0
"""The largest factor in time for four times the text: linear is 4, quadratic 16."""
SLOWEST = 6.0
TRIES = 4
MOST_MEMORY = 400 * 1024 * 1024


def steep(parser: Parser, prefix: str, piece: str, suffix: str) -> str | None:
    """Return how the reading time grows too fast; None when it does not."""
    if not parser.linear:
        return None
    large = _seconds(parser, prefix, piece, suffix, LARGE)
    if large < NOTICEABLE:
        return None
    # A busy machine is slow now and then: the quickest of some tries is what it takes, and both are tried in turns.
    small = SLOWEST
    for _ in range(TRIES):
        small = min(small, *(_seconds(parser, prefix, piece, suffix, SMALL) for _ in range(2)))
        large = min(large, _seconds(parser, prefix, piece, suffix, LARGE))
    if large > SLOWEST or (large >= NOTICEABLE and large > STEEPEST * max(small, NOTICEABLE / 16)):
        return f"{prefix!r} {piece!r}… {suffix!r}: {small:.2f} s for {SMALL:,} characters, {large:.2f} s for {LARGE:,}"
    return None


def some_steep(parser: Parser, dice: Random) -> str | None:
    """Try one random combination of pieces."""
    piece = "".join(dice.choice(FRAGMENTS) for _ in range(dice.randint(1, 3)))
    return steep(parser, dice.choice(PREFIXES) + dice.choice(("", *FRAGMENTS)), piece, dice.choice(SUFFIXES))


def memory_of(parser: Parser, piece: str) -> int:
    """Return the peak of memory in bytes while a megabyte of one repeated piece is read."""
    text = _text("", piece, "", 1_000_000)
    tracemalloc.start()
    try:
        find_fault(parser, text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _seconds(parser: Parser, prefix: str, piece: str, suffix: str, length: int) -> float:
    text = _text(prefix, piece, suffix, length)
    began = time.process_time()
    find_fault(parser, text)
    return time.process_time() - began


def _text(prefix: str, piece: str, suffix: str, length: int) -> str:
    return prefix + (piece * (length // len(piece) + 1))[:length] + suffix
