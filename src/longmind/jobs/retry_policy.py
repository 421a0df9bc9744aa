"""When a job that failed is tried again."""

from __future__ import annotations

from longmind.runtime.backoff import compute_pause
from longmind.settings import Settings


def seconds_until_retry(attempts: int, settings: Settings) -> float:
    return compute_pause(attempts, settings.job_retry_seconds, settings.job_retry_cap_seconds)
