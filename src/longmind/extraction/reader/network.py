"""The network that finds what is worth remembering, on the states that the local encoder computes anyway.

Two small attention layers see the tokens of a piece of a message, and the last tokens of what was said before it. Heads
then tag the stretches that state something, tag their values, and say of each stretch what it is. The weights are a
file of this package, of which `training/reader` is the source; they are 8-bit numbers with one scale a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longmind.extraction.reader.labels import ATTRIBUTES, CATEGORIES, CHANGES, HEADS, KINDS
from longmind.extraction.reader.message_statement import Reading

Floats = NDArray[np.float32]

WEIGHTS = "reader.npz"
ATTENTION_HEADS = 4
CONTEXT_TOKENS = 32
"""Tokens of what was said before that a piece is read with."""
INSIDE = 0.5
"""The probability from which a token belongs to a value."""
_PRICE_OF_BEGINNING = 1.0
_SURE = 0.85
"""The probability from which an attribute is believed: nine of ten were right then, on writers that nobody tuned on."""
_OUTSIDE, _BEGIN, _IN = range(3)
_TINY = 1e-5


@dataclass(frozen=True)
class EncodedPiece:
    """A piece of a message as the encoder sees it."""

    states: Floats
    """The states of its tokens, with the marks at the beginning and the end; layers stand side by side."""
    offsets: Sequence[tuple[int, int]]
    """The characters of each token; nothing for the marks."""
    text: str


class ReaderNetwork:
    """The weights, and what they compute. It holds no state, and threads may share it."""

    def __init__(self, weights: dict[str, Floats]) -> None:
        self._weights = weights
        self._layers = sum(name.endswith(".attention.weight") for name in weights)

    def read(self, piece: EncodedPiece, before: EncodedPiece | None) -> list[Reading]:
        """Return what a piece states, in the order of its text."""
        hidden = self._run(piece.states, before)
        tags = _softmax(self._apply("quote", hidden))
        values = _softmax(self._apply("value", hidden))
        return [
            self._describe(piece, hidden, tags, values, start, end)
            for start, end in find_stretches(tags, piece.offsets, piece.text)
        ]

    def _run(self, states: Floats, before: EncodedPiece | None) -> Floats:
        size = len(states)
        hidden = self._apply("input", states) + self._weights["segment"][0]
        if before is not None:
            context = before.states[1:-1][-CONTEXT_TOKENS:]
            hidden = np.concatenate([hidden, self._apply("input", context) + self._weights["segment"][1]])
        hidden = self._normalise("input_norm", hidden)
        for layer in range(self._layers):
            hidden = hidden + self._attend(layer, self._normalise(f"{layer}.norm_attention", hidden))
            grown = _gelu(self._apply(f"{layer}.grow", self._normalise(f"{layer}.norm_output", hidden)))
            hidden = hidden + self._apply(f"{layer}.shrink", grown)
        return self._normalise("last_norm", hidden[:size])

    def _attend(self, layer: int, hidden: Floats) -> Floats:
        length, width = hidden.shape
        mixed = self._apply(f"{layer}.attention", hidden).reshape(length, 3, ATTENTION_HEADS, -1)
        query, key, value = mixed.transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) * np.float32(1 / math.sqrt(width // ATTENTION_HEADS))
        joined = (_softmax(scores) @ value).transpose(1, 0, 2).reshape(length, width)
        return self._apply(f"{layer}.output", joined)

    def _describe(
        self, piece: EncodedPiece, hidden: Floats, tags: Floats, values: Floats, start: int, end: int
    ) -> Reading:
        """Return what a stretch of tokens states."""
        value = _find_value(values, start, end)
        low, high = value or (start, end)
        features = np.concatenate(
            [
                hidden[start:end].mean(0),
                hidden[low:high].mean(0),
                hidden[0],
                piece.states[start:end].mean(0),
                piece.states[low:high].mean(0),
            ]
        )
        told = _gelu(self._apply("span", features))
        odds = {name: _softmax(self._apply(f"head.{name}", told)) for name in HEADS}
        offsets = piece.offsets
        best = {name: int(each.argmax()) for name, each in odds.items()}
        return Reading(
            begins=offsets[start][0],
            ends=offsets[end - 1][1],
            value=None if value is None else (offsets[low][0], offsets[high - 1][1]),
            attribute=ATTRIBUTES[best["attribute"]],
            kind=KINDS[best["kind"]],
            category=CATEGORIES[best["category"]],
            importance=round(float(odds["importance"] @ np.arange(2, 6, dtype=np.float32))),
            confidence=float(1 - tags[start:end, _OUTSIDE].mean()),
            of_user=bool(best["of_user"]),
            negated=bool(best["negated"]),
            unsure=bool(best["unsure"]),
            sure=float(odds["attribute"].max()) >= _SURE and float(odds["of_user"][1]) >= _SURE,
            change=CHANGES[best["change"]],
        )

    def _apply(self, name: str, given: Floats) -> Floats:
        result: Floats = given @ self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result

    def _normalise(self, name: str, given: Floats) -> Floats:
        centred = given - given.mean(-1, keepdims=True)
        size = np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(_TINY))
        normalised: Floats = centred / size * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normalised


@cache
def load_network() -> ReaderNetwork:
    """Return the network with the weights of this package."""
    return ReaderNetwork(unpack_weights((files("longmind.extraction.reader") / WEIGHTS).read_bytes()))


def unpack_weights(packed: bytes) -> dict[str, Floats]:
    """Return the weights in a file, ready for use."""
    weights: dict[str, Floats] = {}
    with np.load(BytesIO(packed)) as file:
        for name in file.files:
            if name.endswith(".scale"):
                continue
            array = file[name]
            if array.dtype == np.int8:
                array = array.astype(np.float32) * file[f"{name}.scale"]
            weights[name] = np.ascontiguousarray(array, np.float32)
    return weights


def pack_weights(weights: dict[str, Any]) -> bytes:
    """Return a file of weights: matrices with 8 bits a number, and one scale for each of their outputs."""
    packed: dict[str, Any] = {}
    for name, array in sorted(weights.items()):
        if array.ndim == 2 and array.size > 4096:
            scale = (np.abs(array).max(0) / 127).astype(np.float32)
            packed[name] = np.clip(np.round(array / np.where(scale == 0, 1, scale)), -127, 127).astype(np.int8)
            packed[f"{name}.scale"] = scale
        else:
            packed[name] = array.astype(np.float32)
    file = BytesIO()
    np.savez_compressed(file, **packed)
    return file.getvalue()


def find_stretches(tags: Floats, offsets: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Return the stretches of tokens that state something: the likeliest sequence of tags, word by word.

    A word of several tokens, such as an address, has one tag, in which punctuation has no say. Beginning a stretch has
    a price, so that one statement is not taken for several.
    """
    words = _join_words(offsets)
    if not words:
        return []
    log = np.log(np.maximum(tags, np.float32(1e-6)))
    spoken = [[place for place in range(*word) if text[offsets[place][0]].isalnum()] or [word[0]] for word in words]
    scores = np.array([log[places].mean(0) for places in spoken])
    scores[:, _BEGIN] = [max(log[at[0], _BEGIN], log[at[0], _IN] - _PRICE_OF_BEGINNING) for at in spoken]
    best = _find_best_tags(scores)
    stretches: list[tuple[int, int]] = []
    for (start, end), tag in zip(words, best, strict=True):
        if tag == _BEGIN:
            stretches.append((start, end))
        elif tag == _IN:
            stretches[-1] = (stretches[-1][0], end)
    return stretches


