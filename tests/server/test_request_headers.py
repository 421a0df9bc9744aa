"""Headers that were tampered with: sent twice, in another encoding, or with what ends a line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from longmind.server.auth.identity import Authenticator, make_error_headers
from tests.server.asgi_requests import bearer, lines


@pytest.fixture(scope="module")
def engine() -> Iterator[longmind.Engine]:
    """What is refused here never comes as far as a database, so one in memory will do."""
    with longmind.open("sqlite:///:memory:", embedder=None) as engine:
        yield engine


@pytest.fixture(scope="module")
def token(engine: longmind.Engine) -> str:
    return engine.keys.create(tenant_id="acme", app_id="support", any_user=True).token


@pytest.fixture(scope="module")
def authenticator(engine: longmind.Engine, token: str) -> Authenticator:
    return Authenticator(engine)


def test_two_credentials_are_none(authenticator: Authenticator, token: str) -> None:
    user = lines(x_longmind_user="ada")

    for headers in (
        [*bearer(token), *bearer(token), *user],
        [*bearer(token), *lines(x_api_key=token), *user],
        [*lines(x_api_key=token), (b"X-API-Key", token.encode()), *user],
    ):
        with pytest.raises(longmind.Unauthenticated) as refused:
            authenticator.identify(headers)
        assert make_error_headers(refused.value) == {
            "WWW-Authenticate": 'Bearer realm="longmind", error="invalid_token"'
        }


@pytest.mark.parametrize(
    "authorization", ["Basic YWRhOnNlY3JldA==", "Bearer", "Bearer ", "Token {}", "{}", "Bearer {} {}", "Bearer\t{}"]
)
def test_a_credential_of_another_form_is_refused(authenticator: Authenticator, token: str, authorization: str) -> None:
    with pytest.raises(longmind.Unauthenticated):
        authenticator.identify(lines(authorization=authorization.replace("{}", token), x_longmind_user="ada"))


def test_who_sends_nothing_is_told_how_and_not_what_was_wrong(authenticator: Authenticator) -> None:
    with pytest.raises(longmind.Unauthenticated) as refused:
        authenticator.identify(lines(x_longmind_user="ada", host="localhost"))

    assert make_error_headers(refused.value) == {"WWW-Authenticate": 'Bearer realm="longmind"'}


@pytest.mark.parametrize(
    "header", ["user", "agent", "group", "session", "run", "client", "graph", "node", "tenant", "app"]
)
@pytest.mark.parametrize(
    "value",
    [
        b"ada\r\nX-Longmind-Tenant: globex",
        b"ada\nbob",
        b"ada\x00",
        b"ada\x1b[2J",
        b"ada\x7f",
        "ada\x85".encode(),
        b"zo\xeb",  # Latin-1
        b"\xff\xfe",
        b"\xed\xa0\x80",  # half a surrogate pair
    ],
)
def test_a_scope_that_is_no_clean_text_is_refused(
    authenticator: Authenticator, token: str, header: str, value: bytes
) -> None:
    user = [] if header == "user" else lines(x_longmind_user="ada")

    with pytest.raises(longmind.InvalidInput) as refused:
        authenticator.identify([*bearer(token), *user, (f"x-longmind-{header}".encode(), value)])
    assert refused.value.status == 400


def test_a_scope_that_is_sent_twice_is_refused_even_if_it_is_the_same(authenticator: Authenticator, token: str) -> None:
    for second in ("bob", "ada"):
        with pytest.raises(longmind.InvalidInput, match="2 times"):
            authenticator.identify([*bearer(token), *lines(x_longmind_user="ada"), *lines(x_longmind_user=second)])


def test_names_with_underscores_are_other_headers(authenticator: Authenticator, token: str) -> None:
    with pytest.raises(longmind.InvalidInput, match="names no user"):
        authenticator.identify([*bearer(token), (b"x_longmind_user", b"ada")])
