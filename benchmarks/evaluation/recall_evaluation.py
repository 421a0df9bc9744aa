"""The evaluation of recall on a folder of conversations with questions."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.dataset import Dataset, read_datasets, read_updates
from benchmarks.evaluation.fact_updates import measure_updates
from benchmarks.evaluation.note_sets import measure_notes, read_note_spaces
from benchmarks.evaluation.recall_goals import judge
from benchmarks.evaluation.scoring import ALL, COVERED
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.set_measurement import SetMeasurement
from benchmarks.evaluation.token_counter import Tokenizer, choose_tokenizer
from benchmarks.measure import environment
from longmind.engine import Engine, open
from longmind.errors import InvalidInput, ModelMissing
from longmind.models.recall import Effort
from longmind.providers.embedder import CheckedEmbedder
from longmind.providers.provider_registry import AUTO, choose_embedder
from longmind.settings import Settings

NONE = "none"
SETS_COMPARED = ("R@5", "R@10", "R@50", COVERED)
UPDATES, NOTES = "updates", "notes"

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
        cls,
        embedding: CheckedEmbedder | None,
        tokenizer: Tokenizer,
        report: Report,
        chosen: str | None = None,
        cache: Path | None = None,
    ) -> EvaluationSetup:
        if embedding is None:
            return cls(None, tokenizer, report, chosen or NONE)
        return cls(CachingEmbedder(embedding, cache), tokenizer, report, chosen or embedding.model)

    @classmethod
    def from_settings(cls, settings: Settings, report: Report, cache: Path | None = None) -> EvaluationSetup:
        """Return the setup of the settings.

        cache: a folder in which vectors are kept for later runs.
        """
        models = Path(settings.models_folder)
        embedding = choose_embedder(settings.embedder, models)
        if settings.embedder == AUTO and embedding is not None and not _is_installed(embedding):
            embedding = None
        return cls.from_embedder(embedding, choose_tokenizer(models), report, settings.embedder, cache)

    @property
    def engine_embedder(self) -> CachingEmbedder | str | None:
        """The embedder for the engine: `auto` without a model weighs words, and None only counts common words."""
        return AUTO if self.embedder is None and self.chosen == AUTO else self.embedder

    @property
    def description(self) -> dict[str, str | None]:
        """The chosen embedder and the model whose vectors it gives, for the results."""
        return {"embedder chosen": self.chosen, "embedder": None if self.embedder is None else self.embedder.model}


def _is_installed(embedding: CheckedEmbedder) -> bool:
    """Return whether an embedder answers, as an engine finds out when it first needs a vector."""
    try:
        embedding.texts(["anything"])
    except ModelMissing:
        return False
    return True


@dataclass(frozen=True)
class Selection:
    """The part of the data to measure."""

    names: tuple[str, ...] = ()
    """The beginnings of the names of sets, in any case; empty for all."""
    corpora: int | None = None
    """The number of histories of each set; None for all."""

    def selects(self, name: str) -> bool:
        """Return whether a set is to be measured."""
        return not self.names or any(name.casefold().startswith(each.casefold()) for each in self.names)

    def check(self, known: Sequence[str]) -> None:
        """Raise InvalidInput if a name is of no set."""
        for name in self.names:
            if not any(Selection((name,)).selects(each) for each in known):
                raise InvalidInput(f"There is no set {name!r}.", hint=f"Choose from {', '.join(known)}.")


def measure_recall(
    folder: Path,
    setup: EvaluationSetup,
    selection: Selection | None = None,
    *,
    effort: Effort = "normal",
    notes: Path | None = None,
) -> dict[str, Any]:
    """Evaluate the data sets of a folder.

    notes: a folder with files of notes, which are measured too.
    """
    chosen = selection or Selection()
    every, updates = read_datasets(folder), read_updates(folder)
    note_files = [] if notes is None else sorted(notes.glob("*.json"))
    if not every and not updates:
        raise InvalidInput(
            f"There are no conversations with questions in {folder}.",
            hint="Give a folder with JSON data sets.",
        )
    chosen.check([*(dataset.name for dataset in every), UPDATES, NOTES])
    datasets = [dataset.limit(chosen.corpora) for dataset in every if chosen.selects(dataset.name)]
    results: dict[str, Any] = {
        "environment": environment("longmind", "numpy", "apsw", "onnxruntime"),
        **setup.description,
        "tokenizer": setup.tokenizer.name,
        "effort": effort,
        "datasets": {dataset.name: _measure(dataset, setup, effort) for dataset in datasets},
    }
    results["over all sets"] = _compare_sets(results["datasets"])
    if note_files and chosen.selects(NOTES):
        results[NOTES] = {path.stem.replace("_", " "): _measure_notes(path, setup) for path in note_files}
    if updates and chosen.selects(UPDATES):
        setup.report(f"{len(updates)} facts that changed")
        clock = ScriptedClock()
        with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, clock) as engine:
            context = engine.context(tenant_id="bench", app_id="recall", user_id="updates")
            results[UPDATES] = measure_updates(context, clock, updates)
    results["goals"] = judge(results)
    if setup.embedder is not None:
        setup.embedder.save()
    return results


def _engine(folder: str, setup: EvaluationSetup, clock: ScriptedClock) -> Engine:
    return open(f"sqlite:///{folder}/recall.db", embedder=setup.engine_embedder, clock=clock, durability="normal")


def _measure(dataset: Dataset, setup: EvaluationSetup, effort: Effort) -> dict[str, Any]:
    began = time.perf_counter()
    clock = ScriptedClock()
    with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, clock) as engine:
        measurement = SetMeasurement(dataset, engine, clock, setup.embedder, setup.tokenizer, effort)
        for number, corpus in enumerate(dataset.corpora, 1):
            setup.report(f"{dataset.name}: {corpus} ({number} of {len(dataset.corpora)})")
            measurement.measure_corpus(corpus)
    if setup.embedder is not None:
        setup.embedder.save()
    return {**measurement.summarise(), "seconds": round(time.perf_counter() - began, 1)}


def _measure_notes(path: Path, setup: EvaluationSetup) -> dict[str, Any]:
    spaces = read_note_spaces(path)
    setup.report(f"{path.name}: {len(spaces)} spaces of notes")
    with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, ScriptedClock()) as engine:
        return measure_notes(engine.context(tenant_id="bench", app_id="recall", user_id="notes"), spaces)


def _compare_sets(datasets: dict[str, Any]) -> dict[str, Any]:
    """Return by retriever and measure the mean over the sets, and the worst set."""
    compared: dict[str, Any] = {}
    answered = {name: each["retrievers"] for name, each in datasets.items()}
    for retriever in dict.fromkeys(retriever for each in answered.values() for retriever in each):
        groups = {name: each[retriever][ALL] for name, each in answered.items() if ALL in each.get(retriever, {})}
        compared[retriever] = {
            measure: _find_worst({name: group[measure]["mean"] for name, group in groups.items()})
            for measure in SETS_COMPARED
            if groups
        }
    return compared


def _find_worst(values: dict[str, float]) -> dict[str, object]:
    worst = min(values, key=lambda name: values[name])
    mean = sum(values.values()) / len(values)
    return {"mean": round(mean, 4), "worst": values[worst], "worst set": worst}
