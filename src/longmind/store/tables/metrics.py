"""Figures on the whole database: the queue of all users, and how long extraction waited lately."""

from __future__ import annotations

from longmind.clock import Micros
from longmind.models.engine_measures import ExtractionLag, PassageLag, QueueLength
from longmind.store.database import Transaction

LATELY = 5 * 60 * 1_000_000
"""The time, in microseconds, that figures on waiting look back."""
_MOST_LAGS = 1000


def measure_queue(run: Transaction, now: Micros) -> list[QueueLength]:
    """Return the numbers of due, running, later and dead jobs of each kind that has any."""
    dead: dict[str, int] = dict(run.all("dead_by_kind"))
    waiting = {kind: rest for kind, *rest in run.all("queue_by_kind", now=now)}
    lengths = []
    # A kind may have dead jobs and none waiting, or the other way round.
    for kind in sorted(dead.keys() | waiting.keys()):
        due, running, later, first = waiting.get(kind, (0, 0, 0, now))
        lengths.append(
            QueueLength(
                kind=kind,
                due=due,
                running=running,
                later=later,
                dead=dead.get(kind, 0),
                oldest_due_seconds=max(0, now - first) / 1_000_000,
            )
        )
    return lengths


def measure_extraction_lag(run: Transaction, kind: str, now: Micros) -> ExtractionLag:
    """Return how long jobs of a kind that ended lately were late, from the instant at which they were due."""
    rows = run.all("recent_lags", kind=kind, since=now - LATELY, limit=_MOST_LAGS)
    lags = sorted(max(0, lag) / 1_000_000 for (lag,) in rows)
    return ExtractionLag(
        extractions=len(lags),
        median_seconds=_find_quantile(lags, 0.5),
        p95_seconds=_find_quantile(lags, 0.95),
        longest_seconds=_find_quantile(lags, 1.0),
    )


def measure_passage_lag(run: Transaction, first_kind: str, last_kind: str, now: Micros) -> PassageLag:
    """Return how long messages waited for their vectors lately, and how long one waits now.

    The kinds of the jobs that make the vectors are between the two.
    """
    kinds = {"first_kind": first_kind, "last_kind": last_kind}
    rows = run.all("recent_passage_lags", **kinds, since=now - LATELY, limit=_MOST_LAGS)
    oldest = run.one("oldest_passages_job", **kinds)
    lags = sorted(max(0, lag) / 1_000_000 for (lag,) in rows)
    return PassageLag(
        users=len(lags),
        median_seconds=_find_quantile(lags, 0.5),
        p95_seconds=_find_quantile(lags, 0.95),
        longest_seconds=_find_quantile(lags, 1.0),
        waiting_seconds=max(0, now - oldest[0]) / 1_000_000 if oldest and oldest[0] is not None else 0.0,
    )


def count_unbound(run: Transaction, limit: int) -> tuple[int, int]:
    """Return how many of up to `limit` closed conversations no enabled binding covers, and how many were looked at."""
    row = run.one("count_unbound_conversations", limit=limit)
    return (int(row[0]), int(row[1])) if row else (0, 0)


def list_schema_versions(run: Transaction) -> list[int]:
    """Return the migrations that the database has been through."""
    return [version for (version,) in run.all("schema_versions")]


def _find_quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
