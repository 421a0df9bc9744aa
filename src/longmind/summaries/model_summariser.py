"""The summariser that asks a language model.

A long conversation goes to the model in windows. Each window comes with the summary of the ones before it, so the cost
grows linearly and no window has to repeat what is summarised already.
"""

from __future__ import annotations

from collections.abc import Sequence

from longmind.extraction.candidate import SourceMessage
from longmind.extraction.model.transcript import Fence, TranscriptWindow, encode_one_line_json, split_into_windows
from longmind.providers.language_model import LanguageModel, ModelMessage, ModelRequest
from longmind.summaries.model_call import ASKED_SHARE, ask_twice, find_fault, limit_tokens, read_reply
from longmind.summaries.prompt_versions import NEWEST, load_prompt


class ModelSummariser:
    """A summariser that asks once more when an answer is empty or too long, and then gives up."""

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
        fence = fence_window(None if earlier is None else {"summary": earlier}, window)
        # The boundary occurs nowhere in the window, so that no text in the conversation can close the fence.
        prompt = load_prompt().fill(boundary=fence.boundary, characters=int(limit * ASKED_SHARE))
        request = ModelRequest(
            [ModelMessage("user", str(fence))], system=prompt, max_tokens=limit_tokens(limit), temperature=0.0
        )
        reply = ask_twice(self.model, request, lambda reply: find_fault(reply, read_reply(reply), limit))
        return read_reply(reply)


def fence_window(earlier: dict[str, object] | None, window: TranscriptWindow) -> Fence:
    """Return the evidence for one window, with the result of the earlier windows as its first line."""
    return window.fence if earlier is None else Fence(f"{encode_one_line_json(earlier)}\n{window.fence.body}")
