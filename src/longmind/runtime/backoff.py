"""The pause before another attempt at something that failed."""

from __future__ import annotations

import random


def compute_pause(attempts: int, first: float, longest: float) -> float:
    """Return seconds to wait: doubled with each failure up to `longest`, and random, so that callers spread out."""
    pause = min(longest, first * 2.0 ** min(attempts - 1, 60))
    return random.uniform(pause / 2, pause)
