"""A server on each engine; and an application with two operations of its own, equipped like it."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import longmind
from longmind.server.auth.identity import Authenticator
from longmind.server.observability.logs import set_up_logs
from longmind.server.observability.middleware import IDENTITY, OPERATION
from longmind.server.observability.probes import add_probes
from longmind.settings import load_settings
from tests.server.live_server import Client, serving

SAID = "My secret is that I like marzipan."


class Tried:
    """The application, and what is needed to ask it."""

    def __init__(self, engine: longmind.Engine) -> None:
        self.engine = engine
        self.authenticator = Authenticator(engine)
        self.app: Any = Starlette()

        async def greet(request: Request) -> Response:
            request.scope[OPERATION] = "greetings.greet"
            request.scope[IDENTITY] = await asyncio.to_thread(
                self.authenticator.identify, request.headers.raw, "127.0.0.1"
            )
            return Response("Hello.", headers={"etag": '"1"'})

        async def fail(request: Request) -> Response:
            request.scope[OPERATION] = "greetings.fail"
            raise ValueError(SAID)

        self.app.router.routes += [Route("/greet", greet), Route("/fail", fail)]
        add_probes(self.app, engine, self.authenticator)


@pytest.fixture
def tried(engine: longmind.Engine) -> Tried:
    return Tried(engine)


@pytest.fixture
def client(engine: longmind.Engine) -> Iterator[Client]:
    """The one user of a server in single-user mode."""
    with serving(engine) as client:
        yield client


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that is logged, as JSON, in the place of what pytest has set up."""
    root, ours = logging.getLogger(), logging.getLogger("longmind")
    before = root.handlers, root.level, ours.level
    written = io.StringIO()
    set_up_logs(load_settings({"log_format": "json"}, {}), written)
    yield written
    root.handlers = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The spans that go to a program's own provider, those that other packages make included."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter
