"""One contract for the four memories: in this process or over HTTP, synchronous or awaitable."""

from __future__ import annotations

import inspect
import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.front_door.memory_results import Added, Erasure, Forgetting, Found, RememberedFact
from tests.client.awaited import Awaited, event_loop
from tests.server.live_server import serving

KINDS = ["Memory", "AsyncMemory", "Client", "AsyncClient"]
METHODS = sorted(
    name for name, each in inspect.getmembers(longmind.Memory, inspect.isfunction) if not name.startswith("_")
)
UNKNOWN = "atom_0190a1b2c3d4e5f60718293a4b5c6d7e"
Make = Callable[..., Any]


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make memories of one kind on one database; the server knows users by a key and a header."""
    monkeypatch.delenv("LONGMIND_KEY", raising=False)
    kind: str = request.param
    made: list[Any] = []
    with event_loop() as loop:

        def keep(memory: Any) -> Any:
            made.append(Awaited(memory, loop) if kind.startswith("Async") else memory)
            return made[-1]

        if "Memory" in kind:
            options: dict[str, Any] = {"url": database_url, "tenant": "acme", "app": "support", "embedder": None}
            yield lambda user="ada", **more: keep(getattr(longmind, kind)(user, **options, **more))
            for each in made:
                each.close()
            return
        with longmind.open(database_url, embedder=None) as engine, serving(engine) as server:
            key = engine.keys.create(tenant_id="acme", app_id="support", any_user=True).token
            where = {"url": server.address, "key": key}
            yield lambda user="ada", **more: keep(getattr(longmind, kind)(user, **where, **more))
            for each in made:
                each.close()


@pytest.fixture
def memory(make: Make) -> Any:
    return make()


def test_every_kind_has_the_same_methods_with_the_same_signatures_and_docstrings() -> None:
    assert len(METHODS) >= 14
    for kind in KINDS[1:]:
        for name in METHODS:
            original, twin = getattr(longmind.Memory, name), getattr(getattr(longmind, kind), name)
            assert inspect.signature(twin).parameters == inspect.signature(original).parameters, (kind, name)
            if name != "close":
                assert inspect.getdoc(twin) == inspect.getdoc(original), (kind, name)


def test_what_is_added_is_learned_found_and_in_the_context(memory: Any) -> None:
    added = memory.add("I live in Vienna. I am allergic to peanuts.")
    assert type(added) is Added
    assert len(added) >= 1
    assert all(fact.source[0].role == "user" for fact in added)
    assert "peanuts" in " ".join(fact.text for fact in added)
    found = memory.search("Am I allergic to peanuts?")
    assert type(found) is Found
    assert any("peanuts" in item.text for item in found)
    assert found[0].score >= found[len(found) - 1].score
    assert {item.kind for item in memory.search("allergic to peanuts", quotes=False)} == {"fact"}
    assert memory.search("allergic to peanuts", limit=1).items[0].source
    assert "peanuts" in memory.context("allergic to peanuts?")
    assert memory.context("allergic to peanuts?", tokens=1) == ""
    facts = memory.facts()
    assert all(type(fact) is RememberedFact for fact in facts)
    assert memory.get(facts[0].id) == facts[0]
    assert memory.get(UNKNOWN) is None
    assert "peanuts" in memory.profile().text


def test_messages_of_any_shape_are_taken(memory: Any) -> None:
    said_at = datetime(2026, 3, 1, tzinfo=UTC)
    added = memory.add(
        [
            {"role": "user", "content": [{"type": "text", "text": "My birthday is on 3 May."}]},
            {"role": "assistant", "content": "Noted.", "created_at": said_at},
            longmind.GivenMessage(role="user", content="I work as a nurse."),
        ],
        at=said_at,
        metadata={"channel": "mail"},
    )
    assert len(added.message_ids) == 3
    assert {fact.said_at[:10] for fact in added} == {"2026-03-01"}
    again = memory.add("And I live in Graz.", conversation=added.conversation_id)
    assert again.conversation_id == added.conversation_id
    since, until = datetime(2026, 2, 1, tzinfo=UTC), "2026-03-02T00:00:00Z"
    found = memory.search("nurse birthday Graz", since=since, until=until)
    assert len(found) > 0
    assert all(item.said_at < "2026-03-02" for item in found)


def test_what_is_added_without_waiting_is_read_later(memory: Any) -> None:
    assert memory.add("I live in Vienna.", wait=False).pending
    assert memory.flush() in (0, 1)
    assert any("Vienna" in fact.text for fact in memory.facts())


def test_a_fact_is_updated_and_keeps_its_history(memory: Any) -> None:
    memory.add("I live in Vienna.")
    fact = next(fact for fact in memory.facts() if "Vienna" in fact.text)
    newer = memory.update(fact.id, "User lives in Graz.")
    assert (newer.text, newer.replaces) == ("User lives in Graz.", fact.id)
    assert [each.text for each in memory.facts()] == ["User lives in Graz."]
    assert fact.text in [each.text for each in memory.facts(past=True)]
    assert [each.text for each in memory.history("home")][-1] == "User lives in Graz."
    with pytest.raises(longmind.Conflict):
        memory.update(fact.id, "User lives in Linz.")


def test_facts_have_keys_and_metadata(memory: Any) -> None:
    memory.add("Budget is 5000 euros.", key="budget", metadata={"team": "red", "year": 2026})
    memory.add("Budget is 7000 euros.", key="budget", metadata={"team": "red", "year": 2026})
    memory.add("I live in Vienna.")
    for filter in ({"team": "red"}, {"year": 2026}):
        (fact,) = memory.facts(metadata=filter)
        assert (fact.text, fact.key, fact.metadata["team"]) == ("Budget is 7000 euros.", "budget", "red")
        assert [item.text for item in memory.search("budget", metadata=filter)] == ["Budget is 7000 euros."]
    assert memory.facts(metadata={"team": "blue"}) == []


def test_facts_are_forgotten_after_a_look_at_what_would_be(memory: Any) -> None:
    memory.add("I am allergic to peanuts.")
    preview = memory.forget(query="allergic to peanuts")
    assert type(preview) is Forgetting
    assert (preview.done, len(preview) > 0) == (False, True)
    assert memory.facts() != []
    assert memory.forget(preview).done
    assert memory.facts() == []
    assert memory.search("allergic to peanuts").items == []
    memory.add("I live in Vienna.")
    by_id = memory.forget(memory.facts()[0].id)
    assert (by_id.done, len(by_id.facts)) == (True, 1)


def test_everything_is_exported_and_erased_with_a_receipt(memory: Any, tmp_path: Path) -> None:
    memory.add("I live in Vienna.")
    assert "Vienna" in json.dumps(memory.export())
    lines = memory.export(tmp_path / "ada.zip")
    with zipfile.ZipFile(tmp_path / "ada.zip") as archive:
        assert lines.keys() <= set(archive.namelist())
    assert sum(lines.values()) > 5
    with pytest.raises(longmind.InvalidInput, match="cannot be created"):
        memory.export(tmp_path / "ada.zip")
    erased = memory.erase()
    assert type(erased) is Erasure
    assert erased.receipt["id"].startswith("era_")
    assert memory.facts() == []
    memory.add("I live in Graz.")
    assert len(memory.facts()) == 1


def test_tools_are_offered_and_run_in_the_shapes_of_vendors(memory: Any) -> None:
    assert memory.tools()[0]["type"] == "function"
    assert {"memory_store", "memory_search"} <= {tool["name"] for tool in memory.tools("anthropic")}
    given = {"type": "preference", "content": "Drinks coffee black."}
    stored = memory.run_tool({"type": "tool_use", "id": "toolu_1", "name": "memory_store", "input": given})
    assert (stored["type"], stored["tool_use_id"], stored.get("is_error")) == ("tool_result", "toolu_1", None)
    function = {"name": "memory_search", "arguments": '{"query": "coffee"}'}
    found = memory.run_tool({"id": "call_1", "type": "function", "function": function})
    assert (found["role"], found["tool_call_id"]) == ("tool", "call_1")
    assert "Drinks coffee black." in found["content"]


def test_users_and_spaces_are_apart(make: Make) -> None:
    ada, bob = make("ada"), make("bob")
    ada.add("I am allergic to peanuts.")
    work = make("ada", space="work")
    work.add("I live in Vienna.")
    assert bob.facts() == []
    assert ["Vienna" in fact.text for fact in ada.facts()] == [False]
    assert ["Vienna" in fact.text for fact in work.facts()] == [True]
    hers = ada.facts()[0].id
    assert bob.get(hers) is None
    with pytest.raises(longmind.NotFound):
        bob.forget(hers)
    with pytest.raises(longmind.NotFound):
        bob.update(hers, "User is allergic to nothing.")


@pytest.mark.parametrize(
    ("name", "args", "options", "error"),
    [
        ("search", (" ",), {}, longmind.InvalidInput),
        ("search", ("x" * 10_001,), {}, longmind.LongmindError),
        ("search", ("x",), {"limit": 0}, longmind.InvalidInput),
        ("add", ("",), {}, longmind.InvalidInput),
        ("add", ("x" * 2_000_000,), {}, longmind.LimitExceeded),
        ("add", ({"role": "user"},), {}, longmind.InvalidInput),
        ("add", ("Hello.",), {"conversation": "conv_0190a1b2c3d4e5f60718293a4b5c6d7e"}, longmind.NotFound),
        ("forget", (), {}, longmind.InvalidInput),
        ("forget", (UNKNOWN,), {}, longmind.NotFound),
        ("update", (UNKNOWN, "x"), {}, longmind.NotFound),
        ("tools", ("telegram",), {}, longmind.InvalidInput),
        ("run_tool", ({},), {}, longmind.InvalidInput),
        ("get", (" ",), {}, longmind.InvalidInput),
        ("context", ("x",), {"tokens": 0}, longmind.InvalidInput),
    ],
)
def test_errors_are_of_the_same_classes(
    name: str, args: tuple[Any, ...], options: dict[str, Any], error: type[longmind.LongmindError], memory: Any
) -> None:
    with pytest.raises(error) as raised:
        getattr(memory, name)(*args, **options)
    assert raised.value.message
    assert raised.value.hint or "must" in raised.value.message
    if isinstance(raised.value, longmind.NotFound):
        assert raised.value.noun


def test_an_argument_that_no_method_takes_is_a_type_error(memory: Any) -> None:
    with pytest.raises(TypeError):
        memory.search("x", colour="red")
    with pytest.raises(TypeError):
        memory.update("x")


def test_a_closed_memory_says_so(make: Make) -> None:
    memory = make()
    memory.add("I live in Vienna.")
    memory.close()
    memory.close()
    with pytest.raises(longmind.EngineClosed) as raised:
        memory.facts()
    assert raised.value.hint


def test_on_a_server_without_keys_the_memory_is_that_of_the_local_user(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine, serving(engine) as server:
        with longmind.Client(url=server.address) as client:
            client.add("I live in Vienna.")
            with longmind.Memory(url=sqlite_url, embedder=None) as memory:
                assert memory.facts() == client.facts() != []
        with longmind.Client("eve", url=server.address) as stranger, pytest.raises(longmind.Forbidden):
            stranger.facts()


def test_a_user_may_have_any_name(sqlite_url: str) -> None:
    with longmind.open(sqlite_url, embedder=None) as engine, serving(engine) as server:
        key = engine.keys.create(tenant_id="acme", app_id="support", any_user=True).token
        for name in ("Ada Løvelace", "阿达", 7):
            with longmind.Client(name, url=server.address, key=key, space="Straße / home") as client:
                client.add("I live in Vienna.")
                assert len(client.facts()) == 1


def test_a_store_that_fails_while_it_reads_is_no_reason_to_add_again(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise longmind.StoreBusy

    with longmind.open(sqlite_url, embedder=None) as engine, serving(engine) as server:
        monkeypatch.setattr("longmind.jobs.service.Jobs.run_job", fail)
        with longmind.Client(url=server.address) as client:
            with pytest.raises(longmind.ExtractionFailed, match="What was said is stored"):
                client.add("I live in Vienna.")
            assert len(client.search("Vienna")) == 1
