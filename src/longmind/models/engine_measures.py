"""Measures of an engine: its job queue, the lag of extraction and its caches."""

from __future__ import annotations

from typing import Literal

from longmind.models.value import Value

EmbedderStateName = Literal["ready", "undecided", "unavailable", "none"]


class QueueLength(Value):
    """The jobs of one kind that are not finished, and those that were given up."""

    kind: str
    due: int
    """Jobs that no worker has taken yet."""
    running: int
    later: int
    """Jobs that wait for their time or their next attempt."""
    dead: int
    """Jobs whose attempts have all failed."""
    oldest_due_seconds: float
    """Seconds that the oldest due job has been waiting."""


class ExtractionLag(Value):
    """The time from the append or close that requested an extraction until its facts could be recalled.

    Covers the extractions that ended within the last minutes; all numbers are zero if there were none.
    """

    extractions: int
    median_seconds: float
    p95_seconds: float
    longest_seconds: float


class PassageLag(Value):
    """The time from the append of a message until passages of it could be found by meaning.

    Each user whose messages were stored within the last minutes counts once, with the message that waited longest.
    """

    users: int
    median_seconds: float
    p95_seconds: float
    longest_seconds: float
    waiting_seconds: float
    """Seconds that the message waits which waits longest now; 0 if none does."""


class EmbedderState(Value):
    """The embedder of an engine, and whether it can be had."""

    state: EmbedderStateName
    """`undecided` until a vector is first needed, `unavailable` if recall goes by words alone for the reason given."""
    model: str | None
    """The name of its vectors; None if the engine was opened without an embedder."""
    reason: str = ""
    """The obstacle and its remedy in sentences, if the embedder is unavailable."""


class Measures(Value):
    """Measures of an engine and its database at one moment."""

    queue: list[QueueLength]
    extraction_lag: ExtractionLag
    passage_lag: PassageLag
    cached_spaces: int
    """Indexes in the cache of this process: of memory spaces, of timelines and of all messages of a user."""
    cached_bytes: int
    cache_limit_bytes: int
    embedder: EmbedderState
