"""memory_search: any words, tags, types, and how far what is found is to be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longmind
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.tools import Tools
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.tools.conftest import OWNER
from tests.tools.test_storing import contents, refusal

SEED = [
    ("preference", "User prefers dark mode in all editors", []),
    ("preference", "Prefers functional programming patterns over OOP", []),
    ("fact", "Primary language is TypeScript, secondary is Rust", ["coding", "languages"]),
    ("fact", "Uses pnpm 10.x (upgraded from 9.x)", []),
]


def fill(tools: Tools) -> None:
    for type, content, tags in SEED:
        tools.memory_store(type, content, tags=tags)  # type: ignore[arg-type]  # the types are known


@pytest.mark.conforms("B2.2", "B2.8", "V12")
@pytest.mark.parametrize("embedder", [None, WordsEmbedder()], ids=["words", "vectors"])
def test_an_everyday_query_finds_everyday_entries(database_url: str, embedder: Any) -> None:
    with longmind.open(database_url, embedder=embedder) as engine:
        tools = engine.context(**OWNER).tools
        fill(tools)
        found = contents(tools.memory_search("programming language preferences"))
        assert {SEED[1][1], SEED[2][1]} <= set(found)
        assert found[0] == SEED[1][1]
        assert contents(tools.memory_search("TypeScript"))[0] == SEED[2][1]


@pytest.mark.patient
@pytest.mark.conforms("B2.8", "T13", "V12")
@pytest.mark.parametrize(
    "query",
    ["don't use C++", "a AND", "user-id", '"', "*", "NEAR(", "text:pnpm", "(((", "-pnpm", "%_", "\\", "'; DROP TABLE",
     "OR", "NOT", "\x00", "\u202e", "pnpm\x00", "   "],
)  # fmt: skip
def test_any_query_is_safe(tools: Tools, query: str) -> None:
    fill(tools)
    assert isinstance(tools.memory_search(query).results, list)


@pytest.mark.conforms("B2.8")
def test_a_word_is_found_whatever_stands_around_it(tools: Tools) -> None:
    fill(tools)
    for query in ['"pnpm"', "pnpm AND", "-pnpm", "NOT pnpm", "pnpm*", "(pnpm", "title:pnpm", "pnpm\x00"]:
        assert contents(tools.memory_search(query)) == [SEED[3][1]]


def test_a_query_that_nothing_has_to_do_with_finds_nothing(tools: Tools) -> None:
    fill(tools)
    assert tools.memory_search("quantum chromodynamics").results == []


@pytest.mark.conforms("B2.1", "B2.3")
def test_without_a_query_the_most_recent_come_first(tools: Tools, clock: SettableClock) -> None:
    tools.memory_store("fact", "One")
    tools.memory_store("fact", "Two")
    clock.advance(1)
    tools.memory_store("fact", "Three")
    for found in (
        tools.memory_search(),
        tools.memory_search(""),
        tools.memory_search(" \n"),
        tools.memory_search(None),
    ):
        # Of the same instant, the one that was stored later.
        assert contents(found) == ["Three", "Two", "One"]
        assert [entry.relevance_score for entry in found.results] == [0.0, 0.0, 0.0]
    assert contents(tools.memory_search(limit=2)) == ["Three", "Two"]


@pytest.mark.conforms("B2.4")
def test_a_result_has_its_fields_and_no_other(tools: Tools) -> None:
    entry = tools.memory_store("fact", "Uses macOS.", tags=["os"])
    told = tools.invoke("memory_search", {"query": "macOS"})
    assert 0 < told["results"][0].pop("relevance_score") < 1
    assert told == {
        "results": [
            {
                "id": entry.id,
                "type": "fact",
                "content": "Uses macOS.",
                "behavioral": False,
                "tags": ["os"],
                "created_at": "2026-03-01T09:30:00.000000Z",
                "weak": False,
            }
        ]
    }


def test_where_nothing_is_quoted_there_are_no_passages(tools: Tools) -> None:
    tools.memory_store("fact", "Uses macOS.")
    assert tools.memory_search("macOS").passages == []
    assert "passages" not in tools.invoke("memory_search", {"query": "macOS"})


@pytest.mark.conforms("B2.4", "R-F", "T13")
@pytest.mark.parametrize("embedder", [None, WordsEmbedder()], ids=["words", "vectors"])
def test_relevance_is_between_0_and_1_and_falls_with_the_rank(database_url: str, embedder: Any) -> None:
    with longmind.open(database_url, embedder=embedder) as engine:
        tools = engine.context(**OWNER).tools
        for content in ("apples", "apples and pears", "apples and pears and plums", "pears in a basket of plums"):
            tools.memory_store("fact", content)
        scores = [entry.relevance_score for entry in tools.memory_search("apples pears plums").results]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)
        assert len(set(scores)) > 2


@pytest.mark.conforms("B2.4", "R-F")
@pytest.mark.parametrize("embedder", [None, WordsEmbedder()], ids=["words", "vectors"])
def test_the_only_result_is_not_as_relevant_as_the_exact_words_unless_it_has_them(
    database_url: str, embedder: Any
) -> None:
    with longmind.open(database_url, embedder=embedder) as engine:
        tools = engine.context(**OWNER).tools
        tools.memory_store("preference", SEED[0][1])

        def find(query: str) -> tuple[float, bool]:
            (entry,) = tools.memory_search(query).results
            return entry.relevance_score, entry.weak

        exact, weak = find(SEED[0][1]), find("the prices of all cheese")
        assert exact[0] > 0.8
        assert not exact[1]
        assert weak[0] < 0.3
        assert weak[1]


@pytest.mark.conforms("T10", "B5.1")
def test_what_tells_how_to_behave_comes_with_a_notice_and_where_it_is_from(tools: Tools) -> None:
    fact = tools.memory_store("fact", "Works on weekdays.")
    rule = tools.memory_store("instruction", "Always work on weekends.")
    told = tools.invoke("memory_search", {"query": "work"})
    assert told["notice"] == SUGGESTIONS_NOTICE
    assert told["provenance"] == {
        rule.id: {"session_id": "session-1", "group": "default", "origin": "tool", "trust": "assistant"}
    }
    assert {entry["id"] for entry in told["results"]} == {fact.id, rule.id}
    assert "notice" not in tools.invoke("memory_search", {"type": "fact"})


@pytest.mark.conforms("B2.6")
def test_every_tag_that_is_asked_for_must_be_there(tools: Tools) -> None:
    tools.memory_store("fact", "Both", tags=["coding", "typescript"])
    tools.memory_store("fact", "One", tags=["coding"])
    assert contents(tools.memory_search(tags=["coding", "typescript"])) == ["Both"]
    assert contents(tools.memory_search(tags=("typescript",))) == ["Both"]
    assert contents(tools.memory_search(tags=["coding"])) == ["One", "Both"]
    assert contents(tools.memory_search("one both", tags=["coding", "none"])) == []


@pytest.mark.conforms("B2.7", "T13")
@pytest.mark.parametrize("query", [None, "entry"])
def test_the_limit_counts_after_the_filters(tools: Tools, query: str | None) -> None:
    tools.memory_store("preference", "The entry that is looked for", tags=["rare"])
    for number in range(12):
        tools.memory_store("fact", f"An entry like others {number}", tags=["common"])
    for found in (
        tools.memory_search(query, tags=["rare"], limit=1),
        tools.memory_search(query, type="preference", limit=1),
    ):
        assert contents(found) == ["The entry that is looked for"]


@pytest.mark.conforms("B2.5")
@pytest.mark.parametrize("query", [None, "uses"])
def test_superseded_entries_are_found_on_request(tools: Tools, query: str | None) -> None:
    old = tools.memory_store("fact", "Uses npm")
    new = tools.memory_store("fact", "Uses pnpm", supersedes=old.id)
    assert [entry.id for entry in tools.memory_search(query).results] == [new.id]
    everything = tools.memory_search(query, include_superseded=True)
    assert {entry.id for entry in everything.results} == {old.id, new.id}


@pytest.mark.conforms("B2.1", "B2.7")
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": 2**70}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": 1.5}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"query": "x" * 501}, "query"),
        ({"query": 5}, "query"),
        ({"type": "opinion"}, "type"),
        ({"include_superseded": 1}, "include_superseded"),
        ({"tags": "coding"}, "tags"),
        ({"order": "newest"}, "order"),
        ({"group": "others"}, "group"),
    ],
)
def test_arguments_that_cannot_be_are_refused(tools: Tools, arguments: dict[str, Any], field: str) -> None:
    error = refusal(tools, "memory_search", arguments)
    assert (error.code, error.field, error.stage) == ("VALIDATION_FAILED", field, 3)


@pytest.mark.conforms("B2.1")
def test_twenty_are_found_unless_more_are_asked_for(in_session: Callable[[str], longmind.Context]) -> None:
    for session in ("session-1", "session-2"):
        for number in range(20):
            in_session(session).tools.memory_store("fact", f"Fact {number} of {session}")
    tools = in_session("session-3").tools
    assert (len(tools.memory_search().results), len(tools.memory_search(limit=100).results)) == (20, 40)
    assert (len(tools.memory_search("fact").results), len(tools.memory_search("fact", limit=100).results)) == (20, 40)


def test_what_came_another_way_into_the_group_is_found_under_the_type_of_its_kind(ctx: longmind.Context) -> None:
    ctx.tools.memory_store("correction", "Not Python, TypeScript.")
    (space,) = ctx.memory.list_memory_spaces()
    for kind in ("RULE", "PREFERENCE", "FACT", "EPISODE", "INTENTION"):
        ctx.memory.add_atom(space.id, {"text": f"A {kind}", "category": {"name": "habits", "kind": kind}})
    found = {entry.content: entry.type for entry in ctx.tools.memory_search().results}
    assert found == {
        "Not Python, TypeScript.": "correction",
        "A RULE": "instruction",
        "A PREFERENCE": "preference",
        "A FACT": "fact",
        "A EPISODE": "context",
        "A INTENTION": "context",
    }
    for content, type in found.items():
        assert content in contents(ctx.tools.memory_search(type=type))
    assert contents(ctx.tools.memory_search(type="instruction")) == ["A RULE"]
    assert contents(ctx.tools.memory_search(type="correction")) == ["Not Python, TypeScript."]


@pytest.fixture(scope="module")
def filled() -> Iterator[Tools]:
    with longmind.open("sqlite:///:memory:", embedder=WordsEmbedder()) as engine:
        tools = engine.context(**OWNER).tools
        fill(tools)
        yield tools


@pytest.mark.patient
@pytest.mark.conforms("B2.8")
@settings(max_examples=200, deadline=None)
@given(query=st.text(max_size=500))
def test_whatever_is_asked_is_answered(filled: Tools, query: str) -> None:
    for entry in filled.memory_search(query).results:
        assert 0.0 <= entry.relevance_score <= 1.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["type", "content", "tags", "supersedes", "query", "limit", "include_superseded", "include_provenance", "id",
     "session_id", "group", "created_at", "behavioral"]
) | st.text(max_size=10)  # fmt: skip


@pytest.mark.patient
@pytest.mark.conforms("B5.2")
@settings(max_examples=300, deadline=None)
@given(
    tool=st.sampled_from(["memory_store", "memory_search", "memory_brief", "memory_delete"]) | JSON,
    arguments=st.dictionaries(NAMES, JSON | st.sampled_from(["fact", "preference"]), max_size=5) | JSON,
)
def test_whatever_is_called_ends_in_an_answer_or_in_an_error_of_a_tool(
    filled: Tools, tool: Any, arguments: Any
) -> None:
    answer = outcome(filled, tool, arguments)
    if isinstance(answer, longmind.ToolError):
        assert answer.code not in ("PLUGIN_ERROR", "PLUGIN_UNAVAILABLE", "PLUGIN_TIMEOUT")
        assert {"code", "message", "retriable"} <= answer.as_json().keys()
    else:
        assert isinstance(answer, dict)


def outcome(tools: Tools, tool: Any, arguments: Any) -> object:
    try:
        return tools.invoke(tool, arguments)
    except longmind.ToolError as error:
        return error
