"""Over HTTP too nobody sees, changes or counts anything of anybody else: every route is tried with real credentials."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import jwt
import pytest

import longmind
from longmind.providers.testing import ScriptedModel
from longmind.server.routes import NOT_OVER_HTTP, Route, make_routes
from tests.embedder import WordsEmbedder
from tests.scope.test_isolation import (
    ARGUMENTS,
    ID,
    OWNER,
    SECRET,
    STRANGERS,
    Things,
    anonymous,
    furnish,
    missing,
    state_of,
    told,
)
from tests.server.asgi_requests import SECRET as SIGNING_SECRET
from tests.server.asgi_requests import claims, signed
from tests.server.live_server import Client, serving
from tests.vendor.server import Vendor

ROUTES = {route.operation.path: route for route in make_routes()}
APP = "the same user of another app"
Request = tuple[str, str, Any]


@pytest.fixture
def engine(database_url: str, vendor: Vendor) -> Iterator[longmind.Engine]:
    settings: dict[str, Any] = {"jwt_algorithm": "HS256", "jwt_secret": SIGNING_SECRET}
    with longmind.open(database_url, embedder=WordsEmbedder(), **settings) as engine:
        yield engine


@pytest.fixture
def client(engine: longmind.Engine) -> Iterator[Client]:
    with serving(engine) as client:
        yield client


def key_of(engine: longmind.Engine, scope: dict[str, Any], **more: Any) -> str:
    return engine.keys.create(**scope, **more).token


def request_of(route: Route, arguments: dict[str, Any]) -> Request:
    """The request that asks for what a call with these arguments does."""
    taken = {name: value for name, value in arguments.items() if f"{route.operation.path}.{name}" not in NOT_OVER_HTTP}
    given = {name: _sent(value) for name, value in taken.items()}
    path = route.http.path
    for outer, inner in route.in_path.items():
        path = path.replace(f"{{{outer}}}", quote(str(given.pop(inner)), safe=""))
    in_query = given if not route.has_body else {}
    if route.http.of_block and route.has_body and "agent_id" in given:
        in_query = {"agent_id": given.pop("agent_id")}
    query = {route.to_wire_name(name): "null" if value is None else value for name, value in in_query.items()}
    if query:
        written = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        path += "?" + urlencode(written, doseq=True)
    if not route.has_body:
        return route.http.method, path, None
    if route.http.whole_body is not None:
        return route.http.method, path, given[route.http.whole_body]
    return route.http.method, path, {route.to_wire_name(name): value for name, value in given.items()} or None


def _sent(value: Any) -> Any:
    match value:
        case timedelta():
            return value.total_seconds()
        case ScriptedModel():
            return "ollama:llama3:8b"
        case _:
            return value


def questions() -> Iterator[tuple[Route, Callable[[Things], dict[str, Any]]]]:
    for path, route in ROUTES.items():
        for arguments_of in ARGUMENTS[path]:
            yield route, arguments_of


def ask(client: Client, request: Request) -> object:
    answer = client.ask(*request)
    told = answer.json if answer.body and "json" in answer.headers["content-type"] else len(answer.body)
    return answer.status, told


@pytest.mark.conforms("A0.4", "A0.5")
@pytest.mark.parametrize(
    "who", ["another user", "the same user of another tenant", pytest.param(APP, marks=pytest.mark.slow)]
)
def test_a_strangers_thing_is_like_one_that_is_not_there(who: str, engine: longmind.Engine, client: Client) -> None:
    ada = engine.context(**OWNER)
    contexts = [engine.context(**STRANGERS[who](name)) for name in ("eve", "mallory")]
    hers = furnish(engine, ada, SECRET)
    for context in contexts:
        furnish(engine, context, "My own")
    eve, mallory = (client.with_key(key_of(engine, STRANGERS[who](name))) for name in ("eve", "mallory"))
    before = state_of(engine, ada)
    private = {SECRET, *(match[0] for match in ID.finditer(repr(before)))}
    statuses = set()
    for route, arguments_of in questions():
        # One asks for what Ada has, the other for what nobody has, and both are told the same.
        given = request_of(route, arguments_of(hers))
        answer = ask(eve, given)
        other = ask(mallory, request_of(route, arguments_of(missing(hers))))
        assert anonymous(told(answer, hers)) == anonymous(told(other, missing(hers))), given
        assert not [word for word in private if word in told(answer, hers)], given
        statuses.add(answer[0])  # type: ignore[index]
    # Nothing was refused for its shape alone, and much was done.
    assert {200, 201, 204, 404} <= statuses
    assert state_of(engine, ada) == before
    assert anonymous(told(state_of(engine, contexts[0]))) == anonymous(told(state_of(engine, contexts[1])))


def credentials(engine: longmind.Engine) -> dict[str, list[tuple[str, str]]]:
    """Headers that open nothing of Ada's, and what is wrong with them."""
    eve = {**OWNER, "user_id": "eve"}
    revoked = engine.keys.create(**OWNER)
    engine.keys.revoke(revoked.id)
    good = key_of(engine, OWNER)
    any_user = key_of(engine, {"tenant_id": "rival", "app_id": "support"}, any_user=True)
    eves = key_of(engine, eve)

    def bearer(token: str) -> tuple[str, str]:
        return "authorization", f"Bearer {token}"

    return {
        "none": [],
        "wrong": [bearer(good[:-1] + ("0" if good[-1] != "0" else "1"))],
        "revoked": [bearer(revoked.token)],
        "made up": [bearer("hunter2")],
        "expired token": [bearer(signed(exp=1, iat=0))],
        "unsigned token": [bearer(jwt.encode(claims(), "", algorithm="none"))],
        "token of another issuer": [bearer(signed(key="another secret, long enough for everybody to use"))],
        "another user's key that names her": [bearer(eves), ("x-longmind-user", "ada")],
        "another tenant's key that names hers": [bearer(any_user), ("x-longmind-tenant", "acme")],
        "her name twice": [bearer(any_user), ("x-longmind-user", "eve"), ("x-longmind-user", "ada")],
        "two credentials": [bearer(eves), ("x-api-key", good)],
        "two lines of one": [bearer(eves), bearer(good)],
    }


