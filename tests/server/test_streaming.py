"""Turns that are run over HTTP: piece by piece, whole, and ended by whoever hangs up."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from tests.server.live_server import Client, serving
from tests.vendor.answer import Answer
from tests.vendor.server import Vendor

ASKED = {"provider": "anthropic", "model": "claude-haiku-4-5", "userText": "Good day."}


@pytest.fixture
def engine(sqlite_url: str, vendor: Vendor) -> Iterator[longmind.Engine]:
    """Models know nothing of databases, so that one is enough."""
    with longmind.open(sqlite_url, embedder=None, model_timeout_seconds=60, model_attempts=1) as engine:
        yield engine


@pytest.fixture
def path(client: Client) -> str:
    conversation = client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
    return f"/ai-conversations/{conversation}/run"


def events_of(body: bytes) -> list[tuple[str, Any]]:
    """The events of a stream, without its comments."""
    told = [part.split("\n") for part in body.decode().split("\n\n") if part and not part.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in told]


@pytest.mark.conforms("A1.17")
def test_a_turn_is_streamed_piece_by_piece_and_ends_with_its_result(client: Client, path: str, vendor: Vendor) -> None:
    vendor.answers = [Answer("Good day to you.")]
    answer = client.post(path, ASKED, accept="text/event-stream")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    *pieces, (last, result) = events_of(answer.body)
    assert {name for name, _ in pieces} == {"text"}
    assert "".join(piece["text"] for _, piece in pieces) == "Good day to you."
    assert (last, result["status"]) == ("result", "completed")
    assert [row["role"] for row in result["appendedMessages"]] == ["user", "assistant"]


def test_a_turn_is_answered_whole_to_who_does_not_ask_for_a_stream(client: Client, path: str, vendor: Vendor) -> None:
    vendor.answers = [Answer("Good day to you.")]
    answer = client.post(path, ASKED, idempotency_key="turn-1")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json["appendedMessages"][0]["idempotencyKey"] == "turn-1"


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_what_is_refused_at_once_is_answered_with_its_status(client: Client, path: str, accept: str) -> None:
    closed = path.removesuffix("/run")
    client.post(f"{closed}/close")
    assert client.post(path, ASKED, accept=accept).status == 409
    assert client.post(path, {**ASKED, "content": "Both."}, accept=accept).status == 400
    assert client.post("/ai-conversations/conv_unknown/run", ASKED, accept=accept).status == 404


def test_a_model_that_fails_ends_the_stream_with_what_became_of_the_turn(sqlite_url: str, vendor: Vendor) -> None:
    vendor.answers = [Answer("Good day to you.", breaks_after=3)]
    with (
        longmind.open(sqlite_url, embedder=None, model_timeout_seconds=1, model_attempts=1) as engine,
        serving(engine) as client,
    ):
        conversation = client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
        body = client.post(f"/ai-conversations/{conversation}/run", ASKED, accept="text/event-stream").body
    *_, (last, result) = events_of(body)
    assert (last, result["status"]) == ("result", "error")
    assert result["error"]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_who_hangs_up_ends_the_turn(client: Client, path: str, vendor: Vendor, accept: str) -> None:
    vendor.answers = [Answer(hangs=True)]
    host, port = client.address.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port))
    connection.request("POST", path, json.dumps(ASKED), {"content-type": "application/json", "accept": accept})
    assert vendor.arrived.wait(60)
    connection.close()
    assert vendor.dropped.wait(60)


def test_a_turn_that_takes_too_long_ends_with_what_it_has(sqlite_url: str, vendor: Vendor) -> None:
    vendor.answers = [Answer(hangs=True)]
    with longmind.open(sqlite_url, embedder=None, turn_seconds=0.5) as engine, serving(engine) as client:
        conversation = client.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
        answer = client.post(f"/ai-conversations/{conversation}/run", ASKED)
        assert (answer.status, answer.json["status"]) == (200, "error")
        assert [row["role"] for row in answer.json["appendedMessages"]] == ["user"]


def test_a_model_that_never_stops_talking_is_stopped_when_its_time_is_up(
    client: Client, path: str, sqlite_url: str, vendor: Vendor
) -> None:
    # What the client of the vendor loads for its first call is not to use the time up.
    assert client.post(path, ASKED).json["status"] == "completed"
    vendor.answers = [Answer("and so on " * 400, pause=0.02)]
    # On a busy machine the time may be up before the first word, and then there is more of it.
    for seconds in (3, 15):
        with longmind.open(sqlite_url, embedder=None, turn_seconds=seconds) as hasty, serving(hasty) as other:
            answer = other.post(path, ASKED, accept="text/event-stream")
        *pieces, (last, result) = events_of(answer.body)
        assert (last, result["status"]) == ("result", "error")
        if pieces:
            break
    assert 0 < len(pieces) < 1000


def test_a_stream_tells_of_the_rate_as_every_answer_does(engine: longmind.Engine, vendor: Vendor) -> None:
    vendor.answers = [Answer("Good day to you.")]
    key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada", rate="600/day")
    with serving(engine) as anybody:
        ada = anybody.with_key(key.token)
        conversation = ada.post("/ai-conversations", {"namespace": "daily-checkin"}).json["id"]
        answer = ada.post(f"/ai-conversations/{conversation}/run", ASKED, accept="text/event-stream")
    assert (answer.status, answer.headers["ratelimit-remaining"]) == (200, "598")
