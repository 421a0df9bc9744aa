"""What the reader remembers of labelled conversations, beside version 0.2: `./dev bench reader --data ../shared/bench`.

Each version appends the messages, lets the jobs run, and lists the atoms, in a process of its own and with its default
settings; the shared scorer compares them with the labels. Intervals cover 95 % of the figures of users drawn again with
replacement. Besides: dates, changed facts, speed, passes of the encoder, and growth with the length of a message.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import longmind
from benchmarks.beside_commit import ROOT, check_out
from benchmarks.evaluation.dataset import read_dated_facts, read_updates
from benchmarks.evaluation.date_reading import RIGHT_DAY, RIGHT_INTERVAL, measure_dates
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.superseded_facts import measure_superseding
from benchmarks.measure import RESULTS, environment, load, write_json
from benchmarks.reader.label_model import LabelledExtractor
from benchmarks.reader.labelled_sets import CONVERSATIONS, LabelledSet, read_sets
from benchmarks.reader.labelled_users import remember
from benchmarks.reader.reader_report import show
from benchmarks.reader.reader_scores import load_scorer, score_set
from benchmarks.reader.reading_cost import SIZES, measure_cost
from benchmarks.reader.version_runs import EMBEDDER, run_version
from longmind.errors import LongmindError
from longmind.settings import load_settings

OUTPUT = RESULTS / "reader.json"
FORMER = "32886a2"
"""The commit of version 0.2."""
READER, OTHER, LABELS = "reader", "version 0.2", "model that answers with the labels"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code: 1 if the shared data are not there."""
    options = _read_options(arguments)
    try:
        results = measure(options)
    except LongmindError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"Hint: {error.hint}", file=sys.stderr)
        return 1
    if options.output is not None:
        write_json(options.output, results)
    show(results)
    return 0


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.reader", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"), help="the folder of the shared data")
    parser.add_argument("--sets", nargs="+", default=[], metavar="NAME", help="only these sets, by a part of a name")
    parser.add_argument("--users", type=int, help="only the first N users of each set")
    parser.add_argument("--other", default=FORMER, help="the commit to compare with, or none")
    parser.add_argument("--python", default=sys.executable, help="the interpreter for the other commit")
    parser.add_argument("--no-cost", action="store_true", help="leave out speed, passes and growth")
    parser.add_argument("--keep", type=Path, help="a folder for the labels and what each version remembers, as JSON")
    parser.add_argument("--output", type=Path, help="a file for the results; by default only of a run of everything")
    options = parser.parse_args(arguments)
    is_whole = not options.sets and options.users is None and options.other == FORMER and not options.no_cost
    if options.output is None and is_whole:
        options.output = OUTPUT
    return options


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return all results."""
    scorer = load_scorer(options.data)
    chosen = [
        labelled.limit(options.users)
        for labelled in read_sets(options.data)
        if not options.sets or any(part in labelled.name for part in options.sets)
    ]
    models = Path(load_settings({}).models_folder)
    results: dict[str, Any] = {
        "environment": environment("longmind", "numpy", "onnxruntime"),
        "embedder": EMBEDDER,
        "commit": _find_commit("HEAD"),
        "changed since": _has_changes(),
        "loads": [load()],
    }
    systems = {READER: run_version(ROOT, sys.executable, chosen, models, _report)}
    if options.other != "none":
        results["other"] = _find_commit(options.other)
        with check_out(options.other) as tree:
            systems[OTHER] = run_version(tree, options.python, chosen, models, _report)
    for labelled in chosen:
        if labelled.name == CONVERSATIONS:
            extractor = LabelledExtractor(labelled.users, scorer)
            systems[LABELS] = {
                labelled.name: remember("longmind", labelled.users, extractor=extractor, embedder=EMBEDDER)
            }
    if options.keep is not None:
        _keep(options.keep, chosen, systems)
    results["sets"] = {
        labelled.name: {
            version: score_set(labelled, system[labelled.name], scorer)
            for version, system in systems.items()
            if labelled.name in system
        }
        for labelled in chosen
    }
    dates = measure_dates(read_dated_facts(options.data))
    results["dates"] = {name: dates[name] for name in (RIGHT_DAY, "days", RIGHT_INTERVAL, "intervals")}
    results["updates"] = _measure_updates(options.data)
    if not options.no_cost:
        _report("speed, passes and growth")
        results["cost"] = measure_cost(models, SIZES)
    results["loads"].append(load())
    return results


def _find_commit(name: str) -> str:
    return _ask_git("rev-parse", "--short", name)


def _has_changes() -> bool:
    """Return whether the package is not as it was committed."""
    return bool(_ask_git("status", "--porcelain", "src"))


def _ask_git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _keep(folder: Path, sets: Sequence[LabelledSet], systems: dict[str, dict[str, Any]]) -> None:
    """Write what the scorer reads, so that single atoms can be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    for labelled in sets:
        folder.joinpath(f"{labelled.name}.gold.json").write_text(json.dumps(labelled.users, indent=1), "utf-8")
        for version, system in systems.items():
            if labelled.name in system:
                path = folder / f"{labelled.name}.{version}.json"
                path.write_text(json.dumps(system[labelled.name], indent=1), "utf-8")


def _measure_updates(folder: Path) -> dict[str, object]:
    """Return how often the old version of a changed fact is superseded, and the new one comes first."""
    updates = read_updates(folder)
    if not updates:
        return {}
    clock = ScriptedClock()
    with (
        tempfile.TemporaryDirectory() as scratch,
        # By its name: an embedder that caches vectors would hide the encoder from the reader.
        longmind.open(f"sqlite:///{scratch}/memory.db", embedder=EMBEDDER, clock=clock) as engine,
    ):
        return measure_superseding(engine, clock, updates)


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
