"""Messages that are appended together: all in one transaction, to an open conversation or a new one."""

from __future__ import annotations

from typing import Any

import pytest

import longmind

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "When is the train?", "created_at": "2026-01-05T08:00:00Z"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "call-1", "name": "trains", "arguments": {"to": "Graz"}}],
        "model": "m-1",
    },
    {"role": "tool", "content": "At 9:10.", "toolUseId": "call-1", "toolName": "trains"},
    {"role": "assistant", "content": "At ten past nine."},
]


def test_messages_of_all_roles_begin_a_conversation(ctx: longmind.Context) -> None:
    appended = ctx.conversations.append_messages(TALK, namespace="chat", title="Trains", metadata={"from": "app"})
    conversation, rows = appended.conversation, appended.messages
    assert (conversation.namespace, conversation.title, conversation.metadata) == ("chat", "Trains", {"from": "app"})
    assert (conversation.status, conversation.message_count, appended.jobs) == ("open", 5, [])
    assert [row.role for row in rows] == ["system", "user", "assistant", "tool", "assistant"]
    assert [row.visibility for row in rows] == ["internal", "user", "user", "user", "user"]
    assert rows[1].created_at == "2026-01-05T08:00:00.000000Z"
    assert (rows[2].model, rows[3].tool_use_id, rows[3].tool_name) == ("m-1", "call-1", "trains")
    assert len({row.turn_id for row in rows[1:]}) == 1
    assert ctx.conversations.get_raw_turns(conversation.id) == rows


def test_messages_go_on_with_an_open_conversation(ctx: longmind.Context) -> None:
    begun = ctx.conversations.create_conversation("chat")
    ctx.conversations.append_user_message(begun.id, "Hello.")
    more = [longmind.GivenMessage(role="assistant", content="Hello!")]
    appended = ctx.conversations.append_messages(more, conversation_id=begun.id)
    assert appended.conversation.id == begun.id
    assert [row.sequence for row in appended.messages] == [2]
    ctx.conversations.close_conversation(begun.id)
    with pytest.raises(longmind.ConversationClosed):
        ctx.conversations.append_messages(more, conversation_id=begun.id)
    with pytest.raises(longmind.NotFound):
        ctx.conversations.append_messages(more, conversation_id="conv_none")


def test_all_are_appended_or_none(ctx: longmind.Context) -> None:
    unusable: list[Any] = [
        {"role": "bot", "content": "Hello."},
        {"role": "user", "content": " "},
        {"role": "user"},
        {"role": "tool", "content": "At 9:10."},
        {"role": "user", "content": "Hi.", "visibility": "secret"},
        {"role": "user", "content": "Hi.", "created_at": "yesterday"},
        {"role": "user", "content": "Hi.", "speaker": "Bob"},
        "Hello.",
    ]
    for wrong in unusable:
        with pytest.raises(longmind.InvalidInput) as refused:
            ctx.conversations.append_messages([TALK[1], wrong], namespace="chat")
        assert "messages[1]" in refused.value.message or "created_at" in refused.value.message
    assert ctx.conversations.list_conversations() == []


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"conversation_id": "conv_1", "namespace": "chat"},
        {"conversation_id": "conv_1", "title": "Trains"},
        {"namespace": "chat", "messages": []},
        {"namespace": "chat", "messages": "Hello."},
        {"namespace": "chat", "messages": {"role": "user", "content": "Hello."}},
    ],
)
def test_what_cannot_be_appended_is_refused(ctx: longmind.Context, arguments: dict[str, Any]) -> None:
    with pytest.raises(longmind.InvalidInput):
        ctx.conversations.append_messages(**{"messages": TALK, **arguments})


def test_more_than_ten_thousand_messages_at_a_time_are_refused(ctx: longmind.Context) -> None:
    with pytest.raises(longmind.LimitExceeded):
        ctx.conversations.append_messages([TALK[1]] * 10_001, namespace="chat")


def test_an_open_conversation_is_extracted_up_to_its_end_each_message_once(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    space = ctx.memory.open_default_space()
    first = ctx.conversations.append_messages(
        [{"role": "user", "content": "I live in Graz."}], namespace="chat", extract=True
    )
    (job,) = first.jobs
    assert (job.kind, job.payload["trigger"], job.payload["untilSequence"]) == ("memory.extract", "asked", 1)
    engine.work()
    assert [atom.text for atom in ctx.memory.list_atoms(space.id)] == ["User lives in Graz."]
    more = ctx.conversations.append_messages(
        [{"role": "user", "content": "My sister is called Anna."}],
        conversation_id=first.conversation.id,
        extract=True,
    )
    engine.work()
    done = ctx.jobs.get_job(more.jobs[0].id)
    assert done is not None
    assert done.result["messages"] == 1
    # What was read is not read again when the conversation closes.
    ctx.conversations.close_conversation(first.conversation.id)
    assert engine.work().succeeded == 1
    assert ctx.jobs.list_jobs(kind="memory.extract")[0].result["messages"] == 0


def test_without_a_binding_nothing_is_queued(ctx: longmind.Context) -> None:
    assert ctx.conversations.append_messages(TALK, namespace="chat", extract=True).jobs == []


def test_messages_are_found_by_their_ids_in_the_order_of_time(ctx: longmind.Context) -> None:
    rows = ctx.conversations.append_messages(
        [*TALK, {"role": "user", "content": "A secret.", "visibility": "hidden"}], namespace="chat"
    ).messages
    asked = [row.id for row in reversed(rows)]
    said = sorted(rows[:5], key=lambda row: (row.created_at, row.sequence))
    assert ctx.conversations.find_messages([*asked, "msg_none"]) == said
    assert ctx.conversations.find_messages([]) == []
    unusable: list[Any] = ["msg_1", [5], None, ["msg_1"] * 1_001]
    for each in unusable:
        with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded)):
            ctx.conversations.find_messages(each)
