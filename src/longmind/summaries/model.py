"""The summariser that asks a language model."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.extraction.candidate import SourceMessage
from longmind.extraction.model.transcript import Fence, TranscriptWindow, encode_one_line_json, split_into_windows
from longmind.providers.language_model import LanguageModel, ModelMessage, ModelRequest
from longmind.summaries.model_call import ASKED_SHARE, ask_twice, fault_of, tokens_for, words_of_reply
from longmind.summaries.prompt_versions import NEWEST, load_prompt


class ModelSummariser:
    """Asks a language model, window by window, and once more when an answer is empty or too long."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return f"model:{self.model.name}@{NEWEST}"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        summary = earlier
        for window in split_into_windows(messages):
            summary = self._summary(summary, window, limit)
        return summary or ""

    def _summary(self, earlier: str | None, window: TranscriptWindow, limit: int) -> str:
        fence = fence_after(None if earlier is None else {"summary": earlier}, window)
        prompt = load_prompt().fill(boundary=fence.boundary, characters=int(limit * ASKED_SHARE))
        request = ModelRequest(
            [ModelMessage("user", str(fence))], system=prompt, max_tokens=tokens_for(limit), temperature=0.0
        )
        reply = ask_twice(self.model, request, lambda reply: fault_of(reply, words_of_reply(reply), limit))
        return words_of_reply(reply)


def fence_after(earlier: dict[str, object] | None, window: TranscriptWindow) -> Fence:
    """A window behind what was made of those before it."""
    return window.fence if earlier is None else Fence(f"{encode_one_line_json(earlier)}\n{window.fence.body}")
