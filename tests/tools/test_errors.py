"""What a tool says when it cannot do what it is asked: enough to go on, and nothing about its insides."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

import longmind
from longmind.tools import Tools
from longmind.tools.deadline import Deadline, run_within
from tests.embedder import WordsEmbedder
from tests.tools.conftest import OWNER
from tests.tools.test_storing import refusal


class Broken(WordsEmbedder):
    """Fails in its own way."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        raise self._error


class Stuck(WordsEmbedder):
    """Answers only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.done = threading.Event()

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        self.go_on.wait(60)
        self.done.set()
        return super().embed_texts(texts)


@pytest.mark.conforms("B5.2")
@pytest.mark.parametrize("name", ["memory_drop", "", "Memory_store", "memory_store ", "tool.invoke.memory_store", None])
def test_a_tool_that_is_not_there_is_unknown(tools: Tools, name: str) -> None:
    error = refusal(tools, name, {})
    assert error.as_json() == {
        "code": "UNKNOWN_TOOL",
        "message": f"Unknown tool {name!r}. Call one of memory_store, memory_search, memory_brief, memory_delete.",
        "retriable": False,
        "stage": 1,
    }
    assert error.status == 404


def test_the_name_of_an_unknown_tool_is_redacted(tools: Tools) -> None:
    assert "sk-" not in refusal(tools, "sk-proj-aB3" + "a1b2C3d4" * 6, {}).message


@pytest.mark.conforms("B5.2")
def test_an_error_tells_what_a_caller_needs_and_survives_a_process_pool(tools: Tools) -> None:
    import pickle

    error = refusal(tools, "memory_search", {"limit": 0})
    assert error.as_json().keys() == {"code", "message", "retriable", "stage", "field"}
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.as_json(), copy.status) == (error.as_json(), 400)


@pytest.mark.conforms("B5.2")
def test_nothing_about_the_insides_gets_out(database_url: str, caplog: pytest.LogCaptureFixture) -> None:
    secret = "password=hunter22 at /srv/private.py line 7"
    with longmind.open(database_url, embedder=Broken(RuntimeError(secret))) as engine:
        tools = engine.context(**OWNER).tools
        with caplog.at_level(logging.ERROR, "longmind.tools"):
            error = refusal(tools, "memory_store", {"type": "fact", "content": "Uses macOS."})
        told = json.dumps(error.as_json()) + str(error)
        assert error.code in ("PLUGIN_ERROR", "PLUGIN_UNAVAILABLE")
        assert "hunter22" not in told
        assert "RuntimeError" not in told
        lines = [line.model_dump_json() for line in tools.audit()]
        assert len(lines) == 2
        assert not [line for line in lines if "hunter22" in line]
        assert tools.memory_brief().entry_count == 0


@pytest.mark.patient
@pytest.mark.conforms("B5.2")
def test_a_tool_that_takes_too_long_is_given_up_and_does_nothing_later(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longmind.tools.service.CALL_SECONDS", 2.0)
    stuck = Stuck()
    with longmind.open(database_url, embedder=stuck) as engine:
        tools = engine.context(**OWNER).tools
        error = refusal(tools, "memory_store", {"type": "fact", "content": "Uses macOS."})
        assert (error.code, error.retriable, error.status) == ("PLUGIN_TIMEOUT", True, 504)
        monkeypatch.setattr("longmind.tools.service.CALL_SECONDS", 60.0)
        workers = [thread for thread in threading.enumerate() if thread.name == "longmind-tool"]
        stuck.go_on.set()
        for worker in workers:
            worker.join(60)
        assert stuck.done.is_set()
        assert tools.memory_brief().entry_count == 0
        assert [line.error for line in tools.audit(outcome="error")] == ["PLUGIN_TIMEOUT"]


def test_work_that_ends_in_the_moment_in_which_the_time_is_up_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    class LateToHear(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            answer = super().result()
            if timeout is not None:
                raise TimeoutError
            return answer

    monkeypatch.setattr("longmind.tools.deadline.Future", LateToHear)

    def work(deadline: Deadline) -> str:
        deadline.seal()
        return "committed"

    assert run_within(1.0, work) == "committed"


@pytest.mark.conforms("B5.2")
def test_a_closed_engine_is_unavailable(engine: longmind.Engine, tools: Tools) -> None:
    engine.close()
    for tool, arguments in (("memory_brief", {}), ("memory_store", {"type": "fact", "content": "x"})):
        error = refusal(tools, tool, arguments)
        assert (error.code, error.status) == ("PLUGIN_UNAVAILABLE", 503)


@pytest.mark.conforms("B5.2")
def test_an_answer_is_at_most_a_mebibyte(ctx: longmind.Context) -> None:
    ctx.tools.memory_store("fact", "Makes the group.")
    (space,) = ctx.memory.list_memory_spaces()
    long = {"category": {"name": "x", "kind": "FACT"}, "text": "\u00e9" * 200_000}
    ctx.memory.add_atoms(space.id, [long, long, long])
    error = refusal(ctx.tools, "memory_search", {"limit": 3})
    assert (error.code, error.stage, "1,048,576" in error.message) == ("HANDLER_ERROR", 6, True)
    assert len(ctx.tools.memory_search(limit=2).results) == 2


def test_a_word_that_is_no_argument_is_shown_cut(tools: Tools) -> None:
    error = refusal(tools, "memory_brief", {"x" * 5_000: 1})
    assert len(error.message) < 300
    assert error.field is not None
    assert len(error.field) <= 101


@pytest.mark.conforms("B5.5")
def test_an_error_shows_no_credential_either(tools: Tools) -> None:
    secret = "ghp_" + "a1B2" * 9
    for tool, arguments in (
        ("memory_brief", {secret: 1}),
        ("memory_delete", {"id": secret}),
        ("memory_delete", {"id": f"mem-{secret}"}),
    ):
        told = str(refusal(tools, tool, arguments).as_json())
        assert secret not in told
        assert "[REDACTED]" in told
