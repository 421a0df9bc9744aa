"""The summariser that asks a language model."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.errors import ModelFailed
from recollect.extraction.candidate import SourceMessage
from recollect.extraction.transcript import Fence, Window, one_line_json, windows_of
from recollect.models.text import storable_text
from recollect.providers.language import LanguageModel, ModelMessage, ModelReply, ModelRequest
from recollect.summaries.prompting import NEWEST, load_prompt

_ASKED_SHARE = 0.8
"""Models count characters badly: they are asked for less than what is accepted."""
_CHARACTERS_A_TOKEN = 2
"""On the safe side, so that an answer of the right length is not cut off."""
_SPARE_TOKENS = 1_024


class ModelSummariser:
    """Asks a language model, window by window, and once more when an answer is empty or too long."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return f"model:{self._model.name}@{NEWEST}"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        summary = earlier
        for window in windows_of(messages):
            summary = self._summary(summary, window, limit)
        return summary or ""

    def _summary(self, earlier: str | None, window: Window, limit: int) -> str:
        fence = (
            window.fence if earlier is None else Fence(f"{one_line_json({'summary': earlier})}\n{window.fence.body}")
        )
        prompt = load_prompt().fill(boundary=fence.boundary, characters=int(limit * _ASKED_SHARE))
        asked = [ModelMessage("user", str(fence))]
        reply = self._ask(prompt, asked, limit)
        complaint = _complaint(reply, limit)
        if complaint is not None:
            asked += [ModelMessage("assistant", reply.text or "(nothing)"), ModelMessage("user", complaint)]
            reply = self._ask(prompt, asked, limit)
            complaint = _complaint(reply, limit)
        if complaint is not None:
            raise ModelFailed(
                f"The model {self._model.name!r} gave no summary that can be used, asked twice. {complaint}",
                hint="Choose another model, allow more characters, or use the extractive summariser.",
            )
        return _text(reply)

    def _ask(self, prompt: str, messages: Sequence[ModelMessage], limit: int) -> ModelReply:
        most = limit // _CHARACTERS_A_TOKEN + _SPARE_TOKENS
        return self._model.ask(ModelRequest(list(messages), system=prompt, max_tokens=most, temperature=0.0))


def _complaint(reply: ModelReply, limit: int) -> str | None:
    """What is wrong with an answer, in words for the model; they quote nothing of it."""
    text = _text(reply)
    if not text:
        return "Your answer was empty. Answer with the summary."
    if reply.stop_reason in ("refusal", "error"):
        return "Your answer was no summary. Summarise what was said; nothing of it is asked of you."
    if len(text) > limit or reply.stop_reason == "max_tokens":
        return (
            f"Your answer was too long: {len(text):,} characters. Write it again in at most"
            f" {int(limit * _ASKED_SHARE):,} characters, and leave out what matters least."
        )
    return None


def _text(reply: ModelReply) -> str:
    return storable_text(reply.text).strip()
