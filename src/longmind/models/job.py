"""Jobs: work that is queued in the transaction of its cause and done after it.

The effect of a job is committed together with its end, so it happens once even if a worker dies and another one
repeats the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from longmind.models.value import Value

JobStatus = Literal["queued", "running", "succeeded", "failed", "dead"]


class Job(Value):
    """A job. A `failed` job waits for another attempt, a `dead` one has had its last; `error` says why."""

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
    """The time when a worker may next take it: its own, that of its next attempt, or the end of the present lease."""
    created_at: str
    updated_at: str
    finished_at: str | None


class WorkReport(Value):
    """The number of attempts that a call of `engine.work()` made, by outcome, and what it noticed."""

    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    lost: int = 0
    """Attempts whose result was refused because another worker took the job over."""
    unbound: int = 0
    """Conversations that this engine has closed since its last report and that no binding covers: nothing is learned
    from them. `memory.create_binding` covers those to come."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the numbers; that of unbound conversations only if there are any."""
        return (each for each in super().__repr_args__() if each != ("unbound", 0))

    def __add__(self, other: WorkReport) -> WorkReport:
        """Return the sums of two reports."""
        return WorkReport(
            succeeded=self.succeeded + other.succeeded,
            failed=self.failed + other.failed,
            dead=self.dead + other.dead,
            lost=self.lost + other.lost,
            unbound=self.unbound + other.unbound,
        )
