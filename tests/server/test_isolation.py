"""Over HTTP too nobody sees, changes or counts anything of anybody else: every route is tried with real credentials."""

from __future__ import annotations

import http.client
import json
from collections import defaultdict
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
    KEY,
    LONG_AGO,
    OWNER,
    SECRET,
    STRANGERS,
    Things,
    anonymous,
    furnish,
    missing,
    settled,
    state_of,
    told,
)
from tests.server.asgi_requests import SECRET as SIGNING_SECRET
from tests.server.asgi_requests import claims, signed
from tests.server.live_server import Client, serving
from tests.vendor.server import Vendor

ROUTES = {route.operation.path: route for route in make_routes()}
EXPORT = "front_door.export"
# Asked last: nothing is there after it.
ERASE = "front_door.erase"
# Finds what the secret would be found by, and is not the secret: a search repeats what it was asked.
QUESTION = SECRET.lower()
CALL = {"type": "tool_use", "id": "toolu_1"}


def citation(things: Things) -> dict[str, Any]:
    return {
        "messageId": things.message_id,
        "conversationId": things.conversation_id,
        "role": "user",
        "text": "Hello.",
        "saidAt": LONG_AGO,
    }


def preview(things: Things) -> dict[str, Any]:
    """What `forget` returns before it forgets, as somebody could write it who was never shown it."""
    facts: list[dict[str, Any]] = [
        {
            "id": id,
            "text": "Let me in.",
            "kind": "FACT",
            "category": "notes",
            "importance": 3,
            "validFrom": LONG_AGO,
            "validTo": None,
            "saidAt": LONG_AGO,
            "source": [citation(things)],
            "tags": [],
            "metadata": {},
            "key": None,
            "replaces": None,
            "replacedBy": None,
        }
        for id in (things.atom_id, things.superseded_id, things.entry_id)
    ]
    return {"query": None, "facts": facts, "quotes": [citation(things)], "done": False}


# The methods of `longmind.Memory`, which stand in no table of a context; `space` is in the query of each.
OF_MEMORY: dict[str, list[Callable[[Things], dict[str, Any]]]] = {
    "front_door.add": [
        lambda things: {"content": "I live in Vienna.", "conversation": things.conversation_id},
        lambda things: {"content": "I live in Vienna.", "conversation": things.closed_id},
        lambda _: {"content": "I live in Vienna.", "metadata": {"from": "a stranger"}},
        lambda things: {"content": "I live in Vienna.", "space": things.space_id},
        lambda things: {"content": "I live in Vienna.", "space": things.shared_space_id, "wait": False},
        lambda things: {"content": "I live in Vienna.", "space": things.deleted_space_id},
        # The key that the owner has used, in a space of hers and in one's own of the same name.
        lambda things: {"content": "I am in.", "key": KEY, "space": things.space_id},
        lambda _: {"content": "I am in.", "key": KEY, "space": "personal", "metadata": {"from": "a stranger"}},
        lambda things: {
            "content": [{"role": "user", "content": "I am she.", "id": things.message_id, "user_id": "ada"}],
            "wait": False,
        },
    ],
    "front_door.search": [
        lambda _: {"query": QUESTION, "limit": 200, "min_score": 0},
        lambda _: {"query": QUESTION, "space": "personal", "metadata": {"about": SECRET}},
        lambda _: {"query": QUESTION, "space": "personal", "since": LONG_AGO},
        lambda things: {"query": QUESTION, "space": things.space_id},
        lambda things: {"query": QUESTION, "space": things.default_space_id},
        lambda things: {"query": QUESTION, "space": things.shared_space_id},
        lambda things: {"query": QUESTION, "space": things.deleted_space_id},
    ],
    "front_door.context": [
        lambda _: {},
        lambda _: {"query": QUESTION, "tokens": 4000, "space": "personal"},
        lambda things: {"query": QUESTION, "space": things.space_id},
    ],
    "front_door.facts": [
        lambda _: {},
        lambda _: {"past": True, "limit": 1000, "space": "personal"},
        lambda _: {"category": "notes", "metadata": {"about": SECRET}, "space": "personal"},
        lambda things: {"past": True, "space": things.space_id},
        lambda things: {"space": things.default_space_id},
    ],
    "front_door.profile": [lambda _: {}, lambda things: {"space": things.space_id}],
    "front_door.history": [
        lambda _: {"attribute": "home"},
        lambda _: {"attribute": "home", "about": "Ada", "space": "personal"},
        lambda things: {"attribute": "home", "space": things.space_id},
    ],
    "front_door.get": [
        lambda things: {"id": things.atom_id},
        lambda things: {"id": things.superseded_id},
        lambda things: {"id": things.archived_id},
        lambda things: {"id": things.message_id},
    ],
    "front_door.update": [
        lambda things: {"id": things.atom_id, "text": "Let me in."},
        lambda things: {"id": things.superseded_id, "text": "Let me in."},
        lambda things: {"id": things.entry_id, "text": "Let me in.", "space": "personal"},
    ],
    "front_door.forget": [
        lambda things: {"what": things.atom_id},
        lambda things: {"what": things.superseded_id},
        lambda things: {"what": things.message_id},
        lambda things: {"what": preview(things)},
        lambda _: {"query": QUESTION},
        lambda things: {"query": QUESTION, "preview": False, "space": things.space_id},
        lambda _: {"query": QUESTION, "preview": False, "min_score": 0, "space": "personal"},
    ],
    "front_door.flush": [lambda _: {}, lambda things: {"space": things.space_id}],
    "front_door.tools": [
        lambda _: {},
        lambda _: {"shape": "anthropic", "space": "personal"},
        lambda things: {"space": things.space_id},
    ],
    "front_door.run_tool": [
        lambda things: {"call": {**CALL, "name": "memory_delete", "input": {"id": things.entry_id}}},
        lambda _: {"call": {**CALL, "name": "memory_search", "input": {"query": QUESTION}}},
        lambda things: {
            "call": {
                **CALL,
                "name": "memory_store",
                "input": {"type": "fact", "content": "Let me in.", "supersedes": things.superseded_entry_id},
            }
        },
        lambda things: {
            "call": {**CALL, "name": "recall_by_topic", "input": {"query": QUESTION}},
            "space": things.space_id,
        },
        lambda _: {"call": {**CALL, "name": "recall_by_topic", "input": {"query": QUESTION}}, "space": "personal"},
    ],
    EXPORT: [lambda _: {}, lambda things: {"space": things.space_id}],
    # Once, since the keys of the one who asks are gone after it.
    ERASE: [lambda things: {"space": things.space_id}],
}
CASES = ARGUMENTS | {"events.scope_info": [lambda _: {}]} | OF_MEMORY
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
    if route.operation.service == "front_door" and "space" in given:
        in_query = {**in_query, "space": given.pop("space")}
    query = {route.to_wire_name(name): "null" if value is None else value for name, value in in_query.items()}
    if query:
        path += "?" + urlencode({name: _written(value) for name, value in query.items()}, doseq=True)
    if not route.has_body:
        return route.http.method, path, None
    if route.http.whole_body is not None:
        # What is a keyword beside it in Python is a field of it here.
        whole = given.pop(route.http.whole_body)
        return route.http.method, path, {**whole, **given}
    return route.http.method, path, {route.to_wire_name(name): value for name, value in given.items()} or None


