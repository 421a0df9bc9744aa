"""Ids: a prefix that tells the kind, then a UUIDv7, so that ids of one scope sort by time.

The random half comes from the operating system for every id: two processes forked from one another never share a
generator's state.
"""

from __future__ import annotations

import os

from recollect.clock import Micros


def new_id(prefix: str, at: Micros) -> str:
    """Make an id like `conv_0199…`: 48 bits of milliseconds, 12 of the fraction below, 62 random (RFC 9562)."""
    milliseconds, rest = divmod(max(at, 0), 1000)
    fraction = rest * 4096 // 1000
    random = int.from_bytes(os.urandom(8)) & ((1 << 62) - 1)
    return f"{prefix}_{milliseconds & ((1 << 48) - 1):012x}7{fraction:03x}{0b10 << 62 | random:016x}"
