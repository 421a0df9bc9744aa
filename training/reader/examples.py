"""Labelled messages as examples for the network: the encoder's states, tags of tokens, and what each stretch states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.extraction.reader.labels import ATTRIBUTES, CATEGORIES, CHANGES, HEADS, KINDS
from longmind.extraction.reader.network import EncodedPiece
from longmind.providers.local.text_encoder import TextEncoder
from longmind.recall.message_pieces import split_message
from training.reader.conversations import LabelledMessage

IGNORED = -100
"""The tag of a token that the network is not asked about: the marks at the beginning and the end."""
Tags = NDArray[np.int64]


@dataclass(frozen=True)
class Span:
    """The tokens of the quote and of the value of one fact, and the answers that the heads shall give."""

    quote: tuple[int, int]
    value: tuple[int, int] | None
    answers: dict[str, int]


@dataclass
class Example:
    """One piece of a message."""

    message: LabelledMessage
    piece: EncodedPiece
    before: EncodedPiece | None
    quote_tags: Tags
    value_tags: Tags
    spans: list[Span] = field(default_factory=list)


def encode_piece(encoder: TextEncoder, text: str) -> EncodedPiece:
    """Return a piece as the reader sees it when it runs."""
    encoded = encoder.encode(text)
    return EncodedPiece(encoded.states, encoded.offsets, text)


def make_examples(encoder: TextEncoder, messages: Sequence[LabelledMessage]) -> list[Example]:
    """Return the pieces of messages with the tags that their labels give."""
    examples = []
    for message in messages:
        spans = split_message(message.before)[-1:]
        before = encode_piece(encoder, message.before[slice(*spans[0])]) if spans else None
        for start, end in split_message(message.text):
            piece = encode_piece(encoder, message.text[start:end])
            examples.append(_make_example(message, piece, before, start))
            before = piece
    return examples


def _make_example(message: LabelledMessage, piece: EncodedPiece, before: EncodedPiece | None, start: int) -> Example:
    size = len(piece.offsets)
    tags = np.zeros((2, size), np.int64)
    tags[:, [0, -1]] = IGNORED
    example = Example(message, piece, before, tags[0], tags[1])
    for fact in message.facts:
        at = message.text.find(fact["quote"])
        quote = _find_tokens(piece, at - start, at - start + len(fact["quote"])) if at >= 0 else None
        if quote is None:
            continue
        value = None
        if fact["value"]:
            inside = at - start + fact["quote"].find(fact["value"])
            value = _find_tokens(piece, inside, inside + len(fact["value"]))
        _tag(example.quote_tags, quote)
        if value is not None:
            _tag(example.value_tags, value)
        example.spans.append(Span(quote, value, _answer_heads(fact)))
    return example


def _find_tokens(piece: EncodedPiece, start: int, end: int) -> tuple[int, int] | None:
    """Return the tokens of a stretch of a piece, or None if none of it is there."""
    inside = [place for place, (low, high) in enumerate(piece.offsets) if low < high and low < end and high > start]
    return (inside[0], inside[-1] + 1) if inside else None


def _tag(tags: Tags, at: tuple[int, int]) -> None:
    """Tag a stretch; where it overlaps one that is tagged already, both become one."""
    fresh = tags[at[0] : at[1]] == 0
    begins = bool(fresh.all())
    tags[at[0] : at[1]][fresh] = 2
    if begins:
        tags[at[0]] = 1


def _answer_heads(fact: dict[str, Any]) -> dict[str, int]:
    attribute = fact["attribute"]
    answers = {
        "attribute": ATTRIBUTES.index(attribute if attribute in ATTRIBUTES else "other"),
        "kind": KINDS.index(fact["kind"]),
        "category": CATEGORIES.index(fact["category"]),
        "importance": int(fact["importance"]) - 2,
        "of_user": int(fact["subject"] == "user"),
        "negated": int(bool(fact["negated"])),
        "unsure": int(fact["certainty"] < 1),
        "change": CHANGES.index(fact["changes"] or "none"),
    }
    assert set(answers) == set(HEADS)
    return answers