def _written(value: Any) -> Any:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return json.dumps(value)
        case _:
            return value


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
        for arguments_of in CASES[path]:
            if path != ERASE:
                yield route, arguments_of


def ask(client: Client, request: Request) -> tuple[int, object]:
    answer = client.ask(*request)
    told = answer.json if answer.body and "json" in answer.headers["content-type"] else len(answer.body)
    if isinstance(told, dict) and isinstance(told.get("items"), list):
        told["items"] = settled(told["items"])
    return answer.status, told


def counted(answer: tuple[int, object]) -> tuple[int, object]:
    """An export without its rows, whose numbers and keys are those of one user: how many there are of each kind."""
    status, document = answer
    assert isinstance(document, dict)
    return status, {name: len(value) for name, value in document.items() if isinstance(value, list | dict)}


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
    statuses = defaultdict(set)

    def try_(route: Route, arguments_of: Callable[[Things], dict[str, Any]]) -> None:
        # One asks for what Ada has, the other for what nobody has, and both are told the same.
        given = request_of(route, arguments_of(hers))
        answer = ask(eve, given)
        other = ask(mallory, request_of(route, arguments_of(missing(hers))))
        assert not [word for word in private if word in told(answer, hers)], given
        if route.operation.path == EXPORT:
            answer, other = counted(answer), counted(other)
        elif route.operation.path == ERASE:
            # Its place in the log of the app, in which the one who came second is the next.
            places = [each[1]["receipt"].pop("seq") for each in (answer, other)]  # type: ignore[index]
            assert places[1] - places[0] in (0, 1)
        assert anonymous(told(answer, hers)) == anonymous(told(other, missing(hers))), given
        statuses[route.operation.path].add(answer[0])

    for route, arguments_of in questions():
        try_(route, arguments_of)
    assert state_of(engine, ada) == before
    assert anonymous(told(state_of(engine, contexts[0]))) == anonymous(told(state_of(engine, contexts[1])))
    for arguments_of in CASES[ERASE]:
        try_(ROUTES[ERASE], arguments_of)
    assert state_of(engine, ada) == before
    assert contexts[0].memory.list_memory_spaces() == []
    # Nothing was refused for its shape alone, and much was done.
    assert {200, 201, 204, 404} <= set().union(*statuses.values())
    assert not {name for name in OF_MEMORY if statuses[name] & {400, 422}}


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
        method, target, body = request_of(route, CASES[path][0](hers))
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
