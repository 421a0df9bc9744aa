"""What browsers are told: that answers are not to be kept, framed or guessed at, and which pages may call."""

from __future__ import annotations

import pytest

import longmind
from tests.server.asgi_requests import ask, lines
from tests.server.conftest import Tried

SECURE = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
PREFLIGHT = lines(
    origin="https://app.example",
    access_control_request_method="POST",
    access_control_request_headers="authorization, x-longmind-user",
)


@pytest.mark.parametrize("path", ["/greet", "/healthz", "/nowhere"])
def test_every_answer_has_the_headers_that_keep_it_safe(path: str) -> None:
    with longmind.open("sqlite:///:memory:", embedder=None) as engine:
        answer = ask(Tried(engine).app, path)
        assert {name: answer.headers.get(name) for name in SECURE} == SECURE
        assert "strict-transport-security" not in answer.headers
        assert "server" not in answer.headers
        over_tls = ask(Tried(engine).app, path, scheme="https")
        assert over_tls.headers["strict-transport-security"] == "max-age=31536000"


def test_no_page_of_another_site_may_call_unless_it_is_named() -> None:
    with longmind.open("sqlite:///:memory:", embedder=None) as engine:
        app = Tried(engine).app
        assert (
            ask(app, "/healthz", *lines(origin="https://app.example"))
            .headers.keys()
            .isdisjoint({"access-control-allow-origin", "access-control-allow-credentials"})
        )
        assert ask(app, "/greet", *PREFLIGHT, method="OPTIONS").status == 405


def test_a_page_that_is_named_may_call_and_no_other() -> None:
    with longmind.open("sqlite:///:memory:", embedder=None, cors_origins="https://app.example/") as engine:
        app = Tried(engine).app
        allowed = ask(app, "/greet", *PREFLIGHT, method="OPTIONS")
        assert (allowed.status, allowed.headers["access-control-allow-origin"]) == (200, "https://app.example")
        assert "access-control-allow-credentials" not in allowed.headers
        answer = ask(app, "/greet", *lines(origin="https://app.example"))
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://app.example")
        assert "etag" in answer.headers["access-control-expose-headers"]
        foreign = [(name, value.replace(b"app.", b"evil.")) for name, value in PREFLIGHT]
        refused = ask(app, "/greet", *foreign, method="OPTIONS")
        assert refused.status == 400
        assert "access-control-allow-origin" not in refused.headers
