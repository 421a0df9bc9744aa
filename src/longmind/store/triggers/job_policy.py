"""The rules by which a write to a conversation queues jobs; they follow from the settings of the engine."""

from __future__ import annotations

from dataclasses import dataclass

from longmind.clock import Micros
from longmind.settings import Settings

USUAL_ATTEMPTS = Settings().job_attempts


@dataclass(frozen=True)
class JobPolicy:
    """The jobs that the writes of one engine cause, and how often each is tried."""

    attempts: int = USUAL_ATTEMPTS
    summary_turns: int = 0
    """Turns after which a refresh of the rolling summary is queued; 0 for never."""
    passages_kind: str | None = None
    """The kind of the job that makes vectors of messages; None without an embedder."""
    sleep_idle: Micros | None = None
    """The silence after which sleep-time memory reads a conversation of a user without a rule; None for never."""
