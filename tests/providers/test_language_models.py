"""Language models by the name of their vendor, spoken to over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import longmind
from longmind.models.content import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.language_model import UNREADABLE, Cancel, ModelMessage, ModelRequest, Tool
from longmind.providers.provider_registry import choose_model
from longmind.providers.pydantic_ai.models import VendorModel
from longmind.providers.testing import ScriptedModel
from longmind.settings import Settings
from tests.vendor.answer import Answer
from tests.vendor.server import Vendor

CHAT, RESPONSES, ANTHROPIC, OLLAMA = (
    "openai-chat:gpt-4o",
    "openai:gpt-5-mini",
    "anthropic:claude-haiku-4-5",
    "ollama:llama3",
)
EVERY_PROTOCOL = pytest.mark.parametrize("name", [CHAT, RESPONSES, ANTHROPIC, OLLAMA])
HELLO = ModelRequest([ModelMessage("user", "Hello.")], system="Be kind.")
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}


def choose(name: str, loop: BackgroundLoop, *, timeout_seconds: float = 60.0, attempts: int = 4) -> VendorModel:
    return VendorModel(name, timeout_seconds=timeout_seconds, attempts=attempts, loop=loop)


def waiting_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "longmind-providers"}


@EVERY_PROTOCOL
def test_a_model_answers_and_says_what_it_took(vendor: Vendor, loop: BackgroundLoop, name: str) -> None:
    reply = choose(name, loop).ask(HELLO)

    assert (reply.text, reply.stop_reason, reply.attempts) == ("Good day to you.", "end_turn", 1)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)
    assert reply.usage.latency_ms is not None
    assert reply.usage.latency_ms > 0
    assert reply.provider == name.partition(":")[0].removesuffix("-chat")
    assert json.dumps(vendor.asked[0].body).count("Be kind.") == 1
    assert vendor.asked[0].body["model"] == name.partition(":")[2]


@EVERY_PROTOCOL
def test_text_is_heard_piece_by_piece_in_the_thread_that_asks(vendor: Vendor, loop: BackgroundLoop, name: str) -> None:
    heard: list[tuple[str, threading.Thread]] = []

    reply = choose(name, loop).ask(HELLO, on_text=lambda text: heard.append((text, threading.current_thread())))

    assert [text for text, _ in heard] == ["Good ", "day ", "to ", "you."]
    assert {thread for _, thread in heard} == {threading.current_thread()}
    assert (reply.text, reply.usage.input_tokens, reply.usage.output_tokens) == ("Good day to you.", 11, 7)


@EVERY_PROTOCOL
@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_calls_a_tool_and_is_told_what_came_of_it(
    vendor: Vendor, loop: BackgroundLoop, name: str, streamed: bool
) -> None:
    model = choose(name, loop)
    on_text = (lambda text: None) if streamed else None
    tool = Tool("weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
    question = ModelMessage("user", "How is the weather in Graz?")
    vendor.answers = [Answer("Let me look.", tools=(("weather", '{"city": "Graz"}'),)), Answer("Sunny.")]

    first = model.ask(ModelRequest([question], tools=[tool]), on_text=on_text)

    assert first.stop_reason == "tool_use"
    (call,) = first.tool_uses
    assert (call.name, call.arguments) == ("weather", {"city": "Graz"})
    said = json.dumps(vendor.asked[0].body["tools"])
    assert "Tells the weather." in said
    assert '"city"' in said

    result = ToolResultBlock(tool_use_id=call.id, content="22 degrees")
    told = [question, ModelMessage("assistant", first.content), ModelMessage("tool", [result])]
    second = model.ask(ModelRequest(told, tools=[tool]), on_text=on_text)

    assert (second.text, second.stop_reason) == ("Sunny.", "end_turn")
    heard = json.dumps(vendor.asked[1].body)
    assert heard.count(call.id) == 2
    assert "22 degrees" in heard


def test_a_tool_that_failed_is_told_as_a_failure(vendor: Vendor, loop: BackgroundLoop) -> None:
    told = [
        ModelMessage("user", "Look."),
        ModelMessage("assistant", [ToolUseBlock(id="toolu_1", name="look", arguments={})]),
        ModelMessage("tool", [ToolResultBlock(tool_use_id="toolu_1", content="It is dark.", is_error=True)]),
        ModelMessage("user", "And now?"),
    ]

    choose(ANTHROPIC, loop).ask(ModelRequest(told, tools=[Tool("look")]))

    messages = vendor.asked[0].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[2]["content"][0]["is_error"] is True
    assert messages[2]["content"][1]["text"] == "And now?"


@pytest.mark.parametrize("name", [CHAT, RESPONSES, ANTHROPIC])
def test_images_are_shown(vendor: Vendor, loop: BackgroundLoop, name: str) -> None:
    picture = ImageBlock(url="data:image/png;base64,iVBORw0KGgo=", mime_type="image/png")
    address = ImageBlock(url="https://pictures.example/cat.png", mime_type="image/png")

    choose(name, loop).ask(ModelRequest([ModelMessage("user", [TextBlock(text="Look:"), picture, address])]))

    said = json.dumps(vendor.asked[0].body)
    assert "iVBORw0KGgo=" in said
    assert "https://pictures.example/cat.png" in said


@EVERY_PROTOCOL
@pytest.mark.parametrize("answer", [Answer('{"colour": "red"}'), Answer(tools=(("answer", '{"colour": "red"}'),))])
def test_with_a_schema_the_text_of_the_answer_is_json(
    vendor: Vendor, loop: BackgroundLoop, name: str, answer: Answer
) -> None:
    vendor.answers = [answer]

    reply = choose(name, loop).ask(ModelRequest(HELLO.messages, output_schema=SCHEMA))

    assert json.loads(reply.text) == {"colour": "red"}
    assert (reply.tool_uses, reply.stop_reason) == ([], "end_turn")
    assert '"colour"' in json.dumps(vendor.asked[0].body)


@EVERY_PROTOCOL
def test_an_answer_that_was_cut_off_says_so(vendor: Vendor, loop: BackgroundLoop, name: str) -> None:
    vendor.answers = [Answer("Once upon a", cut_off=True)]

    reply = choose(name, loop).ask(ModelRequest(HELLO.messages, max_tokens=3))

    assert (reply.text, reply.stop_reason) == ("Once upon a", "max_tokens")
    limits = {"max_tokens", "max_completion_tokens", "max_output_tokens"}
    assert [vendor.asked[0].body[limit] for limit in limits & vendor.asked[0].body.keys()] == [3]


@pytest.mark.parametrize("name", [CHAT, ANTHROPIC])
def test_the_price_is_known_where_it_is_listed(vendor: Vendor, loop: BackgroundLoop, name: str) -> None:
    vendor.answers = [Answer("Yes.", tokens=(1_000_000, 0))]
    dollars = choose(name, loop).ask(HELLO).dollars
    assert dollars is not None
    assert 0.1 < dollars < 100
    assert choose(OLLAMA, loop).ask(HELLO).dollars is None


@EVERY_PROTOCOL
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_vendor_in_trouble_is_asked_again(
    vendor: Vendor, loop: BackgroundLoop, name: str, streamed: bool, status: int
) -> None:
    vendor.answers = [Answer(status=status), Answer("There.")]
    heard: list[str] = []

    reply = choose(name, loop).ask(HELLO, on_text=heard.append if streamed else None)

    assert (reply.text, reply.attempts, len(vendor.asked)) == ("There.", 2, 2)
    assert heard == (["There."] if streamed else [])
    # The pause belongs to what the caller has waited.
    assert reply.usage.latency_ms is not None
    assert reply.usage.latency_ms >= 250


def test_a_vendor_is_waited_for_as_long_as_it_asks(vendor: Vendor, loop: BackgroundLoop) -> None:
    vendor.answers = [Answer(status=429, headers={"Retry-After": "1"}), Answer("There.")]
    begun = time.monotonic()
    assert choose(CHAT, loop).ask(HELLO).text == "There."
    assert time.monotonic() - begun >= 1


def test_a_vendor_that_asks_for_an_hour_is_not_waited_for(vendor: Vendor, loop: BackgroundLoop) -> None:
    vendor.answers = [Answer(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(longmind.ModelFailed, match="429"):
        choose(CHAT, loop).ask(HELLO)
    assert len(vendor.asked) == 1


def test_a_vendor_that_stays_in_trouble_is_given_up(vendor: Vendor, loop: BackgroundLoop) -> None:
    vendor.answers = [Answer(status=500)]
    with pytest.raises(longmind.ModelFailed, match="after 2 attempts") as failed:
        choose(CHAT, loop, attempts=2).ask(HELLO)
    assert failed.value.status == 502
    assert len(vendor.asked) == 2


@EVERY_PROTOCOL
@pytest.mark.parametrize(("status", "hint"), [(401, "key"), (404, "name"), (400, "another model")])
def test_what_would_fail_again_is_not_asked_again(
    vendor: Vendor, loop: BackgroundLoop, name: str, status: int, hint: str
) -> None:
    vendor.answers = [Answer(status=status)]
    with pytest.raises(longmind.ModelFailed, match=str(status)) as failed:
        choose(name, loop).ask(HELLO)
    assert hint in failed.value.hint
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("name", [CHAT, RESPONSES, ANTHROPIC])
@pytest.mark.parametrize("body", ["what?", "{", "[1, 2]", '{"id": 7}'])
def test_an_answer_that_is_not_one_is_an_error_of_ours(
    vendor: Vendor, loop: BackgroundLoop, name: str, body: str
) -> None:
    vendor.answers = [Answer(body=body)]
    with pytest.raises(longmind.ModelFailed, match=name):
        choose(name, loop, attempts=1).ask(HELLO)


@pytest.mark.parametrize("name", [CHAT, RESPONSES, OLLAMA])
@pytest.mark.parametrize("broken", ['{"where": ', '["here"]', "here"])
def test_a_tool_that_is_called_with_broken_json_is_told_apart(
    vendor: Vendor, loop: BackgroundLoop, name: str, broken: str
) -> None:
    vendor.answers = [Answer(tools=(("look", broken),))]
    reply = choose(name, loop).ask(ModelRequest(HELLO.messages, tools=[Tool("look")]))
    assert [call.arguments for call in reply.tool_uses] == [{UNREADABLE: broken}]


def test_a_stream_that_breaks_after_something_was_heard_is_not_begun_again(
    vendor: Vendor, loop: BackgroundLoop
) -> None:
    vendor.answers = [Answer("Good day to you.", breaks_after=3), Answer("Again.")]
    heard: list[str] = []
    with pytest.raises(longmind.ModelFailed):
        choose(CHAT, loop).ask(HELLO, on_text=heard.append)
    assert heard == ["Good ", "day "]
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("streamed", [False, True])
def test_a_vendor_that_does_not_answer_is_given_up_and_hung_up_on(
    vendor: Vendor, loop: BackgroundLoop, streamed: bool
) -> None:
    vendor.answers = [Answer(hangs=True)]
    # On a busy machine the time may be over before the vendor was asked, and then there is more of it.
    for tries, seconds in enumerate((2, 30), 1):
        with pytest.raises(longmind.ModelTimedOut, match=f"within {seconds} seconds") as late:
            choose(CHAT, loop, timeout_seconds=seconds).ask(HELLO, on_text=(lambda text: None) if streamed else None)
        assert late.value.status == 504
        assert len(vendor.asked) <= tries
        if vendor.arrived.is_set():
            break
    assert vendor.asked
    assert vendor.dropped.wait(60)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_is_cancelled_from_another_thread(vendor: Vendor, loop: BackgroundLoop, streamed: bool) -> None:
    vendor.answers = [Answer(hangs=True)]
    model, cancel = choose(CHAT, loop), Cancel()

    def cancel_when_asked() -> None:
        vendor.arrived.wait(60)
        cancel.cancel()

    other = threading.Thread(target=cancel_when_asked)
    other.start()
    with pytest.raises(longmind.ModelCancelled):
        model.ask(HELLO, on_text=(lambda text: None) if streamed else None, cancel=cancel)
    other.join()
    assert vendor.dropped.wait(60)
    with pytest.raises(longmind.ModelCancelled):
        model.ask(HELLO, cancel=cancel)


def test_an_interrupt_ends_the_call(vendor: Vendor, loop: BackgroundLoop) -> None:
    vendor.answers = [Answer(hangs=True)]

    def interrupt_when_asked() -> None:
        vendor.arrived.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt_when_asked)
    # A process that was started in the background ignores the signal unless it says otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            choose(CHAT, loop).ask(HELLO)
        other.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert vendor.dropped.wait(60)


def test_a_listener_that_fails_ends_the_call(vendor: Vendor, loop: BackgroundLoop) -> None:
    def refuse(text: str) -> None:
        raise ZeroDivisionError

    model = choose(CHAT, loop)
    with pytest.raises(ZeroDivisionError):
        model.ask(HELLO, on_text=refuse)
    assert model.ask(HELLO).text == "Good day to you."


def test_a_listener_may_ask_the_model_itself(vendor: Vendor, loop: BackgroundLoop) -> None:
    model = choose(CHAT, loop)
    answers: list[str] = []
    model.ask(HELLO, on_text=lambda text: answers.append(model.ask(HELLO).text))
    assert answers == ["Good day to you."] * 4


def test_closing_ends_what_is_under_way_and_refuses_more(vendor: Vendor) -> None:
    vendor.answers = [Answer(hangs=True)]
    loop = BackgroundLoop()
    model = choose(CHAT, loop)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(model.ask, HELLO)
        assert vendor.arrived.wait(60)
        loop.close()
        with pytest.raises(longmind.EngineClosed):
            call.result(60)
    with pytest.raises(longmind.EngineClosed):
        model.ask(HELLO)
    loop.close()


def test_threads_share_a_model_and_one_thread_waits_for_all(vendor: Vendor, loop: BackgroundLoop) -> None:
    model = choose(CHAT, loop)
    before = waiting_threads()
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda _: model.ask(HELLO).text, range(40)))
    assert texts == ["Good day to you."] * 40
    assert len(waiting_threads() - before) == 1


def test_it_works_where_an_event_loop_is_running(vendor: Vendor, loop: BackgroundLoop) -> None:
    """As in a notebook, or in a coroutine that makes a call without awaiting."""
    model = choose(CHAT, loop)

    async def ask() -> list[str]:
        here = model.ask(HELLO).text
        beside = await asyncio.gather(*(asyncio.to_thread(model.ask, HELLO) for _ in range(3)))
        return [here, *(reply.text for reply in beside)]

    assert asyncio.run(ask()) == ["Good day to you."] * 4
    assert asyncio.run(ask()) == ["Good day to you."] * 4


def test_workers_may_ask_it(vendor: Vendor, loop: BackgroundLoop, engine: longmind.Engine) -> None:
    model = choose(CHAT, loop)
    engine.register_job("ask", lambda run: model.ask(HELLO).text)
    ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
    job = ctx.jobs.enqueue("ask")
    assert engine.work().succeeded == 1
    done = ctx.jobs.get_job(job.id)
    assert done is not None
    assert done.result == "Good day to you."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_uses_it_too(vendor: Vendor, loop: BackgroundLoop) -> None:
    model = choose(CHAT, loop)
    assert model.ask(HELLO).text == "Good day to you."
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = model.ask(HELLO).text == "Good day to you."
        finally:
            os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert model.ask(HELLO).text == "Good day to you."


def test_a_model_of_pydantic_ai_may_be_given(vendor: Vendor, loop: BackgroundLoop) -> None:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    provider = OpenAICompatibleProvider("gateway", base_url=f"{vendor.url}/v1", api_key="sk-test")

    model = choose_model(OpenAIChatModel("house-model", provider=provider), loop, Settings())

    assert (model.name, model.ask(HELLO).text) == ("gateway:house-model", "Good day to you.")


def test_a_model_of_ones_own_may_be_given(loop: BackgroundLoop) -> None:
    own = ScriptedModel(["Mine."])
    assert choose_model(own, loop, Settings()) is own
    with pytest.raises(longmind.InvalidInput, match="int is not a language model"):
        choose_model(7, loop, Settings())


@pytest.mark.parametrize("name", ["gpt-4o", "nosuchvendor:model", "", ":", "openai", "openai:", " :gpt-5"])
def test_an_unknown_name_is_an_error_that_says_how_to_write_one(name: str, loop: BackgroundLoop) -> None:
    with pytest.raises(longmind.InvalidInput) as unknown:
        choose_model(name, loop, Settings())
    assert "vendor:model" in unknown.value.hint


def test_without_a_key_the_error_says_which(monkeypatch: pytest.MonkeyPatch, loop: BackgroundLoop) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(longmind.InvalidInput, match="OPENAI_API_KEY"):
        choose_model(RESPONSES, loop, Settings())


@pytest.mark.parametrize(
    ("name", "absent", "command"),
    [
        (RESPONSES, "pydantic_ai", "Run: pip install 'longmind[models]' 'pydantic-ai-slim[openai]'"),
        ("ollama:llama3.2", "pydantic_ai", "Run: pip install 'longmind[models]' 'pydantic-ai-slim[openai]'"),
        ("google-cloud:gemini", "pydantic_ai", "Run: pip install 'longmind[models]' 'pydantic-ai-slim[google]'"),
        ("opnai:gpt-5", "pydantic_ai", "Run: pip install 'longmind[models]'"),
        ("gpt-5", "pydantic_ai", "Run: pip install 'longmind[models]'"),
        ("groq:llama-3", "groq", "Run: pip install 'pydantic-ai-slim[groq]'"),
    ],
)
def test_without_a_package_the_error_says_what_to_install(
    name: str, absent: str, command: str, monkeypatch: pytest.MonkeyPatch, loop: BackgroundLoop
) -> None:
    for module in [each for each in sys.modules if each.partition(".")[0] == absent]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(longmind.ExtensionMissing) as missing:
        choose_model(name, loop, Settings())
    assert missing.value.hint == command
