"""OpenTelemetry: one span for each request, with its operation and how it ended, and nothing of what was said."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from longmind.errors import InvalidInput
from longmind.server.observability.request_ids import Marks
from longmind.settings import Settings

_SERVER_ERROR = 500


class Span(Protocol):
    """A span that is open."""

    @property
    def trace_id(self) -> str | None:
        """The trace that it has become part of."""

    def end_as(self, operation: str, status: int) -> None:
        """Tell what it was, which is known at its end."""


class Tracing(Protocol):
    def span(self, method: str, marks: Marks) -> AbstractContextManager[Span]: ...


class NoTracing:
    """Nobody wants to know."""

    trace_id = None

    def span(self, method: str, marks: Marks) -> AbstractContextManager[Span]:
        return nullcontext(self)

    def end_as(self, operation: str, status: int) -> None:
        return


def open_tracing(settings: Settings) -> Tracing:
    if settings.tracing == "off":
        return NoTracing()
    try:
        return _OpenTelemetry(_provider(settings.tracing))
    except ImportError as error:
        known = (error.name or "").startswith("opentelemetry.exporter")
        package = "opentelemetry-exporter-otlp-proto-http" if known else "longmind[telemetry]"
        raise InvalidInput(
            f"tracing is {settings.tracing!r}, and the package {error.name!r} is not installed.",
            hint=f"Run: pip install '{package}'",
        ) from None


def _provider(kind: str) -> Any:
    """Who takes the spans: the program's own provider, or one of ours. OTEL_… of the environment says more to both."""
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
        # By its name: it is no dependency of ours, and whoever wants it installs it.
        exporter = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "longmind"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


class _OpenTelemetry:
    def __init__(self, provider: Any) -> None:
        self._tracer = provider.get_tracer("longmind")

    @contextmanager
    def span(self, method: str, marks: Marks) -> Iterator[Span]:
        from opentelemetry.trace import SpanKind

        attributes = {"http.request.method": method, "longmind.request_id": marks.request_id}
        # Neither is recorded: the words of an error may quote what a user said.
        with self._tracer.start_as_current_span(
            "request",
            context=_caller(marks),
            kind=SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield _Open(span)


def _caller(marks: Marks) -> Any:
    """The span of the caller, so that this one becomes its child."""
    from opentelemetry import trace
    from opentelemetry.context import Context

    # A context of its own: what happens to be open in this task is no caller of ours.
    if marks.parent_id is None:
        return Context()
    known = trace.SpanContext(
        int(marks.trace_id, 16),
        int(marks.parent_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED if marks.sampled else trace.TraceFlags.DEFAULT),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(known), Context())


class _Open:
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
