"""Passages once more, as plainly as it can be written: every piece of every message is looked at, one after the other.

It shares constants and the ways from a text to words, pieces, codes and small integers with Longmind, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from longmind.language.speaker_labels import split_label
from longmind.language.words import count_statement_words, terms_of
from longmind.models.recall import WEAK_BELOW
from longmind.providers.embedder import CheckedEmbedder, Embedder
from longmind.recall.index.segments import (
    AMOUNTS,
    LENGTH_SHARE,
    LONG_TEXT,
    USUAL_LENGTH,
    VectorsSegment,
    _code,
)
from longmind.recall.index.text_index import SATURATION
from longmind.recall.message_pieces import split_message
from longmind.recall.passage_finder import _AS_GOOD, _PIECES_BESIDE
from longmind.recall.question import Question, understand_question
from longmind.recall.ranking.atoms import USUAL_ATOMS
from longmind.recall.ranking.relevance import _FEWEST, BORROWED, PASSAGES
from longmind.recall.search_plan import EXHAUSTIVE_BUDGET, asks_for_all

SHARES = (0.5, 0.3)
"""What a word counts in the piece next to it, and in the one after that."""
SHARES_ALONE = (0.3, 0.1)
"""The same where words alone decide."""


@dataclass
class Said:
    """A message as the test knows it, in the order of the ledger. Instants are microseconds."""

    id: str
    conversation_id: str
    namespace: str
    sequence: int
    role: str
    text: str
    visibility: str
    turn_id: str
    attempt: int
    said_at: int
    forgotten: bool = False
    embedded: bool = False


@dataclass(frozen=True)
class Asked:
    """The options of a recall; None is what a caller gets who does not ask for any."""

    limit: int = 10
    trust: Sequence[str] | None = None
    valid_at: int | None = None
    known_at: int | None = None
    min_score: float | None = None
    exhaustive: bool | None = None

    @property
    def instant(self) -> int | None:
        return min((each for each in (self.valid_at, self.known_at) if each is not None), default=None)


class Piece(NamedTuple):
    message: Said
    begins: int
    ends: int

    @property
    def text(self) -> str:
        return self.message.text[self.begins : self.ends]

    @property
    def speaker(self) -> str:
        return split_label(self.message.text)[0] or self.message.role


class Expected(NamedTuple):
    """A passage: its message, the words that are quoted, and the score."""

    message: Said
    text: str
    score: float
    odds: float


@dataclass
class Ledger:
    """What somebody has said, and what is found in it."""

    embedder: Embedder | None
    messages: list[Said] = field(default_factory=list)
    _vectors: dict[str, VectorsSegment] = field(default_factory=dict)

    def find(self, query: str, namespaces: Iterable[str], asked: Asked, now: int, hits: int) -> list[Expected]:
        """The passages of a space that some namespaces lead to, best first: as many as are looked for.

        hits: the number of facts found, each of which may stand for a passage.
        """
        if not query.strip():
            return []
        covered = set(namespaces)
        there = [
            Piece(message, *span)
            for message in self.messages
            if _may_be_quoted(message) and ("*" in covered or message.namespace in covered)
            for span in split_message(message.text)
        ]
        known = [piece for piece in there if self._is_known(piece.message, asked.instant)]
        said = [piece for piece in there if asked.instant is None or piece.message.said_at <= asked.instant]
        as_of = now if asked.instant is None else asked.known_at if asked.valid_at is None else asked.valid_at
        speakers = ["user", "assistant", *(piece.speaker for piece in said if piece.speaker != "tool")]
        question = understand_question(query, dict.fromkeys(speakers), as_of or 0, by_words=self.embedder is None)
        scored = self._score(question, known)
        trusted = [each for each in scored if asked.trust is None or each[0].message.role in asked.trust]
        order = {id(message): place for place, message in enumerate(self.messages)}
        trusted.sort(key=lambda each: (-each[1], -each[0].message.said_at, order[id(each[0].message)]))
        limit = self.find_limit(query, asked)
        return _by_message(trusted, limit, limit + hits)

    def find_limit(self, query: str, asked: Asked) -> int:
        """How many are looked for: of a question for all, more than are asked for."""
        for_all = asks_for_all(query) if asked.exhaustive is None else asked.exhaustive
        return max(asked.limit, EXHAUSTIVE_BUDGET) if for_all else asked.limit

    def cut(self, found: Sequence[Expected], query: str, asked: Asked) -> list[Expected]:
        """What of it is answered."""
        relevant = sum(each.score >= WEAK_BELOW for each in found)
        most = asked.limit if self.find_limit(query, asked) == asked.limit else max(asked.limit, relevant)
        return [each for each in found[:most] if each.score >= (asked.min_score or 0.0)]

    def _replaced_at(self, message: Said) -> float:
        """When another answer of the assistant to the same turn took its place."""
        later = [
            other.said_at
            for other in self.messages
            if other.turn_id == message.turn_id
            and other.role == "assistant"
            and other.visibility != "hidden"
            and other.attempt > message.attempt
        ]
        return min(later, default=math.inf) if message.role != "user" else math.inf

    def _is_known(self, message: Said, instant: int | None) -> bool:
        replaced_at = self._replaced_at(message)
        return replaced_at == math.inf if instant is None else message.said_at <= instant < replaced_at

    def _score(self, question: Question, known: Sequence[Piece]) -> list[tuple[Piece, float]]:
        """The logarithm of the odds that a piece is about the question, of each that has to do with it."""
        weights, standard = PASSAGES.weigh(question), self._standardise(question, known)
        words = self._words(question.terms, known, SHARES_ALONE if standard is None else SHARES)
        curve = PASSAGES.by_words if standard is None else PASSAGES.by_meaning
        level = curve.level + curve.by_count * math.log(max(len(known), _FEWEST))
        level += curve.speaker if question.speakers is not None else 0.0
        level += curve.date if question.dates else 0.0
        found = []
        for place, piece in enumerate(known):
            if standard is None and not words[place]:
                continue
            total = weights.words * words[place] + (0.0 if standard is None else standard[place])
            if standard is None and set(question.terms).isdisjoint(terms_of(piece.text)):
                total += BORROWED
            total += weights.statement * math.log1p(count_statement_words(piece.text))
            total += weights.speaker * (question.speakers or {}).get(piece.speaker, 0.0)
            if question.dates:
                total += weights.date * max(_nearness(piece.message, interval) for interval in question.dates)
            if not set(question.opposed).isdisjoint(terms_of(piece.text)):
                total += weights.opposite
            found.append((piece, curve.slope * total + level))
        return found

    def _words(self, terms: Sequence[int], known: Sequence[Piece], shares: tuple[float, float]) -> list[float]:
        """BM25 of windows, as a share of what a window would have that is full of every word of the question."""
        held = [_hold(piece) for piece in known]
        if not any(term in words for term in terms for words in held):
            return [0.0] * len(known)
        need = [min(1.0, LONG_TEXT / max(len(words), 1)) for words in held]
        around = self._list_neighbours(known, shares)
        rarity = {}
        for term in terms:
            holders = sum(term in words for words in held)
            rarity[term] = math.log1p((len(known) - holders + 0.5) / (holders + 0.5))
        most = math.hypot(*rarity.values())
        scores = []
        for place, words in enumerate(held):
            score = 0.0
            for term, weight in rarity.items():
                near = sum(share * need[other] * held[other].get(term, 0.0) for other, share in around[place])
                amount = words.get(term, 0.0) + need[place] * near
                score += weight / most * amount / (SATURATION + amount)
            scores.append(score)
        return scores

    def _list_neighbours(self, known: Sequence[Piece], shares: tuple[float, float]) -> list[list[tuple[int, float]]]:
        """Of each piece those around it in the conversation, as far as they are known, and what their words count.

        Answers that another one replaced by now are never among them.
        """
        place_of = {(id(piece.message), piece.begins): place for place, piece in enumerate(known)}
        around: list[list[tuple[int, float]]] = [[] for _ in known]
        conversations: dict[str, list[tuple[int, int]]] = {}
        for message in sorted(self.messages, key=lambda message: message.sequence):
            if _may_be_quoted(message) and self._is_known(message, None):
                row = conversations.setdefault(message.conversation_id, [])
                row += [(id(message), begins) for begins, _ in split_message(message.text)]
        for row in conversations.values():
            for distance, share in enumerate(shares, 1):
                for one, other in zip(row, row[distance:], strict=False):
                    if one in place_of and other in place_of:
                        around[place_of[one]].append((place_of[other], share))
                        around[place_of[other]].append((place_of[one], share))
        return around

    def _standardise(self, question: Question, known: Sequence[Piece]) -> list[float] | None:
        """How many deviations more alike than usual each piece is; None if no piece of the space has a vector."""
        if self.embedder is None:
            return None
        checked = CheckedEmbedder(self.embedder)
        vectors = [self._embed(checked, piece.text) if piece.message.embedded else None for piece in known]
        kept = [each if each is not None and each.scales[0] else None for each in vectors]
        if not any(kept):
            return None
        asked = VectorsSegment.from_vectors(checked.query(question.to_embed)[None])
        roughly = [None if each is None else _compare_roughly(asked, each) for each in kept]
        exactly = [None if each is None else _compare(asked, each) for each in kept]
        mean, deviation = _find_usual([each for each in roughly if each is not None], checked.usual)
        scales = [float(each.scales[0]) for each in self._vectors.values()]
        of_rows = max(scales) * math.sqrt(asked.dimension) / 2
        of_query = float(np.linalg.norm(asked.finer[0].astype(float))) * float(asked.scales[0]) / 256
        if of_rows + of_query + of_rows * of_query > 4 * deviation:
            # What they are roughly does not tell them apart.
            mean, deviation = _find_usual([each for each in exactly if each is not None], checked.usual)
        return [0.0 if each is None else (each - mean) / deviation for each in exactly]

    def _embed(self, checked: CheckedEmbedder, text: str) -> VectorsSegment:
        if text not in self._vectors:
            self._vectors[text] = VectorsSegment.from_vectors(checked.texts([text]))
        return self._vectors[text]


def _may_be_quoted(message: Said) -> bool:
    return message.role != "system" and message.visibility != "hidden" and not message.forgotten


def _by_message(pieces: Sequence[tuple[Piece, float]], asked_for: int, limit: int) -> list[Expected]:
    """Each message once, by its best piece, with those of its pieces that are about as good."""
    looked_at = 2 * asked_for + _PIECES_BESIDE
    while looked_at < len(pieces) and len({id(piece.message) for piece, _ in pieces[:looked_at]}) < limit:
        looked_at *= 4
    parts: dict[int, list[tuple[Piece, float]]] = {}
    for piece, odds in pieces[:looked_at]:
        parts.setdefault(id(piece.message), []).append((piece, odds))
    found = []
    for own in list(parts.values())[:limit]:
        best = to_probability(own[0][1])
        quoted = sorted(piece for piece, odds in own if to_probability(odds) >= _AS_GOOD * best)
        text = quoted[0].text.strip()
        for before, piece in pairwise(quoted):
            text += ("\n" if before.ends == piece.begins else " … ") + piece.text.strip()
        found.append(Expected(own[0][0].message, text, best, own[0][1]))
    return found


def _hold(piece: Piece) -> dict[int, float]:
    """How much a piece holds each word, as it is written down."""
    terms = terms_of(piece.text)
    unit = 1 / (1 - LENGTH_SHARE + LENGTH_SHARE * len(terms) / USUAL_LENGTH)
    return {term: float(AMOUNTS[_code(terms.count(term) * unit, False)]) for term in terms}


def _compare_roughly(asked: VectorsSegment, kept: VectorsSegment) -> float:
    dot = sum(int(a) * int(b) for a, b in zip(asked.rows[0], kept.rows[0], strict=True))
    return float(np.float32(dot) * kept.scales[0] * asked.scales[0])


def _compare(asked: VectorsSegment, kept: VectorsSegment) -> float:
    steps = [
        [256 * int(a) + int(b) for a, b in zip(each.rows[0], each.finer[0], strict=True)] for each in (asked, kept)
    ]
    dot = sum(a * b for a, b in zip(*steps, strict=True))
    scale: float = float(kept.scales[0]) * float(asked.scales[0])
    return float(dot * scale / 256**2)


def _find_usual(values: Sequence[float], usual: tuple[float, float] | None) -> tuple[float, float]:
    share = len(values) / (2 * len(values) + USUAL_ATOMS) if usual else 1.0
    mean, deviation = usual or (0.0, 1.0)
    own = math.fsum(values) / len(values)
    variance = math.fsum((value - own) ** 2 for value in values) / len(values)
    variance = share * variance + (1 - share) * deviation**2
    return share * own + (1 - share) * mean, math.sqrt(max(variance, 1e-8))


def _nearness(message: Said, interval: Any) -> float:
    day = datetime.fromtimestamp(message.said_at // 1_000_000, UTC).date()
    beside = max((interval.first - day).days, (day - interval.last).days, 0)
    return math.exp(-beside / interval.slack)


def to_probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0
