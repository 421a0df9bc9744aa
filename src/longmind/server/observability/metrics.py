"""Prometheus metrics: duration and outcome of requests, and the state of the engine.

Names and labels of metrics are public: dashboards and alerts depend on them. No label holds a user, a text or an id.
"""

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
    """The metrics of one server process."""

    def __init__(self, engine: Engine) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "longmind_request_seconds",
            "Duration of requests, by operation.",
            ["operation"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._requests = Counter(
            "longmind_requests", "Requests, by operation and status.", ["operation", "status"], registry=self._registry
        )
        self._errors = Counter(
            "longmind_errors",
            "Requests that were refused or failed, by operation and status.",
            ["operation", "status"],
            registry=self._registry,
        )
        self.in_progress = Gauge("longmind_requests_under_way", "Requests in progress.", registry=self._registry)
        self._registry.register(EngineCollector(engine))
        ProcessCollector(registry=self._registry)

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Record one request that has ended."""
        self._seconds.labels(operation).observe(seconds)
        self._requests.labels(operation, status).inc()
        if status >= _ERROR:
            self._errors.labels(operation, status).inc()

    def render(self) -> bytes:
        """Return all metrics in the text format. It reads the database, so an event loop has to call it in a thread."""
        return generate_latest(self._registry)


class EngineCollector(Collector):
    """The collector of engine metrics. It queries the engine only when Prometheus scrapes, so idle metrics are free."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering the collector does not query the database."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Yield the current values; without a database only `longmind_database_up`, which is 0 then."""
        try:
            measures = self._engine.measures()
        except LongmindError as error:
            _log.warning("cannot read engine metrics from the database: %s", type(error).__name__)
            yield _make_gauge("longmind_database_up", "1 if the database answers, else 0.", 0)
            return
        yield _make_gauge("longmind_database_up", "1 if the database answers, else 0.", 1)
        yield from _collect_queue(measures)
        yield from _collect_extraction(measures)
        yield from _collect_passages(measures)
        yield _make_gauge("longmind_cache_spaces", "Indexes in the recall cache.", measures.cached_spaces)
        yield _make_gauge("longmind_cache_bytes", "Size of the recall cache in bytes.", measures.cached_bytes)
        yield _make_gauge(
            "longmind_cache_limit_bytes", "Limit of the recall cache in bytes.", measures.cache_limit_bytes
        )


def _collect_queue(measures: Measures) -> Iterable[Metric]:
    depth = GaugeMetricFamily("longmind_jobs", "Jobs that have not succeeded.", labels=["kind", "state"])
    age = GaugeMetricFamily(
        "longmind_jobs_oldest_due_seconds", "Age of the oldest due job in seconds.", labels=["kind"]
    )
    for queue in measures.queue:
        states = {"due": queue.due, "running": queue.running, "later": queue.later, "dead": queue.dead}
        for state, count in states.items():
            depth.add_metric([queue.kind, state], count)
        age.add_metric([queue.kind], queue.oldest_due_seconds)
    yield depth
    yield age


def _collect_extraction(measures: Measures) -> Iterable[Metric]:
    lag = measures.extraction_lag
    seconds = GaugeMetricFamily(
        "longmind_extraction_lag_seconds",
        "Time from an append until its facts can be recalled, over the last five minutes.",
        labels=["quantile"],
    )
    for quantile, value in (("0.5", lag.median_seconds), ("0.95", lag.p95_seconds), ("1", lag.longest_seconds)):
        seconds.add_metric([quantile], value)
    yield seconds
    yield _make_gauge("longmind_extractions_recent", "Extractions in the last five minutes.", lag.extractions)


def _collect_passages(measures: Measures) -> Iterable[Metric]:
    lag = measures.passage_lag
    seconds = GaugeMetricFamily(
        "longmind_passage_lag_seconds",
        "Time from an append until the message can be found by meaning, over the last five minutes.",
        labels=["quantile"],
    )
    for quantile, value in (("0.5", lag.median_seconds), ("0.95", lag.p95_seconds), ("1", lag.longest_seconds)):
        seconds.add_metric([quantile], value)
    yield seconds
    yield _make_gauge(
        "longmind_passages_waiting_seconds",
        "Age of the oldest message that cannot be found by meaning yet, in seconds.",
        lag.waiting_seconds,
    )


def _make_gauge(name: str, help: str, value: float) -> Metric:
    gauge = GaugeMetricFamily(name, help)
    gauge.add_metric([], value)
    return gauge
