"""Leaks: a server and an engine in full use with secrets in every field, and a search of everything they print."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import longmind
from harness.log_watch import DATABASE_PASSWORD, MODEL_KEY, TOKEN_SECRET, FullFormatter, secrets_in
from harness.operation_calls import RequestRefused, make_direct_call, make_http_call
from longmind.errors import LongmindError
from tests.admin.planted_words import Words, plant
from tests.server.live_server import serving

_AUDIT_KEY = MODEL_KEY


def collect_outputs(url: str) -> Iterator[tuple[str, str]]:
    """Use everything and yield each output that is visible from outside, with its place."""
    spans = _spans()
    spans.clear()
    settings: dict[str, Any] = {"jwt_algorithm": "HS256", "jwt_secret": TOKEN_SECRET, "audit_key": _AUDIT_KEY}
    with _capture_logs() as log, longmind.open(url, embedder=None, tracing="host", **settings) as engine:
        admin = engine.keys.create(tenant_id="acme", app_id="support", admin=True)
        user = engine.keys.create(tenant_id="acme", app_id="support", user_id="eva")
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        word = Words(7)
        plant(engine, make_direct_call(ctx), "ada", word)
        with serving(engine) as somebody:
            client = somebody.with_key(user.token)
            with suppress(RequestRefused):
                plant(engine, make_http_call(client), "eva", word, models=False)
            for path, body in _make_refused_requests(word):
                client.post(path, body)
            somebody.with_key(f"{user.token}x").get("/ai-conversations")
            yield "metrics", somebody.with_key(admin.token).get("/metrics").body.decode()
        for name, value in {"engine": engine, "settings": engine.settings, "context": ctx, "key": user}.items():
            yield f"repr of the {name}", repr(value)
    yield "logs", log.getvalue()
    yield "spans", "\n".join(span.to_json() for span in spans.get_finished_spans())
    yield "errors of opening", "\n".join(_errors_of_opening())


@cache
def _spans() -> InMemorySpanExporter:
    """Return the exporter for the spans of this process; a provider can be set only once."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    return spans


def find_leaks(url: str) -> tuple[list[str], dict[str, int]]:
    """Return the leaked secrets, and the number of characters searched in each place."""
    found, looked = [], {}
    for where, text in collect_outputs(url):
        looked[where] = len(text)
        if not text:
            found.append(f"{where}: nothing was there to look through")
        found += [f"{where}: {each}" for each in secrets_in(text)]
    return found, looked


def _make_refused_requests(word: Words) -> Iterator[tuple[str, Any]]:
    """Yield requests that are refused, with private words in every place."""
    yield "/ai-conversations", {word(): word()}
    yield f"/{word()}", {word(): word()}
    yield f"/ai-conversations/{word()}/messages/user", {"content": word()}
    yield f"/ai-memory/spaces/{word()}/recall/topic?{word()}={word()}", {"query": word()}
    yield "/tools/memory_store", {"type": word(), "content": word()}


def _errors_of_opening() -> Iterator[str]:
    for url in (
        f"postgresql://user:{DATABASE_PASSWORD}@127.0.0.1:1/db",
        f"postgresql://user:{DATABASE_PASSWORD}@host:x/db",
        f"postgresql://user:{DATABASE_PASSWORD}/x@host/db",
        f"mysql://user:{DATABASE_PASSWORD}@host/db",
    ):
        try:
            longmind.open(url, embedder=None, connect_timeout_seconds=1).close()
        except LongmindError as error:
            yield f"{error} {error!r}"


@contextmanager
def _capture_logs() -> Iterator[io.StringIO]:
    """The log of all packages with the texts of errors, as a program sees it that configures logging itself."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(FullFormatter())
    loggers = [logging.getLogger(), logging.getLogger("longmind")]
    levels = [logger.level for logger in loggers]
    loggers[0].addHandler(handler)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    try:
        yield written
    finally:
        loggers[0].removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
