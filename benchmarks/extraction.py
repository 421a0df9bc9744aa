"""The quality and the speed of extraction: `./dev bench extraction --data ../shared/bench`.

The speed is that of the rules alone, in messages per second of one core, without vectors and without the store.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.evaluation.corpus_loader import prepare_turns
from benchmarks.evaluation.dataset import Session, read_datasets
from benchmarks.evaluation.extraction_evaluation import measure_extraction
from benchmarks.evaluation.recall_evaluation import EvaluationSetup
from benchmarks.evaluation.scoring import ALL
from benchmarks.measure import RESULTS, environment, load, table, write_json
from longmind.clock import to_micros
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.rules import RulesExtractor
from longmind.settings import load_settings

OUTPUT = RESULTS / "extraction.json"
SPEED_GOAL = 2_000
_ROUNDS = 3


def main() -> None:
    options = _read_options()
    settings = load_settings({"embedder": options.embedder})
    setup = EvaluationSetup.from_settings(settings, _say)
    results: dict[str, Any] = {"environment": environment("longmind", "numpy"), "load before": load()}
    results["rules"] = _measure_speed(options.data)
    results |= measure_extraction(options.data, setup, options.corpora)
    for name, speed in results["rules"].items():
        each = {"goal": f"{name}: messages per second", "bound": f">= {SPEED_GOAL}", "reached": speed}
        results["goals"].append({**each, "passed": speed >= SPEED_GOAL})
    results["load after"] = load()
    write_json(Path(options.output), results)
    _show(results)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/bench"), help="a folder of conversations")
    parser.add_argument("--corpora", type=int, help="only the first N histories of each set")
    parser.add_argument("--embedder", help="the source of vectors: vendor:model, auto or none")
    parser.add_argument("--output", default=str(OUTPUT))
    return parser.parse_args()


def _measure_speed(folder: Path) -> dict[str, int]:
    """Return the messages per second of one core that the rules read, for each set: the best of a few rounds."""
    extractor = RulesExtractor()
    speeds = {}
    for dataset in read_datasets(folder):
        sessions = {session.id: session for corpus in dataset.corpora.values() for session in corpus}
        talks = [to_source_messages(session) for session in sessions.values()]
        taken = []
        for _ in range(_ROUNDS):
            began = time.process_time()
            for talk in talks:
                extractor.extract(talk, "v1")
            taken.append(time.process_time() - began)
        speeds[dataset.name] = round(sum(map(len, talks)) / min(taken))
    return speeds


def to_source_messages(session: Session) -> list[SourceMessage]:
    first = session.turns[0].speaker
    return [
        SourceMessage(
            id=loaded.turn.id,
            role="user" if loaded.turn.speaker in ("user", first) else "assistant",
            text=loaded.text,
            said_at=to_micros(loaded.turn.at),
        )
        for loaded in prepare_turns(session)
    ]


def _show(results: dict[str, Any]) -> None:
    for name, measured in results["datasets"].items():
        print(name)
        print(table(("<measure", "value"), [(key, value) for key, value in measured.items() if key != "recall"]))
        recall = measured["recall"][ALL]
        print(", ".join(f"{key} {recall[key]['mean']:.3f}" for key in ("R@5", "R@10", "session R@5")), "\n")
    for part in ("dates", "updates"):
        print(table((f"<{part}", "value"), list(results.get(part, {}).items())))
    rows = [
        (each["goal"], each["reached"], each["bound"], "pass" if each["passed"] else "FAIL")
        for each in results["goals"]
    ]
    print(table(("<goal", "reached", "<bound", "<"), rows))


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
