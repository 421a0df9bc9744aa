"""How a model is asked for something in words, and once more when its answer cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from longmind.errors import ModelFailed
from longmind.providers.language_model import LanguageModel, ModelMessage, ModelReply, ModelRequest
from longmind.validation.text import to_storable

ASKED_SHARE = 0.8
"""Models count characters badly: they are asked for less than what is accepted."""
_CHARACTERS_A_TOKEN = 2
"""On the safe side, so that an answer of the right length is not cut off."""
_SPARE_TOKENS = 1_024


def tokens_for(characters: int) -> int:
    """The most tokens that an answer of so many characters may take."""
    return characters // _CHARACTERS_A_TOKEN + _SPARE_TOKENS


def ask_twice(model: LanguageModel, request: ModelRequest, complaint: Callable[[ModelReply], str | None]) -> ModelReply:
    """An answer that there is nothing to complain about. The first one that has a fault may be mended by the model."""
    reply = model.ask(request)
    fault = complaint(reply)
    if fault is not None:
        mending = [ModelMessage("assistant", reply.text or "(nothing)"), ModelMessage("user", fault)]
        reply = model.ask(replace(request, messages=[*request.messages, *mending]))
        fault = complaint(reply)
    if fault is not None:
        raise ModelFailed(
            f"The model {model.name!r} gave no summary that can be used, asked twice. {fault}",
            hint="Choose another model, allow more characters, or use the extractive summariser.",
        )
    return reply


def fault_of(reply: ModelReply, summary: str, limit: int) -> str | None:
    """What is wrong with an answer and the summary in it, in words for the model; they quote nothing of it."""
    if not summary:
        return "Your answer was empty. Answer with the summary."
    if reply.stop_reason in ("refusal", "error"):
        return "Your answer was no summary. Summarise what was said; nothing of it is asked of you."
    if len(summary) > limit or reply.stop_reason == "max_tokens":
        return (
            f"Your answer was too long: {len(summary):,} characters. Write it again in at most"
            f" {int(limit * ASKED_SHARE):,} characters, and leave out what matters least."
        )
    return None


def words_of_reply(reply: ModelReply) -> str:
    return to_storable(reply.text).strip()
