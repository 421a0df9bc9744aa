"""A job: work that was decided on in a transaction and is done after it."""

from __future__ import annotations

from typing import Any, Literal

from longmind.models.value import Value

JobStatus = Literal["queued", "running", "succeeded", "failed", "dead"]


class Job(Value):
    """`failed` is between two attempts, `dead` is after the last one; `error` says why."""

    id: str
    kind: str
    status: JobStatus
    payload: dict[str, Any]
    result: Any
    error: str | None
    attempts: int
    max_attempts: int
    unique_key: str | None
    due_at: str | None
    """When it may next be taken: its time, its next attempt, or the end of the present worker's lease."""
    created_at: str
    updated_at: str
    finished_at: str | None


class WorkReport(Value):
    """What a call of `engine.work()` did, in attempts."""

    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    lost: int = 0
    """Attempts whose result was refused because another worker had taken the job over."""

    def __add__(self, other: WorkReport) -> WorkReport:
        return WorkReport(
            succeeded=self.succeeded + other.succeeded,
            failed=self.failed + other.failed,
            dead=self.dead + other.dead,
            lost=self.lost + other.lost,
        )
