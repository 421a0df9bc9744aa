"""What is told of requests: to the log, the metrics and the trace; and what is told of them to nobody."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import longmind
from longmind.server.http.header_reader import RequestHeaders
from longmind.server.observability.logs import set_up_logs
from longmind.server.observability.request_ids import read_request_ids
from longmind.server.observability.tracing import open_tracing
from longmind.settings import load_settings
from tests.server.asgi_requests import ask, bearer, lines
from tests.server.conftest import SAID, Tried
from tests.server.live_server import serving

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def read(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_request_is_one_line_with_its_ids_and_whose_it_was(tried: Tried, log: io.StringIO) -> None:
    key = tried.engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")

    answer = ask(tried.app, "/greet", *bearer(key.token, x_request_id="call-7", traceparent=PARENT))

    assert (answer.status, answer.headers["x-request-id"]) == (200, "call-7")
    (line,) = read(log)
    assert line.pop("milliseconds") >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", line.pop("time"))
    assert line == {
        "level": "info",
        "logger": "longmind.requests",
        "message": "request",
        "requestId": "call-7",
        "traceId": TRACE,
        "operation": "greetings.greet",
        "method": "GET",
        "status": 200,
        "via": "key",
        "keyId": key.id,
        "scopeId": longmind.Scope("acme", "support", "ada").id,
    }
    assert key.token not in log.getvalue()


def test_what_fails_is_told_without_the_words_of_the_error(tried: Tried, log: io.StringIO) -> None:
    with pytest.raises(ValueError, match="marzipan"):
        ask(tried.app, "/fail")
    try:
        raise ValueError(SAID)
    except ValueError as error:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
        logging.getLogger("longmind.jobs").warning("worker %s: %s", "w1", error)

    failed, by_library, by_worker = read(log)
    assert (failed["level"], failed["status"], failed["operation"]) == ("error", 500, "greetings.fail")
    assert by_library["error"] == "ValueError"
    assert any("test_observability.py" in place for place in by_library["at"])
    assert by_worker["message"] == "worker w1: ValueError"
    assert "marzipan" not in log.getvalue()


def test_who_hangs_up_is_no_failure_of_the_server(engine: longmind.Engine, log: io.StringIO) -> None:
    with serving(engine) as client:
        host, port = client.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(
                b"POST /ai-conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 20\r\n\r\n{"
            )
            # The answer to another request says that this one has been taken up.
            assert client.get("/healthz").status == 200
    (line,) = read(log)
    assert (line["level"], line["operation"], line["status"]) == ("info", "conversations.create_conversation", 499)


def test_a_line_of_text_stays_one_line() -> None:
    written = io.StringIO()
    root, before = logging.getLogger(), logging.getLogger().handlers
    try:
        set_up_logs(load_settings({}, {}), written)
        logging.getLogger("longmind").warning("two\nlines %s", "and\r\nmore")
    finally:
        root.handlers = before
    (line,) = written.getvalue().splitlines()
    assert line.endswith("warning longmind two\\nlines and\\r\\nmore")


@pytest.mark.parametrize(
    "sent", ["", "a b", "a\r\nSet-Cookie: x=1", "x" * 129, "é", "<script>", "a,b", "${jndi:ldap://evil.example}"]
)
def test_an_id_that_is_not_clean_is_replaced(sent: str) -> None:
    made = read_request_ids(RequestHeaders(lines(x_request_id=sent)))

    assert re.fullmatch("[0-9a-f]{32}", made.request_id)


def test_an_id_that_is_sent_twice_is_replaced() -> None:
    made = read_request_ids(RequestHeaders([*lines(x_request_id="one"), *lines(x_request_id="two")]))

    assert re.fullmatch("[0-9a-f]{32}", made.request_id)


@pytest.mark.parametrize(
    "sent",
    [
        "",
        TRACE,
        f"ff-{TRACE}-b7ad6b7169203331-01",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-b7ad6b7169203331-01",
        f"{PARENT}-more",
        f"{PARENT},{PARENT}",
    ],
)
def test_a_trace_that_is_none_is_begun_anew(sent: str) -> None:
    made = read_request_ids(RequestHeaders(lines(traceparent=sent)))

    assert made.parent_id is None
    assert re.fullmatch("[0-9a-f]{32}", made.trace_id)
    assert made.trace_id != TRACE
    known = read_request_ids(RequestHeaders(lines(traceparent=f"00-{TRACE}-b7ad6b7169203331-00")))
    assert (known.trace_id, known.parent_id, known.sampled) == (TRACE, "b7ad6b7169203331", False)


def test_metrics_count_requests_and_errors_and_tell_how_the_engine_is(tried: Tried) -> None:
    ctx = tried.engine.context(tenant_id="acme", app_id="support", user_id="ada")
    space = ctx.memory.create_memory_space("personal")
    ctx.memory.create_binding({"namespace": "chat", "user_id": "ada"}, [space.id])
    conversation = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_turn(conversation.id, user_content="I live in Graz.", assistant={"content": "I see."})
    ctx.conversations.close_conversation(conversation.id)
    ask(tried.app, "/greet")
    ask(tried.app, "/nowhere")

    before = ask(tried.app, "/metrics")
    assert (before.status, before.headers["content-type"].split(";")[0]) == (200, "text/plain")
    text = before.body.decode()
    assert 'longmind_requests_total{operation="greetings.greet",status="200"} 1.0' in text
    assert 'longmind_request_seconds_count{operation="greetings.greet"} 1.0' in text
    assert 'longmind_errors_total{operation="other",status="404"} 1.0' in text
    assert 'longmind_jobs{kind="memory.extract",state="due"} 1.0' in text
    assert number(text, 'longmind_jobs_oldest_due_seconds{kind="memory.extract"}') > 0
    assert "longmind_database_up 1.0" in text
    assert "longmind_extractions_recent 0.0" in text

    assert tried.engine.work().succeeded > 0
    assert ctx.memory.recall_by_topic(space.id, "Where do I live?").hits
    text = ask(tried.app, "/metrics").body.decode()
    assert 'longmind_jobs{kind="memory.extract"' not in text
    assert "longmind_extractions_recent 1.0" in text
    assert number(text, 'longmind_extraction_lag_seconds{quantile="0.95"}') > 0
    # The space, and the messages of the user.
    assert "longmind_cache_spaces 2.0" in text
    assert number(text, "longmind_cache_bytes") > 0
    assert "process_resident_memory_bytes" in text
    assert "Graz" not in text
    assert "ada" not in text


def number(text: str, name: str) -> float:
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return float(line.rpartition(" ")[2])


def test_jobs_that_were_given_up_are_counted(engine: longmind.Engine) -> None:
    ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    engine.register_job("mail", lambda run: 1 / 0)
    ctx.jobs.enqueue("mail", max_attempts=1)
    ctx.jobs.enqueue("nobodys")
    engine.work()

    by_kind = {queue.kind: queue for queue in engine.measures().queue}

    assert (by_kind["mail"].dead, by_kind["mail"].due) == (1, 0)
    assert (by_kind["nobodys"].dead, by_kind["nobodys"].due) == (0, 1)


def test_metrics_are_for_who_administrates(tried: Tried) -> None:
    keys = tried.engine.keys
    plain = keys.create(tenant_id="acme", app_id="support", any_user=True)
    admin = keys.create(tenant_id="acme", app_id="support", admin=True)

    assert ask(tried.app, "/metrics").status == 401
    assert json.loads(ask(tried.app, "/metrics").body)["type"] == "urn:longmind:problem:unauthenticated"
    assert ask(tried.app, "/metrics").headers["www-authenticate"] == 'Bearer realm="longmind"'
    assert ask(tried.app, "/metrics", *bearer(plain.token, x_longmind_user="ada")).status == 403
    # A scraper has no user to name.
    assert ask(tried.app, "/metrics", *bearer(admin.token)).status == 200


def test_a_server_whose_database_is_gone_is_alive_and_not_ready(tried: Tried) -> None:
    for path, told in (("/healthz", "alive"), ("/readyz", "ready")):
        answer = ask(tried.app, path)
        assert (answer.status, json.loads(answer.body)) == (200, {"status": told})

    tried.engine.close()

    assert ask(tried.app, "/healthz").status == 200
    answer = ask(tried.app, "/readyz")
    assert (answer.status, json.loads(answer.body)) == (503, {"status": "not ready", "why": "EngineClosed"})


def test_a_server_that_is_about_to_end_is_not_ready(tried: Tried) -> None:
    tried.app.state.readiness.stop()

    answer = ask(tried.app, "/readyz")
    assert (answer.status, json.loads(answer.body)["why"]) == (503, "stopping")
    assert ask(tried.app, "/healthz").status == 200


def test_a_span_has_the_operation_and_nothing_that_was_said(spans: InMemorySpanExporter) -> None:
    with longmind.open("sqlite:///:memory:", embedder=None, tracing="host") as engine:
        tried = Tried(engine)
        ask(tried.app, "/greet", *lines(traceparent=PARENT, x_request_id="call-7"))
        with pytest.raises(ValueError, match="marzipan"):
            ask(tried.app, "/fail")

    greeted, failed = spans.get_finished_spans()
    assert (greeted.name, greeted.context and f"{greeted.context.trace_id:032x}") == ("greetings.greet", TRACE)
    assert greeted.parent is not None
    assert f"{greeted.parent.span_id:016x}" == "b7ad6b7169203331"
    assert dict(greeted.attributes or {}) == {
        "http.request.method": "GET",
        "longmind.request_id": "call-7",
        "longmind.operation": "greetings.greet",
        "http.response.status_code": 200,
    }
    assert failed.parent is None
    assert failed.status.status_code is trace.StatusCode.ERROR
    assert "marzipan" not in "".join(span.to_json() for span in (greeted, failed))


def test_the_log_and_the_span_of_a_request_have_one_trace(log: io.StringIO, spans: InMemorySpanExporter) -> None:
    with longmind.open("sqlite:///:memory:", embedder=None, tracing="host") as engine:
        ask(Tried(engine).app, "/greet")

    (span,) = spans.get_finished_spans()
    assert span.context is not None
    assert [line["traceId"] for line in read(log)] == [f"{span.context.trace_id:032x}"]


def test_an_exporter_that_is_not_installed_is_named() -> None:
    with pytest.raises(longmind.InvalidInput, match="otlp") as refused:
        open_tracing(load_settings({"tracing": "otlp"}, {}))

    assert refused.value.hint == "Run: pip install 'opentelemetry-exporter-otlp-proto-http'"
