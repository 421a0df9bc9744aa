"""Turns that are run with models by their names, over the protocols of the vendors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from longmind import Cancel
from longmind.providers.language_model import LanguageModel
from longmind.providers.provider_registry import choose_model
from tests.vendor.answer import Answer, Asked
from tests.vendor.server import Vendor

NAMES = ["openai-chat:gpt-4o", "openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "ollama:llama3:8b"]
EVERY_VENDOR = pytest.mark.parametrize("name", NAMES)
WEATHER: dict[str, Any] = {
    "tools": [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "tool_handler": lambda name, arguments: f"22 degrees in {arguments['city']}",
}


@pytest.fixture
def engine(sqlite_url: str, vendor: Vendor) -> Iterator[longmind.Engine]:
    """The vendors know nothing of databases, so that one is enough."""
    with longmind.open(sqlite_url, model_timeout_seconds=60, model_attempts=2) as engine:
        yield engine


def results_in(asked: Asked) -> list[str]:
    """The results of tools that a request carries."""
    said = json.dumps(asked.body, ensure_ascii=False)
    return [city for city in ("Graz", "Wien") if f"22 degrees in {city}" in said]


@pytest.mark.patient
@pytest.mark.conforms("A1.17")
@EVERY_VENDOR
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_are_called_over_the_wire_side_by_side(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor, name: str, streamed: bool
) -> None:
    heard: list[str] = []
    vendor.answers = [
        Answer("Let me look.", tools=(("weather", '{"city": "Graz"}'), ("weather", '{"city": "Wien"}'))),
        Answer("Warm in both."),
        Answer("You are welcome."),
    ]
    result = ctx.conversations.run_turn(
        conversation.id,
        model=name,
        user_text="Graz or Wien?",
        options={"systemPrompt": "Be kind."},
        on_text=heard.append if streamed else None,
        **WEATHER,
    )
    assert (result.status, result.error) == ("completed", None)
    assert [row.role for row in result.appended_messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [each.result for each in result.tool_invocations] == ["22 degrees in Graz", "22 degrees in Wien"]
    assert (result.aggregate_usage.input_tokens, result.aggregate_usage.output_tokens) == (22, 14)
    assert result.appended_messages[-1].provider == name.partition(":")[0].removesuffix("-chat")
    assert "".join(heard) == ("Let me look.Warm in both." if streamed else "")
    assert [results_in(asked) for asked in vendor.asked] == [[], ["Graz", "Wien"]]
    assert [asked.system for asked in vendor.asked] == ["Be kind."] * 2
    # The calls of the first turn are well-formed history of the next.
    again = ctx.conversations.run_turn(conversation.id, model=name, user_text="Thank you.")
    assert again.text == "You are welcome."
    assert results_in(vendor.asked[-1]) == ["Graz", "Wien"]


@pytest.mark.conforms("A1.17")
def test_a_model_may_be_named_by_its_vendor_and_its_name(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor
) -> None:
    for provider, model in (
        ("anthropic", "claude-haiku-4-5"),
        ("anthropic", "anthropic:claude-haiku-4-5"),
        ("ollama", "llama3:8b"),
        ("openai-chat", "any-model-at-all"),
    ):
        result = ctx.conversations.run_turn(conversation.id, provider=provider, model=model, user_text="Hello")
        assert (result.status, result.text) == ("completed", "Good day to you.")
        assert vendor.asked[-1].body["model"] == model.removeprefix("anthropic:")


def test_a_model_is_made_once_and_keeps_its_connections(
    engine: longmind.Engine,
    ctx: longmind.Context,
    conversation: longmind.Conversation,
    vendor: Vendor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []

    def make(name: str, *rest: Any) -> LanguageModel:
        made.append(name)
        return choose_model(name, *rest)

    monkeypatch.setattr("longmind.providers.model_pool.choose_model", make)
    other = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    theirs = other.conversations.create_conversation("chat")
    before = set(threading.enumerate())
    for _ in range(3):
        ctx.conversations.run_turn(conversation.id, model=NAMES[0], user_text="Hello")
        other.conversations.run_turn(theirs.id, provider="openai-chat", model="gpt-4o", user_text="Hello")
    assert len(vendor.asked) == 6
    waiting = [each for each in set(threading.enumerate()) - before if each.name == "longmind-providers"]
    assert len(waiting) == 1
    assert made == [NAMES[0]]
    # A client gives a connection up that nothing was asked on for some seconds, which is how long a machine may stall.
    assert vendor.connections < len(vendor.asked)


@pytest.mark.patient
@EVERY_VENDOR
@pytest.mark.parametrize("status", [429, 500])
def test_a_vendor_in_trouble_is_asked_again(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor, name: str, status: int
) -> None:
    vendor.answers = [Answer(status=status, headers={"Retry-After": "0"}), Answer("Good day.")]
    result = ctx.conversations.run_turn(conversation.id, model=name, user_text="Hello")
    assert (result.status, result.text, len(vendor.asked)) == ("completed", "Good day.", 2)


@EVERY_VENDOR
def test_a_vendor_that_stays_in_trouble_is_an_error_with_its_words(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor, name: str
) -> None:
    vendor.answers = [Answer(status=400)]
    result = ctx.conversations.run_turn(conversation.id, model=name, user_text="Hello")
    assert result.status == "error"
    assert "trouble 400" in (result.error or "")
    assert [row.text for row in ctx.conversations.get_raw_turns(conversation.id)] == ["Hello"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_vendor_that_is_too_slow_is_given_up(sqlite_url: str, vendor: Vendor, streamed: bool) -> None:
    with longmind.open(sqlite_url, model_timeout_seconds=0.3, model_attempts=1) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        conversation = ctx.conversations.create_conversation("chat")
        vendor.answers = [Answer(hangs=True)]
        result = ctx.conversations.run_turn(
            conversation.id, model=NAMES[2], user_text="Hello", on_text=(lambda text: None) if streamed else None
        )
        assert result.status == "error"
        assert "did not answer within 0.3 seconds" in (result.error or "")


# Whole answers of Anthropic carry an object, which cannot be broken.
@pytest.mark.patient
@pytest.mark.parametrize(
    ("name", "streamed"),
    [(name, streamed) for name in NAMES for streamed in (False, True) if streamed or name != NAMES[2]],
)
def test_arguments_that_are_not_json_are_told_to_the_model_which_mends_them(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor, name: str, streamed: bool
) -> None:
    vendor.answers = [
        Answer(tools=(("weather", '{"city": "Gra'),)),
        Answer(tools=(("weather", '{"city": "Graz"}'),)),
        Answer("Warm."),
    ]
    result = ctx.conversations.run_turn(
        conversation.id,
        model=name,
        user_text="How is the weather?",
        on_text=(lambda text: None) if streamed else None,
        **WEATHER,
    )
    assert (result.status, result.text) == ("completed", "Warm.")
    assert [each.is_error for each in result.tool_invocations] == [True, False]
    assert "not a readable JSON object" in json.dumps(vendor.asked[1].body)


def test_a_stream_that_breaks_leaves_nothing_half(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor
) -> None:
    heard: list[str] = []
    vendor.answers = [Answer("Good day to you.", breaks_after=3)]
    result = ctx.conversations.run_turn(
        conversation.id, model=NAMES[0], user_text="Hello", on_text=heard.append, idempotency_key="k"
    )
    assert result.status == "error"
    assert heard == ["Good ", "day "]
    assert [row.text for row in ctx.conversations.get_raw_turns(conversation.id)] == ["Hello"]
    vendor.answers = [Answer("Good day to you.")]
    again = ctx.conversations.run_turn(conversation.id, model=NAMES[0], user_text="Hello", idempotency_key="k")
    assert (again.text, again.appended_messages[0].replayed) == ("Good day to you.", True)


def test_a_call_can_be_cancelled_from_another_thread(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor
) -> None:
    vendor.answers = [Answer(hangs=True)]
    cancel = Cancel()
    vendor.when_arrived(cancel.cancel)
    result = ctx.conversations.run_turn(conversation.id, model=NAMES[0], user_text="Hello", cancel=cancel)
    assert result.status == "error"
    assert "was cancelled" in (result.error or "")
    assert vendor.dropped.wait(60)


def test_an_engine_that_is_closed_ends_the_call(
    engine: longmind.Engine, ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor
) -> None:
    vendor.answers = [Answer(hangs=True)]
    vendor.when_arrived(engine.close)
    result = ctx.conversations.run_turn(conversation.id, model=NAMES[0], user_text="Hello")
    assert (result.status, result.error) == ("error", "The engine is closed.")


@EVERY_VENDOR
def test_a_conversation_with_everything_in_it_is_accepted(
    ctx: longmind.Context, conversation: longmind.Conversation, vendor: Vendor, name: str
) -> None:
    service, id = ctx.conversations, conversation.id
    service.append_assistant_turn(id, "Who are you?")
    service.append_system_message(id, "She is an old friend.")
    service.append_user_message(id, "Ada.")
    service.append_assistant_turn(id, [{"type": "tool_use", "id": "call_1", "name": "look", "arguments": {}}])
    service.append_system_message(id, "It rains.")
    service.append_tool_result(id, "call_1", [{"type": "text", "text": "wet"}], is_error=True)
    service.append_assistant_turn(id, [{"type": "tool_use", "id": "call_1", "name": "look", "arguments": {}}])
    service.append_user_message(
        id, [{"type": "image", "url": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png"}]
    )
    vendor.answers = lambda asked: Answer(f"You said: {asked.last_text[-9:]}")
    result = service.run_turn(id, model=name, user_text="Well, Bob?")
    assert (result.status, result.text) == ("completed", "You said: ell, Bob?")
    said = json.dumps(vendor.asked[0].body)
    for words in (
        "Who are you?",
        "<system_reminder>She is an old friend.",
        "It rains.",
        "wet",
        "This call has no result",
    ):
        assert words in said
