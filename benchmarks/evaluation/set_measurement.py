"""The measurement of one data set: histories grow session by session, and each question is asked in its time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.evaluation.baseline_retrievers import Baselines
from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.confidence import Calibration, compute_auc, find_best_score
from benchmarks.evaluation.corpus_loader import LoadedHistory, LoadedTurn, prepare_turns
from benchmarks.evaluation.dataset import Dataset, Question
from benchmarks.evaluation.recall_goals import (
    ADVERSARIAL_QUESTIONS,
    FROM_OTHERS,
    OURS,
    UNANSWERABLE_QUESTIONS,
)
from benchmarks.evaluation.recalled_memories import TextTokens, list_memories
from benchmarks.evaluation.scoring import ADVERSARIAL, ALL, APART, Memory, Row, score_question, summarise
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.token_counter import Tokenizer
from benchmarks.measure import percentile
from longmind.clock import to_micros
from longmind.context import Context
from longmind.engine import Engine
from longmind.models.recall import Effort, Recall

LIMIT = 100
_FOREIGN_QUESTIONS = 300
_QUESTIONS_EMBEDDED = 50
_SEED = 20_240_229


def choose_foreign_questions(dataset: Dataset, most: int = _FOREIGN_QUESTIONS) -> dict[str, list[Question]]:
    """Return by corpus questions of other histories, none of whose evidence is in this one; a seeded sample."""
    pairs = []
    for corpus, sessions in dataset.corpora.items():
        turns = {turn.id for session in sessions for turn in session.turns}
        pairs += [
            (corpus, question)
            for question in dataset.questions
            if question.corpus != corpus and question.category not in APART and turns.isdisjoint(question.gold)
        ]
    order = np.random.default_rng(_SEED).permutation(len(pairs))[:most]
    chosen: dict[str, list[Question]] = defaultdict(list)
    for place in sorted(order.tolist()):
        corpus, question = pairs[place]
        chosen[corpus].append(question)
    return chosen


class SetMeasurement:
    """The scores of all retrievers on one data set."""

    def __init__(
        self,
        dataset: Dataset,
        engine: Engine,
        clock: ScriptedClock,
        embedder: CachingEmbedder | None,
        tokenizer: Tokenizer,
        effort: Effort,
    ) -> None:
        self._dataset = dataset
        self._engine = engine
        self._clock = clock
        self._embedder = embedder
        self._tokens = TextTokens(tokenizer)
        self._effort = effort
        self._session_of = dataset.session_of
        self._foreign = choose_foreign_questions(dataset)
        self._questions: list[Question] = []
        # Without questions there are no rows, but our retriever must still be listed.
        self._rows: dict[str, list[Row]] = {OURS: []}
        self._calibrations: dict[str, Calibration] = defaultdict(Calibration)
        self._best: dict[str, list[float]] = defaultdict(list)
        """The best scores of the answers to each kind of question; `ALL` are those that can be answered."""
        self._found: dict[str, list[bool]] = defaultdict(list)
        self._seconds: list[float] = []

    def measure_corpus(self, corpus: str) -> None:
        """Append a history and ask all its questions."""
        sessions = self._dataset.corpora[corpus]
        context = self._engine.context(tenant_id="bench", app_id="recall", user_id=corpus)
        asked = _Asked(context, LoadedHistory(self._engine, context, self._clock, sessions))
        turns = [loaded for session in sessions for loaded in prepare_turns(session)]
        baselines = Baselines(turns, self._embedder)
        due: dict[str | None, list[Question]] = defaultdict(list)
        for question in self._dataset.questions:
            if question.corpus == corpus:
                due[question.before].append(question)
        for session in sessions:
            self._ask(asked, due[session.id], turns, baselines)
            asked.history.append(session)
        self._ask(asked, due[None], turns, baselines)
        asked.history.finish_work()
        for question in self._dataset.unanswerable:
            if question.corpus == corpus:
                self._clock.now = to_micros(question.at)
                self._note_confidence(UNANSWERABLE_QUESTIONS, *self._recall(asked, question))
        # Somebody else's questions are asked now: their own time would only make this history look old.
        own = [to_micros(question.at) for each in due.values() for question in each]
        self._clock.now = max(own, default=self._clock.now)
        for question in self._foreign.get(corpus, ()):
            self._note_confidence(FROM_OTHERS, *self._recall(asked, question))

    def _ask(
        self, asked: _Asked, questions: Sequence[Question], turns: Sequence[LoadedTurn], baselines: Baselines
    ) -> None:
        """Ask the questions that are due, of what was appended so far."""
        if not questions:
            return
        asked.history.finish_work()
        for question in questions:
            self._clock.now = to_micros(question.at)
            answer, memories = self._recall(asked, question, timed=True)
            ranked = {OURS: memories}
            for name, places in baselines.rank(question.text, LIMIT, asked.history.turns).items():
                ranked[name] = [
                    Memory((turns[place].turn.id,), self._tokens.count(turns[place].text)) for place in places
                ]
            self._questions.append(question)
            for name, each in ranked.items():
                self._rows.setdefault(name, []).append(score_question(question, each, self._session_of))
            self._calibrations[question.category].add(memories, question.gold)
            if question.category in APART:
                self._note_confidence(question.category, answer, memories)
            else:
                self._calibrations[ALL].add(memories, question.gold)
                self._note_confidence(ALL, answer, memories)

    def _recall(self, asked: _Asked, question: Question, *, timed: bool = False) -> tuple[Recall, list[Memory]]:
        recall = asked.context.memory.recall_by_topic
        if timed:
            # So that the question is embedded in advance, and what was appended is indexed.
            recall(asked.history.space_id, question.text, limit=1)
        began = time.perf_counter()
        answer = recall(asked.history.space_id, question.text, limit=LIMIT, effort=self._effort)
        if timed:
            self._seconds.append(time.perf_counter() - began)
        return answer, list_memories(answer, asked.history.turn_of, self._tokens)[:LIMIT]

    def _note_confidence(self, kind: str, answer: Recall, memories: Sequence[Memory]) -> None:
        self._best[kind].append(find_best_score(memories))
        self._found[kind].append(answer.found)

    def summarise(self) -> dict[str, Any]:
        """Return all measures of the set."""
        return {
            "corpora": len(self._dataset.corpora),
            "questions": len(self._questions),
            "milliseconds": self._summarise_times(),
            "calibration": {name: self._calibrations[name].summarise() for name in sorted(self._calibrations)},
            "known": self._summarise_confidence(),
            "retrievers": {name: summarise(self._questions, rows) for name, rows in self._rows.items()},
        }

    def _summarise_times(self) -> dict[str, float]:
        """Return the medians of the recall alone and of embedding a question."""
        times = {"recall without embedding, p50": self._seconds}
        if self._embedder is not None:
            texts = [question.text for question in self._questions[:_QUESTIONS_EMBEDDED]]
            times["embedding of a question, p50"] = list(self._embedder.measure_query_times(texts))
        return {name: round(1000 * percentile(each, 50), 3) for name, each in times.items() if each}

    def _summarise_confidence(self) -> dict[str, Any]:
        """Return how far the best score tells questions with an answer from others."""
        summary: dict[str, Any] = {"answerable": {"questions": len(self._best[ALL]), "found": _share(self._found[ALL])}}
        names = {
            FROM_OTHERS: FROM_OTHERS,
            ADVERSARIAL: ADVERSARIAL_QUESTIONS,
            UNANSWERABLE_QUESTIONS: UNANSWERABLE_QUESTIONS,
        }
        for kind, name in names.items():
            auc = compute_auc(self._best[ALL], self._best[kind])
            if auc is not None:
                found = _share(self._found[kind])
                summary[name] = {"questions": len(self._best[kind]), "found": found, "AUC": round(auc, 4)}
        return summary


class _Asked:
    """A history and the context in which it is asked."""

    def __init__(self, context: Context, history: LoadedHistory) -> None:
        self.context = context
        self.history = history


def _share(found: Sequence[bool]) -> float | None:
    return round(sum(found) / len(found), 4) if found else None
