"""The memory facade of AetherGraph over the events of a user: code that is written for it runs unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import longmind
from longmind.compat.aethergraph import NodeContext
from longmind.providers.testing import ScriptedModel

NODE: dict[str, Any] = {
    "tenant_id": "acme", "app_id": "desk", "user_id": "ada", "session_id": "s1", "run_id": "r1", "graph_id": "g1",
    "node_id": "n1",
}  # fmt: skip

Work = Callable[[NodeContext], Awaitable[Any]]


def run(url: str, *works: Work, **options: Any) -> Any:
    """Run code of a node with a synchronous engine, and return the last result."""
    with longmind.open(url, embedder=None, **options) as engine:
        context = NodeContext(engine.context(**NODE))
        return [asyncio.run(_await(work, context)) for work in works][-1]


async def _await(work: Work, context: NodeContext) -> Any:
    return await work(context)


@pytest.mark.conforms("D1.1", "D1.3", "D1.6", "D1.9", "D1.11", "D1.14")
def test_the_examples_of_core_recording_run_as_they_are(database_url: str) -> None:
    async def node(context: NodeContext) -> None:
        await context.memory().record_raw(base={"kind": "user_action", "severity": 2}, text="User clicked a button.")
        raw = await context.memory().record_raw(
            base={"kind": "tool_call", "stage": "execution", "severity": 3},
            text="Tool executed successfully.",
            metrics={"latency": 0.123, "tokens_used": 45},
        )
        assert (raw.kind, raw.stage, raw.severity, (raw.metrics or {})["tokens_used"]) == (
            "tool_call",
            "execution",
            3,
            45,
        )
        await context.memory().record(kind="user_action", data={"action": "clicked_button"}, tags=["ui", "interaction"])
        await context.memory().record(
            kind="tool_call",
            data={"tool": "search", "query": "weather"},
            metrics={"latency": 0.123, "tokens_used": 45},
            severity=3,
        )
        events = await context.memory().recent(limit=20)
        assert [event.kind for event in events] == ["user_action", "tool_call"] * 2
        assert {(event.run_id, event.session_id, event.node_id) for event in events} == {("r1", "s1", "n1")}
        rows = await context.memory().recent(limit=20, return_event=False)
        assert rows[-1]["data"] == {"tool": "search", "query": "weather"}
        assert len(await context.memory().recent_persisted(limit=100)) == 4
        found = await context.memory().search(query="button", limit=10, use_embedding=False, level="run")
        assert {event.kind for event in found} == {"user_action"}
        evt = await context.memory().get_event(raw.event_id)
        assert evt is not None
        assert await context.memory().get_event("evt_missing") is None

    run(database_url, node)


@pytest.mark.conforms("D2.1", "D2.2", "D2.3", "D3.1", "D3.2", "D4.1", "D4.2", "D4.3", "D4.4")
def test_the_examples_of_chat_tools_and_state_run_as_they_are(database_url: str) -> None:
    async def node(context: NodeContext) -> None:
        await context.memory().record_chat("user", "Hello graph!")
        await context.memory().record_chat("tool", "Search results found.", data={"query": "weather", "hits": 5})
        await context.memory().record_chat_user(
            "I need help with my account.", tags=["support", "account"], data={"issue": "login failure"}
        )
        await context.memory().record_chat_assistant("How can I assist you?")
        await context.memory().record_chat_system("System initialized.")
        recent_chats = await context.memory().recent_chat(limit=20, roles=["user", "assistant"])
        assert [turn["role"] for turn in recent_chats] == ["user", "user", "assistant"]
        evt = await context.memory().record_tool_result(
            tool="planner", inputs=[{"q": "status"}], outputs=[{"ok": True}], message="Planner completed."
        )
        (row,) = await context.memory().recent_tool_results(tool="planner", limit=5)
        assert row.event_id == evt.event_id
        await context.memory().record_state(key="planner", value={"step": "draft", "attempt": 1})
        await context.memory().record_state(
            key="session_config",
            value={"temperature": 0.2},
            tags=["runtime"],
            meta={"source": "bootstrap"},
            severity=1,
        )
        assert await context.memory().latest_state("planner") == {"step": "draft", "attempt": 1}
        assert await context.memory().latest_state("session_config", level="user", user_persistence=True) == {
            "temperature": 0.2
        }
        assert len(await context.memory().state_history("planner", limit=20)) == 1
        results = await context.memory().search_state(query="temperature", top_k=5)
        assert [(result.event.data or {})["key"] for result in results if result.event] == ["session_config"]
        assert results[0].score > 0

    run(database_url, node)


@pytest.mark.conforms("D5.1", "D5.5", "D5.6", "D5.7", "D6.1", "D6.2", "D7.1", "D7.2", "D7.3")
def test_the_examples_of_summaries_prompts_and_scopes_run_as_they_are(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def node(context: NodeContext) -> None:
        await context.memory().record("note", "The launch moved to Friday.", tags=["important"])
        result = await context.memory().distill_long_term(include_kinds=["note", "event"], max_events=100)
        assert (result["summary_tag"], result["num_events"]) == ("session", 1)
        summaries = await context.memory().load_recent_summaries(summary_tag="session", limit=3)
        assert "Friday" in str(summaries)
        assert await context.memory().load_last_summary(summary_tag="session") == summaries[-1]
        assert await context.memory().soft_hydrate_last_summary(summary_tag="session") == summaries[-1]
        await context.memory().record_chat_user("When is the launch?")
        history = await context.memory().chat_history_for_llm(limit=10, include_system_summary=True)
        assert [message["role"] for message in history["messages"]] == ["system", "user"]
        segments = await context.memory().build_prompt_segments(include_recent_tools=True, tool="search", tool_limit=5)
        assert set(segments) == {"long_term", "recent_chat", "recent_tools"}
        assert (context.memory().scope_id() or "global") == "session:s1"
        assert (context.memory().bucket_level() or "unknown") == "session"
        assert (context.memory().memory_level() or "scope") == "session"
        info = context.memory().scope_info()
        assert info.get("timeline_id") == context.memory().timeline()
        context.memory().debug_print_scope(prefix="[DEBUG-MEM]")

    run(database_url, node)
    assert all(line.startswith("[DEBUG-MEM]") for line in capsys.readouterr().out.splitlines())


def test_a_model_of_the_engine_distils(sqlite_url: str) -> None:
    async def node(context: NodeContext) -> None:
        await context.memory().record("note", "The launch moved to Friday.")
        with pytest.raises(RuntimeError):
            await context.memory().distill_long_term(use_llm=True)
        told = ScriptedModel(["The launch is on Friday."])
        result = await context.memory().distill_long_term(use_llm=True, model=told)
        assert "launch is on Friday" in str(result)

    run(sqlite_url, node)


@pytest.mark.conforms("D0.1")
def test_older_names_work_and_warn(database_url: str) -> None:
    async def node(context: NodeContext) -> None:
        memory = context.memory()
        with pytest.warns(DeprecationWarning, match="record_chat_tool"):
            said = await memory.record_chat_tool(tool_name="search", text="Found 3 results.")
        assert (said.stage, (said.data or {})["tool_name"]) == ("tool", "search")
        with pytest.warns(DeprecationWarning, match="is an older name"):
            await memory.write_result(topic="planner", message="done")
        with pytest.warns(DeprecationWarning, match="is an older name"):
            await memory.write_tool_result(tool="planner", outputs=[{"ok": True}])
        with pytest.warns(DeprecationWarning, match="is an older name"):
            await memory.record_result(tool="planner", message='{"state": "done"}')
        with pytest.warns(DeprecationWarning, match="older"), pytest.raises(ValueError, match="name of a tool"):
            await memory.record_result(message="done")
        with pytest.warns(DeprecationWarning, match="is an older name"):
            rows = await memory.recent_tool_result_data(tool="planner", limit=5)
        assert [row["text"] for row in rows][-1] == '{"state": "done"}'
        with pytest.warns(DeprecationWarning, match="is an older name"):
            payloads = await memory.recent_data(kinds=["chat.turn"], limit=20)
        assert payloads[0]["tool_name"] == "search"
        event = await memory.record("note", "Ada likes tea.", tags=["taste", "drinks"])
        await memory.mark_event_important(event.event_id, reason="asked", topic="tea")
        await memory.mark_event_important("evt_missing")
        (marked,) = await memory.recent_events(kinds=["memory.core_fact"], tags=["topic:tea", "taste"])
        assert (marked.data["source_event_id"], marked.signal >= 0.85) == (event.event_id, True)
        for stored in (True, False):
            found = await memory.recent_events(tags=["taste", "drinks"], limit=1, use_persistence=stored)
            assert [each.event_id for each in found] == [marked.event_id]
        (row,) = await memory.recent_events(tags=["drinks"], limit=1, return_event=False)
        assert row == memory.event_to_dict(marked) == memory.normalize_recent_output([marked], return_event=False)[0]
        assert len(await memory.recent_events(limit=2)) == 2

    run(database_url, node)


@pytest.mark.conforms("D1.7", "A0.4")
def test_each_user_and_level_has_a_timeline_of_its_own(database_url: str) -> None:
    async def talk() -> None:
        async with longmind.open_async(database_url, embedder=None) as engine:
            ada = NodeContext(engine.context(**NODE))
            assert (ada.run_id, ada.session_id, ada.graph_id, ada.node_id) == ("r1", "s1", "g1", "n1")
            await ada.memory().record_chat_user("The vault is green.")
            bob = NodeContext(engine.context(**{**NODE, "user_id": "bob"}))
            assert await bob.memory().recent_persisted() == []
            assert await bob.memory().search("vault") == []
            whole = NodeContext(engine.context(**NODE), level="user")
            assert whole.memory().bucket_level() == "user"
            assert await whole.memory().recent() == []
            # The same events are those of the engine.
            events = engine.context(**NODE).events
            assert [event.text for event in await events.recent()] == ["The vault is green."]

    asyncio.run(talk())
