"""Requests and answers: shapes, refusals that say what is wrong, headers and limits."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from longmind.operations import INSPECTIONS, OPERATIONS
from longmind.server.routes import HTTP_MAPPINGS, MEMORY_OPERATIONS, make_routes
from tests.server.live_server import Client, heard_late, serving

FACT = {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}}


def test_every_operation_has_a_place_of_its_own() -> None:
    assert {operation.path for operation in (*OPERATIONS, *INSPECTIONS, *MEMORY_OPERATIONS)} == set(HTTP_MAPPINGS)
    routes = make_routes()
    assert len({(route.http.method, route.http.path) for route in routes}) == len(routes)
    assert len({route.id for route in routes}) == len(routes)


@pytest.mark.conforms("A0.5")
def test_a_conversation_becomes_memory_over_http(client: Client, engine: longmind.Engine) -> None:
    space = client.post("/ai-memory/spaces", {"name": "personal"}).json
    me = client.get(f"/ai-memory/spaces/{space['id']}").json["userId"]
    bound = {"conversationScope": {"namespace": "daily-checkin", "userId": me}, "memorySpaceIds": [space["id"]]}
    assert client.post("/ai-memory/bindings", bound).status == 201
    conversation = client.post("/ai-conversations", {"namespace": "daily-checkin"})
    assert (conversation.status, conversation.json["status"]) == (201, "open")
    path = f"/ai-conversations/{conversation.json['id']}"
    turn = {"userContent": "I prefer meetings on Tuesday mornings.", "assistant": {"content": "Got it!"}}
    written = client.post(f"{path}/turns", turn)
    assert written.status == 201
    assert [message["sequence"] for message in client.get(f"{path}/messages").json["items"]] == [1, 2]
    assert client.post(f"{path}/close").json["status"] == "closed"
    assert client.post(f"{path}/turns", turn).status == 409
    engine.work()
    recalled = client.post(f"/ai-memory/spaces/{space['id']}/recall/topic", {"query": "preferred meeting times"}).json
    assert recalled["mode"] == "BY_TOPIC"
    assert recalled["hits"][0]["atom"]["sourceMessageIds"] == [written.json["userMessage"]["id"]]
    next_one = client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
    asked = {"memorySpaceId": space["id"], "recallQuery": "When shall we meet?"}
    context = client.post(f"/ai-working-context/{next_one}", asked).json
    assert "Tuesday" in context["contextBlock"]
    assert context["tokensEstimated"] <= 8000


def test_a_list_is_read_page_by_page(client: Client) -> None:
    made = [client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"] for _ in range(5)]
    found, cursor = [], ""
    while True:
        page = client.get(f"/ai-conversations?limit=2{cursor}").json
        found += [each["id"] for each in page["items"]]
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert found == made[::-1]


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/ai-conversations", {"namespace": "a", "tenantId": "acme"}, 400, "tenantId"),
    ("POST", "/ai-conversations", {}, 400, "namespace"),
    ("POST", "/ai-conversations", {"namespace": 5}, 400, "namespace"),
    ("POST", "/ai-conversations", {"namespace": "*"}, 400, "namespace"),
    ("POST", "/ai-conversations", {"namespace": "a", "title": "t" * 1001}, 422, "1,000"),
    ("POST", "/ai-conversations", b"{", 400, "JSON"),
    ("POST", "/ai-conversations", b"", 400, "JSON"),
    ("POST", "/ai-conversations", [], 400, "body"),
    ("GET", "/ai-conversations?limit=none", None, 400, "limit"),
    ("GET", "/ai-conversations?limit=1&limit=2", None, 400, "twice"),
    ("GET", "/ai-conversations?user_id=bob", None, 400, "user_id"),
    ("GET", "/ai-conversations?namespace=%FF", None, 400, "UTF-8"),
    ("GET", "/ai-conversations?%C3=1", None, 400, "UTF-8"),
    ("POST", "/healthz", None, 405, "method"),
    ("DELETE", "/metrics", None, 405, "method"),
    ("GET", "/ai-conversations/conv_unknown", None, 404, "does not exist"),
    ("GET", "/somewhere", None, 404, "/somewhere"),
    ("GET", "/ai-memory/spaces/ms_unknown/atoms?status=GONE", None, 400, "status"),
    ("POST", "/ai-memory/atoms/atom_unknown/restore", None, 404, "atom_unknown"),
    ("PUT", "/api/v1/memory/blocks/core", {"content": "a"}, 422, "version"),
    ("PUT", "/api/v1/memory/blocks/other", {"content": "a", "expected_updated_at": None}, 400, "block_type"),
    ("GET", "/api/v1/memory/blocks/core?scope=agent", None, 400, "agent_id"),
    ("GET", "/api/v1/memory/blocks/core?scope=user&agent_id=planner", None, 400, "agent"),
    ("POST", "/tools/unknown_tool", {}, 404, "tool"),
    ("POST", "/jobs/job_unknown/retry", None, 404, "job_unknown"),
]


@pytest.mark.conforms("R-A")
@pytest.mark.parametrize(("method", "path", "body", "status", "named"), REFUSED)
def test_what_is_wrong_is_told_as_a_problem_with_a_hint(
    method: str, path: str, body: Any, status: int, named: str, refusing: Client
) -> None:
    answer = refusing.ask(method, path, body)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json
    assert problem["type"].startswith("urn:longmind:problem:")
    assert problem["status"] == status
    assert problem["title"]
    assert problem["hint"]
    assert named in problem["detail"]


@pytest.fixture(scope="module")
def refusing() -> Iterator[Client]:
    with longmind.open("sqlite:///:memory:", embedder=None) as engine, serving(engine) as client:
        yield client


def test_a_path_that_does_not_know_the_method_names_those_it_knows(refusing: Client) -> None:
    answer = refusing.ask("PATCH", "/ai-conversations")
    assert (answer.status, answer.headers["allow"]) == (405, "POST, GET")


def test_a_body_that_is_not_declared_as_json_is_refused(refusing: Client) -> None:
    answer = refusing.post("/ai-conversations", b"namespace=a", content_type="application/x-www-form-urlencoded")
    assert (answer.status, answer.json["type"]) == (415, "urn:longmind:problem:not-json")


def test_nothing_but_the_number_of_items_tells_a_missing_filter_from_null(client: Client) -> None:
    space = client.post("/ai-memory/spaces", {"name": "personal"}).json["id"]
    atom = client.post(f"/ai-memory/spaces/{space}/atoms", FACT).json["id"]
    assert client.post(f"/ai-memory/atoms/{atom}/archive").status == 204
    path = f"/ai-memory/spaces/{space}/atoms"
    assert client.get(path).json["items"] == []
    assert [each["id"] for each in client.get(f"{path}?status=null").json["items"]] == [atom]


def test_a_list_is_filtered_by_metadata_that_is_sent_as_json(client: Client) -> None:
    client.post("/ai-memory/spaces", {"name": "personal"})
    path = "/ai-memory/spaces/personal/atoms"
    made = client.post(path, {"text": "Ada lives in Graz.", "metadata": {"page": 3}, "key": "home"})
    assert (made.status, made.json["metadata"], made.json["key"]) == (201, {"page": 3}, "home")
    assert client.post(path, {"text": "Ada lives in Wien.", "key": "home"}).json["supersedes"] == made.json["id"]
    found = client.get(f"{path}?metadata=%7B%22page%22%3A3%7D").json["items"]
    assert [each["id"] for each in found] == [made.json["id"]]
    assert client.get(f"{path}?metadata=%7B%22page%22%3A4%7D").json["items"] == []
    assert client.get(f"{path}?metadata=page").status == 400
    topic = client.post("/ai-memory/spaces/personal/recall/topic", {"query": "Wien", "metadata": {"page": 3}})
    assert topic.json["hits"] == []
    assert client.get("/ai-memory/spaces/persnal/atoms").json["detail"].startswith("There is no memory space")


def test_a_slash_in_a_name_is_part_of_it(client: Client) -> None:
    assert client.post("/events/states", {"key": "mood/today", "value": {"joy": 3}}).status == 201
    assert client.get("/events/states/mood%2Ftoday").json == {"joy": 3}
    assert len(client.get("/events/states/mood%2ftoday/history").json) == 1
    assert client.get("/events/states/mood/today").json["type"] == "urn:longmind:problem:unknown-path"
    assert "There is nothing at /some/where." in client.get("/some%2Fwhere").json["detail"]
    space = client.post("/ai-memory/spaces", {"name": "team", "kind": "shared"}).json["id"]
    assert client.ask("PUT", f"/ai-memory/spaces/{space}/grants/team%2Fbob").status == 200
    assert [each["userId"] for each in client.get(f"/ai-memory/spaces/{space}/grants").json["items"]] == ["team/bob"]


@pytest.mark.conforms("R-I")
def test_a_request_repeated_with_its_idempotency_key_is_done_once(client: Client) -> None:
    conversation = client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
    path = f"/ai-conversations/{conversation}/messages/user"
    first, again = (client.post(path, {"content": "Hello."}, idempotency_key="key-1") for _ in range(2))
    assert first.json["id"] == again.json["id"]
    assert (first.json["replayed"], again.json["replayed"]) == (False, True)
    assert client.post(path, {"content": "Bye."}, idempotency_key="key-1").status == 409
    other = client.post(path, {"content": "Hello.", "idempotencyKey": "key-2"}, idempotency_key="key-1")
    assert other.status == 400
    jobs = [client.post("/jobs", {"kind": "mail.send"}, idempotency_key="once").json["id"] for _ in range(2)]
    assert jobs[0] == jobs[1]


def test_an_idempotency_key_that_cannot_be_kept_is_refused_and_not_passed_over(client: Client) -> None:
    refused = client.post("/ai-conversations", {"namespace": "daily-checkin"}, idempotency_key="key-1")
    assert refused.status == 400
    assert client.get("/ai-conversations").json["items"] == []
    # What can be repeated anyway needs none.
    spaces = [client.post("/ai-memory/spaces", {"name": "a"}, idempotency_key="key-1").json["id"] for _ in range(2)]
    assert spaces[0] == spaces[1]


def test_a_request_that_is_too_large_is_refused_before_it_is_read(sqlite_url: str) -> None:
    with (
        longmind.open(sqlite_url, embedder=None, request_megabytes=0.001) as engine,
        serving(engine) as client,
    ):
        host, port = client.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(
                b"POST /ai-conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000000\r\n\r\n"
            )
            assert connection.recv(1000).startswith(b"HTTP/1.1 413")
        assert client.post("/ai-conversations", {"namespace": "a", "title": "t" * 2000}).status == 413


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: loc"])
def test_a_connection_on_which_no_request_comes_is_closed(sent: bytes, sqlite_url: str) -> None:
    with (
        longmind.open(sqlite_url, embedder=None, request_seconds=0.2) as engine,
        heard_late(engine, sent) as connection,
    ):
        assert connection.recv(1000) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"Hello?\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\x0bb\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 100_000, 431),
    ],
)
def test_what_is_not_http_is_a_problem_too(sent: bytes, status: int, refusing: Client) -> None:
    host, port = refusing.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        head, _, body = b"".join(iter(lambda: connection.recv(1000), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d" % status)
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["status"] == status


@pytest.mark.parametrize(
    ("first", "status"),
    [(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 70_000, 431), (b"Hello?\r\n\r\n", 400)],
)
def test_who_still_sends_what_was_refused_gets_to_read_why(first: bytes, status: int, refusing: Client) -> None:
    host, port = refusing.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(first)
        told = connection.recv(10)
        for _ in range(3):
            connection.sendall(b"a" * 30_000)
        told += b"".join(iter(lambda: connection.recv(1000), b""))
    assert told.startswith(b"HTTP/1.1 %d" % status)
    assert json.loads(told.partition(b"\r\n\r\n")[2])["status"] == status


def test_who_sends_a_body_that_is_far_too_large_gets_to_read_why(sqlite_url: str) -> None:
    with (
        longmind.open(sqlite_url, embedder=None, request_megabytes=0.5) as engine,
        serving(engine) as client,
    ):
        assert client.post("/ai-conversations", b" " * 1_500_000).status == 413


def test_a_body_that_does_not_come_is_not_waited_for(sqlite_url: str) -> None:
    sent = (
        b"POST /ai-conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 20\r\n\r\n{"
    )
    with (
        longmind.open(sqlite_url, embedder=None, request_seconds=0.2) as engine,
        heard_late(engine, sent) as connection,
    ):
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


@pytest.mark.conforms("D7.2")
def test_events_are_recorded_and_read_at_the_level_that_the_query_names(client: Client) -> None:
    at_run = {"x_longmind_session": "s1", "x_longmind_run": "r1"}
    for query in ("", "?at=run", "?at=user", "?at=scope", "?bucket=project%207"):
        made = client.post(f"/events{query}", {"kind": "note", "data": {}, "text": f"Said{query}"}, **at_run)
        assert made.status == 201, made.body
    for query in ("", "?at=run", "?at=user", "?at=scope", "?bucket=project%207"):
        assert [each["text"] for each in client.get(f"/events/recent{query}", **at_run).json] == [f"Said{query}"]
    # A filter of the operation goes with the timeline that it filters.
    assert len(client.get("/events/persisted?at=user&level=session&kinds=note", **at_run).json) == 1
    info = client.get("/events/scope?at=run", **at_run).json
    assert (info["memory_level"], info["bucket_level"], info["run_id"]) == ("run", "run", "r1")
    assert info["timeline_id"].endswith("|run:r1")
    assert client.get("/events/scope", **at_run).json["memory_level"] == "session"


def test_a_timeline_that_cannot_be_is_refused(client: Client) -> None:
    for query, said in (
        ("?at=galaxy", "'session', 'user', 'run', 'org' or 'scope'"),
        ("?at=user&bucket=plans", "Both level and bucket are given."),
        ("?bucket=*", "reserved"),
    ):
        answer = client.post(f"/events{query}", {"kind": "note", "data": {}, "text": "Anything"})
        assert (answer.status, said in answer.json["detail"]) == (400, True), answer.json
    # Without the id of the level nothing is read, and nothing is written elsewhere instead.
    assert client.get("/events/recent?at=run").json == []
    assert client.post("/events?at=run", {"kind": "note", "data": {}, "text": "Anything"}).status == 400
    assert client.get("/events/recent").json == []
