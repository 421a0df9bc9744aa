"""Single-user mode: no key on one's own machine, and nobody else gets in that way."""

from __future__ import annotations

import pytest

import longmind
from longmind.server.auth.identity import Authenticator
from longmind.server.auth.single_user import is_loopback
from tests.server.asgi_requests import bearer, lines

HOME = lines(host="localhost:8765")


def test_without_a_key_the_user_of_the_machine_is_served(engine: longmind.Engine) -> None:
    authenticator = Authenticator(engine, host="127.0.0.1")

    assert authenticator.single_user
    identity = authenticator.identify(HOME, client="127.0.0.1")
    assert (identity.scope.tenant_id, identity.scope.user_id, identity.via) == ("local", "default", "single-user")
    assert identity.scope.capabilities == {"admin"}
    assert authenticator.identify([*HOME, *lines(x_longmind_user="default")]).scope.user_id == "default"
    with pytest.raises(longmind.Forbidden, match="single-user mode") as refused:
        authenticator.identify([*HOME, *lines(x_longmind_user="ada")])
    assert refused.value.hint.startswith("Name no user")


def test_the_first_key_ends_it_for_servers_that_run(database_url: str) -> None:
    with longmind.open(database_url) as engine, longmind.open(database_url) as other:
        authenticator = Authenticator(engine)
        assert authenticator.identify(HOME).scope.user_id == "default"

        key = other.keys.create(tenant_id="acme", app_id="support", user_id="ada")

        assert not authenticator.single_user
        with pytest.raises(longmind.Unauthenticated):
            authenticator.identify(HOME)
        assert authenticator.identify(bearer(key.token)).scope.user_id == "ada"
        # A key that was taken back does not open the door for everybody.
        other.keys.revoke(key.id)
        for server in (authenticator, Authenticator(other)):
            with pytest.raises(longmind.Unauthenticated):
                server.identify(HOME)


def test_a_wrong_key_does_not_pass_for_none(engine: longmind.Engine) -> None:
    authenticator = Authenticator(engine)

    for headers in ([*HOME, *bearer("rk_wrong")], [*HOME, *lines(authorization="")], [*HOME, *lines(x_api_key="")]):
        with pytest.raises(longmind.Unauthenticated):
            authenticator.identify(headers)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "longmind.example", "localhost.evil.example", ""])
def test_without_a_key_no_other_address_is_listened_on(host: str) -> None:
    with longmind.open("sqlite:///:memory:", embedder=None) as engine:
        with pytest.raises(longmind.InvalidInput) as refused:
            Authenticator(engine, host=host)
        assert "longmind keys create" in refused.value.hint

        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")
        authenticator = Authenticator(engine, host=host)
        assert not authenticator.single_user
        assert authenticator.identify(bearer(key.token)).scope.user_id == "ada"
        with pytest.raises(longmind.Unauthenticated):
            authenticator.identify(HOME, client="127.0.0.1")

        # One that nothing can be opened with does not count.
        engine.keys.revoke(key.id)
        with pytest.raises(longmind.InvalidInput):
            Authenticator(engine, host=host)


def test_what_is_loopback_is_known() -> None:
    for host in ("127.0.0.1", "127.8.9.10", "::1", "[::1]", "localhost", "LOCALHOST", "localhost.", "::ffff:127.0.0.1"):
        assert is_loopback(host), host
    for host in ("128.0.0.1", "0.0.0.0", "::", "localhost.example", "127.0.0.1.example", "2130706433", "0x7f.1", ""):
        assert not is_loopback(host), host


LOCAL = "localhost:8765"


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        # Another name that leads here: DNS rebinding.
        (403, lines(host="evil.example:8765")),
        (403, lines(host="localhost.evil.example")),
        (403, lines(host="evil.example#@localhost")),
        (403, lines(host="user@localhost")),
        (403, lines(host="localhost:8765:1")),
        (403, lines(host="")),
        (403, []),
        (403, [*lines(host=LOCAL), *lines(host="evil.example")]),
        # A page of another site, in whatever way it calls.
        (403, lines(host=LOCAL, origin="https://evil.example")),
        (403, lines(host=LOCAL, origin="http://localhost:3000")),
        (403, lines(host=LOCAL, origin="https://localhost:8765")),
        (403, lines(host=LOCAL, origin="null")),
        (403, lines(host=LOCAL, origin="")),
        (403, lines(host=LOCAL, sec_fetch_site="cross-site")),
        (403, lines(host=LOCAL, sec_fetch_site="same-site")),
        (403, [*lines(host=LOCAL, origin=f"http://{LOCAL}"), *lines(origin="https://evil.example")]),
        # A proxy, behind which everybody comes from this machine.
        (401, lines(host=LOCAL, x_forwarded_for="203.0.113.9")),
        (401, lines(host=LOCAL, forwarded="for=203.0.113.9")),
        (401, lines(host=LOCAL, via="1.1 proxy")),
    ],
    ids=str,
)
def test_a_page_of_another_site_and_a_proxy_are_not_the_user(status: int, headers: list[tuple[bytes, bytes]]) -> None:
    with longmind.open("sqlite:///:memory:", embedder=None, cors_origins="https://app.example, *") as engine:
        with pytest.raises(longmind.LongmindError) as refused:
            Authenticator(engine).identify(headers, client="127.0.0.1")
        assert refused.value.status == status


def test_the_server_s_own_page_and_one_that_is_allowed_are_served() -> None:
    with longmind.open("sqlite:///:memory:", embedder=None, cors_origins="https://app.example") as engine:
        authenticator = Authenticator(engine)
        for headers in (
            lines(host=LOCAL, origin=f"http://{LOCAL}", sec_fetch_site="same-origin"),
            lines(host="127.0.0.1:8765", sec_fetch_site="none"),
            lines(host="[::1]:8765", origin="http://[::1]:8765"),
            lines(host=LOCAL, origin="https://app.example", sec_fetch_site="cross-site"),
        ):
            assert authenticator.identify(headers, client="::1").scope.user_id == "default"
        with pytest.raises(longmind.Unauthenticated):
            authenticator.identify(HOME, client="192.168.1.7")
