"""Distillers: from many event records to a summary, key facts and open ends.

Answers of a model are untrusted. An answer that is no JSON object counts as the summary, lists are cut to a fixed
number of lines, and each line to a fixed length, so that nothing a model was talked into grows without bound.
"""

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
from longmind.summaries.model_call import ASKED_SHARE, ask_twice, find_fault, limit_tokens, read_reply
from longmind.summaries.model_summariser import ModelSummariser, fence_window
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
    """The result of distilling: a summary, and what a model named as facts and as unfinished."""

    summary: str
    key_facts: list[str] = field(default_factory=list)
    open_loops: list[str] = field(default_factory=list)


class Distiller(Protocol):
    """A maker of distillates. It writes nothing to the database, and raises an exception on failure."""

    @property
    def name(self) -> str: ...

    def distill(self, records: Sequence[SourceMessage], limit: int) -> Distillate:
        """Distil the records; the summary has at most `limit` characters."""


class ModelDistiller:
    """A distiller that asks a language model for a JSON object, window by window."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return f"model:{self._model.name}@{VERSION}"

    def distill(self, records: Sequence[SourceMessage], limit: int) -> Distillate:
        distillate: Distillate | None = None
        for window in split_into_windows(records):
            distillate = self._distill_window(distillate, window, limit)
        return distillate or Distillate("")

    def _distill_window(self, earlier: Distillate | None, window: TranscriptWindow, limit: int) -> Distillate:
        fence = fence_window(None if earlier is None else vars(earlier), window)
        prompt = load_prompt(VERSION).fill(
            boundary=fence.boundary, characters=int(limit * ASKED_SHARE), facts=FACTS_LIMIT
        )
        request = ModelRequest(
            [ModelMessage("user", str(fence))],
            system=prompt,
            output_schema=_SCHEMA,
            # The summary, and as much again as both lists may hold.
            max_tokens=limit_tokens(limit + 2 * FACTS_LIMIT * FACT_LENGTH),
            temperature=0.0,
        )
        reply = ask_twice(
            self._model, request, lambda reply: find_fault(reply, _parse_distillate(reply).summary, limit)
        )
        return _parse_distillate(reply)


class SummarisingDistiller:
    """A distiller that uses the summariser of the host, and so has no key facts and no open ends."""

    def __init__(self, summariser: Summariser) -> None:
        self._summariser = summariser

    @property
    def name(self) -> str:
        return self._summariser.name

    def distill(self, records: Sequence[SourceMessage], limit: int) -> Distillate:
        try:
            summary = self._summariser.summarise(None, records, limit)
        except LongmindError:
            # It says already what failed and what to do.
            raise
        except Exception as error:
            raise SummariserFailed(f"The summariser {self.name!r} failed: {type(error).__name__}: {error}") from error
        return Distillate(validate_text("The summary", summary, limit=limit).strip())


def derive_distiller(summariser: Summariser) -> Distiller | None:
    """Return the distiller that matches a summariser; None for the extractive one, which asks no model."""
    if isinstance(summariser, ModelSummariser):
        return ModelDistiller(summariser.model)
    return None if isinstance(summariser, ExtractiveSummariser) else SummarisingDistiller(summariser)


def _parse_distillate(reply: ModelReply) -> Distillate:
    """Parse the object that was asked for; any other answer is taken as the summary."""
    words = read_reply(reply)
    try:
        given = json.loads(unwrap_json(words))
    # Deeply nested text makes the parser raise RecursionError instead of ValueError.
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("summary"), str):
        return Distillate(words)
    return Distillate(
        to_storable(given["summary"]).strip(), _sentences(given.get("key_facts")), _sentences(given.get("open_loops"))
    )


def _sentences(given: object) -> list[str]:
    """Return the texts in a list, each on one line, within the limits of count and length."""
    texts = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    lines = (one_line(to_storable(text))[:FACT_LENGTH] for text in texts)
    return [line for line in lines if line][:FACTS_LIMIT]
