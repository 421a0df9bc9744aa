"""A long conversation in a short prompt: what is too old to be shown is told by its summary."""

from __future__ import annotations

import pytest

import longmind
from longmind import TextBlock
from longmind.providers.testing import ScriptedModel

TURNS = 45


@pytest.mark.conforms("C19")
def test_a_long_conversation_reaches_the_model_as_its_summary_and_its_last_turns(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    chat = ctx.conversations
    conversation, other = chat.create_conversation("travel"), chat.create_conversation("travel")
    for number in range(1, TURNS + 1):
        asked = "My passport number is X4471." if number == 1 else f"Tell me about town {number}."
        chat.append_turn(conversation.id, user_content=asked, assistant={"content": f"Town {number} is nice."})
        if number % 10 == 0:
            engine.work()

    # Every message is before the mark, and so in the summary, or among the last ten turns.
    covered = chat.get_conversation(conversation.id)
    assert covered is not None
    assert covered.rolling_summary_until_seq == 80
    space = ctx.memory.create_memory_space("trips").id
    context = ctx.working_context.build_working_context(conversation.id, memory_space_id=space)
    assert "X4471" in context.context_block
    for number in range(TURNS - 9, TURNS + 1):
        assert f"Tell me about town {number}." in context.context_block
    assert f"Tell me about town {TURNS - 10}." not in context.context_block

    model = ScriptedModel(["X4471."])
    result = chat.run_turn(
        conversation.id,
        model=model,
        user_text="What is my passport number?",
        options={"system_prompt": context.context_block},
    )
    assert result.status == "completed"
    said = [block.text for each in model.requests[0].messages for block in each.blocks if isinstance(block, TextBlock)]
    assert len(said) == 51
    assert not any("X4471" in text for text in said)
    assert "X4471" in (model.requests[0].system or "")

    # It is noted for followers, changes no message, and is of no other conversation.
    assert [change.data["untilSeq"] for change in engine.follow() if change.kind == "conversation.summarised"] == [
        20,
        40,
        60,
        80,
    ]
    assert chat.get_raw_turns(conversation.id, limit=1, before=2)[0].text == "My passport number is X4471."
    alone = ctx.working_context.build_working_context(other.id, memory_space_id=space)
    assert "X4471" not in alone.context_block
