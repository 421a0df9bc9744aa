"""Turns that fail: the user's message stays, nothing is left half, and the conversation can go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from longmind import Cancel, Tool, ToolUseBlock
from longmind.conversations.turn_tools import CANCELLED
from longmind.providers.language_model import ModelReply, ModelRequest
from longmind.providers.testing import ScriptedModel

LOOK: dict[str, Any] = {"tools": [Tool("look")], "tool_handler": lambda *_: "dark"}
CALL = ToolUseBlock(id="a", name="look", arguments={})


def texts(request: ModelRequest) -> list[str]:
    return [getattr(message.blocks[0], "text", message.blocks[0].type) for message in request.messages]


class Thinking(ScriptedModel):
    """Has time for something else before it answers."""

    def __init__(self, meanwhile: Any, *answers: Any) -> None:
        self._answers: Iterator[Any] = iter(answers)
        self._meanwhile = meanwhile
        super().__init__(self._answer)

    def _answer(self, request: ModelRequest) -> Any:
        answer = next(self._answers)
        if answer is None:
            self._meanwhile()
            answer = "Too late?"
        return answer


@pytest.mark.conforms("A1.17")
@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (longmind.ModelTimedOut("It took too long."), "It took too long."),
        (ConnectionError("gone"), "ConnectionError: gone"),
        (ModelReply([], "error", longmind.Usage(), "m", "p"), "ended its answer with an error"),
        (longmind.TextBlock(text="x" * 2_000_000), "The model's answer"),
        (ToolUseBlock(id="\x00", name="look", arguments={}), "NUL"),
    ],
)
def test_a_model_that_fails_leaves_the_users_message_and_the_conversation_goes_on(
    ctx: longmind.Context, conversation: longmind.Conversation, failure: Any, error: str
) -> None:
    result = ctx.conversations.run_turn(conversation.id, model=ScriptedModel([failure]), user_text="Hello", **LOOK)
    assert result.status == "error"
    assert error in (result.error or "")
    assert [row.text for row in result.appended_messages] == ["Hello"]
    assert ctx.conversations.get_raw_turns(conversation.id) == result.appended_messages

    model = ScriptedModel(["Here I am."])
    again = ctx.conversations.run_turn(conversation.id, model=model, user_text="Are you there?")
    assert (again.status, again.text) == ("completed", "Here I am.")
    (message,) = model.requests[0].messages
    assert [getattr(block, "text", "") for block in message.blocks] == ["Hello", "Are you there?"]


def test_something_that_is_no_model_reply_is_a_failure_of_the_model(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    class Odd:
        name = "odd:model"

        def ask(self, request: ModelRequest, *, on_text: Any = None, cancel: Any = None) -> Any:
            return "text"

    result = ctx.conversations.run_turn(conversation.id, model=Odd(), user_text="Hello")
    assert (result.status, result.error) == ("error", "The model 'odd:model' returned a str instead of a ModelReply.")


class Speechless(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ModelReply([], "end_turn", {"input_tokens": 3}, "m", "p"), "'scripted:model' returned its usage as a dict."),  # type: ignore[arg-type]
        (Speechless(), "Speechless"),
    ],
)
def test_whatever_a_model_does_there_is_a_result(
    ctx: longmind.Context, conversation: longmind.Conversation, answer: Any, error: str
) -> None:
    result = ctx.conversations.run_turn(conversation.id, model=ScriptedModel([answer]), user_text="Hello")
    assert result.status == "error"
    assert error in (result.error or "")


def test_a_model_that_does_not_tell_its_usage_is_no_failure(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    reply = ModelReply([longmind.TextBlock(text="Hi")], "end_turn", None, "m", "p")  # type: ignore[arg-type]
    result = ctx.conversations.run_turn(conversation.id, model=ScriptedModel([reply]), user_text="Hello")
    assert (result.status, result.text, result.appended_messages[1].usage) == ("completed", "Hi", None)
    assert result.aggregate_usage == longmind.Usage(input_tokens=0, output_tokens=0, latency_ms=0)


def test_a_model_that_fails_after_a_tool_leaves_what_was_done(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel([CALL, longmind.ModelFailed("Overloaded.")])
    result = ctx.conversations.run_turn(conversation.id, model=model, user_text="Look.", **LOOK)
    assert (result.status, result.error) == ("error", "Overloaded.")
    assert [row.role for row in result.appended_messages] == ["user", "assistant", "tool"]
    assert len(result.tool_invocations) == 1
    assert result.aggregate_usage.output_tokens
    model = ScriptedModel(["It was dark."])
    ctx.conversations.run_turn(conversation.id, model=model, user_text="And?")
    assert texts(model.requests[0]) == ["Look.", "tool_use", "tool_result", "And?"]


@pytest.mark.conforms("A1.17", "R-I")
def test_a_retry_finds_the_users_message_and_begins_another_answer(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    def run(*answers: Any) -> tuple[longmind.TurnResult, ScriptedModel]:
        model = ScriptedModel(answers)
        asked: dict[str, Any] = {"user_text": "Hello", "idempotency_key": "k"}
        return ctx.conversations.run_turn(conversation.id, model=model, **asked, **LOOK), model

    failed, _ = run(CALL, longmind.ModelFailed("Overloaded."))
    first, model = run(CALL, "Hi")
    second, _ = run("Hi there")
    assert (failed.status, first.status, second.status) == ("error", "completed", "completed")
    assert failed.turn_id == first.turn_id == second.turn_id
    assert [result.appended_messages[0].replayed for result in (failed, first, second)] == [False, True, True]
    assert [result.appended_messages[0].sequence for result in (failed, first, second)] == [1, 1, 1]
    assert [[row.attempt for row in each.appended_messages[1:]] for each in (failed, first, second)] == [
        [1, 1],
        [2, 2, 2],
        [3],
    ]
    assert texts(model.requests[0]) == ["Hello"]
    assert texts(model.requests[1]) == ["Hello", "tool_use", "tool_result"]
    later = ScriptedModel(["Yes."])
    ctx.conversations.run_turn(conversation.id, model=later, user_text="Done?")
    assert texts(later.requests[0]) == ["Hello", "Hi there", "Done?"]
    latest = ctx.conversations.get_raw_turns(conversation.id, latest_attempts=True)
    assert [row.text for row in latest] == ["Hello", "Hi there", "Done?", "Yes."]


@pytest.mark.conforms("A1.17", "T2")
def test_a_retry_of_an_older_message_is_answered_from_what_was_before_it(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    service = ctx.conversations
    service.append_turn(conversation.id, user_content="One", assistant={"content": "1"})
    service.append_user_message(conversation.id, "Two", idempotency_key="k")
    service.append_system_message(conversation.id, "Be brief.")
    service.append_turn(conversation.id, user_content="Three", assistant={"content": "3"})
    model = ScriptedModel(["2", "2!"])
    for _ in range(2):
        service.run_turn(conversation.id, model=model, user_text="Two", idempotency_key="k")
    for request in model.requests:
        assert texts(request) == ["One", "1", "Two"]
        assert [getattr(block, "text", "") for block in request.messages[-1].blocks] == [
            "Two",
            "<system_reminder>Be brief.</system_reminder>",
        ]
    alone = ScriptedModel(["2!"])
    service.run_turn(conversation.id, model=alone, user_text="Two", idempotency_key="k", tail_limit=0)
    assert alone.requests[0].messages == model.requests[0].messages[-1:]
    later = ScriptedModel(["4"])
    service.run_turn(conversation.id, model=later, user_text="Four")
    assert texts(later.requests[0]) == ["One", "1", "Two", "2!", "Three", "3", "Four"]


@pytest.mark.conforms("A1.17", "R-I")
def test_a_key_with_another_body_is_refused_and_no_model_is_asked(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = ScriptedModel(["Hi"])
    ctx.conversations.run_turn(conversation.id, model=model, user_text="Hello", idempotency_key="k")
    with pytest.raises(longmind.IdempotencyMismatch) as refused:
        ctx.conversations.run_turn(conversation.id, model=model, user_text="Goodbye", idempotency_key="k")
    assert refused.value.status == 409
    assert len(model.requests) == 1
    assert len(ctx.conversations.get_raw_turns(conversation.id)) == 2


@pytest.mark.conforms("A1.17", "T1")
def test_of_many_retries_at_once_each_is_an_answer_of_its_own(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    together = threading.Barrier(6)

    def run(number: int) -> longmind.TurnResult:
        def answer(request: ModelRequest) -> Any:
            together.wait(60)
            return CALL if len(request.messages) == 1 else f"answer {number}"

        model = ScriptedModel(answer)
        return ctx.conversations.run_turn(conversation.id, model=model, user_text="Hello", idempotency_key="k", **LOOK)

    with ThreadPoolExecutor(6) as pool:
        results = [each.result() for each in [pool.submit(run, number) for number in range(6)]]
    assert {result.status for result in results} == {"completed"}
    assert len({result.appended_messages[0].id for result in results}) == 1
    attempts = [{row.attempt for row in result.appended_messages[1:]} for result in results]
    assert sorted(attempts, key=min) == [{number} for number in range(1, 7)]
    latest = ctx.conversations.get_raw_turns(conversation.id, latest_attempts=True)
    assert [row.role for row in latest] == ["user", "assistant", "tool", "assistant"]
    assert latest[-1].attempt == 6
    # The answers went on side by side; who speaks next goes on with the newest of them.
    assert ctx.conversations.append_assistant_turn(conversation.id, "One more thing.").attempt == 6


def test_a_conversation_that_is_closed_meanwhile_takes_no_answer(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    model = Thinking(lambda: ctx.conversations.close_conversation(conversation.id), None)
    result = ctx.conversations.run_turn(conversation.id, model=model, user_text="Hello")
    assert result.status == "error"
    assert "is closed" in (result.error or "")
    assert ctx.conversations.get_raw_turns(conversation.id) == result.appended_messages
    assert len(result.appended_messages) == 1


def test_a_conversation_that_a_tool_closes_keeps_the_call(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    result = ctx.conversations.run_turn(
        conversation.id,
        model=ScriptedModel([CALL, "Never asked."]),
        user_text="Bye.",
        tools=[Tool("look")],
        tool_handler=lambda *_: ctx.conversations.close_conversation(conversation.id).status,
    )
    assert result.status == "error"
    assert "is closed" in (result.error or "")
    assert [row.role for row in ctx.conversations.get_raw_turns(conversation.id)] == ["user", "assistant"]
    assert [each.result for each in result.tool_invocations] == ["closed"]


def test_an_engine_that_is_closed_meanwhile_is_told(database_url: str) -> None:
    engine = longmind.open(database_url)
    ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    conversation = ctx.conversations.create_conversation("chat")
    result = ctx.conversations.run_turn(conversation.id, model=Thinking(engine.close, None), user_text="Hello")
    assert (result.status, result.error) == ("error", "The engine is closed.")
    with longmind.open(database_url) as again:
        ctx = again.context(tenant_id="acme", app_id="support", user_id="ada")
        assert [row.text for row in ctx.conversations.get_raw_turns(conversation.id)] == ["Hello"]


def test_a_cancelled_turn_asks_no_more_and_leaves_no_call_without_its_result(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    cancel = Cancel()

    def handle(name: str, arguments: dict[str, Any]) -> str:
        cancel.cancel()
        return "dark"

    model = ScriptedModel([[CALL, CALL.model_copy(update={"id": "b"})], "Never asked."])
    result = ctx.conversations.run_turn(
        conversation.id, model=model, user_text="Look.", tools=[Tool("look")], tool_handler=handle, cancel=cancel
    )
    assert (result.status, result.error) == ("error", "The turn was cancelled.")
    assert [(each.result, each.is_error) for each in result.tool_invocations] == [("dark", False), (CANCELLED, True)]
    assert [row.role for row in result.appended_messages] == ["user", "assistant", "tool", "tool"]
    assert len(model.requests) == 1


def test_a_listener_is_called_in_its_own_thread_and_its_failure_is_its_callers(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    heard: list[tuple[str, threading.Thread]] = []
    ctx.conversations.run_turn(
        conversation.id,
        model=ScriptedModel(["Good day."]),
        user_text="Hello",
        on_text=lambda text: heard.append((text, threading.current_thread())),
    )
    assert heard == [("Good", threading.current_thread()), (" day.", threading.current_thread())]

    def fail(text: str) -> None:
        raise BrokenPipeError("gone")

    with pytest.raises(BrokenPipeError):
        ctx.conversations.run_turn(conversation.id, model=ScriptedModel(["No."]), user_text="Hello?", on_text=fail)
    assert [row.text for row in ctx.conversations.get_raw_turns(conversation.id)] == ["Hello", "Good day.", "Hello?"]


def test_a_message_that_comes_again_meanwhile_begins_another_answer_beside_the_one_under_way(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    """As of a client that has lost its connection and sends again, while the turn still runs."""
    service, id = ctx.conversations, conversation.id

    def handle(name: str, arguments: dict[str, Any]) -> str:
        assert service.append_user_message(id, "Look.", idempotency_key="k").replayed
        return "dark"

    slow = service.run_turn(
        id,
        model=ScriptedModel([CALL, "Dark."]),
        user_text="Look.",
        idempotency_key="k",
        tools=[Tool("look")],
        tool_handler=handle,
    )
    fast = service.append_assistant_turn(id, "I see nothing.")
    assert {row.attempt for row in slow.appended_messages} == {1}
    assert (fast.turn_id, fast.attempt) == (slow.turn_id, 2)
