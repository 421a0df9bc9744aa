"""Start-up times: the import of Longmind, and a cold start up to the first recall.

They are compared with the imports of pydantic and numpy, which Longmind uses. `./dev bench start --help` lists all
options.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, environment, load, percentile, table, write_json

OUTPUT = RESULTS / "start.json"
IMPORT_GOAL = 0.3
MEMORY_GOAL = 0.6
NOTES = (
    "Every run is a process of its own, and the contenders take turns. Seconds are those of the whole process, with "
    "its start and its end; 'python' is a process that does nothing.",
    "Processor time is that of all threads together; it exceeds wall time where numpy starts threads.",
    "Modules are compiled beforehand, as after an installation. Databases are new files in a temporary folder, and "
    "there is no embedder. The first turn and the first atom are on disk when their calls return.",
)

_OPEN = """
import sys, longmind
with longmind.open(f"sqlite:///{sys.argv[1]}", embedder=None) as engine:
    ada = engine.context(tenant_id="bench", app_id="start", user_id="ada")
"""
PROGRAMS = {
    "python": "pass",
    "import pydantic": "from pydantic import BaseModel",
    "import numpy": "import numpy",
    "import longmind": "import longmind",
    "first turn": _OPEN
    + """
    conversation = ada.conversations.create_conversation("daily-checkin")
    ada.conversations.append_turn(conversation.id, user_content="Hello.", assistant={"content": "Hello, Ada."})
""",
    "first atom": _OPEN
    + """
    space = ada.memory.create_memory_space("personal")
    ada.memory.add_atom(space.id, {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}})
""",
}


@dataclass(frozen=True)
class Start:
    """The seconds of one program, over many runs."""

    runs: int
    least: float
    median: float
    least_cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="number of starts of each program")
    parser.add_argument("--output", default=str(OUTPUT))
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs is at least 1")
    before = load()
    starts = measure(options.runs)
    results: dict[str, Any] = {
        "environment": environment("longmind", "pydantic", "numpy", "apsw"),
        "loads": [before, load()],
        "starts": starts,
        "goals": [
            _judge("import longmind", starts["import longmind"], IMPORT_GOAL),
            _judge("first turn", starts["first turn"], MEMORY_GOAL),
            _judge("first atom", starts["first atom"], MEMORY_GOAL),
        ],
        "notes": list(NOTES),
    }
    write_json(Path(options.output), results)
    _show(results)


def measure(runs: int) -> dict[str, Start]:
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as folder:
        surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        surroundings["PYTHONPYCACHEPREFIX"] = f"{folder}/compiled"
        for number in range(runs + 1):
            for name, program in PROGRAMS.items():
                timed = _run(program, f"{folder}/{number} {name}.db", surroundings)
                # The first run compiles, and is not counted.
                if number > 0:
                    spent[name].append(timed)
    return {name: _summarise_runs(times) for name, times in spent.items()}


def _run(program: str, database: str, surroundings: dict[str, str]) -> tuple[float, float]:
    """Run a program once and return its elapsed and processor seconds."""
    before, began = _read_processor_seconds(), time.perf_counter()
    subprocess.run([sys.executable, "-c", program, database], env=surroundings, check=True)
    return time.perf_counter() - began, _read_processor_seconds() - before


def _read_processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _summarise_runs(times: list[tuple[float, float]]) -> Start:
    took, used = [each for each, _ in times], [each for _, each in times]
    return Start(len(times), round(min(took), 3), round(percentile(took, 50), 3), round(min(used), 3))


def _judge(name: str, start: Start, most: float) -> dict[str, Any]:
    # The minimum, since other work on the machine can only make a start slower.
    return {"goal": f"{name}, seconds", "reached": start.least, "bound": f"<= {most:g}", "passed": start.least <= most}


def _show(results: dict[str, Any]) -> None:
    rows = [(name, each.runs, each.least, each.median, each.least_cpu) for name, each in results["starts"].items()]
    print(table(("<program", "runs", "least s", "median", "least of processor"), rows))
    for goal in results["goals"]:
        print(f"{goal['goal']}: {goal['reached']} {goal['bound']}, {'pass' if goal['passed'] else 'FAIL'}")
    print("\n".join(NOTES))


if __name__ == "__main__":
    main()
