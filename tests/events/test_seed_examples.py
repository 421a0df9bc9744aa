"""The examples that the event log was specified by, each as it stands there, awaited on the asynchronous twin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import longmind
from longmind.aio.engine import AsyncContext
from longmind.providers.testing import ScriptedModel
from longmind.summaries.model_summariser import ModelSummariser

Scenario = Callable[["NodeContext"], Awaitable[None]]


class NodeContext:
    """What the examples call `context`: its memory is the event log of an asynchronous context."""

    def __init__(self, ctx: AsyncContext) -> None:
        self._ctx = ctx

    def memory(self) -> Any:
        return self._ctx.events


@pytest.fixture
def play(database_url: str) -> Callable[[Scenario], None]:
    """Runs a scenario in a session of a run, with a model that can summarise."""
    model = ScriptedModel(lambda _: {"summary": "Ada deploys.", "key_facts": ["Ada deploys."], "open_loops": []})

    def run(scenario: Scenario) -> None:
        async def main() -> None:
            opening = longmind.open_async(database_url, embedder=None, summariser=ModelSummariser(model))
            async with opening as engine:
                ctx = engine.context(
                    tenant_id="acme", app_id="support", user_id="ada", session_id="s1", run_id="r1", client_id="c1"
                )
                await scenario(NodeContext(ctx))

        asyncio.run(main())

    return run


@pytest.mark.conforms("D1.1", "D1.3")
def test_the_examples_of_recording_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        clicked = await context.memory().record_raw(
            base={"kind": "user_action", "severity": 2}, text="User clicked a button."
        )
        assert (clicked.kind, clicked.text, clicked.severity) == ("user_action", "User clicked a button.", 2)

        called = await context.memory().record_raw(
            base={"kind": "tool_call", "stage": "execution", "severity": 3},
            text="Tool executed successfully.",
            metrics={"latency": 0.123, "tokens_used": 45},
        )
        assert (called.stage, called.metrics) == ("execution", {"latency": 0.123, "tokens_used": 45})

        action = await context.memory().record(
            kind="user_action", data={"action": "clicked_button"}, tags=["ui", "interaction"]
        )
        assert (action.data, action.tags) == ({"action": "clicked_button"}, ["ui", "interaction"])

        searched = await context.memory().record(
            kind="tool_call",
            data={"tool": "search", "query": "weather"},
            metrics={"latency": 0.123, "tokens_used": 45},
            severity=3,
        )
        assert searched.severity == 3
        assert await context.memory().recent() == [clicked, called, action, searched]

    play(scenario)


@pytest.mark.conforms("D1.6", "D1.9", "D1.14")
def test_the_examples_of_reading_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        for number in range(25):
            await context.memory().record(kind="note", data=f"note {number}")

        events = await context.memory().recent(limit=20)
        rows = await context.memory().recent(limit=20, return_event=False)
        assert [event.text for event in events] == [f"note {number}" for number in range(5, 25)]
        assert [row["event_id"] for row in rows] == [event.event_id for event in events]

        events = await context.memory().recent_persisted(limit=100)
        rows = await context.memory().recent_persisted(limit=100, return_event=False)
        assert len(events) == 25
        assert [row["event_id"] for row in rows] == [event.event_id for event in events]

        evt = await context.memory().get_event("evt_123")
        assert evt is None
        evt = await context.memory().get_event("evt_missing")
        assert evt is None
        assert await context.memory().get_event(events[0].event_id) == events[0]

    play(scenario)


@pytest.mark.conforms("D1.11")
def test_the_examples_of_searching_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        failed = await context.memory().record(kind="note", data="The deployment ended in a failure.")
        timeout = await context.memory().record(kind="note", data="A timeout of the tool.", tags=["tool", "error"])
        await context.memory().record(kind="note", data="A timeout without tags.")

        events = await context.memory().search(query="deployment failure", limit=10)
        assert events[0] == failed

        events = await context.memory().search(
            query="timeout",
            tags=["tool", "error"],
            use_embedding=False,
            level="run",
        )
        assert events == [timeout]

    play(scenario)


@pytest.mark.conforms("D2.1", "D2.2", "D2.3")
def test_the_examples_of_chat_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        await context.memory().record_chat("user", "Hello graph!")
        await context.memory().record_chat("tool", "Search results found.", data={"query": "weather", "hits": 5})
        await context.memory().record_chat_user("Hello, how are you doing?")
        support = await context.memory().record_chat_user(
            "I need help with my account.", tags=["support", "account"], data={"issue": "login failure"}
        )
        assert set(support.tags) == {"support", "account", "chat"}
        assert support.data == {"role": "user", "text": "I need help with my account.", "issue": "login failure"}
        await context.memory().record_chat_assistant("How can I assist you?")
        await context.memory().record_chat_assistant(
            "Here are the search results.",
            tags=["search", "response"],
            data={"query": "latest news", "results_count": 10},
        )
        await context.memory().record_chat_system("System initialized.")
        updated = await context.memory().record_chat_system(
            "Configuration updated.", tags=["config", "update"], data={"version": "1.2.3"}
        )
        assert updated.severity == 1

        recent_chats = await context.memory().recent_chat(limit=10)
        assert [chat["role"] for chat in recent_chats] == [
            "user", "tool", "user", "user", "assistant", "assistant", "system", "system",
        ]  # fmt: skip
        recent_chats = await context.memory().recent_chat(limit=20, roles=["user", "assistant"])
        assert [chat["text"] for chat in recent_chats] == [
            "Hello graph!",
            "Hello, how are you doing?",
            "I need help with my account.",
            "How can I assist you?",
            "Here are the search results.",
        ]

    play(scenario)


@pytest.mark.conforms("D3.1", "D3.2")
def test_the_examples_of_tool_results_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        evt = await context.memory().record_tool_result(
            tool="planner",
            inputs=[{"q": "status"}],
            outputs=[{"ok": True}],
            message="Planner completed.",
        )
        assert (evt.tool, evt.text, evt.severity) == ("planner", "Planner completed.", 3)

        rows = await context.memory().recent_tool_results(tool="planner", limit=5)
        assert rows == [evt]
        rows = await context.memory().recent_tool_results(
            tool="planner",
            limit=5,
            return_event=False,
        )
        assert [(row["tool"], row["outputs"]) for row in rows] == [("planner", [{"ok": True}])]

    play(scenario)


@pytest.mark.conforms("D4.1", "D4.2", "D4.3")
def test_the_examples_of_state_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        drafted = await context.memory().record_state(
            key="planner",
            value={"step": "draft", "attempt": 1},
        )
        await context.memory().record_state(
            key="session_config",
            value={"temperature": 0.2},
            tags=["runtime"],
            meta={"source": "bootstrap"},
            severity=1,
        )

        latest = await context.memory().latest_state("planner")
        assert latest == {"step": "draft", "attempt": 1}
        latest = await context.memory().latest_state(
            "session_config",
            level="user",
            user_persistence=True,
        )
        assert latest == {"temperature": 0.2}

        events = await context.memory().state_history("planner", limit=20)
        assert events == [drafted]
        events = await context.memory().state_history(
            "session_config",
            level="user",
            use_persistence=True,
        )
        assert [event.data["meta"] for event in events] == [{"source": "bootstrap"}]

    play(scenario)


@pytest.mark.conforms("D4.4")
def test_the_examples_of_searching_state_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        await context.memory().record_state("session_config", {"temperature": 0.2, "planner": "fast"})
        await context.memory().record_state("planner", {"step": "draft"})

        results = await context.memory().search_state(query="temperature", top_k=5)
        assert [result.event.data["key"] for result in results] == ["session_config"]
        results = await context.memory().search_state(
            query="planner",
            key="session_config",
            time_window="7d",
        )
        assert [result.event.data["key"] for result in results] == ["session_config"]
        assert results[0].score == results[0].item.score

    play(scenario)


@pytest.mark.conforms("D5.1", "D5.2", "D5.4", "D5.5", "D5.6", "D5.7")
def test_the_examples_of_distillation_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        for kind in ("note", "event", "other"):
            await context.memory().record(kind=kind, data=f"A {kind} of the deployment.", signal=0.6)

        result = await context.memory().distill_long_term(include_kinds=["note", "event"], max_events=100)
        assert (result["num_events"], result["included_kinds"]) == (2, ["note", "event"])

        result = await context.memory().distill_long_term(
            use_llm=True,
            summary_tag="custom_summary",
            min_signal=0.5,
        )
        assert (result["num_events"], result["summary"]) == (3, "Ada deploys.")

        result = await context.memory().distill_meta_summary(
            source_kind="long_term_summary",
            source_tag="session",
        )
        assert (result["summary_kind"], result["num_source_summaries"]) == ("meta_summary", 1)

        result = await context.memory().distill_meta_summary(
            summary_kind="meta_summary",
            summary_tag="weekly",
            max_summaries=10,
        )
        assert (result["summary_tag"], result["num_source_summaries"]) == ("weekly", 1)

        summaries = await context.memory().load_recent_summaries(summary_tag="session", limit=3)
        assert [each["num_events"] for each in summaries] == [2]
        summaries = await context.memory().load_recent_summaries(summary_tag="project", limit=2)
        assert summaries == []

        summary = await context.memory().load_last_summary(scope_id="user123", summary_tag="session")
        assert summary is None
        summary = await context.memory().load_last_summary(scope_id="project456", summary_tag="project")
        assert summary is None

        summary = await context.memory().soft_hydrate_last_summary(summary_tag="session")
        assert summary["num_events"] == 2

    play(scenario)


@pytest.mark.conforms("D6.1", "D6.2")
def test_the_examples_of_prompts_run(play: Callable[[Scenario], None]) -> None:
    async def scenario(context: NodeContext) -> None:
        await context.memory().record_chat_user("Hello!")
        await context.memory().record_chat_assistant("Hi there! How can I help?")
        await context.memory().record_tool_result(tool="search", message="Searched.")
        await context.memory().distill_long_term(include_kinds=["chat.turn"], use_llm=True)

        history = await context.memory().chat_history_for_llm()
        assert history == {
            "summary": "Ada deploys.",
            "messages": [
                {"role": "system", "content": "Ada deploys."},
                {"role": "user", "content": "Hello!"},
                {"role": "assistant", "content": "Hi there! How can I help?"},
            ],
        }
        history = await context.memory().chat_history_for_llm(limit=10, include_system_summary=True)
        assert len(history["messages"]) == 3

        segments = await context.memory().build_prompt_segments()
        assert (segments["long_term"], segments["recent_tools"]) == ("Ada deploys.", [])
        assert [chat["text"] for chat in segments["recent_chat"]] == ["Hello!", "Hi there! How can I help?"]
        segments = await context.memory().build_prompt_segments(
            include_recent_tools=True,
            tool="search",
            tool_limit=5,
        )
        assert [(each["tool"], each["message"]) for each in segments["recent_tools"]] == [("search", "Searched.")]

    play(scenario)


@pytest.mark.conforms("D7.1", "D7.2", "D7.3")
def test_the_examples_of_introspection_run_without_await(
    play: Callable[[Scenario], None], capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario(context: NodeContext) -> None:
        scope_id = context.memory().scope_id()
        assert scope_id == "session:s1"
        scope_id = context.memory().scope_id() or "global"
        assert scope_id == "session:s1"

        level = context.memory().memory_level()
        assert level == "session"
        level = context.memory().memory_level() or "scope"
        assert level == "session"

        bucket = context.memory().bucket_level()
        assert bucket == "session"
        bucket = context.memory().bucket_level() or "unknown"
        assert bucket == "session"

        timeline_id = context.memory().timeline()
        assert timeline_id == "org:acme|session:s1"
        timeline_id = context.memory().timeline() or "<none>"
        assert timeline_id == "org:acme|session:s1"

        info = context.memory().scope_info()
        assert info["memory_scope_id"] == scope_id
        timeline = info.get("timeline_id")
        level = info.get("memory_level")
        assert (timeline, level) == (timeline_id, "session")

        context.memory().debug_print_scope()
        context.memory().debug_print_scope(prefix="[DEBUG-MEM]")

    play(scenario)
    prefixes = {line.split()[0].split("]")[0] + "]" for line in capsys.readouterr().out.splitlines()}
    assert prefixes == {"[MEM]", "[DEBUG-MEM]"}
