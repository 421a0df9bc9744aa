"""A process that is killed in the middle of a turn: what it leaves can be gone on with."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import longmind
from harness.crew import Line, ada, start_process
from longmind import Tool, ToolUseBlock
from longmind.conversations.history import NO_RESULT
from longmind.providers.language_model import ModelRequest
from longmind.providers.testing import ScriptedModel

ASKED: dict[str, Any] = {"user_text": "Pay 7 euros.", "idempotency_key": "request-1"}


def run_and_stop(line: Line, url: str, conversation_id: str, stop_at: str) -> None:
    """Run a turn with two calls side by side, and stand still at one place of it for ever."""

    def stand_still(place: str) -> None:
        if place == stop_at:
            line.say(place)
            threading.Event().wait()

    def handle(name: str, arguments: dict[str, Any]) -> str:
        stand_still(arguments["tool"])
        return "done"

    def answer(request: ModelRequest) -> Any:
        stand_still(f"model {len(request.messages)}")
        calls = [ToolUseBlock(id=id, name="pay", arguments={"tool": f"tool {id}"}) for id in ("a", "b")]
        return calls if len(request.messages) == 1 else "Paid."

    with ada(url) as (_, ctx):
        ctx.conversations.run_turn(
            conversation_id, model=ScriptedModel(answer), tools=[Tool("pay")], tool_handler=handle, **ASKED
        )


@pytest.mark.conforms("A1.17", "T2")
@pytest.mark.parametrize(
    ("stop_at", "roles", "results"),
    [
        ("model 1", ["user"], []),
        ("tool a", ["user", "assistant"], [NO_RESULT, NO_RESULT]),
        ("tool b", ["user", "assistant", "tool"], ["done", NO_RESULT]),
        ("model 3", ["user", "assistant", "tool", "tool"], ["done", "done"]),
    ],
)
def test_after_a_kill_no_call_is_without_its_result_for_the_next_model(
    database_url: str, stop_at: str, roles: list[str], results: list[str]
) -> None:
    with ada(database_url) as (_, ctx):
        conversation = ctx.conversations.create_conversation("chat")
    with start_process(run_and_stop, database_url, conversation.id, stop_at) as process:
        assert process.hear() == stop_at
        process.kill()

    with ada(database_url) as (_, ctx):
        assert [row.role for row in ctx.conversations.get_raw_turns(conversation.id)] == roles
        model = ScriptedModel(["I will look it up."])
        result = ctx.conversations.run_turn(conversation.id, model=model, user_text="Is it paid?")
        assert result.status == "completed"
        told = [
            block.content
            for message in model.requests[0].messages
            for block in message.blocks
            if isinstance(block, longmind.ToolResultBlock)
        ]
        assert told == results

        retry = ScriptedModel(["Paid now."])
        again = ctx.conversations.run_turn(conversation.id, model=retry, **ASKED)
        assert again.appended_messages[0].replayed
        assert [message.role for message in retry.requests[0].messages] == ["user"]
        latest = ctx.conversations.get_raw_turns(conversation.id, latest_attempts=True)
        assert [row.text for row in latest if row.turn_id == again.turn_id] == ["Pay 7 euros.", "Paid now."]
