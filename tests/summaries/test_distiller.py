"""The distiller that asks a language model: what it is shown, and what is made of its answers."""

from __future__ import annotations

import json

import pytest

import longmind
from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.model.transcript import WINDOW_CHARACTERS
from longmind.models.content import TextBlock
from longmind.models.message import Usage
from longmind.providers.language_model import ModelReply
from longmind.providers.testing import ScriptedModel
from longmind.summaries.distiller import FACT_LENGTH, FACTS_LIMIT, Distillate, ModelDistiller

SAID = to_micros("2026-03-04T10:00:00Z")


def noted(text: str) -> SourceMessage:
    return SourceMessage("e", "tool", text, SAID)


def lines_shown(model: ScriptedModel, place: int) -> list[str]:
    [block] = model.requests[place].messages[0].blocks
    assert isinstance(block, TextBlock)
    return block.text.split("\n")[1:-1]


def test_many_records_are_read_window_by_window_each_with_what_was_distilled_so_far() -> None:
    model = ScriptedModel([{"summary": "one", "key_facts": ["fact"], "open_loops": ["loop"]}, {"summary": "two"}])
    long = "x" * (WINDOW_CHARACTERS // 2 - 10)
    assert ModelDistiller(model).distill([noted(long)] * 3, 500) == Distillate("two")
    assert "summary" not in json.loads(lines_shown(model, 0)[0])
    assert json.loads(lines_shown(model, 1)[0]) == {"summary": "one", "key_facts": ["fact"], "open_loops": ["loop"]}
    system = model.requests[0].system or ""
    assert "at most 400 characters" in system
    assert model.requests[0].output_schema is not None


def test_what_a_model_was_talked_into_does_not_grow_for_ever() -> None:
    model = ScriptedModel(
        [{"summary": " Rain.\x00 ", "key_facts": ["a\nb", "", None, "y" * 1_000] * 50, "open_loops": {"no": "list"}}]
    )
    told = ModelDistiller(model).distill([noted("It rains.")], 500)
    assert (told.summary, told.open_loops) == ("Rain.", [])
    assert told.key_facts == ["a b", "y" * FACT_LENGTH] * (FACTS_LIMIT // 2)


@pytest.mark.parametrize("first", ["", '{"summary": " "}', json.dumps({"summary": "x" * 501})])
def test_an_answer_without_a_summary_of_the_right_length_is_asked_for_once_more(first: str) -> None:
    model = ScriptedModel([first, {"summary": "Rain."}])
    assert ModelDistiller(model).distill([noted("It rains.")], 500).summary == "Rain."
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "user"]


def test_an_answer_that_was_cut_off_is_no_summary() -> None:
    reply = ModelReply([TextBlock(text='{"summary": "Ra')], "max_tokens", Usage(), "model", "scripted")
    with pytest.raises(longmind.ModelFailed, match="in two attempts"):
        ModelDistiller(ScriptedModel([reply, reply])).distill([noted("It rains.")], 500)
