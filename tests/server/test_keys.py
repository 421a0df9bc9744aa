"""Keys: shown once, hashed at rest, for one tenant and app, and taken back at once everywhere."""

from __future__ import annotations

import hmac
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import longmind
from longmind.server.auth.identity import Authenticator
from tests.clock import SettableClock
from tests.server.asgi_requests import bearer, lines


@pytest.fixture
def authenticator(engine: longmind.Engine) -> Authenticator:
    return Authenticator(engine)


def make(engine: longmind.Engine, **given: Any) -> longmind.MadeKey:
    return engine.keys.create(**({"tenant_id": "acme", "app_id": "support"} | given))


@pytest.mark.conforms("A0.2")
def test_a_key_for_one_user_is_that_user(engine: longmind.Engine, authenticator: Authenticator) -> None:
    key = make(engine, user_id="ada", name="phone")

    for headers in (bearer(key.token), lines(x_api_key=key.token), lines(authorization=f"bEARER  {key.token}")):
        identity = authenticator.identify(headers)
        assert identity.scope == longmind.Scope("acme", "support", "ada")
        assert (identity.via, identity.key_id) == ("key", key.id)
    assert authenticator.identify(bearer(key.token, x_longmind_user="ada")).scope.user_id == "ada"
    with pytest.raises(longmind.Forbidden):
        authenticator.identify(bearer(key.token, x_longmind_user="bob"))


def test_a_key_for_any_user_needs_a_user_with_each_request(
    engine: longmind.Engine, authenticator: Authenticator
) -> None:
    key = make(engine, any_user=True)

    assert authenticator.identify(bearer(key.token, x_longmind_user="zoë")).scope == longmind.Scope(
        "acme", "support", "zoë"
    )
    with pytest.raises(longmind.InvalidInput, match="names no user"):
        authenticator.identify(bearer(key.token))
    for nobody in ("*", "  ", "a" * 256):
        with pytest.raises(longmind.InvalidInput):
            authenticator.identify(bearer(key.token, x_longmind_user=nobody))


def test_only_a_key_for_administration_has_that_capability(
    engine: longmind.Engine, authenticator: Authenticator
) -> None:
    admin, plain = make(engine, admin=True), make(engine, any_user=True)

    assert authenticator.identify(bearer(admin.token, x_longmind_user="ada")).scope.capabilities == {"admin"}
    assert authenticator.identify(bearer(plain.token, x_longmind_user="ada")).scope.capabilities == frozenset()


def test_a_request_adds_its_session_and_the_like_and_nothing_of_the_credentials(
    engine: longmind.Engine, authenticator: Authenticator
) -> None:
    key = make(engine, user_id="ada")
    about = {
        "agent": "planner",
        "group": "crew",
        "session": "s1",
        "run": "r1",
        "client": "web",
        "graph": "g1",
        "node": "n1",
    }

    identity = authenticator.identify(bearer(key.token, **{f"x_longmind_{name}": said for name, said in about.items()}))

    assert identity.names == {
        "tenant_id": "acme",
        "app_id": "support",
        "user_id": "ada",
        "agent_id": "planner",
        "group": "crew",
        "session_id": "s1",
        "run_id": "r1",
        "client_id": "web",
        "graph_id": "g1",
        "node_id": "n1",
        "capabilities": frozenset(),
    }
    for header in ("x_longmind_tenant", "x_longmind_app"):
        with pytest.raises(longmind.Forbidden):
            authenticator.identify(bearer(key.token, **{header: "globex"}))


def test_a_key_is_nothing_but_its_hash_in_the_database(database_url: str, tmp_path: Path) -> None:
    with longmind.open(database_url) as engine:
        key = make(engine, user_id="ada")
        secret = key.token.removeprefix(f"{key.id}_")
        assert re.fullmatch(r"[\w-]{43}", secret)
        assert secret not in repr(key)
        assert secret not in repr(engine.keys.list())
    if database_url.startswith("sqlite"):
        stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    else:
        with psycopg.connect(database_url) as connection:
            rows = connection.execute("SELECT to_jsonb(k)::text FROM longmind.access_keys AS k").fetchall()
        stored = str(rows).encode()
    assert key.id.encode() in stored
    assert secret.encode() not in stored


