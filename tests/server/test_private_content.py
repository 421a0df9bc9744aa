"""What users say stays with them: it is in no log line, no metric and no span of a server that is used."""

from __future__ import annotations

import io
import logging
from typing import Any

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import longmind
from tests.embedder import WordsEmbedder
from tests.server.live_server import Client, serving

SAID = "marzipan"


def test_a_server_that_is_used_tells_nobody_what_was_said(
    database_url: str, spans: InMemorySpanExporter, log: io.StringIO
) -> None:
    for name in (None, "longmind"):
        logging.getLogger(name).setLevel(logging.DEBUG)
    with longmind.open(database_url, embedder=None, tracing="host") as engine:
        admin = engine.keys.create(tenant_id="acme", app_id="support", admin=True)
        with serving(engine) as somebody:
            client = somebody.with_key(admin.token, x_longmind_user=f"ada-{SAID}")
            statuses = use(client)
            refused = somebody.with_key(f"{admin.id}_{SAID}").get("/ai-conversations").status
            metrics = client.get("/metrics").body.decode()

    assert {200, 201, 400, 404} <= statuses
    assert refused == 401
    names = [span.name for span in spans.get_finished_spans()]
    assert {"conversations.append_user_message", "memory.search_entities", "memory.recall_by_topic"} <= set(names)
    assert log.getvalue().count('"message": "request"') == len(names)
    for told in (log.getvalue(), metrics, "".join(span.to_json() for span in spans.get_finished_spans())):
        assert SAID not in told
        assert admin.token not in told
        assert "append_user_message" in told


def use(client: Client) -> set[int]:
    """Say it in each place that takes a text: bodies, queries, paths and headers. Gives how the server answered."""
    space = client.post("/ai-memory/spaces", {"name": SAID}).json["id"]
    conversation = client.post("/ai-conversations", {"namespace": SAID, "title": SAID}).json["id"]
    atom: dict[str, Any] = {"text": f"I like {SAID}.", "category": {"name": SAID, "kind": "FACT"}}
    answers = [
        client.post(f"/ai-conversations/{conversation}/messages/user", {"content": SAID}),
        client.post(f"/ai-conversations/{conversation}/messages/user", {SAID: SAID}),
        client.post(f"/ai-memory/spaces/{space}/atoms", atom),
        client.post(f"/ai-memory/spaces/{space}/recall/topic", {"query": SAID}),
        client.get(f"/ai-memory/spaces/{space}/entities?query={SAID}"),
        client.get(f"/ai-memory/spaces/{space}/entities?nonsense={SAID}"),
        client.get(f"/ai-memory/atoms/{SAID}"),
        client.get(f"/{SAID}"),
        client.post("/tools/memory_store", {"type": "fact", "content": SAID}, x_request_id=f"{SAID} {SAID}"),
    ]
    return {answer.status for answer in answers}


class Quoting(WordsEmbedder):
    """An embedder whose errors repeat what they are about, as those of vendors may."""

    def embed_query(self, query: str) -> list[float]:
        raise ValueError(f"cannot embed {query!r}")


def test_an_error_that_quotes_what_was_said_is_logged_without_its_words(sqlite_url: str, log: io.StringIO) -> None:
    with longmind.open(sqlite_url, embedder=Quoting()) as engine, serving(engine) as client:
        assert client.post("/events", {"kind": "note", "data": {}, "text": f"I like {SAID}."}).status == 201
        assert client.post("/events/search", {"query": SAID}).status == 200
    assert "the search for events uses words alone: EmbedderFailed" in log.getvalue()
    assert SAID not in log.getvalue()


def test_a_page_of_another_site_cannot_drive_the_server_of_this_machine(engine: longmind.Engine) -> None:
    with serving(engine) as client:
        assert client.get("/ai-conversations").status == 200
        assert client.post("/ai-conversations", {"namespace": "chat"}, origin="https://evil.example").status == 403
        assert client.get("/ai-conversations", host="evil.example").status == 403
        assert client.get("/ai-conversations", sec_fetch_site="cross-site").status == 403
        assert client.get("/metrics", host="evil.example").status == 403
        assert client.get("/ai-conversations").json["items"] == []