@pytest.mark.conforms("A0.4")
def test_no_route_is_opened_by_a_credential_that_is_wrong(engine: longmind.Engine, client: Client) -> None:
    ada = engine.context(**OWNER)
    hers = furnish(engine, ada, SECRET)
    before = state_of(engine, ada)
    bad = credentials(engine)
    host, port = client.address.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    for path, route in ROUTES.items():
        method, target, body = request_of(route, ARGUMENTS[path][0](hers))
        for what, headers in bad.items():
            connection.putrequest(method, target)
            data = b"" if body is None else json.dumps(body).encode()
            sent = [*headers, ("content-type", "application/json"), ("content-length", str(len(data)))]
            for name, value in sent:
                connection.putheader(name, value)
            connection.endheaders(data)
            answer = connection.getresponse()
            said = answer.read().decode()
            assert answer.status in (400, 401, 403), (path, what, answer.status)
            assert SECRET not in said, (path, what)
    connection.close()
    assert state_of(engine, ada) == before


def test_a_line_break_in_a_header_adds_no_header(engine: longmind.Engine, client: Client) -> None:
    furnish(engine, engine.context(**OWNER), SECRET)
    key = key_of(engine, {"tenant_id": "acme", "app_id": "support"}, any_user=True)
    for name in ("eve\u0085x-longmind-user: ada", "eve\x0b", "*", " ", "a" * 300):
        answer = client.with_key(key, x_longmind_user=name).get("/ai-conversations")
        assert answer.status == 400, name
    assert client.with_key(key, x_longmind_user="eve").get("/ai-conversations").json["items"] == []
    assert len(client.with_key(key, x_longmind_user="ada").get("/ai-conversations").json["items"]) == 3
