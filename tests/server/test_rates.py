"""Rates: a credential that is used too often is told to wait, and the others are not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from longmind.server.auth.identity import Authenticator, make_error_headers
from tests.server.asgi_requests import bearer, lines


def test_a_key_that_is_used_too_often_is_told_when_to_come_again(engine: longmind.Engine) -> None:
    busy = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada", rate="3/hour")
    calm = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada")
    authenticator = Authenticator(engine)

    left = [authenticator.identify(bearer(busy.token)).headers["RateLimit-Remaining"] for _ in range(3)]
    assert left == ["2", "1", "0"]
    with pytest.raises(longmind.RateLimited) as refused:
        authenticator.identify(bearer(busy.token))

    headers = make_error_headers(refused.value)
    assert refused.value.status == 429
    assert headers["Retry-After"] == headers["RateLimit-Reset"] == str(refused.value.retry_after)
    assert 1 <= refused.value.retry_after <= 3600
    assert (headers["RateLimit-Limit"], headers["RateLimit-Policy"]) == ("3", "3;w=3600")
    assert authenticator.identify(bearer(calm.token)).headers == {}


def test_what_is_set_holds_for_keys_without_a_rate_of_their_own() -> None:
    with longmind.open("sqlite:///:memory:", embedder=None, rate_limit="1/day") as engine:
        authenticator = Authenticator(engine)
        home = lines(host="localhost")
        authenticator.identify(home)
        with pytest.raises(longmind.RateLimited):
            authenticator.identify(home)
        plain = engine.keys.create(tenant_id="acme", app_id="support", any_user=True)
        own = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada", rate="100/day")
        authenticator.identify(bearer(plain.token, x_longmind_user="ada"))
        with pytest.raises(longmind.RateLimited):
            # It is the key that is limited, whatever user it names.
            authenticator.identify(bearer(plain.token, x_longmind_user="bob"))
        assert [authenticator.identify(bearer(own.token)).via for _ in range(5)] == ["key"] * 5


def test_threads_together_get_no_more_than_one_of_them() -> None:
    with longmind.open("sqlite:///:memory:", embedder=None) as engine:
        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada", rate="50/day")
        authenticator = Authenticator(engine)

        def ask(_: int) -> bool:
            try:
                return bool(authenticator.identify(bearer(key.token)))
            except longmind.RateLimited:
                return False

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(ask, range(200))) == 50


def test_a_wrong_key_uses_up_nothing_of_the_right_one(engine: longmind.Engine) -> None:
    key = engine.keys.create(tenant_id="acme", app_id="support", user_id="ada", rate="1/day")
    authenticator = Authenticator(engine)

    for _ in range(3):
        with pytest.raises(longmind.Unauthenticated):
            authenticator.identify(bearer(f"{key.id}_{'A' * 43}"))
    assert authenticator.identify(bearer(key.token)).key_id == key.id


@pytest.mark.parametrize("settings", [{"rate_limit": "often"}, {"rate_limit_storage": "nonesuch://"}])
def test_a_rate_that_cannot_be_kept_is_refused_at_the_start(settings: dict[str, Any]) -> None:
    with (
        longmind.open("sqlite:///:memory:", embedder=None, **settings) as engine,
        pytest.raises(longmind.InvalidInput),
    ):
        Authenticator(engine)
