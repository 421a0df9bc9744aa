"""Recall quality: `./dev bench recall-quality --data ../shared/bench`.

Appends conversations to bound namespaces, lets the jobs run, asks their questions, and reports how often the turns that
hold the answer are among the facts and passages, beside plain retrievers on the same turns.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from benchmarks.evaluation.note_sets import NOTES
from benchmarks.evaluation.recall_evaluation import EvaluationSetup, Selection, measure_recall
from benchmarks.evaluation.recall_report import show
from benchmarks.measure import write_json
from longmind.errors import InvalidInput, LongmindError
from longmind.models.recall import Effort
from longmind.providers.provider_registry import AUTO
from longmind.settings import load_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code: 1 if the data or the output file cannot be used."""
    options = _parser().parse_args(arguments)
    try:
        _measure(options)
    except LongmindError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"Hint: {error.hint}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"), help="a folder of conversations")
    parser.add_argument("--notes", type=Path, default=NOTES, help="a folder of notes with questions")
    parser.add_argument(
        "--sets", nargs="+", default=[], metavar="NAME", help="only these sets, by the beginning of a name"
    )
    parser.add_argument("--corpora", type=int, help="only the first N histories of each set")
    parser.add_argument("--effort", choices=get_args(Effort), default="normal", help="the effort of each recall")
    parser.add_argument("--embedder", default=AUTO, help="the source of vectors: vendor:model, auto or none")
    parser.add_argument("--cache", type=Path, help="a folder in which vectors are kept for later runs")
    parser.add_argument("--output", type=Path, help="a file for the results, as JSON")
    return parser


def _measure(options: argparse.Namespace) -> None:
    # The measurement takes minutes and would be lost if the file could not be written afterwards.
    if options.output is not None:
        _check_writable(options.output)
    settings = load_settings({"embedder": None if options.embedder == AUTO else options.embedder})
    setup = EvaluationSetup.from_settings(settings, _report_progress, options.cache)
    selection = Selection(tuple(options.sets), options.corpora)
    results = measure_recall(options.data, setup, selection, effort=options.effort, notes=options.notes)
    if options.output is not None:
        write_json(options.output, results)
        _report_progress(f"written to {options.output}")
    show(results)


def _check_writable(output: Path) -> None:
    if not output.parent.is_dir():
        raise InvalidInput(
            f"There is no folder {output.parent} to write {output.name} into.", hint="Create the folder first."
        )
    if output.is_dir() or not os.access(output if output.exists() else output.parent, os.W_OK):
        raise InvalidInput(f"{output} cannot be written.", hint="Choose another file, or fix its permissions.")


def _report_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
