"""One threshold on all surfaces: what is weak in Python is weak over REST, in tools, over MCP and in the shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client as McpClient

import longmind
from longmind.mcp.server import make_server
from longmind.memory.recalled_text import NOTHING_FOUND, PERHAPS_RELATED, QUOTES_TITLE
from longmind.models.recall import WEAK_BELOW
from tests.cli.command_calls import Call, caller
from tests.server.live_server import Client, serving

QUESTION = "Which broken machine in the kitchen needs a plumber soon?"
SAID = "The machine in the kitchen is broken and needs a plumber soon."
FACTS = ("The broken machine needs a plumber soon", "The plumber is called Bob", "Ada likes the kitchen")
NEAREST = "What did Zoe, Max, Eva, Tom, Ida and Leo paint in the kitchen in May 2019?"
"""A question about which nothing is known, though a fact and a message share a word with it. They are of later, too."""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    monkeypatch.setenv("LONGMIND_URL", url)
    monkeypatch.setenv("LONGMIND_EMBEDDER", "none")
    with longmind.open(url, embedder=None) as engine, serving(engine) as client:
        yield client


@pytest.fixture
def ctx(client: Client) -> Iterator[longmind.Context]:
    """The user of the server, of whom the space of the memory tools has facts and quotes."""
    me = client.post("/ai-memory/spaces", {"name": "other"}).json
    with longmind.open(embedder=None) as engine:
        ctx = engine.context(tenant_id=me["tenantId"], app_id=me["appId"], user_id=me["userId"])
        ctx.memory.delete_memory_space(me["id"])
        for text in FACTS:
            ctx.tools.memory_store("fact", text)
        ctx.memory.create_binding({"namespace": "talk", "userId": me["userId"]}, [space_of(ctx)])
        talk = ctx.conversations.create_conversation("talk").id
        ctx.conversations.append_turn(talk, user_content=SAID, assistant={"content": "I know a plumber."})
        for number in range(8):
            ctx.conversations.append_turn(talk, user_content=f"Tell me joke {number}.", assistant={"content": "Well."})
        yield ctx


@pytest.fixture
def call(client: Client, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def space_of(ctx: longmind.Context) -> str:
    (space,) = ctx.memory.list_memory_spaces()
    return space.id


def over_mcp(ctx: longmind.Context, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """The text and the value of a tool."""

    async def talk() -> tuple[str, dict[str, Any]]:
        async with McpClient(make_server(lambda _: ctx)) as client:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            return "".join(getattr(each, "text", "") for each in result.content), result.structured_content or {}

    return anyio.run(talk)


Marked = dict[str, tuple[Any, bool]]
"""By text, the score and whether it is weak."""


def marked(entries: list[dict[str, Any]], text: str = "text", score: str = "score") -> Marked:
    return {each[text]: (pytest.approx(each[score]), each["weak"]) for each in entries}


def marked_recall(recall: dict[str, Any]) -> tuple[Marked, Marked]:
    """The hits and the passages of the JSON of a recall."""
    messages = [{**each["messages"][0], "score": each["score"], "weak": each["weak"]} for each in recall["passages"]]
    return marked([{**hit, "text": hit["atom"]["text"]} for hit in recall["hits"]]), marked(messages)


def test_all_surfaces_return_the_same_scores_and_mark_the_same_as_weak(
    ctx: longmind.Context, client: Client, call: Call
) -> None:
    recall = ctx.memory.recall_by_topic(space_of(ctx), QUESTION)
    facts = {hit.atom.text: (hit.score, hit.weak) for hit in recall.hits}
    quotes = {each.text: (each.score, each.weak) for each in recall.passages}
    # Both kinds are on both sides of the threshold, and nothing that shares a word is hidden.
    assert facts.keys() == set(FACTS)
    for each in (facts, quotes):
        assert {weak for _, weak in each.values()} == {True, False}
        assert all(weak == (score < WEAK_BELOW) for score, weak in each.values())
    rest = client.post(f"/ai-memory/spaces/{space_of(ctx)}/recall/topic", {"query": QUESTION}).json
    assert (*marked_recall(rest), rest["found"]) == (facts, quotes, True)
    shell = call("recall", "topic", QUESTION, "--json").json
    assert (*marked_recall(shell), shell["found"]) == (facts, quotes, True)
    tool = ctx.tools.invoke("memory_search", {"query": QUESTION})
    assert marked(tool["results"], "content", "relevance_score") == facts
    assert marked(tool["passages"], score="relevance_score") == quotes
    _, value = over_mcp(ctx, "recall_by_topic", query=QUESTION)
    assert (marked(value["facts"]), marked(value["passages"]), value["found"]) == (facts, quotes, True)
    _, value = over_mcp(ctx, "memory_search", query=QUESTION)
    assert marked(value["results"], "content", "relevance_score") == facts
    assert marked(value["passages"], score="relevance_score") == quotes


def test_a_prompt_and_the_text_of_a_tool_have_what_is_known_and_say_what_is_only_near(ctx: longmind.Context) -> None:
    recall = ctx.memory.recall_by_topic(space_of(ctx), QUESTION)
    text, _ = over_mcp(ctx, "recall_by_topic", query=QUESTION)
    known, _, near = text.partition(f"\n{PERHAPS_RELATED}\n")
    for hit in recall.hits:
        assert hit.atom.text in (near if hit.weak else known)
    assert QUOTES_TITLE in known
    for passage in recall.passages:
        assert (passage.text in text) is not passage.weak
    assert f", User: {SAID}" in known
    talk = ctx.conversations.create_conversation("talk").id
    built = ctx.working_context.build_working_context(talk, memory_space_id=space_of(ctx), recall_query=QUESTION)
    for passage in recall.passages:
        assert (passage.text in built.context_block) is not passage.weak


def test_when_nothing_is_known_every_surface_says_so_and_shows_the_nearest(
    ctx: longmind.Context, client: Client, call: Call
) -> None:
    recall = ctx.memory.recall_by_topic(space_of(ctx), NEAREST)
    assert (recall.found, [hit.atom.text for hit in recall.hits]) == (False, [FACTS[2]])
    assert SAID in [passage.text for passage in recall.passages]
    assert all(hit.weak for hit in recall.hits)
    assert all(passage.weak for passage in recall.passages)
    assert client.post(f"/ai-memory/spaces/{space_of(ctx)}/recall/topic", {"query": NEAREST}).json["found"] is False
    text, value = over_mcp(ctx, "recall_by_topic", query=NEAREST)
    assert text == f"{NOTHING_FOUND}\n{PERHAPS_RELATED}\n{FACTS[2]} (said by the assistant)"
    assert (value["found"], value["facts"][0]["weak"]) == (False, True)
    shown = call("recall", "topic", NEAREST).out
    assert shown.startswith("Nothing relevant is known; the nearest:\n  1  Ada likes the kitchen  0.")
    assert shown.splitlines()[1].endswith(" weak")
    # With a least score there is nothing left.
    for tool in ("recall_by_topic", "recall_timeline"):
        text, value = over_mcp(ctx, tool, query=NEAREST, min_score=WEAK_BELOW)
        assert (text, value["found"], value["facts"]) == (NOTHING_FOUND, False, [])
    assert call("recall", "topic", NEAREST, "--min-score", "0.15").out == "Nothing is remembered about that.\n"
    assert call("recall", "timeline", "--query", NEAREST, "--min-score", "0.15", "--json").json["hits"] == []
    path = f"/ai-memory/spaces/{space_of(ctx)}/recall/topic"
    assert client.post(path, {"query": NEAREST, "minScore": WEAK_BELOW}).json["hits"] == []


def test_all_options_of_a_recall_are_there_over_rest_mcp_and_on_the_command_line(
    ctx: longmind.Context, client: Client, call: Call
) -> None:
    path = f"/ai-memory/spaces/{space_of(ctx)}/recall/topic"
    asked = {"query": QUESTION, "limit": 1, "minScore": 0.1, "effort": "high", "exhaustive": False, "passages": False}
    rest = client.post(path, asked).json
    assert ([hit["atom"]["text"] for hit in rest["hits"]], rest["passages"]) == ([FACTS[0]], [])
    options = ("--limit", "1", "--min-score", "0.1", "--effort", "high", "--limited", "--no-passages")
    shell = call("recall", "topic", QUESTION, "--json", *options).json
    assert ([hit["atom"]["text"] for hit in shell["hits"]], shell["passages"]) == ([FACTS[0]], [])
    everything = call("recall", "topic", "plumber", "--limit", "1", "--all", "--json").json
    assert {hit["atom"]["text"] for hit in everything["hits"]} == set(FACTS[:2])
    explained = client.post(path, {"query": QUESTION, "explain": True}).json["passages"]
    assert all(each["explanation"]["reasons"] for each in explained)
    _, value = over_mcp(ctx, "recall_by_topic", query="plumber", limit=1, exhaustive=True, effort="high")
    assert {each["text"] for each in value["facts"]} == set(FACTS[:2])
    for wrong in ({"minScore": 2}, {"effort": "highest"}):
        assert client.post(path, {"query": QUESTION, **wrong}).status in (400, 422)


def test_the_command_line_shows_two_digits_quotes_and_reasons_in_words(ctx: longmind.Context, call: Call) -> None:
    shown = call("recall", "topic", QUESTION, "--explain").out
    facts, _, quotes = shown.partition("Said in conversations:\n")
    recall = ctx.memory.recall_by_topic(space_of(ctx), QUESTION, explain=True)
    assert facts.splitlines()[0] == f"  1  {FACTS[0]}  {recall.hits[0].score:.2f}"
    assert all(f"     - {reason}\n" in facts for hit in recall.hits for reason in hit.explanation.reasons)  # type: ignore[union-attr]
    first = recall.passages[0]
    message = first.messages[0]
    assert quotes.splitlines()[0] == f"  \u201c{SAID}\u201d  {first.score:.2f}"
    source = f"     user, {message.said_at[:10]}, {message.id} in {first.conversation_id}"
    assert quotes.splitlines()[1] == source
    assert all(f"     - {reason}\n" in quotes for each in recall.passages for reason in each.explanation.reasons)  # type: ignore[union-attr]
    assert f"{len(recall.hits)} of {recall.total_candidates} facts, {len(recall.passages)} quotes" in quotes
    json.dumps(call("recall", "topic", QUESTION, "--explain", "--json").json)
