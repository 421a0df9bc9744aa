"""The evaluation of recall on a folder of conversations with questions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluation.baseline_retrievers import Baselines
from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.corpus_loader import LoadedCorpus, load_corpus
from benchmarks.evaluation.dataset import Dataset, Question, read_datasets, read_updates
from benchmarks.evaluation.fact_updates import measure_updates
from benchmarks.evaluation.recall_goals import OURS, judge
from benchmarks.evaluation.scoring import Memory, Row, score_question, summarise
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.token_counter import Tokenizer, choose_tokenizer
from benchmarks.measure import environment
from longmind.clock import to_micros
from longmind.engine import Engine, open
from longmind.errors import InvalidInput
from longmind.models.recall import Hit
from longmind.providers.embedder import CheckedEmbedder
from longmind.providers.provider_registry import AUTO, choose_embedder
from longmind.settings import Settings

LIMIT = 100
NONE = "none"

Report = Callable[[str], None]


@dataclass(frozen=True)
class EvaluationSetup:
    """The embedder and tokenizer of an evaluation, and where it reports its progress."""

    embedder: CachingEmbedder | None
    tokenizer: Tokenizer
    report: Report
    chosen: str = NONE
    """The name of the choice; without a local model `auto` has no embedder."""

    @classmethod
    def from_embedder(
        cls, embedding: CheckedEmbedder | None, tokenizer: Tokenizer, report: Report, chosen: str | None = None
    ) -> EvaluationSetup:
        if embedding is None:
            return cls(None, tokenizer, report, chosen or NONE)
        return cls(CachingEmbedder(embedding), tokenizer, report, chosen or embedding.model)

    @classmethod
    def from_settings(cls, settings: Settings, report: Report) -> EvaluationSetup:
        models = Path(settings.models_folder)
        embedding = choose_embedder(settings.embedder, models)
        return cls.from_embedder(embedding, choose_tokenizer(models), report, settings.embedder)

    @property
    def engine_embedder(self) -> CachingEmbedder | str | None:
        """The embedder for the engine: `auto` without a model weighs words, and None only counts common words."""
        return AUTO if self.embedder is None and self.chosen == AUTO else self.embedder

    @property
    def description(self) -> dict[str, str | None]:
        """The chosen embedder and the model whose vectors it gives, for the results."""
        return {"embedder chosen": self.chosen, "embedder": None if self.embedder is None else self.embedder.model}


def measure_recall(folder: Path, setup: EvaluationSetup, corpora: int | None = None) -> dict[str, Any]:
    """Evaluate all data sets of a folder.

    corpora: the number of histories of each set to use; None means all.
    """
    datasets = [dataset.limit(corpora) for dataset in read_datasets(folder)]
    updates = read_updates(folder)
    if not datasets and not updates:
        raise InvalidInput(
            f"There are no conversations with questions in {folder}.",
            hint="Give a folder with JSON data sets.",
        )
    results: dict[str, Any] = {
        "environment": environment("longmind", "numpy", "apsw", "onnxruntime", "tokenizers"),
        **setup.description,
        "tokenizer": setup.tokenizer.name,
        "datasets": {dataset.name: _measure(dataset, setup) for dataset in datasets},
    }
    if updates:
        setup.report(f"{len(updates)} facts that changed")
        clock = ScriptedClock()
        with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, clock) as engine:
            context = engine.context(tenant_id="bench", app_id="recall", user_id="updates")
            results["updates"] = measure_updates(context, clock, updates)
    results["goals"] = judge(results)
    return results


def _engine(folder: str, setup: EvaluationSetup, clock: ScriptedClock) -> Engine:
    return open(f"sqlite:///{folder}/recall.db", embedder=setup.engine_embedder, clock=clock, durability="normal")


def _measure(dataset: Dataset, setup: EvaluationSetup) -> dict[str, Any]:
    began = time.perf_counter()
    session_of = dataset.session_of
    # Without questions there are no rows, but our retriever must still be listed.
    rows: dict[str, list[Row]] = {OURS: []}
    questions: list[Question] = []
    clock = ScriptedClock()
    with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, clock) as engine:
        for number, (corpus, sessions) in enumerate(dataset.corpora.items(), 1):
            setup.report(f"{dataset.name}: {corpus} ({number} of {len(dataset.corpora)})")
            context = engine.context(tenant_id="bench", app_id="recall", user_id=corpus)
            clock.now = None
            loaded = load_corpus(context, sessions)
            count = _count_tokens(loaded, setup.tokenizer)
            baselines = Baselines(loaded.turns, setup.embedder)
            for question in dataset.questions:
                if question.corpus != corpus:
                    continue
                questions.append(question)
                clock.now = to_micros(question.at)
                answer = context.memory.recall_by_topic(loaded.space_id, question.text, limit=LIMIT)
                ranked = {OURS: _list_cited(answer.hits, loaded, count)}
                for name, places in baselines.rank(question.text, LIMIT).items():
                    ranked[name] = [_make_memory((loaded.turns[place].turn.id,), count) for place in places]
                for name, memories in ranked.items():
                    rows.setdefault(name, []).append(score_question(question, memories, session_of))
    measured: dict[str, Any] = {name: summarise(questions, each) for name, each in rows.items()}
    return {
        "corpora": len(dataset.corpora),
        "questions": len(questions),
        "seconds": round(time.perf_counter() - began, 1),
        **measured,
    }


def _count_tokens(loaded: LoadedCorpus, tokenizer: Tokenizer) -> dict[str, int]:
    return {each.turn.id: tokenizer.count(each.text) for each in loaded.turns}


def _list_cited(hits: Iterable[Hit], loaded: LoadedCorpus, count: dict[str, int]) -> list[Memory]:
    return [_make_memory([loaded.turn_of[id] for id in hit.atom.source_message_ids], count) for hit in hits]


def _make_memory(turns: Sequence[str], count: dict[str, int]) -> Memory:
    return Memory(tuple(turns), sum(count[turn] for turn in turns))
