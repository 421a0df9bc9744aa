"""The brief of the memory tools in the prompts of turns: a session begins with it by itself."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import longmind
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.providers.testing import ScriptedModel
from tests.tools.conftest import OWNER

BRIEF = "## Memory Context"


def ask(ctx: longmind.Context, *, conversation_id: str | None = None, prompt: str | None = None, **given: Any) -> str:
    """Run a turn, of a new conversation if none is named, and return the system prompt that the model received."""
    model = ScriptedModel(["Noted."])
    ctx.conversations.run_turn(
        conversation_id or ctx.conversations.create_conversation("chat").id,
        model=model,
        user_text="Hi!",
        options={"system_prompt": prompt},
        **given,
    )
    return model.requests[0].system or ""


@pytest.mark.conforms("B3.7", "B3.8", "B5.1")
def test_a_turn_shows_what_was_noted_in_earlier_sessions(ctx: longmind.Context) -> None:
    assert ask(ctx) == ""
    ctx.tools.memory_store("preference", "Prefers short answers.")
    ctx.tools.memory_store("fact", "Uses macOS. Deploys with api_key=4f1c9a77e2")
    conversation = ctx.conversations.create_conversation("chat")
    for _ in range(2):
        shown = ask(ctx, conversation_id=conversation.id, prompt="Be kind.")
        assert shown.startswith(f"Be kind.\n\n{BRIEF}")
        assert shown.index(SUGGESTIONS_NOTICE) < shown.index("- [preference] Prefers short answers. (0d ago)")
        assert "- [fact] Uses macOS. Deploys with api_key=[REDACTED] (0d ago)" in shown
    # It stands in the prompt alone, so that what is deleted is gone from the next turn on.
    rows = ctx.conversations.get_raw_turns(conversation.id, include_hidden=True)
    assert [row.role for row in rows] == ["user", "assistant"] * 2
    for entry in ctx.tools.memory_search().results:
        ctx.tools.memory_delete(entry.id)
    assert ask(ctx, conversation_id=conversation.id, prompt="Be kind.") == "Be kind."


@pytest.mark.conforms("B3.7", "C10")
def test_a_policy_leaves_the_brief_out(ctx: longmind.Context) -> None:
    ctx.tools.memory_store("fact", "Uses macOS.")
    ctx.blocks.update("core", "Likes tea.", None)
    shown = ask(ctx, memory_policy={"include_brief": False})
    assert "Likes tea." in shown
    assert BRIEF not in shown
    assert BRIEF in ask(ctx, memory_policy={"include_user_core": False})


@pytest.mark.conforms("B3.7", "A7.3")
@pytest.mark.parametrize("template_id", [None, "messages", "xml"])
def test_what_the_prompt_states_already_is_not_repeated(ctx: longmind.Context, template_id: str | None) -> None:
    ctx.tools.memory_store("fact", "Uses macOS & Linux (at work).")
    ctx.tools.memory_store("fact", "Has a cat.")
    ctx.tools.memory_store("fact", "Likes tea.")
    ctx.blocks.update("core", "Likes tea.", None)
    space = ctx.memory.create_memory_space("daily")
    ctx.memory.add_atom(space.id, {"text": "Uses macOS & Linux (at work).", "category": {"name": "os", "kind": "FACT"}})
    conversation = ctx.conversations.create_conversation("chat")
    context = ctx.working_context.build_working_context(
        conversation.id, memory_space_id=space.id, always_on_category_names=["os"], template_id=template_id
    )
    shown = ask(ctx, prompt=context.context_block)
    assert shown.count("macOS") == shown.count("Likes tea.") == shown.count("Has a cat.") == 1


@pytest.mark.conforms("B3.7", "B5.3", "A0.4")
def test_each_user_and_group_has_a_brief_of_its_own(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.tools.memory_store("fact", "Uses macOS.")
    for other in ({"user_id": "bob"}, {"group": "team"}, {"app_id": "other"}, {"tenant_id": "other"}):
        assert ask(engine.context(**{**OWNER, **other})) == ""


@pytest.mark.conforms("B3.7")
def test_a_turn_is_run_without_the_brief_when_there_is_trouble(
    engine: longmind.Engine, caplog: pytest.LogCaptureFixture
) -> None:
    odd = engine.context(**{**OWNER, "group": "not a name"})
    with caplog.at_level(logging.WARNING, "longmind.tools"):
        assert ask(odd, prompt="Be kind.") == "Be kind."
    assert "a turn starts without the memory brief: VALIDATION_FAILED" in caplog.text
