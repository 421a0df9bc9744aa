"""Every refusal says what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_origin

import pytest

import longmind
from longmind import errors
from longmind.operations import OPERATIONS, Operation
from longmind.validation.parameter_limits import CountLimits, ScaleLimits, TextLimits, find_limits


def every_error(kind: type[errors.LongmindError] = errors.LongmindError) -> list[type[errors.LongmindError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in every_error(below))]


def test_only_errors_whose_message_says_what_to_do_have_no_hint_of_their_own_or_of_their_family() -> None:
    for kind in every_error():
        says_all = kind is errors.LongmindError or issubclass(kind, errors.InvalidInput | errors.ToolError)
        assert kind.default_hint or says_all, kind.__name__


def test_no_hint_names_a_package_of_the_public_index() -> None:
    for kind in every_error():
        assert "pip " not in kind.default_hint, kind.__name__


def refusals(engine: longmind.Engine) -> list[Callable[[], Any]]:
    ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    chat, jobs = ctx.conversations, ctx.jobs
    id = chat.create_conversation("n").id
    closed = chat.close_conversation(chat.create_conversation("n").id).id
    chat.append_user_message(id, "x", idempotency_key="k")
    done = jobs.enqueue("done")
    wrong: Any = object()
    unknown: Any = {"nonsense": 1}
    return [
        lambda: longmind.open(wrong),
        lambda: longmind.open("memory"),
        lambda: longmind.open("sqlite:///x.db", pool_size=0),
        lambda: longmind.open("sqlite:///x.db", durability=wrong),
        lambda: longmind.open("sqlite:///x.db", **unknown),
        lambda: engine.context(tenant_id="", app_id="a", user_id="u"),
        lambda: engine.context(tenant_id="t", app_id="a", user_id="u", capabilities=wrong),
        lambda: ctx.scope.require("admin"),
        lambda: engine.register_job("k", wrong),
        lambda: engine.register_job("", print),
        lambda: engine.subscribe(wrong),
        lambda: list(engine.follow(wrong)),
        lambda: list(engine.follow(-1)),
        lambda: engine.close_stale(wrong),
        lambda: engine.close_stale(-1),
        lambda: chat.create_conversation(wrong),
        lambda: chat.create_conversation("n", title=wrong),
        lambda: chat.create_conversation("n", title="x" * 1001),
        lambda: chat.create_conversation("n", metadata=wrong),
        lambda: chat.create_conversation("n", metadata={"a": wrong}),
        lambda: chat.create_conversation("n", metadata={"a": float("nan")}),
        lambda: chat.create_conversation("n", metadata={"a": 10**5000}),
        lambda: chat.create_conversation("n", metadata={"a": "x" * 70_000}),
        lambda: chat.create_conversation("n", metadata={wrong: 1}),
        lambda: chat.get_conversation(wrong),
        lambda: chat.list_conversations(limit=0),
        lambda: chat.list_conversations(limit=wrong),
        lambda: chat.list_conversations(limit=10_001),
        lambda: chat.list_conversations(status=wrong),
        lambda: chat.list_conversations(cursor=wrong),
        lambda: chat.list_conversations(cursor="nonsense"),
        lambda: chat.append_user_message("never", "x"),
        lambda: chat.append_user_message(closed, "x"),
        lambda: chat.append_user_message(id, ""),
        lambda: chat.append_user_message(id, wrong),
        lambda: chat.append_user_message(id, [wrong]),
        lambda: chat.append_user_message(id, [{"type": "text"}]),
        lambda: chat.append_user_message(id, "x" * 2**20),
        lambda: chat.append_user_message(id, "a\x00"),
        lambda: chat.append_user_message(id, "x", visibility=wrong),
        lambda: chat.append_user_message(id, "x", trace_id=""),
        lambda: chat.append_user_message(id, "x", created_at=wrong),
        lambda: chat.append_user_message(id, "x", created_at="soon"),
        lambda: chat.append_user_message(id, "x", created_at="1969-01-01T00:00:00Z"),
        lambda: chat.append_user_message(id, "other", idempotency_key="k"),
        lambda: chat.append_tool_result(id, "1", "x", is_error=wrong),
        lambda: chat.append_turn(id, user_content="x", assistant=wrong),
        lambda: chat.append_turn(id, user_content="x", assistant={}),
        lambda: chat.append_assistant_turn(id, "x", usage=wrong),
        lambda: chat.append_assistant_turn(id, "x", usage={"input_tokens": "many"}),
        lambda: chat.get_messages(id, limit=0),
        lambda: chat.get_messages(id, before=wrong),
        lambda: chat.close_conversation("never"),
        lambda: chat.close_stale(wrong),
        lambda: jobs.enqueue(wrong),
        lambda: jobs.enqueue("k", wrong),
        lambda: jobs.enqueue("k", max_attempts=0),
        lambda: jobs.enqueue("k", run_at=wrong),
        lambda: jobs.list_jobs(status=wrong),
        lambda: jobs.list_jobs(limit=0),
        lambda: jobs.retry_job("never"),
        lambda: jobs.retry_job(done.id),
    ]


def test_every_refusal_says_what_to_do_in_its_hint_or_what_is_wanted_in_its_message(engine: longmind.Engine) -> None:
    for number, refuse in enumerate(refusals(engine)):
        with pytest.raises(longmind.LongmindError) as caught:
            refuse()
        assert caught.value.message, number
        assert caught.value.hint or "must" in caught.value.message, f"{number}: {caught.value}"


def test_a_closed_engine_says_what_to_do(engine: longmind.Engine) -> None:
    ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    engine.close()
    with pytest.raises(longmind.EngineClosed) as caught:
        ctx.conversations.list_conversations()
    assert caught.value.hint


def beyond(limits: object) -> Any:
    """A value just outside of what the limits of a signature allow; None where they are checked elsewhere."""
    match limits:
        case CountLimits(most=most) | ScaleLimits(most=most):
            return most + 1
        case TextLimits(most=int(most)):
            return "x" * (most + 1)
    return None


LIMITED = [
    pytest.param(operation, parameter.name, beyond(find_limits(parameter.annotation)), id=f"{operation.path}.{name}")
    for operation in OPERATIONS
    for name, parameter in operation.signature.parameters.items()
    if beyond(find_limits(parameter.annotation)) is not None
]

REQUIRED: dict[str, Any] = {
    "assistant": {"content": "x"},
    "type": "PERSON",
    "model": "scripted:x",
    "content": "x",
    "user_content": "x",
    "data": {},
    "conversation_scope": {"namespace": "x", "user_id": "*"},
    "memory_space_ids": ["x"],
    "revision": 1,
    "key": "x",
    "event": {},
    "path": [],
}


@pytest.mark.parametrize(("operation", "name", "value"), LIMITED)
def test_an_operation_keeps_the_limits_that_its_signature_declares(
    engine: longmind.Engine, operation: Operation, name: str, value: Any
) -> None:
    context = engine.context(tenant_id="acme", app_id="support", user_id="ada", agent_id="a", session_id="s")
    parameters = operation.signature.parameters.items()
    required = {each: REQUIRED.get(each, "x") for each, parameter in parameters if parameter.default is parameter.empty}
    if operation.name == "run_turn" and name != "user_text":
        required["user_text"] = "x"
    wrong = [value] if get_origin(operation.signature.parameters[name].annotation) in (list, Sequence) else value
    # A provider that is too long is one that nobody knows.
    reason = "Unknown model" if name == "provider" and operation.name == "run_turn" else name
    with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=reason):
        getattr(getattr(context, operation.service), operation.name)(**{**required, name: wrong})
