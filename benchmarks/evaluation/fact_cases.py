"""The cases on which the relevance of facts is fitted: notes, human-checked facts, and what the product learns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.dataset import Dataset, Question, StatedFact
from benchmarks.evaluation.extracted_facts import ExtractedFact
from benchmarks.evaluation.note_sets import NoteSpace
from benchmarks.evaluation.relevance_cases import (
    FOREIGN,
    FULL,
    SIZES,
    Case,
    join_evidence,
    measure_likeness,
    name_small,
)
from benchmarks.evaluation.scoring import APART
from benchmarks.evaluation.set_measurement import choose_foreign_questions
from longmind.clock import to_micros
from longmind.recall.index.segments import VectorsSegment, WordsSegment
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.question import understand_question
from longmind.recall.ranking.atoms import measure_nearness

_SEED = 20_240_229
_NOTED_AT = "2026-01-01T00:00:00Z"


class Fact(NamedTuple):
    """A fact, with the turns that state it and its speaker if they are known, and the texts around it."""

    text: str
    at: str
    turns: frozenset[str] = frozenset()
    speaker: str | None = None
    around: tuple[str, ...] = ()


def list_note_cases(spaces: Sequence[NoteSpace], embedder: CachingEmbedder) -> list[Case]:
    """Return the cases of spaces of notes."""
    random = np.random.default_rng(_SEED)
    cases: list[Case] = []
    for space in spaces:
        facts = _FactSpace([Fact(note, _NOTED_AT) for note in space.notes], embedder)
        for query in space.queries:
            if query.gold:
                cases += facts.list_own(query.text, _NOTED_AT, sorted(query.gold), random)
            else:
                cases.append(facts.make_case(FOREIGN, query.text, _NOTED_AT, []))
    return cases


def list_fact_cases(dataset: Dataset, stated: Sequence[StatedFact], embedder: CachingEmbedder) -> list[Case]:
    """Return the cases of stated facts, which answer a question if one of its gold turns states them."""
    facts_of: dict[str, list[Fact]] = {}
    for corpus, sessions in dataset.corpora.items():
        said_at = {turn.id: turn.at for session in sessions for turn in session.turns}
        facts_of[corpus] = [
            Fact(each.text, said_at[each.turn], frozenset((each.turn,)), each.speaker)
            for each in stated
            if each.turn in said_at
        ]
    return _list_cases(dataset, facts_of, embedder)


def list_extracted_cases(dataset: Dataset, extracted: Sequence[ExtractedFact], embedder: CachingEmbedder) -> list[Case]:
    """Return the cases of extracted facts, which answer a question if they were learned from one of its gold turns."""
    facts_of = {
        corpus: [
            Fact(each.text, each.at, each.turns, each.speaker, each.around)
            for each in extracted
            if each.session in {session.id for session in sessions}
        ]
        for corpus, sessions in dataset.corpora.items()
    }
    return _list_cases(dataset, facts_of, embedder)


def _list_cases(dataset: Dataset, facts_of: Mapping[str, Sequence[Fact]], embedder: CachingEmbedder) -> list[Case]:
    random = np.random.default_rng(_SEED)
    foreign = choose_foreign_questions(dataset)
    cases: list[Case] = []
    for corpus, facts in facts_of.items():
        if not facts:
            continue
        space = _FactSpace(facts, embedder)
        for question in dataset.questions:
            gold = [number for number, fact in enumerate(facts) if not fact.turns.isdisjoint(question.gold)]
            if question.corpus == corpus and _is_asked_at_the_end(question) and gold:
                cases += space.list_own(question.text, question.at, gold, random)
        cases += [space.make_case(FOREIGN, each.text, each.at, []) for each in foreign.get(corpus, ())]
    return cases


def _is_asked_at_the_end(question: Question) -> bool:
    """Return whether a question has an answer, and is asked of the whole history."""
    return question.category not in APART and question.before is None


class _FactSpace:
    """Facts with their index, for questions of any part of them."""

    def __init__(self, facts: Sequence[Fact], embedder: CachingEmbedder) -> None:
        self._embedder = embedder
        texts = [fact.text for fact in facts]
        self._index = SpaceIndex.from_words(WordsSegment.from_texts(texts, [fact.around for fact in facts]))
        self._index.add_vectors(0, VectorsSegment.from_vectors(embedder.embed_texts(texts)))
        self._valid_from = np.array([to_micros(fact.at) for fact in facts])
        self._said_by = [fact.speaker for fact in facts]
        self._speakers = list(dict.fromkeys(fact.speaker for fact in facts if fact.speaker is not None))

    def list_own(self, text: str, at: str, gold: Sequence[int], random: np.random.Generator) -> Iterator[Case]:
        """Yield the cases of a question: of all facts, and of a few with and without those that answer it."""
        yield self.make_case(FULL, text, at, gold)
        others = np.setdiff1d(np.arange(self._index.atoms), gold)
        for size in SIZES:
            chosen = random.choice(others, min(size, len(others)), replace=False)
            yield self.make_case(name_small(size, answerable=False), text, at, gold, chosen)
            yield self.make_case(name_small(size, answerable=True), text, at, gold, np.concatenate([chosen, gold]))

    def make_case(
        self, scenario: str, text: str, at: str, gold: Sequence[int], among: NDArray[np.int64] | None = None
    ) -> Case:
        """Return a question asked of some facts, or of all of them."""
        index = self._index
        there = np.ones(index.atoms, np.bool_) if among is None else np.isin(np.arange(index.atoms), among)
        asked = understand_question(text, self._speakers, to_micros(at), of_facts=True)
        weights = asked.speakers or {}
        # A speaker who is not known is neutral.
        neutral = 0.5 if weights else 0.0
        worth = [neutral if speaker is None else weights.get(speaker, 0.0) for speaker in self._said_by]
        words = index.word_scores(asked.terms, there) if asked.terms else np.zeros(index.atoms)
        columns = {
            "likeness": measure_likeness(index, asked, self._embedder, there),
            "words": words,
            "words alone": words,
            "borrowed": np.zeros(index.atoms),
            "statement": np.log1p(index.statements.values.astype(np.float64)),
            "speaker": np.array(worth),
            "date": measure_nearness(self._valid_from, asked.dates),
            "opposite": index.mask_holding(asked.opposed),
        }
        evidence = join_evidence(columns, there)
        is_gold = np.isin(np.arange(index.atoms), gold)[there]
        return Case(scenario, asked, evidence, np.arange(len(evidence)), is_gold, len(gold))
