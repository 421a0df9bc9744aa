"""Labelled messages as examples for the network: token ids, tags of stretches, and what each stretch states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from longmind.extraction.reader.encoding import Window, encode_windows
from longmind.extraction.reader.labels import ATTRIBUTES, CATEGORIES, CHANGES, KINDS
from training.reader.conversations import LabelledMessage

IGNORED = -100


@dataclass
class Span:
    """What one fact says, and where: the tokens of its quote and of its value in a window."""

    quote: tuple[int, int]
    value: tuple[int, int] | None
    attribute: int
    kind: int
    category: int
    importance: int
    of_user: int
    negated: int
    unsure: int
    change: int


@dataclass
class Example:
    """One window of a message, with its tags."""

    window: Window
    message: LabelledMessage
    quote_tags: NDArray[np.int64]
    value_tags: NDArray[np.int64]
    spans: list[Span] = field(default_factory=list)


def make_examples(tokenizer: BertWordPieceTokenizer, messages: Sequence[LabelledMessage]) -> list[Example]:
    """Return the windows of messages with the tags that their labels give."""
    examples = []
    for message in messages:
        for window in encode_windows(tokenizer, message.before, message.text):
            examples.append(_make_example(message, window))
    return examples


def _make_example(message: LabelledMessage, window: Window) -> Example:
    size = len(window.ids)
    quote_tags, value_tags = np.full(size, IGNORED, np.int64), np.full(size, IGNORED, np.int64)
    quote_tags[window.first : size - 1] = 0
    value_tags[window.first : size - 1] = 0
    example = Example(window, message, quote_tags, value_tags)
    done: set[tuple[int, int]] = set()
    for fact in message.facts:
        at = _find_quote(message.text, fact)
        quote = window.find_tokens(at, at + len(fact["quote"]))
        if at < 0 or quote is None:
            continue
        value = None
        if fact["value"]:
            inside = at + fact["quote"].find(fact["value"])
            value = window.find_tokens(inside, inside + len(fact["value"]))
        if quote not in done:
            _tag(quote_tags, quote)
            done.add(quote)
        if value is not None:
            _tag(value_tags, value)
        example.spans.append(_make_span(fact, quote, value))
    return example


def _find_quote(text: str, fact: dict[str, Any]) -> int:
    return text.find(fact["quote"])


def _tag(tags: NDArray[np.int64], at: tuple[int, int]) -> None:
    """Tag a stretch, unless it lies inside one that is tagged already."""
    if (tags[at[0] : at[1]] > 0).all():
        return
    tags[at[0] : at[1]] = 2
    tags[at[0]] = 1


def _make_span(fact: dict[str, Any], quote: tuple[int, int], value: tuple[int, int] | None) -> Span:
    attribute = fact["attribute"]
    return Span(
        quote,
        value,
        ATTRIBUTES.index(attribute if attribute in ATTRIBUTES else "other"),
        KINDS.index(fact["kind"]),
        CATEGORIES.index(fact["category"]),
        int(fact["importance"]) - 2,
        int(fact.get("subject", "user") == "user"),
        int(bool(fact.get("negated"))),
        int(fact.get("certainty", 1) < 1),
        CHANGES.index(fact.get("changes") or "none"),
    )
