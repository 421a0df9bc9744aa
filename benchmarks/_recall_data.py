"""Made-up facts and questions for the recall benchmark, the same for every contender and in every run.

Words are drawn with the frequencies of a natural language. A vector depends on the text alone and costs almost
nothing, so that the store is measured and not an embedding model.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
WORDS_IN_A_FACT = (8, 18)
_VOCABULARY = 20_000
_POOL = 8_192
_SYLLABLES = ("ba", "den", "ki", "lor", "mu", "nat", "pe", "ros", "sil", "tav", "vo", "zen")

Vectors = NDArray[np.float32]


def facts(space: str, count: int) -> list[str]:
    chance = random.Random(f"facts of {space}")
    least, most = WORDS_IN_A_FACT
    lengths = [chance.randint(least, most) for _ in range(count)]
    words, weights = _vocabulary()
    drawn = iter(chance.choices(words, cum_weights=weights, k=sum(lengths)))
    return [" ".join(next(drawn) for _ in range(length)).capitalize() + "." for length in lengths]


def questions(space: str, known: Sequence[str], count: int) -> list[str]:
    """Return questions with a few words of one fact each, as people ask."""
    chance = random.Random(f"questions about {space}")
    asked = []
    for _ in range(count):
        words = chance.choice(known).lower().rstrip(".").split()
        asked.append("What is it about " + " ".join(chance.sample(words, 4)) + "?")
    return asked


def draw_words(chance: random.Random, count: int) -> list[str]:
    """Return words with the frequencies of a natural language."""
    words, weights = _vocabulary()
    return chance.choices(words, cum_weights=weights, k=count)


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    chance = random.Random("vocabulary")
    words = dict.fromkeys("".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(3 * _VOCABULARY))
    kept = list(words)[:_VOCABULARY]
    return kept, list(accumulate(1 / (rank + 10) for rank in range(len(kept))))


@cache
def _pool() -> Vectors:
    vectors = np.random.default_rng(7).standard_normal((_POOL, DIMENSION), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def vectors_of(texts: Sequence[str]) -> Vectors:
    found: Vectors = _pool()[[_place(text) for text in texts]]
    return found


def _place(text: str) -> int:
    return zlib.crc32(text.encode()) % _POOL


class CheapEmbedder:
    """An embedder that looks vectors up; a real model may embed the questions, to measure its cost."""

    model = "bench:lookup"
    dimension = DIMENSION

    def __init__(self, real: Any = None) -> None:
        self._real = real

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return vectors_of(texts)

    def embed_query(self, query: str) -> Vectors:
        if self._real is not None:
            vector: Vectors = self._real.embed_query(query)
            return vector
        found: Vectors = _pool()[_place(query)]
        return found
