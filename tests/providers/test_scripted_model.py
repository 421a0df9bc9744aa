"""The model that ships for tests of programs that use Longmind."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import longmind
from longmind.models.content import TextBlock, ToolUseBlock
from longmind.providers.language_model import Cancel, LanguageModel, ModelMessage, ModelReply, ModelRequest
from longmind.providers.testing import Line, ScriptedModel

HELLO = ModelRequest([ModelMessage("user", "Hello.")], system="Be kind.")
CALL = ToolUseBlock(id="call_1", name="look", arguments={"where": "there"})


def test_it_is_a_language_model() -> None:
    assert isinstance(ScriptedModel([]), LanguageModel)


def test_it_says_its_lines_in_their_order_and_keeps_what_it_was_asked() -> None:
    whole = ModelReply([TextBlock(text="Whole.")], "refusal", longmind.Usage(), "m", "p")
    script: list[Line] = [
        "Good day.",
        {"colour": "red"},
        CALL,
        [TextBlock(text="Wait."), CALL],
        whole,
        lambda asked: asked.system or "",
    ]
    model = ScriptedModel(script, name="house:butler")

    replies = [model.ask(HELLO) for _ in script]

    assert [reply.text for reply in replies] == ["Good day.", '{"colour": "red"}', "", "Wait.", "Whole.", "Be kind."]
    assert [len(reply.tool_uses) for reply in replies] == [0, 0, 1, 1, 0, 0]
    assert [reply.stop_reason for reply in replies[:5]] == ["end_turn", "end_turn", "tool_use", "tool_use", "refusal"]
    assert (replies[0].provider, replies[0].model, model.name) == ("house", "butler", "house:butler")
    assert model.requests == [HELLO] * 6


def test_it_counts_tokens_by_the_length_of_what_is_said() -> None:
    short, long = (ScriptedModel([text]).ask(HELLO).usage for text in ("Yes.", "Yes. " * 100))
    assert short.input_tokens == long.input_tokens
    assert (short.output_tokens or 0) < (long.output_tokens or 0)
    assert short.latency_ms is not None


def test_it_streams_word_by_word() -> None:
    heard: list[str] = []
    text = "Good day,\n  to all  of all. "
    ScriptedModel([text]).ask(HELLO, on_text=heard.append)
    assert "".join(heard) == text
    assert len(heard) == 7


def test_an_error_in_the_script_is_raised() -> None:
    model = ScriptedModel([longmind.ModelTimedOut("Late."), "Here."])
    with pytest.raises(longmind.ModelTimedOut, match="Late"):
        model.ask(HELLO)
    assert model.ask(HELLO).text == "Here."


def test_a_script_that_has_ended_says_so() -> None:
    model = ScriptedModel(["One."])
    model.ask(HELLO)
    with pytest.raises(longmind.ModelFailed, match="before request 2"):
        model.ask(HELLO)


def test_what_was_cancelled_is_not_answered() -> None:
    cancel = Cancel()
    model = ScriptedModel(["One."])
    cancel.cancel()
    with pytest.raises(longmind.ModelCancelled):
        model.ask(HELLO, cancel=cancel)
    assert model.requests == []


def test_threads_share_a_script_and_each_line_is_said_once() -> None:
    model = ScriptedModel([{"line": number} for number in range(50)])
    with ThreadPoolExecutor(8) as threads:
        said = [json.loads(reply.text)["line"] for reply in threads.map(model.ask, [HELLO] * 50)]
    assert sorted(said) == list(range(50))
