"""Ids: a prefix that tells the kind, then a UUIDv7, so that ids of one scope sort by time.

The random half comes from the operating system for every id, or for all that one call makes: two processes forked from
one another never share a generator's state.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from longmind.clock import Micros

_VARIANT = {digit: f"{0b1000 | int(digit, 16) & 0b11:x}" for digit in "0123456789abcdef"}
"""The two bits that every UUID of this kind has, before two random ones."""


def new_id(prefix: str, at: Micros) -> str:
    """Make an id like `conv_0199…`: 48 bits of milliseconds, 12 of the fraction below, 62 random (RFC 9562)."""
    return id_of(prefix, at, os.urandom(8).hex())


def id_of(prefix: str, at: Micros, random: str) -> str:
    """The same with the random half given, for who makes many at once: see `random_halves`."""
    return f"{_opening(prefix, at)}{_VARIANT[random[0]]}{random[1:]}"


def random_halves(at_once: int) -> Iterator[str]:
    """As many as are asked for. They are drawn so many at a time, and none is to be left over for another call."""
    while True:
        drawn = os.urandom(8 * at_once).hex()
        yield from [drawn[first : first + 16] for first in range(0, len(drawn), 16)]


# Many that are made at once have their time in common.
@lru_cache(maxsize=16)
def _opening(prefix: str, at: Micros) -> str:
    milliseconds, rest = divmod(max(at, 0), 1000)
    return f"{prefix}_{milliseconds & ((1 << 48) - 1):012x}7{rest * 4096 // 1000:03x}"
