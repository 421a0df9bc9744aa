"""The face of mem0: the shapes, errors and rules that mem0 2.2 has, on real databases.

The shapes were taken from mem0 itself, run with a scripted model next to this face.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import longmind
from longmind.compat.mem0 import AsyncMemory, Memory, ValidationError
from longmind.compat.mem0_config import read_config
from longmind.compat.mem0_filters import is_match
from longmind.interchange import apply_import

ADA = {"user_id": "ada"}
NOBODY = "00000000-0000-4000-8000-000000000000"
ITEM = ["id", "memory", "hash", "metadata", "created_at", "updated_at"]
SCORED = [*ITEM[:4], "score", *ITEM[4:]]
CHANGE = [
    "id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id",
    "role",
]  # fmt: skip


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory(url=database_url, embedder=None, extractor="rules") as memory:
        yield memory


def _keep(memory: Memory, text: str, **options: Any) -> str:
    [added] = memory.add(text, infer=False, **(options or ADA))["results"]
    return str(added["id"])


def _texts(answer: dict[str, Any]) -> set[str]:
    return {each["memory"] for each in answer["results"]}


def test_messages_are_learned_from_and_a_change_keeps_the_id(memory: Memory) -> None:
    talk = [{"role": "user", "content": "I live in Vienna."}, {"role": "assistant", "content": "Noted!"}]
    [added] = memory.add(talk, user_id="ada", metadata={"category": "home"})["results"]
    assert list(added) == ["id", "memory", "event"]
    assert (added["memory"], added["event"]) == ("User lives in Vienna.", "ADD")
    [changed] = memory.add("I have moved to Oslo.", user_id="ada")["results"]
    assert (changed["event"], changed["previous_memory"]) == ("UPDATE", "User lives in Vienna.")
    assert changed["id"] == added["id"]
    assert memory.add("Thanks a lot!", user_id="ada") == {"results": []}
    found = memory.get(added["id"])
    assert found is not None
    assert found["memory"] == "User has moved to Oslo."
    assert [each["event"] for each in memory.history(added["id"])] == ["ADD", "UPDATE"]


def test_the_shapes_of_answers_are_those_of_mem0(memory: Memory) -> None:
    learned = memory.add("I am allergic to peanuts.", user_id="ada", metadata={"category": "health"})["results"][0]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I like tennis", "name": "Bob"},
        {"role": "assistant", "content": [{"type": "text", "text": "So do I"}]},
        {"role": "user"},
    ]
    raw = memory.add(messages, infer=False, user_id="ada", run_id="r-1", metadata={"n": 3, "user_id": "evil"})[
        "results"
    ]
    assert [list(each) for each in raw] == [["id", "memory", "event", "actor_id", "role"]] * 2
    assert [(each["actor_id"], each["role"]) for each in raw] == [("Bob", "user"), (None, "assistant")]
    [listed] = memory.get_all(filters={**ADA, "n": 3, "actor_id": "Bob"})["results"]
    assert list(listed) == [*ITEM, "user_id", "run_id", "actor_id", "role"]
    assert (listed["user_id"], listed["metadata"]) == ("ada", {"n": 3})
    assert listed["created_at"].endswith("+00:00")
    [found] = memory.search("peanuts", filters=ADA)["results"]
    assert list(found) == [*SCORED, "user_id", "attributed_to"]
    assert (found["metadata"], found["attributed_to"]) == ({"category": "health"}, "user")
    assert 0 < found["score"] <= 1
    one = memory.get(learned["id"])
    assert one is not None
    assert list(one) == [*SCORED, "user_id", "attributed_to"]
    assert one["score"] is None
    [explained] = memory.search("peanuts", filters=ADA, explain=True)["results"]
    assert "similarity" in explained["score_details"]
    assert [list(each) for each in memory.history(learned["id"])] == [CHANGE]
    for each in raw:
        assert str(uuid.UUID(each["id"])) == each["id"]


def test_a_memory_is_updated_and_deleted_by_its_id(memory: Memory) -> None:
    key = _keep(memory, "Likes tennis", user_id="ada", metadata={"a": 1})
    assert memory.update(key, text="Likes tennis on weekends") == {"message": "Memory updated successfully!"}
    memory.update(key, metadata={"b": 2, "user_id": "evil"})
    memory.update(key, data="Likes tennis on Sundays")
    found = memory.get(key)
    assert found is not None
    assert (found["memory"], found["metadata"], found["user_id"]) == (
        "Likes tennis on Sundays",
        {"a": 1, "b": 2},
        "ada",
    )
    assert [each["old_memory"] for each in memory.history(key)] == [
        None,
        "Likes tennis",
        "Likes tennis on weekends",
        "Likes tennis on weekends",
    ]
    assert len(memory.get_all(filters=ADA)["results"]) == 1
    assert memory.delete(key) == {"message": "Memory deleted successfully!"}
    assert (memory.get(key), memory.history(key), memory.get_all(filters=ADA)) == (None, [], {"results": []})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: m.add("x"), ValidationError, "At least one of 'user_id', 'agent_id', or 'run_id'"),
        (lambda m: m.add(3, user_id="a"), ValidationError, "messages must be str, dict, or list"),
        (lambda m: m.add("x", user_id="a", memory_type="semantic_memory"), ValidationError, "Invalid 'memory_type'"),
        (lambda m: m.add("x", user_id="a b"), ValueError, "Invalid user_id: cannot contain whitespace"),
        (lambda m: m.add("x", user_id=" "), ValueError, "Invalid user_id: cannot be empty"),
        (lambda m: m.add("x", user_id="a", timestamp=1), ValueError, "timestamp"),
        (lambda m: m.add("x", user_id="a", expiration_date="soon"), ValueError, "YYYY-MM-DD"),
        (lambda m: m.search("x"), ValueError, "filters must contain at least one of"),
        (lambda m: m.search("x", user_id="a"), ValueError, "not supported in search"),
        (lambda m: m.search(" ", filters=ADA), ValueError, "Invalid query"),
        (lambda m: m.search("x", filters=ADA, top_k=-1), ValueError, "Invalid top_k: -1"),
        (lambda m: m.search("x", filters=ADA, threshold=2), ValueError, "Invalid threshold: 2"),
        (lambda m: m.search("x", filters=ADA, reference_date="2025-01-01"), ValueError, "reference_date"),
        (lambda m: m.get_all(), ValueError, "filters must contain at least one of"),
        (lambda m: m.get_all(user_id="a"), ValueError, "not supported in get_all"),
        (lambda m: m.get_all(filters={"user_id": None}), ValueError, "filters must contain at least one of"),
        (lambda m: m.update(NOBODY, text="x"), ValueError, "not found. Please provide a valid 'memory_id'"),
        (lambda m: m.update(NOBODY), ValueError, "At least one of text, metadata, or expiration_date"),
        (lambda m: m.delete(NOBODY), ValueError, f"Memory with id {NOBODY} not found"),
        (lambda m: m.delete("no id"), ValueError, "not found"),
        (lambda m: m.delete_all(), ValueError, "At least one filter is required"),
        (lambda m: m.chat("x"), NotImplementedError, "Chat"),
    ],
)
def test_mistakes_get_the_errors_of_mem0(memory: Memory, call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        call(memory)
    assert words in str(raised.value)
    if error is ValidationError:
        assert raised.value.error_code.startswith("VALIDATION_")  # type: ignore[attr-defined]


def test_what_is_missing_is_none_or_nothing(memory: Memory) -> None:
    assert (memory.get(NOBODY), memory.get("no id"), memory.history(NOBODY)) == (None, None, [])


def test_users_agents_and_runs_never_see_each_other(memory: Memory) -> None:
    owners = [{"user_id": "x"}, {"agent_id": "x"}, {"run_id": "x"}, {"user_id": "y"}]
    keys = [_keep(memory, f"The secret of number {number}", **owner) for number, owner in enumerate(owners)]
    for number, owner in enumerate(owners):
        assert _texts(memory.get_all(filters=owner)) == {f"The secret of number {number}"}
        assert _texts(memory.search("secret", filters=owner, threshold=0.0)) == {f"The secret of number {number}"}
    # A user who is named like the owner that stands for an agent cannot be made.
    with pytest.raises(ValueError, match="whitespace"):
        memory.add("x", user_id="agent x")
    # No filter reaches another user.
    wide = {"user_id": "x", "OR": [{"user_id": "y"}, {"user_id": "x"}]}
    assert _texts(memory.get_all(filters=wide)) == {"The secret of number 0"}
    memory.delete_all(user_id="x")
    assert memory.get(keys[0]) is None
    assert all(memory.get(key) is not None for key in keys[1:])


def test_an_id_is_found_by_a_process_that_has_not_seen_it(memory: Memory, database_url: str) -> None:
    for number in range(3):
        _keep(memory, "Something else", user_id=f"u{number}")
    key = _keep(memory, "Likes tea", user_id="zoe")
    with Memory(url=database_url, embedder=None) as other:
        found = other.get(key)
        assert found is not None
        assert found["user_id"] == "zoe"
        other.update(key, text="Likes green tea")
    with Memory(url=database_url, embedder=None, app_id="another") as stranger:
        assert stranger.get(key) is None


def test_filters_compare_and_join(memory: Memory) -> None:
    for number in range(4):
        _keep(memory, f"Fact number {number}", user_id="ada", metadata={"n": number, "word": f"Word{number}"})
    for filters, expected in (
        ({"n": 1}, {1}),
        ({"n": [1, 2]}, {1, 2}),
        ({"n": {"gte": 2}}, {2, 3}),
        ({"n": {"gt": 0, "lt": 3}}, {1, 2}),
        ({"n": {"nin": [0, 1]}}, {2, 3}),
        ({"word": {"contains": "ord1"}}, {1}),
        ({"word": {"icontains": "WORD"}}, {0, 1, 2, 3}),
        ({"n": "*"}, {0, 1, 2, 3}),
        ({"OR": [{"n": 0}, {"n": {"eq": 3}}]}, {0, 3}),
        ({"NOT": [{"n": 0}, {"n": 1}]}, {2, 3}),
        ({"AND": [{"n": {"gt": 0}}, {"word": {"ne": "Word1"}}]}, {2, 3}),
        ({"missing": 1}, set()),
    ):
        wanted = {f"Fact number {number}" for number in expected}
        assert _texts(memory.get_all(filters={**ADA, **filters})) == wanted, filters
        assert _texts(memory.search("fact number", filters={**ADA, **filters}, threshold=0.0)) == wanted, filters
    wrong: list[dict[str, Any]] = [{"n": {"like": 1}}, {"OR": []}, {"AND": {"n": 1}}]
    for bad in wrong:
        with pytest.raises(ValueError, match="operator"):
            memory.get_all(filters={**ADA, **bad})
    assert not is_match({"n": "text"}, {"n": {"gt": 3}})


def test_a_run_of_a_user_is_a_filter_and_is_deleted_alone(memory: Memory) -> None:
    memory.add("I live in Graz.", user_id="ada", run_id="r-1")
    memory.add("My cat is called Miso.", user_id="ada", run_id="r-2")
    assert len(memory.get_all(filters=ADA)["results"]) == 2
    [first] = memory.get_all(filters={**ADA, "run_id": "r-1"})["results"]
    assert "Graz" in first["memory"]
    memory.delete_all(user_id="ada", run_id="r-1")
    [left] = memory.get_all(filters=ADA)["results"]
    assert "Miso" in left["memory"]


def test_expired_memories_are_hidden_unless_asked_for(memory: Memory) -> None:
    _keep(memory, "An old offer", user_id="ada", expiration_date="2020-01-01")
    key = _keep(memory, "A new offer", user_id="ada", expiration_date="2999-01-01")
    assert _texts(memory.get_all(filters=ADA)) == {"A new offer"}
    assert _texts(memory.get_all(filters=ADA, show_expired=True)) == {"A new offer", "An old offer"}
    assert _texts(memory.search("offer", filters=ADA, threshold=0.0)) == {"A new offer"}
    memory.update(key, expiration_date="2020-01-01")
    assert memory.get_all(filters=ADA) == {"results": []}
    memory.update(key, expiration_date=None)
    assert _texts(memory.get_all(filters=ADA)) == {"A new offer"}


def test_the_number_of_results_is_limited(memory: Memory) -> None:
    memory.add([{"role": "user", "content": f"Fact number {n}"} for n in range(30)], user_id="ada", infer=False)
    assert len(memory.get_all(filters=ADA)["results"]) == 20
    assert len(memory.get_all(filters=ADA, top_k=100)["results"]) == 30
    assert memory.get_all(filters=ADA, top_k=0) == {"results": []}
    assert len(memory.search("fact number", filters=ADA, top_k=3, threshold=0.0)["results"]) == 3
    memory.delete_all(user_id="ada")
    assert memory.get_all(filters=ADA) == {"results": []}


def test_an_imported_memory_is_found_by_its_former_id(memory: Memory, database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps([{"id": NOBODY, "memory": "Likes tea", "user_id": "ada", "metadata": {"n": 1}}]))
    with longmind.open(database_url, embedder=None) as engine:
        ada = engine.context(tenant_id="local", app_id="mem0", user_id="ada")
        assert apply_import(ada, file, "mem0").facts_new == 1
    [found] = memory.get_all(filters={**ADA, "import_id": NOBODY})["results"]
    assert (found["memory"], found["metadata"]["n"], found["user_id"]) == ("Likes tea", 1, "ada")
    memory.update(found["id"], text="Likes green tea")
    assert memory.search("tea", filters=ADA)["results"][0]["memory"] == "Likes green tea"


def test_steps_of_an_agent_are_one_memory(memory: Memory) -> None:
    steps = [{"role": "user", "content": "Deploy."}, {"role": "assistant", "content": "Built, tested, shipped."}]
    [added] = memory.add(steps, agent_id="deployer", memory_type="procedural_memory")["results"]
    assert added["memory"] == "user: Deploy.\nassistant: Built, tested, shipped."
    [listed] = memory.get_all(filters={"agent_id": "deployer"})["results"]
    assert listed["metadata"] == {"memory_type": "procedural_memory"}


def test_reset_erases_the_users_of_this_app_alone(memory: Memory, database_url: str) -> None:
    _keep(memory, "Likes tea", user_id="ada")
    with Memory(url=database_url, embedder=None, app_id="another") as other:
        kept = _keep(other, "Likes coffee", user_id="ada")
        memory.reset()
        assert memory.get_all(filters=ADA) == {"results": []}
        assert other.get(kept) is not None


def test_threads_learn_at_the_same_time(memory: Memory) -> None:
    def add(number: int) -> list[Any]:
        return list(memory.add(f"My cat is called Miso{number}.", user_id=f"u{number}")["results"])

    with ThreadPoolExecutor(8) as pool:
        learned = list(pool.map(add, range(16)))
    assert [len(each) for each in learned] == [1] * 16


def test_the_async_face_has_the_same_methods_and_answers(database_url: str) -> None:
    async def use() -> None:
        async with AsyncMemory(url=database_url, embedder=None, extractor="rules") as memory:
            [added] = (await memory.add("I live in Graz.", user_id="ada"))["results"]
            assert (await memory.get_all(filters=ADA))["results"][0]["id"] == added["id"]
            assert (await memory.search("Graz", filters=ADA))["results"][0]["id"] == added["id"]
            await memory.update(added["id"], text="Lives in Linz")
            assert len(await memory.history(added["id"])) == 2
            assert (await memory.get(added["id"]) or {})["memory"] == "Lives in Linz"
            await memory.delete(added["id"])
            await memory.delete_all(user_id="ada")
            await memory.reset()

    asyncio.run(use())
    names = [name for name, _ in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")]
    for name in names:
        assert inspect.signature(getattr(AsyncMemory, name)) == inspect.signature(getattr(Memory, name))


def test_the_arguments_are_those_of_mem0() -> None:
    expected = {
        "add": "messages user_id agent_id run_id metadata timestamp expiration_date infer memory_type prompt",
        "search": "query top_k filters threshold rerank explain reference_date show_expired kwargs",
        "get": "memory_id",
        "get_all": "filters top_k show_expired kwargs",
        "update": "memory_id text metadata expiration_date data",
        "delete": "memory_id",
        "delete_all": "user_id agent_id run_id",
        "history": "memory_id",
        "reset": "",
    }
    for name, parameters in expected.items():
        assert list(inspect.signature(getattr(Memory, name)).parameters) == ["self", *parameters.split()], name


class _Config(BaseModel):
    """A configuration as mem0 has it."""

    llm: dict[str, Any] = {"provider": "openai", "config": {"model": "gpt-5-mini"}}
    embedder: dict[str, Any] = {"provider": "openai", "config": {"model": "text-embedding-3-small"}}


def test_a_configuration_of_mem0_names_model_and_embedder(caplog: pytest.LogCaptureFixture) -> None:
    config = {
        "llm": {"provider": "openai", "config": {"model": "gpt-4.1-mini", "temperature": 0.1, "api_key": "sk-x"}},
        "embedder": {"provider": "openai", "config": {"model": "text-embedding-3-small"}},
        "vector_store": {"provider": "qdrant", "config": {"host": "localhost"}},
        "version": "v1.1",
    }
    assert read_config(config) == {
        "extractor": "model:openai:gpt-4.1-mini",
        "embedder": "openai:text-embedding-3-small",
    }
    assert "vector_store" in caplog.text
    assert "sk-x" not in caplog.text
    assert read_config({**config, "longmind": {"extractor": "rules", "embedder": None}}) == {
        "extractor": "rules",
        "embedder": None,
    }
    assert read_config({"embedder": {"provider": "huggingface", "config": {"model": "x"}}}) == {}
    assert read_config(None) == {}
    # Defaults of an object, such as a model of OpenAI, were not asked for.
    assert read_config(_Config(llm={"provider": "ollama", "config": {"model": "llama3.2"}})) == {
        "extractor": "model:ollama:llama3.2"
    }
    with pytest.raises(ValueError, match="Unsupported LLM provider: abacus"):
        read_config({"llm": {"provider": "abacus", "config": {"model": "x"}}})
    with pytest.raises(ValueError, match="must be a dict"):
        read_config(3)
