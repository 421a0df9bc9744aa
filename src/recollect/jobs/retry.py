"""When a job that failed is tried again."""

from __future__ import annotations

import random

from recollect.settings import Settings


def seconds_until_retry(attempts: int, settings: Settings) -> float:
    """Twice as long after each failure, up to the cap, and spread out, so that many do not come back at once."""
    longest = min(settings.job_retry_cap_seconds, settings.job_retry_seconds * 2.0 ** min(attempts - 1, 60))
    return random.uniform(longest / 2, longest)