def test_no_two_keys_are_alike(engine: longmind.Engine) -> None:
    made = [make(engine, user_id="ada") for _ in range(50)]

    assert len({key.token for key in made}) == len({key.token[-43:] for key in made}) == 50
    assert [key.id for key in engine.keys.list()] == sorted(key.id for key in made)


FORGERIES: list[Callable[[str], str]] = [
    lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
    lambda token: token[:-1],
    lambda token: token + "A",
    lambda token: token.upper(),
    lambda token: f"{token[:35]}_{'A' * 43}",
    lambda token: f"rk_{'0' * 32}_{token[-43:]}",
    lambda token: f"rk_{'0' * 32}_%",
    lambda token: "rk_",
    lambda token: token[:35],
    lambda token: f"{token},{token}",
    lambda token: f"{token}\n",
    lambda token: f"{token}\x00",
    lambda token: f"{token}é",
    lambda token: "' OR 1=1 --",
    lambda token: "A" * 10_000,
    lambda token: "",
]


def test_what_is_not_the_key_to_the_letter_is_refused(engine: longmind.Engine, authenticator: Authenticator) -> None:
    token = make(engine, user_id="ada").token

    for forge in FORGERIES:
        for headers in (bearer(forge(token)), lines(x_api_key=forge(token))):
            with pytest.raises(longmind.Unauthenticated) as refused:
                authenticator.identify(headers)
            assert token not in str(refused.value)


def test_another_key_s_secret_is_of_no_use(engine: longmind.Engine, authenticator: Authenticator) -> None:
    ada, bob = make(engine, user_id="ada"), make(engine, user_id="bob")

    with pytest.raises(longmind.Unauthenticated):
        authenticator.identify(bearer(f"{ada.id}_{bob.token[-43:]}"))


def test_keys_are_compared_in_a_time_that_does_not_tell_how_near_one_was(
    engine: longmind.Engine, authenticator: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make(engine, user_id="ada")
    compared: list[tuple[str, str]] = []
    compare = hmac.compare_digest

    def watch(one: str, other: str) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watch)
    authenticator.identify(bearer(key.token))
    with pytest.raises(longmind.Unauthenticated):
        authenticator.identify(bearer(f"{key.id}_{'A' * 43}"))

    assert [one == other for one, other in compared] == [True, False]
    # Hashes, so that even the comparison never sees a secret.
    assert all(re.fullmatch("[0-9a-f]{64}", text) for pair in compared for text in pair)


def test_a_key_that_one_engine_revokes_is_refused_by_the_other_at_once(database_url: str) -> None:
    with longmind.open(database_url) as engine, longmind.open(database_url) as other:
        key = make(engine, user_id="ada")
        authenticator = Authenticator(other)
        assert authenticator.identify(bearer(key.token)).key_id == key.id

        revoked = engine.keys.revoke(key.id)

        assert revoked.revoked_at is not None
        with pytest.raises(longmind.Unauthenticated, match="revoked"):
            authenticator.identify(bearer(key.token))
        # The first revocation is the one that is told.
        assert other.keys.revoke(key.token).revoked_at == revoked.revoked_at
    with longmind.open(database_url) as later, pytest.raises(longmind.Unauthenticated, match="revoked"):
        Authenticator(later).identify(bearer(key.token))


