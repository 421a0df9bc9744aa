"""How long to wait before something that failed is tried again."""

from __future__ import annotations

import random


def compute_pause(attempts: int, first: float, longest: float) -> float:
    """Twice as long after each failure, up to the longest, and spread out, so that many do not come back at once."""
    pause = min(longest, first * 2.0 ** min(attempts - 1, 60))
    return random.uniform(pause / 2, pause)
