"""Tools of a turn: whatever they do, the model is told, and no call is left without a result."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind import BoundTool, Tool, ToolUseBlock, Usage
from longmind.providers.language_model import UNREADABLE, ModelReply, ModelRequest
from longmind.providers.testing import ScriptedModel

LOOK = [Tool("look")]


def call(id: str = "a", name: str = "look", **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, arguments=arguments)


def raising(error: Exception) -> Any:
    def handle(name: str, arguments: dict[str, Any]) -> str:
        raise error

    return handle


@pytest.mark.conforms("A1.17")
@pytest.mark.parametrize(
    ("handler", "told"),
    [
        (raising(ValueError("It is dark.")), "ValueError: It is dark."),
        (raising(ValueError("a\x00b")), "ValueError: ab"),
        (raising(longmind.NotFound("lamp", "lamp_1")), "NotFound: There is no lamp 'lamp_1'"),
        (lambda name, arguments: {1, 2}, "look returned a set, which is neither a text nor JSON."),
        (lambda name, arguments: float("nan"), "look returned a float"),
        (lambda name, arguments: b"bytes", "look returned a bytes"),
        (lambda name, arguments: "x" * 2_000_000, "LimitExceeded"),
        (lambda: "no parameters", "TypeError"),
    ],
)
def test_what_goes_wrong_in_a_tool_is_told_to_the_model_and_the_turn_goes_on(
    ctx: longmind.Context, conversation: longmind.Conversation, handler: Any, told: str
) -> None:
    model = ScriptedModel([call(), "I cannot see it."])
    result = ctx.conversations.run_turn(
        conversation.id, model=model, user_text="Look.", tools=LOOK, tool_handler=handler
    )
    assert (result.status, result.text) == ("completed", "I cannot see it.")
    (invocation,) = result.tool_invocations
    assert invocation.is_error
    assert told in invocation.result
    assert result.appended_messages[2].is_error is True
    (block,) = model.requests[1].messages[-1].blocks
    assert isinstance(block, longmind.ToolResultBlock)
    assert (block.is_error, block.content) == (True, invocation.result)


@pytest.mark.conforms("A1.17")
@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("", ""),
        ("bell\x00", "bell"),
        (None, "null"),
        (["Graz", 7], '["Graz", 7]'),
        ({"grüße": True}, '{"grüße": true}'),
        (longmind.TextBlock(text="Hi"), '{"type":"text","text":"Hi"}'),
    ],
)
def test_what_a_tool_returns_is_told_as_a_text_or_as_json(
    ctx: longmind.Context, conversation: longmind.Conversation, outcome: Any, told: str
) -> None:
    result = ctx.conversations.run_turn(
        conversation.id,
        model=ScriptedModel([call(), "Done."]),
        user_text="Look.",
        tools=LOOK,
        tool_handler=lambda name, arguments: outcome,
    )
    assert [(each.result, each.is_error) for each in result.tool_invocations] == [(told, False)]


@pytest.mark.conforms("A1.17")
def test_calls_side_by_side_all_get_their_results_in_order(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel([[call("a", place=1), call("b", "smell"), call("c", place=2), call("c", place=3)], "Done."])
    result = ctx.conversations.run_turn(
        conversation.id,
        model=model,
        user_text="Look.",
        tools=LOOK,
        tool_handler=lambda name, arguments: str(arguments["place"]),
    )
    told = model.requests[1].messages[-1].blocks
    assert [(block.content, block.is_error) for block in told if isinstance(block, longmind.ToolResultBlock)] == [
        ("1", False),
        ("Unknown tool 'smell'. Known tools: look.", True),
        ("2", False),
        ("3", False),
    ]
    assert [row.tool_use_id for row in result.appended_messages if row.role == "tool"] == ["a", "b", "c", "c"]
    # Some vendors refuse two calls with one id.
    assert [block.tool_use_id for block in told if isinstance(block, longmind.ToolResultBlock)] == [
        "a",
        "b",
        "c",
        "c_2",
    ]


def test_a_call_without_an_id_gets_one(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    model = ScriptedModel([[call(""), call("")], "Done."])
    result = ctx.conversations.run_turn(
        conversation.id, model=model, user_text="Look.", tools=LOOK, tool_handler=lambda *_: "dark"
    )
    first, second = result.tool_invocations
    assert first.id.startswith("call_")
    assert first.id != second.id
    assert [row.tool_use_id for row in result.appended_messages if row.role == "tool"] == [first.id, second.id]


@pytest.mark.parametrize(
    "arguments", [{UNREADABLE: '{"where": '}, {"where": "\x00"}, {"where": [float("nan")]}, {"\ud800": 1}]
)
def test_arguments_that_are_not_json_are_told_to_the_model(
    ctx: longmind.Context, conversation: longmind.Conversation, arguments: dict[str, Any]
) -> None:
    called: list[dict[str, Any]] = []
    unread = ToolUseBlock(id="a", name="look", arguments=arguments)
    model = ScriptedModel([ModelReply([unread], "tool_use", Usage(), "m", "p"), call("b", where="here"), "Done."])
    result = ctx.conversations.run_turn(
        conversation.id,
        model=model,
        user_text="Look.",
        tools=LOOK,
        tool_handler=lambda name, arguments: called.append(arguments),
    )
    assert called == [{"where": "here"}]
    assert [each.is_error for each in result.tool_invocations] == [True, False]
    assert "not a readable JSON object" in result.tool_invocations[0].result


def test_a_tool_that_runs_itself_needs_no_handler(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    handled: list[str] = []
    count = BoundTool(Tool("count"), lambda arguments: str(len(arguments["things"])))
    model = ScriptedModel([[call("a", "count", things=[1, 2]), call("b")], "Done."])
    result = ctx.conversations.run_turn(
        conversation.id,
        model=model,
        user_text="Count.",
        tools=[count, *LOOK],
        tool_handler=lambda name, arguments: handled.append(name),
    )
    assert [each.result for each in result.tool_invocations] == ["2", "null"]
    assert handled == ["look"]
    alone = ctx.conversations.run_turn(
        conversation.id, model=ScriptedModel([call("a", "count", things=[]), "None."]), user_text="And?", tools=[count]
    )
    assert (alone.status, alone.tool_invocations[0].result) == ("completed", "0")


@pytest.mark.conforms("A1.17")
@pytest.mark.parametrize("cycles", [1, 3])
def test_a_model_that_never_ends_is_stopped_and_its_last_call_has_its_result(
    ctx: longmind.Context, conversation: longmind.Conversation, cycles: int
) -> None:
    model = ScriptedModel(lambda request: [call("a"), call("b")])
    result = ctx.conversations.run_turn(
        conversation.id,
        model=model,
        user_text="Look.",
        tools=LOOK,
        tool_handler=lambda *_: "dark",
        max_cycles=cycles,
    )
    assert (result.status, result.error) == ("max_cycles", None)
    assert len(model.requests) == cycles
    assert [row.role for row in result.appended_messages[1:]] == ["assistant", "tool", "tool"] * cycles
    goes_on = ScriptedModel(["Still dark."])
    ctx.conversations.run_turn(conversation.id, model=goes_on, user_text="And?")
    assert [message.role for message in goes_on.requests[0].messages] == [
        "user",
        *["assistant", "tool"] * cycles,
        "user",
    ]


@pytest.mark.conforms("A1.17")
def test_eight_cycles_are_the_most_unless_told_otherwise(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel(lambda request: call())
    result = ctx.conversations.run_turn(
        conversation.id, model=model, user_text="Look.", tools=LOOK, tool_handler=lambda *_: "dark"
    )
    assert (result.status, len(model.requests), len(result.tool_invocations)) == ("max_cycles", 8, 8)


def test_a_tool_may_use_the_engine(ctx: longmind.Context, conversation: longmind.Conversation) -> None:
    """Nothing is held while a tool is at work, so that it may write to the same conversation."""

    def handle(name: str, arguments: dict[str, Any]) -> str:
        ctx.conversations.append_user_message(conversation.id, "By the way.")
        inner = ctx.conversations.run_turn(conversation.id, model=ScriptedModel(["Inner."]), user_text="Inside")
        return inner.text

    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Any:
        seen.append(request)
        return call() if len(seen) == 1 else "Done."

    result = ctx.conversations.run_turn(
        conversation.id, model=ScriptedModel(answer), user_text="Look.", tools=LOOK, tool_handler=handle
    )
    assert result.status == "completed"
    assert {row.turn_id for row in result.appended_messages} == {result.turn_id}
    assert [row.sequence for row in result.appended_messages] == [1, 2, 6, 7]
    assert [message.role for message in seen[1].messages] == ["user", "assistant", "tool"]
    later = ScriptedModel(["Yes."])
    ctx.conversations.run_turn(conversation.id, model=later, user_text="Done?")
    said = [(message.role, getattr(message.blocks[0], "text", "")) for message in later.requests[0].messages]
    assert said == [
        ("user", "Look."),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", "Done."),
        ("user", "By the way."),
        ("assistant", "Inner."),
        ("user", "Done?"),
    ]
