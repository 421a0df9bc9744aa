"""Measures recall on a folder of conversations with questions, through the public operations only."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluation.baseline_retrievers import Baselines
from benchmarks.evaluation.caching_embedder import RememberingEmbedder
from benchmarks.evaluation.corpus_loader import FedCorpus, feed
from benchmarks.evaluation.dataset import Dataset, Question, read_datasets, read_updates
from benchmarks.evaluation.fact_updates import measure_updates
from benchmarks.evaluation.recall_goals import OURS, judge
from benchmarks.evaluation.scoring import Memory, Row, score_question, summarise
from benchmarks.evaluation.scripted_clock import Moments
from benchmarks.evaluation.token_counter import Tokenizer, choose_tokenizer
from benchmarks.measure import environment
from longmind.clock import to_micros
from longmind.engine import Engine, open
from longmind.errors import InvalidInput
from longmind.models.recall import Hit
from longmind.providers.embedder import CheckedEmbedder
from longmind.providers.registry import AUTO, choose_embedder
from longmind.settings import Settings

LIMIT = 100
NONE = "none"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Means:
    """What a measurement is made with."""

    embedder: RememberingEmbedder | None
    tokenizer: Tokenizer
    say: Say
    chosen: str = NONE
    """What was chosen, by its name: without a local model there is no embedder for `auto` either."""

    @classmethod
    def of(cls, embedding: CheckedEmbedder | None, tokenizer: Tokenizer, say: Say, chosen: str | None = None) -> Means:
        if embedding is None:
            return cls(None, tokenizer, say, chosen or NONE)
        return cls(RememberingEmbedder(embedding), tokenizer, say, chosen or embedding.model)

    @classmethod
    def of_settings(cls, settings: Settings, say: Say) -> Means:
        models = Path(settings.models_folder)
        embedding = choose_embedder(settings.embedder, models)
        return cls.of(embedding, choose_tokenizer(models), say, settings.embedder)

    @property
    def opened_with(self) -> RememberingEmbedder | str | None:
        """What an engine is opened with: where `auto` finds no model it weighs words, and with none it counts them."""
        return AUTO if self.embedder is None and self.chosen == AUTO else self.embedder

    @property
    def told(self) -> dict[str, str | None]:
        """Which embedder was chosen, and the model whose vectors that gave, if any."""
        return {"embedder chosen": self.chosen, "embedder": None if self.embedder is None else self.embedder.model}


def measure_recall(folder: Path, means: Means, corpora: int | None = None) -> dict[str, Any]:
    """Run everything that is in a folder; `corpora` limits each data set to the first so many histories."""
    datasets = [dataset.first(corpora) for dataset in read_datasets(folder)]
    updates = read_updates(folder)
    if not datasets and not updates:
        raise InvalidInput(f"There are no conversations with questions in {folder}.")
    results: dict[str, Any] = {
        "environment": environment("longmind", "numpy", "apsw", "onnxruntime", "tokenizers"),
        **means.told,
        "tokenizer": means.tokenizer.name,
        "datasets": {dataset.name: _measure(dataset, means) for dataset in datasets},
    }
    if updates:
        means.say(f"{len(updates)} facts that changed")
        clock = Moments()
        with tempfile.TemporaryDirectory() as scratch, _engine(scratch, means, clock) as engine:
            context = engine.context(tenant_id="bench", app_id="recall", user_id="updates")
            results["updates"] = measure_updates(context, clock, updates)
    results["goals"] = judge(results)
    return results


def _engine(folder: str, means: Means, clock: Moments) -> Engine:
    return open(f"sqlite:///{folder}/recall.db", embedder=means.opened_with, clock=clock, durability="normal")


def _measure(dataset: Dataset, means: Means) -> dict[str, Any]:
    began = time.perf_counter()
    session_of = dataset.session_of
    # Where nothing is asked there are no rows, and ours is still among the retrievers.
    rows: dict[str, list[Row]] = {OURS: []}
    asked: list[Question] = []
    clock = Moments()
    with tempfile.TemporaryDirectory() as scratch, _engine(scratch, means, clock) as engine:
        for number, (corpus, sessions) in enumerate(dataset.corpora.items(), 1):
            means.say(f"{dataset.name}: {corpus} ({number} of {len(dataset.corpora)})")
            context = engine.context(tenant_id="bench", app_id="recall", user_id=corpus)
            clock.now = None
            fed = feed(context, sessions)
            count = _counted(fed, means.tokenizer)
            baselines = Baselines(fed.turns, means.embedder)
            for question in dataset.questions:
                if question.corpus != corpus:
                    continue
                asked.append(question)
                clock.now = to_micros(question.at)
                answer = context.memory.recall_by_topic(fed.space_id, question.text, limit=LIMIT)
                ranked = {OURS: _cited(answer.hits, fed, count)}
                for name, places in baselines.rank(question.text, LIMIT).items():
                    ranked[name] = [_memory((fed.turns[place].turn.id,), count) for place in places]
                for name, memories in ranked.items():
                    rows.setdefault(name, []).append(score_question(question, memories, session_of))
    measured: dict[str, Any] = {name: summarise(asked, each) for name, each in rows.items()}
    return {
        "corpora": len(dataset.corpora),
        "questions": len(asked),
        "seconds": round(time.perf_counter() - began, 1),
        **measured,
    }


def _counted(fed: FedCorpus, tokenizer: Tokenizer) -> dict[str, int]:
    return {each.turn.id: tokenizer.count(each.text) for each in fed.turns}


def _cited(hits: Iterable[Hit], fed: FedCorpus, count: dict[str, int]) -> list[Memory]:
    return [_memory([fed.turn_of[id] for id in hit.atom.source_message_ids], count) for hit in hits]


def _memory(turns: Sequence[str], count: dict[str, int]) -> Memory:
    return Memory(tuple(turns), sum(count[turn] for turn in turns))
