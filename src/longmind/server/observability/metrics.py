"""What Prometheus is told: how long operations take and how they end, and how the engine is."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from longmind.engine import Engine
from longmind.errors import LongmindError
from longmind.models.engine_measures import Measures

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
_ERROR = 400
_log = logging.getLogger("longmind.server")


class Metrics:
    """The numbers of one server process."""

    def __init__(self, engine: Engine) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "longmind_request_seconds",
            "How long requests took, by operation.",
            ["operation"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._requests = Counter(
            "longmind_requests", "Requests, by operation and status.", ["operation", "status"], registry=self._registry
        )
        self._errors = Counter(
            "longmind_errors",
            "Requests that were refused or failed.",
            ["operation", "status"],
            registry=self._registry,
        )
        self.under_way = Gauge("longmind_requests_under_way", "Requests being answered.", registry=self._registry)
        self._registry.register(EngineCollector(engine))
        ProcessCollector(registry=self._registry)

    def count(self, operation: str, status: int, seconds: float) -> None:
        self._seconds.labels(operation).observe(seconds)
        self._requests.labels(operation, status).inc()
        if status >= _ERROR:
            self._errors.labels(operation, status).inc()

    def written(self) -> bytes:
        """All of it in the text format. It reads the database, so an event loop calls it in a thread."""
        return generate_latest(self._registry)


class EngineCollector(Collector):
    """Asks the engine when it is asked itself: what nobody reads costs nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterable[Metric]:
        try:
            measures = self._engine.measures()
        except LongmindError as error:
            _log.warning("the database could not be measured: %s", type(error).__name__)
            yield _gauge("longmind_database_up", "Whether the database answers.", 0)
            return
        yield _gauge("longmind_database_up", "Whether the database answers.", 1)
        yield from _of_queue(measures)
        yield from _of_extraction(measures)
        yield _gauge("longmind_cache_spaces", "Memory spaces that are kept in memory.", measures.cached_spaces)
        yield _gauge("longmind_cache_bytes", "Bytes that those take.", measures.cached_bytes)
        yield _gauge("longmind_cache_limit_bytes", "Bytes that they may take.", measures.cache_limit_bytes)


def _of_queue(measures: Measures) -> Iterable[Metric]:
    depth = GaugeMetricFamily("longmind_jobs", "Jobs that have not succeeded.", labels=["kind", "state"])
    age = GaugeMetricFamily(
        "longmind_jobs_oldest_due_seconds", "How long the oldest due job has waited.", labels=["kind"]
    )
    for queue in measures.queue:
        states = {"due": queue.due, "running": queue.running, "later": queue.later, "dead": queue.dead}
        for state, count in states.items():
            depth.add_metric([queue.kind, state], count)
        age.add_metric([queue.kind], queue.oldest_due_seconds)
    yield depth
    yield age


def _of_extraction(measures: Measures) -> Iterable[Metric]:
    lag = measures.extraction_lag
    seconds = GaugeMetricFamily(
        "longmind_extraction_lag_seconds",
        "From an append to what it says being recallable, over the last five minutes.",
        labels=["quantile"],
    )
    for quantile, value in (("0.5", lag.median_seconds), ("0.95", lag.p95_seconds), ("1", lag.longest_seconds)):
        seconds.add_metric([quantile], value)
    yield seconds
    yield _gauge("longmind_extractions_recent", "Extractions of the last five minutes.", lag.extractions)


def _gauge(name: str, help: str, value: float) -> Metric:
    gauge = GaugeMetricFamily(name, help)
    gauge.add_metric([], value)
    return gauge
