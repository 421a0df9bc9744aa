"""Recall once more, as plainly as it can be written: every atom is looked at, one after the other.

It shares constants and the ways from a text to words, codes and small integers with Longmind, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from longmind.language.words import count_statement_words, terms_of
from longmind.models.entity import fold_name
from longmind.providers.embedder import CheckedEmbedder, Embedder, validate_vectors
from longmind.recall.index.segments import (
    AMOUNTS,
    LENGTH_SHARE,
    LONG_TEXT,
    NEAR_WEIGHTS,
    USUAL_LENGTH,
    VectorsSegment,
    _code,
)
from longmind.recall.index.text_index import SATURATION
from longmind.recall.question import Question, understand_question
from longmind.recall.ranking.atoms import USUAL_ATOMS
from longmind.recall.ranking.relevance import _FEWEST, BY_SHARED_WORDS, FACTS, Curve

DAY = 24 * 3600 * 1_000_000
HALF_LIFE_DAYS = {"FACT": 365, "RULE": 365, "INTENTION": 60, "EPISODE": 14, "PREFERENCE": 365, "PATTERN": 365}


@dataclass
class Known:
    """An atom as the test knows it. Instants are microseconds."""

    id: str
    position: int
    text: str
    around: tuple[str, ...]
    category: str
    kind: str
    importance: int
    tags: frozenset[str]
    trust: str
    speaker: str | None
    entities: set[str]
    valid_from: int
    valid_to: int | None
    open_until: int | None
    created_at: int
    superseded_at: int | None = None
    archived_at: int | None = None
    deleted: bool = False
    later: list[Known] = field(default_factory=list)
    """The versions after it, deleted ones too."""


@dataclass(frozen=True)
class Asked:
    """The filters of a recall; None lets everything through."""

    category_names: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    min_importance: int | None = None
    trust: Sequence[str] | None = None
    status: str | None = None
    """None is what a caller gets who does not ask for any: active ones."""
    entity: str | None = None
    valid_at: int | None = None
    known_at: int | None = None


@dataclass(frozen=True)
class Expected:
    atom: Known
    score: float
    decay: float
    bonus: float
    odds: float = math.inf
    """The logarithm of the odds. It tells atoms apart whose scores are as good as 1."""


@dataclass
class Reference:
    """What is in a space, and what recall has to answer."""

    embedder: Embedder | None
    atoms: list[Known] = field(default_factory=list)
    names: dict[str, dict[str, int]] = field(default_factory=dict)
    """The folded names of each entity, and since when it has them."""
    redirects: dict[str, str] = field(default_factory=dict)

    def by_topic(self, query: str, asked: Asked, now: int) -> list[Expected]:
        """Everything that matches, best first."""
        passing = [atom for atom in self.atoms if self._passes(atom, asked, now)]
        return sorted(self._scored(query, passing, asked, now), key=_best_first)

    def by_entity(self, id_or_name: str, asked: Asked, now: int) -> list[Expected]:
        wanted = Asked(**{**vars(asked), "entity": id_or_name})
        found = [atom for atom in self.atoms if self._passes(atom, wanted, now)]
        found.sort(key=lambda atom: (-atom.valid_from, -atom.position))
        return [_unasked(atom, as_of(asked, now)) for atom in found]

    def timeline(
        self,
        asked: Asked,
        now: int,
        *,
        query: str | None,
        window: tuple[int | None, int | None],
        include_superseded: bool,
        limit: int,
    ) -> tuple[list[Expected], int]:
        """What is to be shown, and how much there is."""
        passing = [
            atom
            for atom in self.atoms
            if _overlaps(atom, window, asked)
            and self._passes(atom, asked, now, current=not include_superseded, ended=True)
        ]
        if query is None:
            found = [_unasked(atom, as_of(asked, now)) for atom in passing]
            found.sort(key=_by_time)
            return found[:limit], len(found)
        scored = self._scored(query, passing, asked, now)
        return sorted(sorted(scored, key=_best_first)[:limit], key=_by_time), len(scored)

    def _passes(self, atom: Known, asked: Asked, now: int, *, current: bool = True, ended: bool = False) -> bool:
        if atom.deleted:
            return False
        known_at = asked.known_at
        if known_at is not None and atom.created_at > known_at:
            return False
        archived = atom.archived_at is not None and (known_at is None or atom.archived_at <= known_at)
        if (asked.status or "ACTIVE") != ("ARCHIVED" if archived else "ACTIVE"):
            return False
        end = _end(atom, asked)
        if asked.valid_at is not None:
            if not (atom.valid_from <= asked.valid_at and (end is None or end > asked.valid_at)):
                return False
        elif current and end is not None and end <= max(now if known_at is None else known_at, atom.valid_from):
            superseded = atom.superseded_at is not None and _known(atom.superseded_at, asked)
            if superseded or not ended:
                return False
        return (
            (asked.category_names is None or atom.category in asked.category_names)
            and (asked.kinds is None or atom.kind in asked.kinds)
            and (asked.tags is None or atom.tags.issuperset(asked.tags))
            and (asked.min_importance is None or atom.importance >= asked.min_importance)
            and (asked.trust is None or atom.trust in asked.trust)
            and (asked.entity is None or bool(atom.entities & self._entities_of(asked.entity)))
        )

    def _entities_of(self, id_or_name: str) -> set[str]:
        if id_or_name in self.names or id_or_name in self.redirects:
            return {self.redirects.get(id_or_name, id_or_name)}
        return {entity for entity, names in self.names.items() if fold_name(id_or_name) in names}

    def _scored(self, query: str, passing: Iterable[Known], asked: Asked, now: int) -> list[Expected]:
        there = [atom for atom in self.atoms if not atom.deleted and _known(atom.created_at, asked)]
        speakers = dict.fromkeys(atom.speaker for atom in there if atom.speaker is not None)
        mentioned = self._mentioned(query, asked)
        by_words = self.embedder is None
        names = () if by_words else self._list_names(mentioned, asked)
        question = understand_question(query, speakers, as_of(asked, now), names, by_words=by_words, of_facts=True)
        compare = self._by_shared_words if by_words else self._by_evidence
        about = compare(query, question, there)
        found = []
        for atom in passing:
            if atom.id in about:
                fading = decay(atom, as_of(asked, now))
                bonus = min(2.0, 1.0 + 0.5 * len(atom.entities & mentioned))
                odds = about[atom.id] + math.log(fading * (0.76 + 0.06 * (atom.importance - 1)) * bonus)
                found.append(Expected(atom, to_probability(odds), fading, bonus, odds))
        return found

    def _mentioned(self, query: str, asked: Asked) -> set[str]:
        words = [word.strip(".,;:!?()[]\"'") for word in fold_name(query).split()]
        text = " " + " ".join(word.removesuffix("'s") for word in words) + " "
        return {
            entity
            for entity, names in self.names.items()
            if any(f" {name} " in text and _known(since, asked) for name, since in names.items())
        }

    def _list_names(self, mentioned: set[str], asked: Asked) -> tuple[str, ...]:
        """All names of entities, of which a text may use any."""
        named = [self.names[entity].items() for entity in sorted(mentioned)]
        return tuple(name for names in named for name, since in names if _known(since, asked))

    def _by_shared_words(self, query: str, question: Question, there: list[Known]) -> dict[str, float]:
        """The logarithm of the odds that an atom is about the question, of each that has to do with it.

        CONFORMANCE R-D: the words in common, against the geometric mean of their numbers; half for those around.
        """
        asked, telling = set(terms_of(query)), set(question.terms)
        overlap = {}
        for atom in there:
            own = set(terms_of(atom.text))
            around = {term for text in atom.around for term in terms_of(text)} - own
            common = len(asked & own) + 0.5 * len(asked & around)
            if telling.isdisjoint(own | around):
                common = 0.0
            overlap[atom.id] = min(common / math.sqrt(max(len(asked) * len(own), 1)), 1.0)
        return {
            atom_id: bend(BY_SHARED_WORDS, question, share, len(there))
            for atom_id, share in overlap.items()
            if share > 0
        }

    def _by_evidence(self, query: str, question: Question, there: list[Known]) -> dict[str, float]:
        """The same with an embedder: words, meaning, and what else speaks for an atom."""
        weights = FACTS.question if question.is_plain else FACTS.message
        words = self._words(question.terms, there)
        near = self._cosines(question.to_embed, there) if query.strip() and there else None
        standard = {}
        if near is not None:
            usual = getattr(self.embedder, "usual_similarity", None)
            standard = _standardised(near, usual, self._unsure(question.to_embed, there))
        curve = FACTS.by_words if near is None else FACTS.by_meaning
        about = {}
        for atom in there:
            total = weights.words * words[atom.id] + standard.get(atom.id, 0.0)
            total += weights.statement * math.log1p(count_statement_words(atom.text))
            if question.speakers is not None:
                total += weights.speaker * (0.5 if atom.speaker is None else question.speakers.get(atom.speaker, 0.0))
            if question.dates:
                total += weights.date * max(_nearness(atom, interval) for interval in question.dates)
            if not set(question.opposed).isdisjoint(terms_of(atom.text)):
                total += weights.opposite
            if near is not None or words[atom.id] > 0:
                about[atom.id] = bend(curve, question, total, len(there))
        return about

    def _words(self, terms: Sequence[int], there: list[Known]) -> dict[str, float]:
        """BM25, as a share of what an atom would have that is full of every word of the query."""
        held = {atom.id: _held(atom) for atom in there}
        rarity = {}
        for term in terms:
            holders = sum(term in words and words[term][1] for words in held.values())
            rarity[term] = math.log1p((len(there) - holders + 0.5) / (holders + 0.5))
        most = math.hypot(*rarity.values())
        return {
            atom.id: sum(
                weight / most * held[atom.id][term][0] / (SATURATION + held[atom.id][term][0])
                for term, weight in rarity.items()
                if term in held[atom.id]
            )
            for atom in there
        }

    def _unsure(self, query: str, there: list[Known]) -> float:
        assert self.embedder is not None
        of_query = _left(VectorsSegment.from_vectors(CheckedEmbedder(self.embedder).query(query)[None]))
        texts = [atom.text for atom in there]
        kept = VectorsSegment.from_vectors(
            validate_vectors(self.embedder.embed_texts(texts), len(texts), self.embedder)
        )
        of_rows = float(kept.scales.max()) * math.sqrt(kept.dimension) / 2
        return of_rows + of_query + of_rows * of_query

    def _cosines(self, query: str, there: list[Known]) -> dict[str, tuple[float, float] | None]:
        """Of each atom that has a vector: roughly, by which it is told what is usual, and exactly."""
        assert self.embedder is not None
        asked = VectorsSegment.from_vectors(CheckedEmbedder(self.embedder).query(query)[None])
        cosines: dict[str, tuple[float, float] | None] = {}
        for atom in there:
            kept = VectorsSegment.from_vectors(
                validate_vectors(self.embedder.embed_texts([atom.text]), 1, self.embedder)
            )
            dot = sum(int(a) * int(b) for a, b in zip(asked.rows[0], kept.rows[0], strict=True))
            roughly = float(np.float32(dot) * kept.scales[0] * asked.scales[0])
            exact_dot = sum(a * b for a, b in zip(_steps(asked), _steps(kept), strict=True))
            exactly = exact_dot * (float(kept.scales[0]) * float(asked.scales[0]) / 256**2)
            cosines[atom.id] = (roughly, exactly) if kept.scales[0] else None
        return cosines


def bend(curve: Curve, question: Question, total: float, count: int) -> float:
    """The logarithm of the odds that a total stands for, in a space of so many atoms."""
    level = curve.level + curve.by_count * math.log(max(count, _FEWEST))
    level += curve.speaker if question.speakers is not None else 0.0
    level += curve.date if question.dates else 0.0
    return curve.slope * total + level


def to_probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


def _left(kept: VectorsSegment) -> float:
    """How long a vector is that holds what rough numbers leave of another one."""
    return float(np.linalg.norm(kept.finer[0].astype(float))) * float(kept.scales[0]) / 256


def _steps(kept: VectorsSegment) -> list[int]:
    return [256 * int(rough) + int(finer) for rough, finer in zip(kept.rows[0], kept.finer[0], strict=True)]


def _known(since: int, asked: Asked) -> bool:
    return asked.known_at is None or since <= asked.known_at


def as_of(asked: Asked, now: int) -> int:
    """The instant a question is asked for."""
    if asked.valid_at is not None:
        return asked.valid_at
    return now if asked.known_at is None else asked.known_at


def _unasked(atom: Known, now: int) -> Expected:
    """Where nothing is asked, everything is as it should be."""
    return Expected(atom, 1.0, decay(atom, now), 1.0)


def decay(atom: Known, now: int) -> float:
    """CONFORMANCE R-B."""
    age = max(now - atom.valid_from, 0)
    return max(0.25, math.exp2(-age / (HALF_LIFE_DAYS[atom.kind] * DAY)))


def _held(atom: Known) -> dict[int, tuple[float, bool]]:
    """How much an atom holds each word, as it is written down, and whether the word is in its own text."""
    own = terms_of(atom.text)
    amounts: dict[int, float] = {}

    def count(terms: list[int], weight: float) -> None:
        for term in terms:
            unit = weight / (1 - LENGTH_SHARE + LENGTH_SHARE * len(terms) / USUAL_LENGTH)
            amounts[term] = amounts.get(term, 0.0) + unit

    count(own, 1.0)
    for place, text in enumerate(atom.around):
        terms = terms_of(text)
        weight = NEAR_WEIGHTS[min(place, len(NEAR_WEIGHTS) - 1)]
        count(terms, weight * min(1.0, LONG_TEXT / max(len(own), 1)) * min(1.0, LONG_TEXT / max(len(terms), 1)))
    return {term: (float(AMOUNTS[_code(amount, False)]), term in own) for term, amount in amounts.items()}


def _standardised(
    values: dict[str, tuple[float, float] | None], usual: tuple[float, float] | None, unsure: float = 0.0
) -> dict[str, float]:
    mean, deviation = _usual([value[0] for value in values.values() if value is not None], usual)
    if unsure > 4 * deviation:
        # What they are roughly does not tell them apart.
        mean, deviation = _usual([value[1] for value in values.values() if value is not None], usual)
    return {id: 0.0 if value is None else (value[1] - mean) / deviation for id, value in values.items()}


def _usual(known: list[float], usual: tuple[float, float] | None) -> tuple[float, float]:
    mean, deviation = usual or (0.0, 1.0)
    if known:
        share = len(known) / (2 * len(known) + USUAL_ATOMS) if usual else 1.0
        own = math.fsum(known) / len(known)
        variance = math.fsum((value - own) ** 2 for value in known) / len(known)
        mean = share * own + (1 - share) * mean
        deviation = math.sqrt(max(share * variance + (1 - share) * deviation**2, 1e-8))
    return mean, deviation


def _nearness(atom: Known, interval: Any) -> float:
    day = datetime.fromtimestamp(atom.valid_from // 1_000_000, UTC).date()
    beside = max((interval.first - day).days, (day - interval.last).days, 0)
    return math.exp(-beside / interval.slack)


def _end(atom: Known, asked: Asked) -> int | None:
    """The end of its validity, as it was known then."""
    ends = [] if atom.open_until is None else [atom.open_until]
    for later in atom.later:
        if _known(later.created_at, asked):
            # Where a deleted one began is not kept: what has ended stays so.
            ends.append(later.valid_from if not later.deleted or atom.valid_to is None else atom.valid_to)
    return max(atom.valid_from, min(ends)) if ends else None


def _overlaps(atom: Known, window: tuple[int | None, int | None], asked: Asked) -> bool:
    start, end = window
    until = _end(atom, asked)
    # A version that never was valid is an instant, and lies in the window when that instant does.
    begins_after = start is None or until is None or until > start or atom.valid_from >= start
    return begins_after and (end is None or atom.valid_from <= end)


def _best_first(found: Expected) -> tuple[float, int, str]:
    return -found.odds, -found.atom.valid_from, found.atom.id


def _by_time(found: Expected) -> tuple[int, int]:
    return found.atom.valid_from, found.atom.position
