"""Requests that fail: which are repeated, how long the pause is, and what the caller learns in the end."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import longmind
from longmind.client.problem_errors import to_error
from longmind.client.retry_policy import Attempts, RequestFailure
from longmind.errors import LongmindError, name_problem
from longmind.server.problems import to_problem
from longmind.server.routes import MEMORY_OPERATIONS, make_routes
from tests.client.awaited import Awaited, event_loop

FOUND = {"query": "x", "items": [], "news": "a field of a later version"}
ADDED: dict[str, Any] = {"conversationId": None, "messageIds": [], "learned": [], "confirmed": [], "replaced": []}
Step = LongmindError | dict[str, Any] | str


class ScriptedServer(ThreadingHTTPServer):
    """A server that answers each request with the next step: a problem, JSON, text as it is, or by hanging up."""

    daemon_threads = True

    def __init__(self, *steps: Step, headers: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.steps = list(steps)
        self.headers = headers or {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        named = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, named))
        step = self.server.steps.pop(0) if len(self.server.steps) > 1 else self.server.steps[0]
        if step == "hang up":
            self.close_connection = True
            return
        status, headers, body = 200, {"content-type": "application/json"}, b""
        if isinstance(step, LongmindError):
            status, headers, body = to_problem(step)
        elif isinstance(step, dict):
            body = json.dumps(step).encode()
        else:
            status, _, text = step.partition(" ")  # type: ignore[assignment]
            body = text.encode()
        self.send_response(int(status))
        for name, value in {**headers, **self.server.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def scripted(*steps: Step, headers: dict[str, str] | None = None) -> Iterator[ScriptedServer]:
    with ScriptedServer(*steps, headers=headers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(params=["Client", "AsyncClient"])
def connect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Make clients of one kind; pauses are noted instead of waited for."""
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("longmind.client.transports.time.sleep", pauses.append)
    monkeypatch.setattr("longmind.client.transports.asyncio.sleep", note)
    made = []
    with event_loop() as loop:

        def make(url: str, **more: Any) -> Any:
            client = getattr(longmind, request.param)("ada", url=url, key="rk_secret", **more)
            made.append(Awaited(client, loop) if request.param == "AsyncClient" else client)
            return made[-1]

        make.pauses = pauses  # type: ignore[attr-defined]
        yield make
        for each in made:
            each.close()


@pytest.mark.parametrize("error", [longmind.RateLimited(60, 60, 7), longmind.StoreBusy(), longmind.StoreUnavailable()])
def test_what_the_server_refused_for_now_is_sent_again_after_its_pause(connect: Any, error: LongmindError) -> None:
    with scripted(error, error, ADDED) as server:
        added = connect(server.url).add("I live in Vienna.")
        assert added.message_ids == []
        assert len(server.requests) == 3
        assert min(connect.pauses) >= (7 if isinstance(error, longmind.RateLimited) else 1)


@pytest.mark.parametrize(
    "step", ["hang up", "502 <html>Bad gateway</html>", longmind.OutcomeUnknown(), longmind.LongmindError()]
)
def test_only_what_may_be_done_twice_is_repeated_after_an_unclear_end(connect: Any, step: Step) -> None:
    with scripted(step, FOUND) as server:
        assert connect(server.url).search("x").items == []
        assert len(server.requests) == 2
    with scripted(step, ADDED) as server:
        with pytest.raises(longmind.LongmindError) as raised:
            connect(server.url).add("I live in Vienna.")
        assert len(server.requests) == 1
        if step == "hang up":
            assert type(raised.value) is longmind.OutcomeUnknown
            assert "may have been done" in raised.value.message


def test_a_fact_with_a_key_of_its_own_may_be_added_again(connect: Any) -> None:
    with scripted("hang up", ADDED) as server:
        connect(server.url).add("Budget is 5000 euros.", key="budget")
        assert len(server.requests) == 2


def test_after_the_last_attempt_the_error_is_raised(connect: Any) -> None:
    with scripted(longmind.StoreBusy("The database is busy.")) as server:
        with pytest.raises(longmind.StoreBusy, match=r"The database is busy\."):
            connect(server.url, retries=2).facts()
        assert len(server.requests) == 3
        with pytest.raises(longmind.StoreBusy):
            connect(server.url, retries=0).facts()
        assert len(server.requests) == 4