def test_a_key_that_another_process_revokes_is_refused_at_once(
    database_url: str, engine: longmind.Engine, authenticator: Authenticator
) -> None:
    key = make(engine, user_id="ada")
    authenticator.identify(bearer(key.token))

    done = subprocess.run(
        [str(Path(sys.executable).with_name("longmind")), "keys", "revoke", key.id, "--url", database_url],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    with pytest.raises(longmind.Unauthenticated, match="revoked"):
        authenticator.identify(bearer(key.token))


def test_a_key_ends_at_its_time(database_url: str) -> None:
    clock = SettableClock()
    with longmind.open(database_url, clock=clock) as engine:
        ends = datetime.fromtimestamp(clock.now / 1_000_000, UTC) + timedelta(hours=1)
        key = make(engine, user_id="ada", expires_at=ends)
        authenticator = Authenticator(engine)
        assert authenticator.identify(bearer(key.token)).key_id == key.id

        clock.advance(3600)

        with pytest.raises(longmind.Unauthenticated, match="expired"):
            authenticator.identify(bearer(key.token))
        with pytest.raises(longmind.InvalidInput, match="past"):
            make(engine, user_id="ada", expires_at=ends)


def test_the_last_use_is_noted_once_a_minute(database_url: str) -> None:
    clock = SettableClock()
    with longmind.open(database_url, clock=clock) as engine:
        key = make(engine, user_id="ada")
        authenticator = Authenticator(engine)

        def used() -> str | None:
            authenticator.identify(bearer(key.token))
            engine.keys.settle()
            (known,) = engine.keys.list()
            return known.last_used_at

        first = used()
        clock.advance(59)
        assert used() == first
        clock.advance(2)
        later = used()
        assert first is not None
        assert later is not None
        assert later > first


def test_a_request_does_not_fail_when_its_use_cannot_be_noted(sqlite_url: str) -> None:
    with longmind.open(sqlite_url) as engine:
        key = make(engine, user_id="ada")
    with longmind.open(sqlite_url, busy_timeout_seconds=0.01) as engine:
        authenticator = Authenticator(engine)

        def identify_meanwhile(_: object) -> None:
            assert authenticator.identify(bearer(key.token)).key_id == key.id
            engine.keys.settle()

        with longmind.open(sqlite_url) as other:
            other._database.write(None, identify_meanwhile)
        assert [known.last_used_at for known in engine.keys.list()] == [None]


SENSELESS: list[dict[str, Any]] = [
    {},
    {"user_id": "ada", "any_user": True},
    {"any_user": True, "admin": True},
    {"user_id": "*"},
    {"user_id": "ada", "tenant_id": " "},
    {"user_id": "ada", "app_id": "a\x00b"},
    {"user_id": "ada", "name": "\ud800"},
    {"user_id": "ada", "name": "n" * 256},
    {"user_id": "ada", "rate": "often"},
    {"user_id": "ada", "rate": "0/minute"},
    {"user_id": "ada", "rate": "5 per minute"},
    {"user_id": "ada", "expires_at": "tomorrow"},
]


def test_a_key_that_makes_no_sense_is_not_made(engine: longmind.Engine) -> None:
    for given in SENSELESS:
        with pytest.raises(longmind.LongmindError) as refused:
            make(engine, **given)
        assert refused.value.status in (400, 422)
    assert engine.keys.list() == []
    assert not engine.keys.any_made()


def test_keys_are_listed_by_tenant_and_app(engine: longmind.Engine) -> None:
    mine, other = make(engine, user_id="ada"), make(engine, app_id="sales", user_id="ada")
    foreign = make(engine, tenant_id="globex", user_id="ada")

    assert [key.id for key in engine.keys.list()] == [mine.id, other.id, foreign.id]
    assert [key.id for key in engine.keys.list(tenant_id="acme")] == [mine.id, other.id]
    assert [key.id for key in engine.keys.list(tenant_id="acme", app_id="sales")] == [other.id]
    with pytest.raises(longmind.NotFound):
        engine.keys.revoke("rk_nonesuch")


def test_the_keys_of_a_user_who_is_erased_open_nothing_and_tell_nothing(
    engine: longmind.Engine, authenticator: Authenticator
) -> None:
    hers, other = make(engine, user_id="ada", name="the phone of Ada"), make(engine, user_id="bob", name="phone")
    foreign = make(engine, tenant_id="globex", user_id="ada")

    erased = engine.context(tenant_id="acme", app_id="support", user_id="ada").admin.delete_user_data(confirm=True)

    assert erased["deleted"]["access_keys"] == 1
    with pytest.raises(longmind.Unauthenticated):
        authenticator.identify(bearer(hers.token))
    known = {key.id: key for key in engine.keys.list()}
    assert (known[hers.id].user_id, known[hers.id].name) == ("(erased)", "")
    assert known[hers.id].revoked_at is not None
    assert [known[key.id].revoked_at for key in (other, foreign)] == [None, None]
    # That there was one is not forgotten: nobody gets in without a key now.
    assert not authenticator.single_user
