"""Many records made into a few sentences, key facts and open ends, by a language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from longmind.assembly.sanitiser import one_line
from longmind.errors import LongmindError, SummariserFailed
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.model.answer_schema import unwrap_json
from longmind.extraction.model.transcript import TranscriptWindow, split_into_windows
from longmind.providers.language_model import LanguageModel, ModelMessage, ModelReply, ModelRequest
from longmind.summaries.extractive import ExtractiveSummariser
from longmind.summaries.model import ModelSummariser, fence_after
from longmind.summaries.model_call import ASKED_SHARE, ask_twice, fault_of, tokens_for, words_of_reply
from longmind.summaries.prompt_versions import load_prompt
from longmind.summaries.summariser import Summariser
from longmind.validation.text import to_storable, validate_text

VERSION = "distill-v1"
FACTS_LIMIT = 20
FACT_LENGTH = 300
_TEXTS = {"type": "array", "items": {"type": "string"}}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "key_facts": _TEXTS, "open_loops": _TEXTS},
    "required": ["summary", "key_facts", "open_loops"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Distillate:
    """What is left of many records."""

    summary: str
    key_facts: list[str] = field(default_factory=list)
    open_loops: list[str] = field(default_factory=list)


class Distiller(Protocol):
    """Distills records. It writes nothing. What goes wrong is raised."""

    @property
    def name(self) -> str: ...

    def distill(self, records: Sequence[SourceMessage], limit: int) -> Distillate:
        """What the records tell, in a summary of at most so many characters."""


class ModelDistiller:
    """Asks a language model, window by window, for an object; words in the place of one are taken as the summary."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return f"model:{self._model.name}@{VERSION}"

    def distill(self, records: Sequence[SourceMessage], limit: int) -> Distillate:
        distilled: Distillate | None = None
        for window in split_into_windows(records):
            distilled = self._read(distilled, window, limit)
        return distilled or Distillate("")

    def _read(self, earlier: Distillate | None, window: TranscriptWindow, limit: int) -> Distillate:
        fence = fence_after(None if earlier is None else vars(earlier), window)
        prompt = load_prompt(VERSION).fill(
            boundary=fence.boundary, characters=int(limit * ASKED_SHARE), facts=FACTS_LIMIT
        )
        request = ModelRequest(
            [ModelMessage("user", str(fence))],
            system=prompt,
            output_schema=_SCHEMA,
            max_tokens=tokens_for(limit + 2 * FACTS_LIMIT * FACT_LENGTH),
            temperature=0.0,
        )
        reply = ask_twice(self._model, request, lambda reply: fault_of(reply, _distilled(reply).summary, limit))
        return _distilled(reply)


class SummarisingDistiller:
    """Has a summariser of the host's own write the summary; it knows of no key facts."""

    def __init__(self, summariser: Summariser) -> None:
        self._summariser = summariser

    @property
    def name(self) -> str:
        return self._summariser.name

    def distill(self, records: Sequence[SourceMessage], limit: int) -> Distillate:
        try:
            summary = self._summariser.summarise(None, records, limit)
        except LongmindError:
            raise
        except Exception as error:
            raise SummariserFailed(f"The summariser {self.name!r} failed: {type(error).__name__}: {error}") from error
        return Distillate(validate_text("The summary", summary, limit=limit).strip())


def distiller_of(summariser: Summariser) -> Distiller | None:
    """What distills in the manner of a summariser; None for the one that picks sentences and asks no model."""
    if isinstance(summariser, ModelSummariser):
        return ModelDistiller(summariser.model)
    return None if isinstance(summariser, ExtractiveSummariser) else SummarisingDistiller(summariser)


def _distilled(reply: ModelReply) -> Distillate:
    """What an answer holds: the object that was asked for, or else all of it as the summary."""
    words = words_of_reply(reply)
    try:
        given = json.loads(unwrap_json(words))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("summary"), str):
        return Distillate(words)
    return Distillate(
        to_storable(given["summary"]).strip(), _sentences(given.get("key_facts")), _sentences(given.get("open_loops"))
    )


def _sentences(given: object) -> list[str]:
    """Those members of a list that are texts, each on one line: what a model was talked into does not grow for ever."""
    texts = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    lines = (one_line(to_storable(text))[:FACT_LENGTH] for text in texts)
    return [line for line in lines if line][:FACTS_LIMIT]
