"""The fit of the constants of relevance: `./dev bench relevance-fit --data ../shared/bench`.

Chooses the weights of evidence on all sets together, and fits the curves from a total to a probability: for passages on
conversations, for facts on notes, on human-checked facts and on what the product learns by itself. Does the same
without each set in turn, and prints what that set loses. The constants are those of
`src/longmind/recall/ranking/relevance.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.evaluation.caching_embedder import CachingEmbedder
from benchmarks.evaluation.dataset import Dataset, StatedFact, read_datasets, read_stated_facts
from benchmarks.evaluation.extracted_facts import extract_facts
from benchmarks.evaluation.fact_cases import list_extracted_cases, list_fact_cases, list_note_cases
from benchmarks.evaluation.leave_one_out import (
    MOST_CALIBRATION_ERROR,
    MOST_LOST,
    Comparison,
    Constants,
    RelevanceFit,
)
from benchmarks.evaluation.note_sets import NOTES, read_note_spaces
from benchmarks.evaluation.recall_evaluation import EvaluationSetup
from benchmarks.evaluation.relevance_cases import Case, list_cases
from benchmarks.evaluation.relevance_search import OF_FACTS, OF_PASSAGES, Grid
from benchmarks.measure import table
from longmind.errors import InvalidInput, LongmindError
from longmind.providers.provider_registry import AUTO
from longmind.recall.ranking.relevance import Curve, EvidenceWeights
from longmind.settings import load_settings

_CURVES = 2
"""The curves of each fit: by meaning, and by words alone."""
_EXPLAINED = """\
Each memory stands in the place of its best piece. Without: what a fit on the other sets reaches. ECE: expected
calibration error of the first ten scores. AUC: questions of this space against those of others, or without an answer.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, print, and return the exit code: 1 if the data cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        settings = load_settings({"embedder": None if options.embedder == AUTO else options.embedder})
        setup = EvaluationSetup.from_settings(settings, _report_progress, options.cache)
        fit_relevance(options.data, options.notes, setup, options.corpora)
    except LongmindError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"Hint: {error.hint}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"), help="a folder of conversations")
    parser.add_argument("--notes", type=Path, default=NOTES / "development.json", help="a file of notes with questions")
    parser.add_argument("--corpora", type=int, help="only the first N histories of each set")
    parser.add_argument("--embedder", default=AUTO, help="the source of vectors: vendor:model or auto")
    parser.add_argument("--cache", type=Path, help="a folder in which vectors are kept for later runs")
    return parser


def fit_relevance(folder: Path, notes: Path, setup: EvaluationSetup, corpora: int | None = None) -> None:
    """Fit the constants to the sets of a folder and to notes, and print them with what they reach."""
    embedder = setup.embedder
    if embedder is None:
        raise InvalidInput("There is no embedder, so the weight of meaning cannot be fitted.", hint="Choose one.")
    datasets = [dataset.limit(corpora) for dataset in read_datasets(folder)]
    if not datasets:
        raise InvalidInput(f"There are no conversations with questions in {folder}.", hint="Give another folder.")
    passages: dict[str, list[Case]] = {}
    for dataset in datasets:
        setup.report(f"reading {dataset.name}")
        passages[_shorten(dataset)] = list_cases(dataset, embedder)
        embedder.save()
    setup.report("fitting passages")
    _fit("PASSAGES", passages, OF_PASSAGES)
    setup.report("fitting facts")
    facts = {"notes": list_note_cases(read_note_spaces(notes), embedder)}
    facts |= _list_stated(datasets, read_stated_facts(folder), embedder)
    for dataset in datasets:
        setup.report(f"extracting facts of {dataset.name}")
        cases = list_extracted_cases(dataset, extract_facts(dataset, embedder), embedder)
        if cases:
            facts[f"extracted of {_shorten(dataset)}"] = cases
    embedder.save()
    _fit("FACTS", facts, OF_FACTS)


def _list_stated(
    datasets: Iterable[Dataset], stated: Sequence[StatedFact], embedder: CachingEmbedder
) -> dict[str, list[Case]]:
    """Return the cases of the facts that are stated in each set, without sets that have none."""
    found = {f"facts of {_shorten(dataset)}": list_fact_cases(dataset, stated, embedder) for dataset in datasets}
    return {name: cases for name, cases in found.items() if cases}


def _shorten(dataset: Dataset) -> str:
    return dataset.name.split(" ")[0]


def _fit(name: str, cases: Mapping[str, Sequence[Case]], grid: Grid) -> None:
    """Fit one kind of memory, and print the constants with what they reach."""
    began = time.perf_counter()
    fit = RelevanceFit(cases, grid)
    together = fit.fit()
    compared = fit.compare(together)
    curves = _CURVES * (1 + len(compared))
    print(f"{name}: {fit.tried} configurations of weights tried, {curves} curves fitted", end=" ")
    print(f"in {time.perf_counter() - began:.0f} seconds\n")
    _show(compared, grid)
    _show_constants(name, together)


def _show(compared: Mapping[str, Comparison], grid: Grid) -> None:
    rows = []
    for name, each in compared.items():
        parts = (each.together, each.without)
        rows.append(
            (
                name,
                *(f"{part.first:.3f}" for part in parts),
                *(f"{part.second:.3f}" for part in parts),
                f"{100 * each.lost:+.1f}",
                "pass" if each.lost <= MOST_LOST else "FAIL",
                *(_format(part.by_meaning.calibration_error) for part in parts),
                _judge(each.without.by_meaning.calibration_error),
                *(_format(part.by_meaning.auc) for part in parts),
                *(_format(part.by_words.calibration_error) for part in parts),
            )
        )
    first, second = (f"R@{cutoff}" for cutoff in grid.cutoffs)
    columns = (first, "without", second, "without", "points lost", "<", "ECE", "without", "<", "AUC", "without")
    print(table(("<set", *columns, "ECE by words", "without"), rows))
    print(f"\n{_EXPLAINED}\nWeights without a set: {', '.join(grid.start._fields)}")
    for name, each in compared.items():
        print(f"  {name}: {', '.join(f'{weight:g}' for weight in each.constants.weights)}")
    print()


def _format(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _judge(error: float | None) -> str:
    return "" if error is None else "pass" if error <= MOST_CALIBRATION_ERROR else "FAIL"


def _show_constants(name: str, constants: Constants) -> None:
    """Print the constants in the form of the module that they belong to."""
    print(f"{name} = Relevance(")
    for field, values in (
        ("question", constants.weights.of_question),
        ("message", constants.weights.of_message),
        ("by_meaning", constants.by_meaning),
        ("by_words", constants.by_words),
    ):
        print(f"    {field}={_format_tuple(values)},")
    print(")\n")


def _format_tuple(values: EvidenceWeights | Curve) -> str:
    fields = ", ".join(f"{name}={round(value, 2):g}" for name, value in values._asdict().items())
    return f"{type(values).__name__}({fields})"


def _report_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