def test_a_pause_that_is_too_long_is_an_error_at_once(connect: Any) -> None:
    with scripted(longmind.RateLimited(60, 3600, 3600)) as server:
        with pytest.raises(longmind.RateLimited) as raised:
            connect(server.url, longest_wait=30).facts()
        assert (raised.value.limit, raised.value.window, raised.value.retry_after) == (60, 3600, 3600)
        assert (len(server.requests), connect.pauses) == (1, [])


def test_what_no_pause_mends_is_not_repeated(connect: Any) -> None:
    for error in (
        longmind.ModelMissing(),
        longmind.StoreReadOnly(),
        longmind.InvalidInput("No."),
        longmind.Forbidden(),
    ):
        with scripted(error) as server:
            with pytest.raises(type(error)):
                connect(server.url).facts()
            assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_tried_again_and_then_named(connect: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(longmind.ServerUnavailable) as raised:
            connect(url, retries=2).add("I live in Vienna.")
    assert url in raised.value.message
    assert "longmind serve" in raised.value.hint
    assert len(connect.pauses) == 2


def test_a_server_that_does_not_answer_in_time(connect: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(longmind.OutcomeUnknown, match=r"within 0\.2 seconds"):
            connect(url, timeout=0.2, retries=1).facts()


@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        ("404 <html>Not found</html>", longmind.ServerFailed, "answered 404 (Not Found)"),
        ("503 busy", longmind.ServerUnavailable, "answered 503"),
        ("200 <html>Welcome!</html>", longmind.ServerFailed, "is not JSON"),
        ("302 elsewhere", longmind.ServerFailed, "redirects to 'https://evil.example/'"),
        ("799 odd", longmind.ServerFailed, "an unknown status"),
    ],
)
def test_what_is_no_longmind_server_is_reported_as_such(connect: Any, step: str, kind: Any, said: str) -> None:
    with scripted(step, headers={"location": "https://evil.example/"}) as server:
        with pytest.raises(kind) as raised:
            connect(server.url, retries=0).facts()
        assert said in raised.value.message
        assert raised.value.hint


def test_each_request_names_the_user_and_carries_the_key(connect: Any) -> None:
    with scripted(FOUND) as server:
        connect(server.url, agent="planner", session="s1", space="work plans").search("x")
        method, path, headers = server.requests[0]
        assert (method, path) == ("POST", "/v1/memory/search?space=work+plans")
        assert headers["authorization"] == "Bearer rk_secret"
        assert (headers["x-longmind-user"], headers["x-longmind-agent"]) == ("ada", "planner")


