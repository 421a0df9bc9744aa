"""Ids: a prefix for the kind, then a UUIDv7, so that ids sort by the time of their creation.

The random half comes from the operating system, for each id or for all that one call makes. So two processes forked
from one another never share the state of a generator.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from longmind.clock import Micros

_VARIANT = {digit: f"{0b1000 | int(digit, 16) & 0b11:x}" for digit in "0123456789abcdef"}
"""The first digit of the random half, by a random digit: two fixed bits of every UUIDv7, then two random ones."""


def new_id(prefix: str, at: Micros) -> str:
    """Make an id like `conv_0199…`: 48 bits of milliseconds, 12 of the fraction below, 62 random (RFC 9562)."""
    return id_of(prefix, at, os.urandom(8).hex())


def id_of(prefix: str, at: Micros, random: str) -> str:
    """Make an id from a given random half, for callers that make many at once: see `random_halves`."""
    return f"{_format_time(prefix, at)}{_VARIANT[random[0]]}{random[1:]}"


def random_halves(at_once: int) -> Iterator[str]:
    """Yield random halves without end, drawn `at_once` at a time. Do not keep the rest for another call."""
    while True:
        drawn = os.urandom(8 * at_once).hex()
        yield from [drawn[first : first + 16] for first in range(0, len(drawn), 16)]


# Ids that are made together share their time.
@lru_cache(maxsize=16)
def _format_time(prefix: str, at: Micros) -> str:
    milliseconds, rest = divmod(max(at, 0), 1000)
    return f"{prefix}_{milliseconds & ((1 << 48) - 1):012x}7{rest * 4096 // 1000:03x}"
