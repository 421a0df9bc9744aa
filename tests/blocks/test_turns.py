"""Turns that are run with memory: what the model sees of blocks, and what is kept of that."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind import ToolUseBlock
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.providers.language_model import ModelRequest
from longmind.providers.testing import ScriptedModel
from tests.blocks.model_calls import core
from tests.clock import SettableClock

AUTO = {"archival_mode": "auto"}


@pytest.fixture
def conversation(ctx: longmind.Context) -> longmind.Conversation:
    ctx.blocks.update("core", "Likes tea.", None)
    ctx.blocks.update("core", "Books aisle seats.", None, agent_id="planner")
    ctx.blocks.update("archival", "Sister Anna lives in Oslo\nFavourite film is Alien", None)
    ctx.blocks.update("archival", "Anna flies on Mondays", None, agent_id="planner")
    return ctx.conversations.create_conversation("chat")


def shown(request: ModelRequest) -> str:
    return "\n".join(getattr(block, "text", "") for message in request.messages for block in message.blocks)


@pytest.mark.conforms("C3", "C6", "C10")
def test_core_memory_stands_behind_the_system_prompt(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel(["Yes."] * 4)

    def run(**given: Any) -> str | None:
        ctx.conversations.run_turn(
            conversation.id, model=model, user_text="Hi!", options={"system_prompt": "Be brief."}, **given
        )
        return model.requests[-1].system

    assert run() == f"Be brief.\n\n{ctx.blocks.user_memory()}"
    assert run(memory_policy={}) == f"Be brief.\n\n{ctx.blocks.user_memory()}"
    assert run(memory_policy=longmind.MemoryPolicy(), agent_id="planner") == (
        f"Be brief.\n\n{ctx.blocks.user_memory('planner')}"
    )
    assert run(memory_policy={"include_user_core": False}) == "Be brief."


@pytest.mark.conforms("C6")
def test_the_agent_of_the_context_is_the_active_one_of_its_turns(
    engine: longmind.Engine, conversation: longmind.Conversation
) -> None:
    planner = engine.context(tenant_id="acme", app_id="support", user_id="ada", agent_id="planner")
    model = ScriptedModel(["Yes."])
    planner.conversations.run_turn(conversation.id, model=model, user_text="Where is Anna?", memory_policy=AUTO)
    assert "Books aisle seats." in (model.requests[0].system or "")
    assert "Anna flies on Mondays" in shown(model.requests[0])


@pytest.mark.conforms("C8")
def test_what_the_archive_has_to_say_is_kept_with_the_turn_for_the_models_eyes(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel(["In Oslo."])
    result = ctx.conversations.run_turn(
        conversation.id, model=model, user_text="Where does my sister live?", memory_policy=AUTO
    )
    assert result.status == "completed"
    user, reminder, answer = result.appended_messages
    assert (reminder.role, reminder.visibility, reminder.turn_id) == ("system", "internal", user.turn_id)
    assert [row.sequence for row in (user, reminder, answer)] == [1, 2, 3]
    assert reminder.text.startswith(SUGGESTIONS_NOTICE)
    assert reminder.text.splitlines()[-1] == "- Sister Anna lives in Oslo"
    assert f"<system_reminder>{reminder.text}</system_reminder>" in shown(model.requests[0])
    assert [row.id for row in ctx.conversations.get_messages(conversation.id)] == [user.id, answer.id]
    assert [row.id for row in ctx.conversations.get_raw_turns(conversation.id)] == [user.id, reminder.id, answer.id]


@pytest.mark.conforms("C8", "C20")
def test_a_turn_that_is_sent_again_shows_the_model_the_same_and_keeps_it_once(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel([longmind.ModelFailed("Overloaded."), "In Oslo.", "In Oslo, I think."])
    for _ in range(3):
        result = ctx.conversations.run_turn(
            conversation.id,
            model=model,
            user_text="Where does my sister live?",
            idempotency_key="message-1",
            memory_policy=AUTO,
        )
        # What was written since does not change what the turn was asked with.
        block = ctx.blocks.get("archival")
        assert block is not None
        ctx.blocks.update("archival", f"{block.content}\nSister Anna has moved", block.updated_at)
    rows = ctx.conversations.get_raw_turns(conversation.id)
    assert [row.role for row in rows] == ["user", "system", "assistant", "assistant"]
    assert {row.turn_id for row in rows} == {result.turn_id}
    assert shown(model.requests[0]) == shown(model.requests[1]) == shown(model.requests[2])
    assert [row.role for row in result.appended_messages] == ["user", "assistant"]


@pytest.mark.conforms("C7", "C9")
@pytest.mark.parametrize("policy", [None, {}, {"archival_mode": "tool_only"}, {"archival_mode": "off"}])
def test_otherwise_the_archive_comes_by_tool_alone(
    ctx: longmind.Context, conversation: longmind.Conversation, policy: Any
) -> None:
    asked = ToolUseBlock(id="call-1", name="recall_memory", arguments={"query": "sister", "limit": None})
    model = ScriptedModel([asked, "In Oslo."])
    result = ctx.conversations.run_turn(
        conversation.id,
        model=model,
        user_text="Where does my sister live?",
        memory_policy=policy,
        tools=ctx.blocks.tools(),
    )
    assert "Oslo" not in shown(model.requests[0]) + (model.requests[0].system or "")
    assert [row.role for row in result.appended_messages] == ["user", "assistant", "tool", "assistant"]
    assert "Sister Anna lives in Oslo" in result.tool_invocations[0].result


@pytest.mark.conforms("C12", "T17")
def test_what_a_tool_writes_is_in_the_same_turns_next_prompt(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    arguments = {"block_type": "core", "edit": "replace_line", "line": "Likes tea.", "content": "Likes coffee."}
    model = ScriptedModel([ToolUseBlock(id="call-1", name="update_memory", arguments=arguments), "Noted."])
    ctx.conversations.run_turn(
        conversation.id, model=model, user_text="I like coffee now.", memory_policy={}, tools=ctx.blocks.tools()
    )
    before, after = (request.system or "" for request in model.requests)
    assert ("tea" in before, "tea" in after, "coffee" in after) == (True, False, True)
    assert core(ctx) == ["Likes coffee."]


@pytest.mark.conforms("C10")
@pytest.mark.parametrize("wrong", [{"mode": "auto"}, "auto", {"archival_limit": 0}])
def test_a_wrong_policy_writes_nothing(ctx: longmind.Context, conversation: longmind.Conversation, wrong: Any) -> None:
    with pytest.raises(longmind.InvalidInput, match="memory_policy"):
        ctx.conversations.run_turn(conversation.id, model=ScriptedModel([]), user_text="Hi!", memory_policy=wrong)
    with pytest.raises(longmind.InvalidIdentity):
        ctx.conversations.run_turn(conversation.id, model=ScriptedModel([]), user_text="Hi!", agent_id="*")
    assert ctx.conversations.get_raw_turns(conversation.id) == []


@pytest.mark.conforms("C11", "C22")
def test_turns_that_are_run_settle_too_and_reminders_are_not_learned(
    engine: longmind.Engine, ctx: longmind.Context, conversation: longmind.Conversation, clock: SettableClock
) -> None:
    ctx.blocks.set_sleep_time(True)
    ctx.conversations.run_turn(
        conversation.id,
        model=ScriptedModel(["I see."]),
        user_text="My sister visits. I prefer window seats.",
        memory_policy=AUTO,
    )
    clock.advance(601)
    assert engine.work().succeeded == 1
    assert "User prefers window seats." in core(ctx)
    assert not any("Oslo" in line for line in core(ctx))
