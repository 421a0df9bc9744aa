"""What is measured of an engine: its queue, how far extraction is behind, and what it keeps in memory."""

from __future__ import annotations

from longmind.models.value import Value


class QueueLength(Value):
    """The jobs of one kind that have not ended, and those that were given up."""

    kind: str
    due: int
    """May be taken now, and no worker has."""
    running: int
    later: int
    """Wait for their time, or for their next attempt."""
    dead: int
    oldest_due_seconds: float
    """How long the one that has waited longest could have been taken."""


class ExtractionLag(Value):
    """From the append, or the close, that set an extraction off until what it found could be recalled.

    Of the extractions that ended within the last minutes; zeros when there were none.
    """

    extractions: int
    median_seconds: float
    p95_seconds: float
    longest_seconds: float


class Measures(Value):
    """A moment's look at an engine and its database."""

    queue: list[QueueLength]
    extraction_lag: ExtractionLag
    cached_spaces: int
    """Of this process."""
    cached_bytes: int
    cache_limit_bytes: int