def _join_words(offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the tokens of each word: those with no space between them."""
    words: list[tuple[int, int]] = []
    for place in range(1, len(offsets) - 1):
        if words and offsets[place][0] == offsets[place - 1][1]:
            words[-1] = (words[-1][0], place + 1)
        else:
            words.append((place, place + 1))
    return words


def _find_best_tags(scores: Floats) -> list[int]:
    """Return the likeliest tags in which nothing goes on that did not begin (the algorithm of Viterbi)."""
    best = scores[0].copy()
    best[_IN] = -np.inf
    ways: list[list[int]] = []
    for row in scores[1:]:
        free = int(best.argmax())
        inside = _IN if best[_IN] >= best[_BEGIN] else _BEGIN
        ways.append([free, free, inside])
        best = np.array([best[free] + row[_OUTSIDE], best[free] + row[_BEGIN], best[inside] + row[_IN]])
    tag = int(best.argmax())
    tags = [tag]
    for way in reversed(ways):
        tag = way[tag]
        tags.append(tag)
    return tags[::-1]


def _find_value(values: Floats, start: int, end: int) -> tuple[int, int] | None:
    """Return the tokens of the surest value in a stretch."""
    best: tuple[float, int, int] | None = None
    place = start
    while place < end:
        if values[place, _OUTSIDE] >= INSIDE:
            place += 1
            continue
        stop = place + 1
        while stop < end and values[stop, _OUTSIDE] < INSIDE and values[stop, _BEGIN] <= values[stop, _IN]:
            stop += 1
        sure = float(1 - values[place:stop, _OUTSIDE].mean())
        if best is None or sure > best[0]:
            best = (sure, place, stop)
        place = stop
    return None if best is None else best[1:]


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    shares: Floats = raised / raised.sum(-1, keepdims=True)
    return shares


def _gelu(given: Floats) -> Floats:
    # Products, since a power takes ten times as long.
    inner = np.float32(math.sqrt(2 / math.pi)) * (given + np.float32(0.044715) * (given * given * given))
    result: Floats = np.float32(0.5) * given * (1 + np.tanh(inner))
    return result
