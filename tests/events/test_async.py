"""Events on the asynchronous twin."""

from __future__ import annotations

import asyncio

import pytest

import longmind


@pytest.mark.conforms("D1.3", "D2.1", "D4.2", "D7.1")
def test_what_asks_the_database_is_awaited_and_what_does_not_is_not(database_url: str) -> None:
    async def main() -> None:
        async with longmind.open_async(database_url, embedder=None) as engine:
            events = engine.context(tenant_id="acme", app_id="support", user_id="ada", session_id="s1").events
            await events.record("user_action", {"action": "clicked_button"}, tags=["ui"])
            await events.record_chat("user", "Hello graph!")
            await events.record_state("planner", {"step": "draft"})
            assert [event.kind for event in await events.recent(limit=20)] == [
                "user_action",
                "chat.turn",
                "state.snapshot",
            ]
            assert await events.latest_state("planner") == {"step": "draft"}
            assert events.scope_id() == "session:s1"
            assert events.timeline() == "org:acme|session:s1"
            assert events.scope_info()["memory_level"] == "session"
            elsewhere = events.at("user")
            assert await elsewhere.recent() == []
            await elsewhere.record("note", "of the user")
            assert [event.text for event in await events.at("user").recent()] == ["of the user"]

    asyncio.run(main())
