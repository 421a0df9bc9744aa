"""Made-up conversations for the benchmark of passages, and questions to them: the same ones in every run.

A conversation has a topic, a person and a place that its messages come back to, and words of its own; the rest are
drawn with the frequencies of a natural language. In every fifth conversation people speak by their names, as in a chat
of several. A vector is the mean of those of the words, so that texts with common words are alike, as with a real model.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks._recall_data import DIMENSION, Vectors, draw_words
from training.query_encoder.questions import ACTIONS, PEOPLE, PLACES, THINGS, TIMES, make_questions

TURNS = 10
"""Turns of a conversation."""
SPEAKERS = ("Anna", "Luca", "Mei", "Priya", "Tom", "Ines")

_SAID = (
    "I finally want to {action} {thing} {time}.",
    "{person} asked me about {thing} again.",
    "We talked about {thing} at {place} {time}.",
    "It cost {number} euros, which is more than I thought.",
    "I told {person} that {thing} has to wait.",
    "Could you remind me of {thing} {time}?",
    "Not today, but {time} it may work.",
    "I met {person} in {place} and we had a long talk.",
)
_ANSWERED = (
    "That sounds good: {thing} is worth the effort.",
    "You could {action} {thing} {time}, and ask {person} to help.",
    "First of all, make a list of what {thing} needs.",
    "I would call {place} before {number} and ask.",
    "Here is a short plan for {thing}.",
    "Would you like me to write to {person} about it?",
    "As you said, {person} prefers {place}.",
)
_VECTORS = 8_192
"""Vectors of words; two words in some thousand share one."""


class SaidTurn(NamedTuple):
    """What a user and an assistant say to each other."""

    user: str
    answer: str


def make_conversations(user: str, messages: int) -> Iterator[list[SaidTurn]]:
    """Yield conversations of a user with this many messages in all, at least two of them each."""
    chance = random.Random(f"conversations of {user}")
    turns = messages // 2
    for first in range(0, turns, TURNS):
        topic = {
            "thing": f"{chance.choice(THINGS)} {' '.join(draw_words(chance, chance.randint(0, 2)))}".strip(),
            "person": chance.choice(PEOPLE),
            "place": chance.choice(PLACES),
        }
        speaker = f"{chance.choice(SPEAKERS)}: " if chance.random() < 0.2 else ""
        yield [
            SaidTurn(
                speaker + _write(chance, _SAID, topic, chance.randint(1, 2), chance.randint(0, 2)),
                _write(chance, _ANSWERED, topic, chance.randint(1, 3), chance.randint(0, 3)),
            )
            for _ in range(min(TURNS, turns - first))
        ]


def _write(chance: random.Random, patterns: tuple[str, ...], topic: dict[str, str], on_topic: int, beside: int) -> str:
    """Return a text with sentences about the topic and others beside it."""
    said = [
        pattern.format(**topic, action=chance.choice(ACTIONS), time=chance.choice(TIMES), number=chance.randint(2, 400))
        for pattern in chance.sample(patterns, on_topic)
    ]
    said += [" ".join(draw_words(chance, chance.randint(6, 14))).capitalize() + "." for _ in range(beside)]
    chance.shuffle(said)
    return " ".join(said)


def make_questions_of_all_kinds(count: int) -> list[str]:
    """Return different questions and remarks with words that many messages have, and some that few have.

    Every fifth names somebody who speaks in the conversations.
    """
    chance = random.Random("questions to conversations")
    asked = [
        f"When did {chance.choice(SPEAKERS)} {chance.choice(ACTIONS)} {chance.choice(THINGS)} {chance.choice(TIMES)}?"
        if number % 5 == 0
        else question
        for number, question in enumerate(make_questions(count))
    ]
    return [f"{question[:-1]} {' '.join(draw_words(chance, 2))}{question[-1]}" for question in asked]


class WordEmbedder:
    """An embedder whose vectors depend on words alone and cost almost nothing: the index is measured, and no model."""

    model = "bench:words"
    dimension = DIMENSION

    def __init__(self) -> None:
        self._ready: dict[str, Vectors] = {}

    def prepare(self, questions: Sequence[str]) -> None:
        """Make the vectors of questions, which are looked up from then on."""
        self._ready.update(zip(questions, self.embed_texts(questions), strict=True))

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return np.array([_embed(text) for text in texts])

    def embed_query(self, query: str) -> Vectors:
        ready = self._ready.get(query)
        return _embed(query) if ready is None else ready


def _embed(text: str) -> Vectors:
    words = text.lower().replace(".", "").replace("?", "").split()
    total = _vectors_of_words()[[zlib.crc32(word.encode()) % _VECTORS for word in words]].sum(axis=0)
    vector: Vectors = total / np.linalg.norm(total)
    return vector


@cache
def _vectors_of_words() -> Vectors:
    return np.random.default_rng(7).standard_normal((_VECTORS, DIMENSION), np.float32)