def test_the_key_is_never_shown() -> None:
    client = longmind.Client("ada", url="http://localhost:1/", key="rk_secret")
    assert repr(client) == "Client('ada', http://localhost:1)"
    assert "rk_secret" not in repr(vars(client))
    client.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "sqlite:///memory.db"}, "The URL is that of a database"),
        ({"url": "localhost:8000"}, "is not that of a server"),
        ({"url": "http://ada:secret@localhost"}, "has a user or a password"),
        ({"url": "http://localhost:port"}, "cannot be understood"),
        ({"url": 7}, "url must be a text, not int."),
        ({"key": " "}, "key must be a text that is not blank."),
        ({"key": "a\r\nX-Evil: 1"}, "The key has characters that no key has."),
        ({"timeout": 0}, "timeout is 0."),
        ({"retries": -1}, "retries is -1."),
        ({"longest_wait": "soon"}, "longest_wait is 'soon'."),
        ({"user": ""}, "blank"),
        ({"user": "*"}, "reserved"),
        ({"agent": "a\nb"}, "control character"),
        ({"space": " "}, "space is ' '."),
    ],
)
@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_what_cannot_be_used_is_refused_before_anything_is_sent(kind: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(longmind.InvalidInput) as raised:
        getattr(longmind, kind)(**{"user": "ada", **options})
    assert said in raised.value.message
    assert raised.value.hint or "must" in raised.value.message


@pytest.mark.parametrize("bare", ["localhost:8000", "127.0.0.1:8000", "memory.example.com"])
def test_an_address_without_http_is_shown_with_it(bare: str) -> None:
    with pytest.raises(longmind.InvalidInput) as raised:
        longmind.Client("ada", url=bare)
    assert raised.value.hint == f"Did you mean http://{bare}?"


def test_server_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(FOUND) as server:
        monkeypatch.setenv("LONGMIND_SERVER", server.url)
        monkeypatch.setenv("LONGMIND_KEY", "rk_environment")
        with longmind.Client() as client:
            client.search("x")
        assert server.requests[0][2]["authorization"] == "Bearer rk_environment"
        assert "x-longmind-user" not in server.requests[0][2]
        # The key of one server is not sent to another.
        with scripted(FOUND) as other, longmind.Client(url=other.url) as client:
            client.search("x")
            assert "authorization" not in other.requests[0][2]


def test_what_cannot_be_sent_is_refused() -> None:
    with longmind.Client(url="http://127.0.0.1:1") as client:
        with pytest.raises(longmind.InvalidInput, match="content has a bytes, which cannot be sent"):
            client.add(b"I live in Vienna.")
        with pytest.raises(longmind.InvalidInput, match="metadata has a object"):
            client.add("Hello.", metadata={"a": object()})
    with pytest.raises(TypeError, match="AsyncClient"):
        longmind.Client().__aenter__()
    with pytest.raises(TypeError, match=r"longmind\.Client"):
        longmind.AsyncClient().__enter__()


def test_every_error_of_the_library_arrives_as_itself() -> None:
    samples: list[LongmindError] = [
        longmind.NotFound("fact", "atom_1"),
        longmind.ConversationClosed("conv_1"),
        longmind.IdempotencyMismatch("key-1"),
        longmind.LimitExceeded("content", limit=1, given=2, unit="bytes"),
        longmind.RateLimited(1, 2, 3),
        longmind.ToolError("RATE_LIMITED", "Too many.", retriable=True, stage=3, field="content", retry_after=2.5),
        longmind.BlockConflict("core block", None, "2026-01-01T00:00:00Z"),
        longmind.Unauthenticated(),
        longmind.ExtractionFailed("The model is away."),
    ]
    tried = {type(each) for each in samples}
    for kind in every_error(LongmindError):
        if kind not in tried:
            samples.append(kind("Something failed.", hint="Do something."))
    for error in samples:
        status, headers, body = to_problem(error)
        rebuilt = to_error(status, headers, body)
        assert type(rebuilt) is type(error), name_problem(type(error))
        assert (rebuilt.message, rebuilt.hint, rebuilt.status) == (error.message, error.hint, error.status)
        missing = error.__dict__.keys() - rebuilt.__dict__.keys()
        assert missing <= {"cause"}, type(error)
    described = to_error(*to_problem(longmind.NotFound("fact", "atom_1")))
    assert isinstance(described, longmind.NotFound)
    assert (described.noun, described.id) == ("fact", "atom_1")


def test_a_forged_problem_makes_an_error_of_the_library_and_nothing_else() -> None:
    forged: list[dict[str, object]] = [
        {"__class__": "x", "args": 1},
        {"limit": "many", "retry_after": [], "window": None},
        {"current": {}},
    ]
    for named in forged:
        for kind in ("rate-limited", "block-conflict", "tool-error", "of-a-later-version"):
            body = json.dumps({"type": f"urn:longmind:problem:{kind}", "detail": 7, **named}).encode()
            error = to_error(429, {"retry-after": "inf"}, body)
            assert isinstance(error, LongmindError)
            assert str(error) == "7"
    assert to_error(500, {}, b"\xff" * 10).status == 500


def every_error(of: type[LongmindError]) -> Iterator[type[LongmindError]]:
    for kind in of.__subclasses__():
        if kind.__module__ == "longmind.errors":
            yield kind
            yield from every_error(kind)


def test_the_requests_are_those_that_the_server_answers() -> None:
    from longmind.client.memory_requests import REQUESTS

    routes = {route.operation.name: route.http for route in make_routes() if route.operation in MEMORY_OPERATIONS}
    assert {name: (each.method, each.path) for name, each in routes.items()} == {
        name: (each.http_method, each.path) for name, each in REQUESTS.items()
    }
    assert all(REQUESTS[each.name].repeatable for each in MEMORY_OPERATIONS if each.access == "read")


def test_pauses_grow_and_end() -> None:
    attempts = Attempts(repeatable=True, left=5, longest_wait=60)
    failure = RequestFailure(longmind.StoreBusy(), reached=True, status=503)
    pauses = [attempts.pause_after(failure) for _ in range(5)]
    assert all(later > earlier / 2 for earlier, later in itertools.pairwise(pauses))
    assert max(pauses) <= 8
    with pytest.raises(longmind.StoreBusy):
        attempts.pause_after(failure)
    with pytest.raises(longmind.StoreBusy):
        Attempts(True, 5, 60).pause_after(
            RequestFailure(longmind.StoreBusy(), reached=True, status=503, retry_after=float("inf"))
        )
