"""JSON web tokens of another issuer, and the ways in which they are forged."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

import longmind
from longmind.server.auth.identity import Authenticator
from tests.server.asgi_requests import SECRET, bearer, claims, signed

OTHER_SECRET = "another secret that is long enough as well"
ADA = longmind.Scope("acme", "support", "ada")


@cache
def rsa_key(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def pem(key: Any) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    public: bytes = key.public_key().public_bytes(encoding, form)
    return public


def jwk(name: str, **more: str) -> dict[str, Any]:
    about = jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key(name).public_key(), as_dict=True)
    return {**about, "kid": name, **more}


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@contextmanager
def checking(**settings: Any) -> Iterator[Authenticator]:
    with longmind.open("sqlite:///:memory:", embedder=None, **settings) as engine:
        yield Authenticator(engine)


@pytest.fixture
def shared_secret() -> Iterator[Authenticator]:
    with checking(jwt_algorithm="HS256", jwt_secret=SECRET) as authenticator:
        yield authenticator


@pytest.fixture
def public_key(tmp_path: Path) -> Iterator[Authenticator]:
    file = tmp_path / "issuer.pem"
    file.write_bytes(pem(rsa_key("issuer")))
    with checking(jwt_algorithm="RS256", jwt_public_key=str(file)) as authenticator:
        yield authenticator


def refused(authenticator: Authenticator, token: str) -> str:
    with pytest.raises(longmind.Unauthenticated) as caught:
        authenticator.identify(bearer(token))
    assert token not in str(caught.value)
    return caught.value.message


@pytest.mark.conforms("A0.2")
def test_a_token_is_its_user(database_url: str) -> None:
    with longmind.open(database_url, embedder=None, jwt_algorithm="HS256", jwt_secret=SECRET) as engine:
        authenticator = Authenticator(engine, host="0.0.0.0")
        identity = authenticator.identify(bearer(signed(), x_longmind_session="s1"))

        assert (identity.scope.user_id, identity.scope.session_id, identity.via) == ("ada", "s1", "token")
        assert identity.scope.capabilities == frozenset()
        with pytest.raises(longmind.Forbidden):
            authenticator.identify(bearer(signed(), x_longmind_user="bob"))
        # Keys go on beside them.
        key = engine.keys.create(tenant_id="acme", app_id="support", user_id="bob")
        assert authenticator.identify(bearer(key.token)).scope.user_id == "bob"


def test_a_token_of_a_public_key_is_its_user(public_key: Authenticator) -> None:
    assert public_key.identify(bearer(signed(rsa_key("issuer"), "RS256"))).scope == ADA
    refused(public_key, signed(rsa_key("somebody else"), "RS256"))


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, 0, ["HS256"], "HS512", "RS256"])
@pytest.mark.parametrize("signature", ["", "AAAA"])
def test_the_algorithm_is_not_the_token_s_to_choose(
    shared_secret: Authenticator, algorithm: Any, signature: str
) -> None:
    refused(shared_secret, f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(claims())}.{signature}")


def test_a_token_without_a_signature_is_refused_whatever_it_says(shared_secret: Authenticator) -> None:
    refused(shared_secret, jwt.encode(claims(), None, algorithm="none"))  # type: ignore[arg-type]
    refused(shared_secret, signed().rpartition(".")[0] + ".")
    refused(shared_secret, signed().rpartition(".")[0])


def test_the_public_key_is_no_secret_to_sign_with(public_key: Authenticator, shared_secret: Authenticator) -> None:
    """The classical confusion: what everybody knows is used as the secret of the other algorithm."""
    for secret in (pem(rsa_key("issuer")), pem(rsa_key("issuer")).strip(), b""):
        head = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims())}"
        seal = base64.urlsafe_b64encode(hmac.digest(secret, head.encode(), hashlib.sha256)).rstrip(b"=").decode()
        refused(public_key, f"{head}.{seal}")
    refused(shared_secret, signed(rsa_key("issuer"), "RS256"))


def test_another_algorithm_with_the_right_secret_is_refused(shared_secret: Authenticator) -> None:
    refused(shared_secret, signed(SECRET * 2, "HS512"))
    refused(shared_secret, signed(ec.generate_private_key(ec.SECP256R1()), "ES256"))


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": 1},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": time.time() - 60},
        {"nbf": time.time() + 86_400},
        {"iat": time.time() + 86_400},
        {"sub": None},
        {"sub": ""},
        {"sub": "*"},
        {"sub": 7},
        {"sub": "ada\n"},
        {"tenant": None},
        {"tenant": ["acme", "globex"]},
        {"app": None},
        {"aud": "somebody else"},
    ],
    ids="-".join,
)
def test_a_token_that_is_not_of_this_hour_or_names_nobody_is_refused(
    shared_secret: Authenticator, changed: dict[str, Any]
) -> None:
    try:
        token = signed(**changed)
    except (TypeError, jwt.PyJWTError):  # the library would not write it; somebody else's does
        head = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims(**changed))}"
        seal = base64.urlsafe_b64encode(hmac.digest(SECRET.encode(), head.encode(), hashlib.sha256)).rstrip(b"=")
        token = f"{head}.{seal.decode()}"

    refused(shared_secret, token)


def test_the_clock_of_the_issuer_may_be_off_by_the_leeway() -> None:
    late = signed(exp=time.time() - 30)
    with checking(jwt_algorithm="HS256", jwt_secret=SECRET, jwt_leeway_seconds=60) as patient:
        assert patient.identify(bearer(late)).scope == ADA
    with checking(jwt_algorithm="HS256", jwt_secret=SECRET) as strict:
        assert "expired" in refused(strict, late)


def test_issuer_and_audience_are_checked_where_they_are_set() -> None:
    with checking(
        jwt_algorithm="HS256", jwt_secret=SECRET, jwt_issuer="https://id.example", jwt_audience="longmind"
    ) as checker:
        good: dict[str, Any] = {"iss": "https://id.example", "aud": ["web", "longmind"]}
        assert checker.identify(bearer(signed(**good))).scope == ADA
        wrong: list[dict[str, Any]] = [{"iss": "https://evil.example"}, {"iss": None}, {"aud": "web"}, {"aud": None}]
        for changed in wrong:
            refused(checker, signed(**(good | changed)))


def test_claims_have_the_names_that_are_set() -> None:
    with checking(
        jwt_algorithm="HS256",
        jwt_secret=SECRET,
        jwt_tenant_claim="https://id.example/org",
        jwt_user_claim="email",
        jwt_app="support",
    ) as checker:
        said: dict[str, Any] = {"https://id.example/org": "globex", "email": "bob@example.com", "app": None}
        token = signed(**said)
        assert checker.identify(bearer(token)).scope == longmind.Scope("globex", "support", "bob@example.com")


@pytest.mark.parametrize(
    "token", ["a.b.c", "..", "....", "eyJ.eyJ.", f"{part([])}.{part({})}.x", f"{part({'alg': 'HS256'})}.{part([])}.x"]
)
def test_what_is_no_token_is_refused(shared_secret: Authenticator, token: str) -> None:
    refused(shared_secret, token)


def test_a_token_of_thousands_of_brackets_is_refused(shared_secret: Authenticator) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 5000).rstrip(b"=").decode()
    refused(shared_secret, f"{deep}.{part({})}.x")
    refused(shared_secret, f"{part({'alg': 'HS256', 'x': 'y' * 9000})}.{part(claims())}.x")


def test_a_wrong_secret_and_a_changed_token_are_refused(shared_secret: Authenticator) -> None:
    refused(shared_secret, signed(OTHER_SECRET))
    head, _, seal = signed().split(".")
    refused(shared_secret, f"{head}.{part(claims(sub='bob'))}.{seal}")


@pytest.mark.parametrize("headers", [{"typ": "logout+jwt"}, {"crit": ["b64"], "b64": True}, {"crit": ["exp"]}])
def test_a_token_of_another_kind_is_refused(shared_secret: Authenticator, headers: dict[str, Any]) -> None:
    head = f"{part({'alg': 'HS256', **headers})}.{part(claims())}"
    seal = base64.urlsafe_b64encode(hmac.digest(SECRET.encode(), head.encode(), hashlib.sha256)).rstrip(b"=").decode()
    refused(shared_secret, f"{head}.{seal}")


def test_the_kid_picks_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [jwk("one", use="sig"), jwk("two", alg="RS256")]}))
    with checking(jwt_algorithm="RS256", jwt_jwks=str(file)) as checker:
        for name in ("one", "two"):
            token = signed(rsa_key(name), "RS256", headers={"kid": name})
            assert checker.identify(bearer(token)).scope == ADA
        refused(checker, signed(rsa_key("one"), "RS256", headers={"kid": "two"}))
        for kid in ("three", "", "../../etc/passwd", "/dev/null", "one' OR '1'='1", "one\x00", str(file)):
            refused(checker, signed(rsa_key("one"), "RS256", headers={"kid": kid}))
        # There are two, so one that names none could be of either.
        refused(checker, signed(rsa_key("one"), "RS256"))
        own = jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key("mine").public_key(), as_dict=True)
        for brought in ({"jwk": own}, {"jku": "https://evil.example/jwks"}, {"x5u": "https://evil.example/x"}):
            refused(checker, signed(rsa_key("mine"), "RS256", headers={"kid": "one", **brought}))


def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [jwk("one")]}))
    one, two = (signed(rsa_key(name), "RS256", headers={"kid": name}) for name in ("one", "two"))
    with checking(jwt_algorithm="RS256", jwt_jwks=str(file)) as checker:
        assert checker.identify(bearer(one)).scope == ADA
        assert checker.identify(bearer(signed(rsa_key("one"), "RS256"))).scope == ADA
        refused(checker, two)

        new = tmp_path / "new.json"
        new.write_text(json.dumps({"keys": [jwk("two")]}))
        os.replace(new, file)
        assert checker.identify(bearer(two)).scope == ADA
        refused(checker, one)

        file.write_text('{"keys": [')  # somebody is writing it this moment
        assert checker.identify(bearer(two)).scope == ADA
        file.unlink()
        refused(checker, two)


def test_a_secret_in_the_file_is_for_its_algorithm_only(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    secret = {"kty": "oct", "kid": "s", "k": base64.urlsafe_b64encode(SECRET.encode()).rstrip(b"=").decode()}
    file.write_text(json.dumps({"keys": [secret, jwk("one")]}))
    with checking(jwt_algorithm="HS256", jwt_jwks=str(file)) as checker:
        assert checker.identify(bearer(signed(headers={"kid": "s"}))).scope == ADA
        refused(checker, signed(rsa_key("one"), "RS256", headers={"kid": "one"}))
        refused(checker, signed(headers={"kid": "one"}))
    with checking(jwt_algorithm="RS256", jwt_jwks=str(file)) as checker:
        refused(checker, signed(headers={"kid": "s"}))
        assert checker.identify(bearer(signed(rsa_key("one"), "RS256", headers={"kid": "one"}))).scope == ADA


@pytest.mark.parametrize(
    "settings",
    [
        {"jwt_algorithm": "HS256"},
        {"jwt_algorithm": "HS256", "jwt_secret": "short"},
        {"jwt_algorithm": "HS256", "jwt_secret": "{pem}"},
        {"jwt_algorithm": "HS256", "jwt_public_key": "{file}"},
        {"jwt_algorithm": "RS256", "jwt_secret": SECRET},
        {"jwt_algorithm": "RS256", "jwt_public_key": "/nonesuch/issuer.pem"},
        {"jwt_algorithm": "RS256", "jwt_public_key": "{file}", "jwt_secret": SECRET},
        {"jwt_algorithm": "RS256", "jwt_public_key": "{weak}"},
        {"jwt_algorithm": "RS256", "jwt_public_key": "{elliptic}"},
        {"jwt_algorithm": "RS256", "jwt_public_key": "{nonsense}"},
        {"jwt_algorithm": "RS256", "jwt_jwks": "{nonsense}"},
        {"jwt_algorithm": "RS256", "jwt_jwks": "{empty}"},
        {"jwt_algorithm": "RS256", "jwt_jwks": "{twice}"},
        {"jwt_algorithm": "HS256", "jwt_jwks": "{weak_secret}"},
        {"jwt_algorithm": "none"},
    ],
    ids=str,
)
def test_settings_that_would_check_nothing_are_refused_at_the_start(tmp_path: Path, settings: dict[str, str]) -> None:
    contents = {
        "file": pem(rsa_key("issuer")),
        "weak": pem(rsa_key("weak", 1024)),
        "elliptic": pem(ec.generate_private_key(ec.SECP256R1())),
        "nonsense": b"nonsense",
        "empty": b'{"keys": []}',
        "twice": json.dumps({"keys": [jwk("one"), jwk("two") | {"kid": "one"}]}).encode(),
        "weak_secret": json.dumps({"keys": [{"kty": "oct", "kid": "s", "k": "c2hvcnQ"}]}).encode(),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    paths = {name: str(tmp_path / name) for name in contents} | {"pem": pem(rsa_key("issuer")).decode()}

    with (
        pytest.raises(longmind.InvalidInput),
        checking(**{name: value.format(**paths) for name, value in settings.items()}),
    ):
        pass
