"""Mistakes of newcomers: each is refused with a sentence that says what is wrong, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import longmind

OPENINGS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "nobody": ({"user": None}, longmind.InvalidIdentity, "user is None, which is no user."),
    "everybody": ({"user": "*"}, longmind.InvalidIdentity, "user is '*', which is reserved for all users."),
    "a blank user": ({"user": " "}, longmind.InvalidIdentity, "user is blank."),
    "a truth value": ({"user": True}, longmind.InvalidIdentity, "user must be a text, a whole number or a UUID"),
    "a number with a point": ({"user": 1.5}, longmind.InvalidIdentity, "not float"),
    "a whole record": ({"user": {"id": 7}}, longmind.InvalidIdentity, "not dict"),
    "a very long user": ({"user": "a" * 300}, longmind.InvalidIdentity, "limited to 255 characters"),
    "a path as a text": ({"url": "memory.db"}, longmind.InvalidUrl, "is not a known kind of database URL"),
    "too few slashes": ({"url": "sqlite://memory.db"}, longmind.InvalidUrl, "is not the URL of a file"),
    "another database": ({"url": "mysql://localhost/memory"}, longmind.InvalidUrl, "'mysql://…'"),
    "a server": ({"url": "http://localhost:8000"}, longmind.InvalidUrl, "use longmind.Client for it"),
    "a number as url": ({"url": 7}, longmind.InvalidInput, "url must be a text or a Path, not int."),
    "a blank tenant": ({"tenant": " "}, longmind.InvalidIdentity, "tenant_id is blank."),
    "a blank space": ({"space": " "}, longmind.InvalidInput, "space is ' '."),
    "a number as space": ({"space": 7}, longmind.InvalidInput, "space is 7."),
    "an unknown space": ({"space": "ms_none"}, longmind.NotFound, "There is no memory space 'ms_none'"),
    "a blank model": ({"model": ""}, longmind.InvalidInput, "model is blank."),
    "a number as model": ({"model": 7}, longmind.InvalidInput, "model is 7, which is no language model."),
    "a model without a vendor": ({"model": "gpt-5-mini"}, longmind.InvalidInput, "gpt-5-mini"),
    "an unknown setting": ({"colour": "red"}, longmind.InvalidInput, "Unknown settings"),
    "an embedder without a key": (
        {"embedder": "openai:text-embedding-3-small"},
        longmind.InvalidInput,
        "OPENAI_API_KEY is not set. Hint: Set OPENAI_API_KEY",
    ),
    "an unknown embedder": ({"embedder": "magic"}, longmind.InvalidInput, "magic"),
}


@pytest.mark.parametrize("mistake", OPENINGS)
def test_a_memory_that_cannot_be_is_not_opened(mistake: str, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    given, kind, message = OPENINGS[mistake]
    with pytest.raises(kind) as refused:
        longmind.Memory(**{"user": "ada", "url": sqlite_url, "embedder": None, **given})
    assert message in str(refused.value)


def test_a_folder_in_the_place_of_a_file_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(longmind.StoreUnavailable, match="is a folder, not a file"):
        longmind.Memory("ada", url=tmp_path, embedder=None)


CALLS: dict[str, tuple[Callable[[longmind.Memory], object], type[Exception], str]] = {
    "an empty question": (lambda memory: memory.search(""), longmind.InvalidInput, "The query is empty."),
    "no question": (lambda memory: memory.search(None), longmind.InvalidInput, "query"),  # type: ignore[arg-type]
    "a question that is too long": (lambda memory: memory.search("a" * 10_001), longmind.LimitExceeded, "10,000"),
    "a limit of nothing": (lambda memory: memory.search("tea", limit=0), longmind.InvalidInput, "limit is 0."),
    "a limit that is too high": (lambda memory: memory.search("tea", limit=1000), longmind.LimitExceeded, "200"),
    "a score above 1": (lambda memory: memory.search("tea", min_score=50), longmind.InvalidInput, "min_score is 50."),
    "an end before the beginning": (
        lambda memory: memory.search("tea", since="2026-02-01", until="2026-01-01"),
        longmind.InvalidInput,
        "is after until",
    ),
    "a day in words": (
        lambda memory: memory.search("tea", since="yesterday"),
        longmind.InvalidInput,
        "since 'yesterday'",
    ),
    "a filter by a list": (
        lambda memory: memory.search("tea", metadata={"a": [1]}),  # type: ignore[dict-item]
        longmind.InvalidInput,
        "which is no filter",
    ),
    "a budget of nothing": (lambda memory: memory.context("tea", tokens=0), longmind.InvalidInput, "tokens is 0."),
    "a time in words": (lambda memory: memory.add("Hi.", at="yesterday"), longmind.InvalidInput, "at 'yesterday'"),
    "an unknown conversation": (
        lambda memory: memory.add("Hi.", conversation="thread-7"),
        longmind.NotFound,
        "There is no conversation 'thread-7'",
    ),
    "an unknown kind": (lambda memory: memory.facts(kind="TRUTH"), longmind.InvalidInput, "TRUTH"),  # type: ignore[arg-type]
    "an update of nothing": (lambda memory: memory.update("atom_1", "Hi."), longmind.NotFound, "no fact 'atom_1'"),
    "an id that is no text": (lambda memory: memory.get(7), longmind.InvalidInput, "id is 7."),  # type: ignore[arg-type]
    "an empty id": (lambda memory: memory.forget(""), longmind.InvalidInput, "id is ''."),
    "forgetting nothing in particular": (
        lambda memory: memory.forget(),
        longmind.InvalidInput,
        "forget takes an id, a preview or a query.",
    ),
    "forgetting an id and a query": (
        lambda memory: memory.forget("atom_1", query="tea"),
        longmind.InvalidInput,
        "forget takes an id, a preview or a query.",
    ),
    "forgetting what is not there": (lambda memory: memory.forget("atom_1"), longmind.NotFound, "no fact 'atom_1'"),
    "the history of nothing": (lambda memory: memory.history(""), longmind.InvalidInput, "attribute"),
}


@pytest.mark.parametrize("mistake", CALLS)
def test_a_call_that_cannot_be_meant_is_refused(mistake: str, sqlite_url: str) -> None:
    call, kind, message = CALLS[mistake]
    with longmind.Memory("ada", url=sqlite_url, embedder=None) as memory:
        with pytest.raises(kind) as refused:
            call(memory)
        assert message in str(refused.value)
        assert memory.ctx.conversations.list_conversations() == []


def test_an_update_without_text_is_refused(memory: longmind.Memory) -> None:
    (fact,) = memory.add("I live in Graz.").learned
    texts: list[Any] = ["", " ", None, 7]
    for text in texts:
        with pytest.raises(longmind.InvalidInput, match="text is"):
            memory.update(fact.id, text)
    assert memory.get(fact.id) == fact


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(longmind.StoreError):
        longmind.Memory("ada", url=tmp_path, embedder=None)


def test_a_user_with_several_spaces_and_no_default_is_asked_to_name_one(memory: longmind.Memory) -> None:
    memory.ctx.memory.create_memory_space("work")
    memory.ctx.memory.create_memory_space("home")
    with pytest.raises(longmind.InvalidInput) as refused:
        memory.add("Hi.")
    assert "work" in str(refused.value.hint)
