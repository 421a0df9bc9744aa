"""OpenTelemetry tracing: one span per request, with its operation and status but no content.

OpenTelemetry is an optional dependency and is imported only when tracing is on.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from longmind.errors import InvalidInput
from longmind.server.observability.request_ids import RequestIds
from longmind.settings import Settings

_SERVER_ERROR = 500


class Span(Protocol):
    """An open span."""

    @property
    def trace_id(self) -> str | None:
        """The trace that the span belongs to, if it is recorded."""

    def end_as(self, operation: str, status: int) -> None:
        """Set the operation and the status, which are known only at the end."""


class Tracing(Protocol):
    """A source of spans."""

    def span(self, method: str, ids: RequestIds) -> AbstractContextManager[Span]: ...


class NoTracing:
    """The source of spans when tracing is off; it is its own span."""

    trace_id = None

    def span(self, method: str, ids: RequestIds) -> AbstractContextManager[Span]:
        return nullcontext(self)

    def end_as(self, operation: str, status: int) -> None:
        return


def open_tracing(settings: Settings) -> Tracing:
    """Return the source of spans that the settings name. Raises InvalidInput if its package is not installed."""
    if settings.tracing == "off":
        return NoTracing()
    try:
        return _OpenTelemetry(_open_provider(settings.tracing))
    except ImportError as error:
        known = (error.name or "").startswith("opentelemetry.exporter")
        package = "opentelemetry-exporter-otlp-proto-http" if known else "longmind[telemetry]"
        raise InvalidInput(
            f"tracing is {settings.tracing!r}, but the package {error.name!r} is not installed.",
            hint=f"Run: pip install '{package}'",
        ) from None


def _open_provider(kind: str) -> Any:
    """Return the host program's provider, or a new one, which environment variables OTEL_… configure further."""
    from opentelemetry import trace

    if kind == "host":
        return trace.get_tracer_provider()
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter

    exporter: SpanExporter
    if kind == "console":
        exporter = ConsoleSpanExporter()
    else:
        # Imported by name, since the exporter is not a dependency; users who want it install it.
        exporter = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "longmind"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


class _OpenTelemetry:
    """The source of spans when tracing is on."""

    def __init__(self, provider: Any) -> None:
        self._tracer = provider.get_tracer("longmind")

    @contextmanager
    def span(self, method: str, ids: RequestIds) -> Iterator[Span]:
        from opentelemetry.trace import SpanKind

        attributes = {"http.request.method": method, "longmind.request_id": ids.request_id}
        # No exceptions are recorded: the message of an error may quote what a user said.
        with self._tracer.start_as_current_span(
            "request",
            context=_make_parent_context(ids),
            kind=SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield _OpenSpan(span)


def _make_parent_context(ids: RequestIds) -> Any:
    """Return a context with the client's span, so that the new span becomes its child."""
    from opentelemetry import trace
    from opentelemetry.context import Context

    # An empty context: a span that happens to be open in this task is not the parent.
    if ids.parent_id is None:
        return Context()
    known = trace.SpanContext(
        int(ids.trace_id, 16),
        int(ids.parent_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED if ids.sampled else trace.TraceFlags.DEFAULT),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(known), Context())


class _OpenSpan:
    """An open span of OpenTelemetry."""

    def __init__(self, span: Any) -> None:
        self._span = span

    @property
    def trace_id(self) -> str | None:
        context = self._span.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else None

    def end_as(self, operation: str, status: int) -> None:
        from opentelemetry.trace import StatusCode

        self._span.update_name(operation)
        self._span.set_attribute("longmind.operation", operation)
        self._span.set_attribute("http.response.status_code", status)
        if status >= _SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)
