"""The cases on which relevance is fitted: a question asked of a space, with the evidence for each of its memories.

The evidence is that of the product: its indexes, its reading of questions, and its measures of words, meaning, speakers
and dates. Only the weights are left open. Memories are messages, found by their best piece, or facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.corpus_loader import NAMESPACE, find_role, prepare_turns
from benchmarks.evaluation.dataset import Dataset, Question, Session
from benchmarks.evaluation.scoring import APART
from benchmarks.evaluation.set_measurement import choose_foreign_questions
from longmind.clock import to_micros
from longmind.recall.index.passage_entries import PassageEntries
from longmind.recall.index.passage_index import PassageIndex
from longmind.recall.index.segments import VectorsSegment
from longmind.recall.index.text_index import TextIndex
from longmind.recall.kernels.numpy_totals import standardise
from longmind.recall.question import Question as UnderstoodQuestion
from longmind.recall.question import understand_question
from longmind.recall.ranking import passages
from longmind.recall.ranking.atoms import USUAL_ATOMS, measure_nearness

FULL, FOREIGN, ADVERSARIAL = "full", "foreign", "adversarial"
SIZES = (2, 5, 12, 40)
"""The numbers of memories of small spaces."""
KINDS = ("likeness", "words", "statement", "speaker", "date", "opposite", "words alone", "borrowed")
"""The kinds of evidence, in the order of the columns; the last two stand for `words` where there are no vectors."""
_SEED = 20_240_229

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Case:
    """A question asked of a space."""

    scenario: str
    question: UnderstoodQuestion
    evidence: NDArray[np.float32]
    """By piece of a memory, the evidence of each kind."""
    starts: NDArray[np.intp]
    """The first piece of each memory."""
    gold: Mask
    """Mask of the memories that answer the question."""
    wanted: int
    """The number of memories that answer it, whether they are in the space or not."""

    @property
    def pieces(self) -> int:
        return len(self.evidence)


def name_small(size: int, *, answerable: bool) -> str:
    """Return the scenario of a small space, with or without the memories that answer the question."""
    return f"{size} memories {'with' if answerable else 'without'} the answer"


def list_cases(dataset: Dataset, embedder: CachingEmbedder) -> list[Case]:
    """Return the cases of the messages of a data set."""
    random = np.random.default_rng(_SEED)
    foreign = choose_foreign_questions(dataset)
    cases: list[Case] = []
    for corpus, sessions in dataset.corpora.items():
        own = [question for question in dataset.questions if question.corpus == corpus]
        if own or corpus in foreign:
            history = _IndexedHistory(sessions, embedder)
            for question in own:
                cases += history.list_own(question, random)
            cases += [history.make_case(FOREIGN, question) for question in foreign.get(corpus, ())]
    return cases


def index_history(sessions: Sequence[Session], embedder: CachingEmbedder) -> PassageIndex:
    """Return the index of all messages of a history; the position of each is its number."""
    index = PassageIndex()
    index.model = embedder.model
    loaded = [(session, each) for session in sessions for each in prepare_turns(session)]
    texts = [each.text for _, each in loaded]
    rows = [
        (number, number, session.id, find_role(each.turn, session), to_micros(each.turn.at), each.turn.id, 1)
        for number, (session, each) in enumerate(loaded)
    ]
    for session in sessions:
        index.note_conversation(session.id, NAMESPACE)
    entries = PassageEntries.from_texts(range(len(texts)), texts)
    vectors = VectorsSegment.from_vectors(embedder.embed_texts(entries.cut(texts)))
    index.add(rows, replace(entries, vectors=vectors), is_stored=False)
    index.link(0)
    return index


def measure_evidence(
    index: PassageIndex, question: UnderstoodQuestion, embedder: CachingEmbedder, there: Mask
) -> NDArray[np.float32]:
    """Return the evidence of each kind for the pieces of a part of a history."""
    speakers = question.speakers or {}
    worth = np.array([speakers.get(name, 0.0) for name in index.speakers])
    columns = {
        "likeness": measure_likeness(index, question, embedder, there),
        "words": passages.score_words(index, question, there, passages.SHARES),
        "statement": np.log1p(index.statements.values.astype(np.float64)),
        "speaker": worth[index.speaker.values],
        "date": measure_nearness(index.said_at.values, question.dates),
        "opposite": index.mask_holding(question.opposed),
        "words alone": passages.score_words(index, question, there, passages.SHARES_ALONE),
        "borrowed": ~index.mask_holding(question.terms),
    }
    return join_evidence(columns, there)


def join_evidence(columns: Mapping[str, NDArray[Any]], there: Mask) -> NDArray[np.float32]:
    """Return the evidence of some pieces as one array."""
    evidence: NDArray[np.float32] = np.column_stack([columns[kind][there] for kind in KINDS]).astype(np.float32)
    return evidence


def measure_likeness(
    index: TextIndex, question: UnderstoodQuestion, embedder: CachingEmbedder, there: Mask
) -> NDArray[np.float64]:
    """Return how much more alike than usual the vectors are, in deviations, among some texts of an index."""
    cosines = index.similarity(embedder.embed_query(question.to_embed))
    assert cosines is not None  # every text has a vector
    compared = index.compared
    counted = there if compared is None else compared & there
    return standardise(counted, cosines, embedder.usual_similarity, USUAL_ATOMS)


class _IndexedHistory:
    """A history with its index, for questions of any part of it."""

    def __init__(self, sessions: Sequence[Session], embedder: CachingEmbedder) -> None:
        self._embedder = embedder
        self._index = index_history(sessions, embedder)
        turns = [(turn.id, session.id) for session in sessions for turn in session.turns]
        self._turns = np.array([turn for turn, _ in turns])
        self._first_of: dict[str, int] = {}
        for number, (_, session_id) in enumerate(turns):
            self._first_of.setdefault(session_id, number)
        self._messages = np.unique(self._index.position.values)
        """The numbers of the messages that have a piece."""

    def list_own(self, question: Question, random: np.random.Generator) -> Iterator[Case]:
        """Yield the cases of a question about this history: of all of it, and of small parts with and without gold."""
        if question.category in APART:
            yield self.make_case(ADVERSARIAL, replace(question, gold=frozenset()))
            return
        yield self.make_case(FULL, question)
        known = self._messages[self._messages < self._count_known(question)]
        gold = np.isin(self._turns[known], list(question.gold))
        for size in SIZES:
            # A run of messages, as in a short conversation, since words of those beside a message speak for it too.
            first = int(random.integers(max(len(known) - size, 0) + 1))
            run = slice(first, first + size)
            if not gold[run].all():
                yield self.make_case(name_small(size, answerable=False), question, known[run][~gold[run]])
            if gold.any():
                first = max(int(random.choice(gold.nonzero()[0])) - int(random.integers(size)), 0)
                yield self.make_case(name_small(size, answerable=True), question, known[first : first + size])

    def _count_known(self, question: Question) -> int:
        return len(self._turns) if question.before is None else self._first_of[question.before]

    def make_case(self, scenario: str, question: Question, among: NDArray[np.int64] | None = None) -> Case:
        """Return a question asked of the messages with some numbers, or of all that are known by then."""
        index = self._index
        position = index.position.values
        if among is None:
            there = position < (len(self._turns) if scenario == FOREIGN else self._count_known(question))
        else:
            there = np.isin(position, among)
        asked = understand_question(question.text, list(index.speakers), to_micros(question.at))
        evidence = measure_evidence(index, asked, self._embedder, there)
        here = position[there]
        starts = np.concatenate([[True], here[1:] != here[:-1]]).nonzero()[0]
        gold = np.isin(self._turns[here[starts]], list(question.gold))
        return Case(scenario, asked, evidence, starts, gold, len(question.gold))
