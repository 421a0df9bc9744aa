"""Measure the hot paths of this tree next to those of another commit, in turns on the same machine.

./dev bench beside-commit COMMIT [--python PATH]

Each tree runs in a process of its own, and the two take turns call by call in short rounds, so that whatever else the
machine does falls on both. A ratio is this tree's time divided by the other's; its interval covers 95 % of the ratios
of rounds drawn again with replacement. `--python` names an interpreter that has the packages the other commit needs.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._http_load import Connection
from benchmarks._recall_data import CheapEmbedder, facts, questions
from benchmarks.measure import RESULTS, environment, load, table, write_json

ROOT = Path(__file__).parent.parent
OUTPUT = RESULTS / "beside_commit.json"
RECALL, BOUND_APPEND = "recall_by_topic at 10k", "append_turn with a binding"
CALLS = {"append_turn": 40, BOUND_APPEND: 40, "record": 40, RECALL: 40, "REST recall": 40, "import": 1, "open": 1}
"""Calls of each case in one round."""
GOALS = {RECALL: 1.1, BOUND_APPEND: 1.15}
"""The highest ratios beside version 0.2, which is 32886a2."""
ATOMS = 10_000
IDENTITY = {"tenant_id": "bench", "app_id": "beside", "user_id": "ada"}
FACT = {"category": {"name": "notes", "kind": "FACT"}, "importance": 3}


# --- the process that runs one tree -----------------------------------------------------------------------------------


def serve_rounds(package: str, folder: Path) -> None:
    """Answer each line that names a case with the seconds of its calls, until standard input ends."""
    product = importlib.import_module(package)
    with ExitStack() as stack:
        cases = dict(prepare_cases(product, package, folder, stack))
        print("ready", flush=True)
        for line in sys.stdin:
            name = line.strip()
            times = []
            for _ in range(CALLS[name]):
                begun = time.perf_counter()
                cases[name]()
                times.append(time.perf_counter() - begun)
            print(json.dumps(times), flush=True)


def prepare_cases(
    product: Any, package: str, folder: Path, stack: ExitStack
) -> Iterator[tuple[str, Callable[[], object]]]:
    engine = stack.enter_context(product.open(f"sqlite:///{folder}/memory.db", embedder=CheapEmbedder()))
    context = engine.context(**IDENTITY)
    yield "append_turn", append_turns(context)
    yield BOUND_APPEND, append_turns(bind_conversations(engine))
    yield "record", lambda: context.events.record("note", {"step": 3}, tags=["planning"], text="The plan is made.")
    space = context.memory.create_memory_space("notes")
    known = facts("beside", ATOMS)
    context.memory.add_atoms(space.id, [{"text": text, **FACT} for text in known])
    asked = iter(questions("beside", known, 200_000))
    engine.work()
    yield RECALL, lambda: context.memory.recall_by_topic(space.id, next(asked), limit=10)
    yield "REST recall", stack.enter_context(request_recalls(package, folder, product))
    program = f"import {package}"
    yield "import", lambda: subprocess.run([sys.executable, "-c", program], check=True)
    opened = f"{program}; {package}.open('sqlite:///:memory:', embedder=None).close()"
    yield "open", lambda: subprocess.run([sys.executable, "-c", opened], check=True)


def append_turns(context: Any) -> Callable[[], object]:
    """Return a call that appends one turn to a new conversation."""
    conversation = context.conversations.create_conversation("chat")
    return lambda: context.conversations.append_turn(
        conversation.id, user_content="I moved to Graz in May.", assistant={"content": "Noted."}
    )


def bind_conversations(engine: Any) -> Any:
    """Return the context of another user, whose conversations lead into a space."""
    context = engine.context(**{**IDENTITY, "user_id": "ben"})
    space = context.memory.create_memory_space("notes")
    context.memory.create_binding({"user_id": "ben", "namespace": "chat"}, [space.id])
    return context


@contextmanager
def request_recalls(package: str, folder: Path, product: Any) -> Iterator[Callable[[], object]]:
    """Start the server of this tree on a thousand facts, and yield a call that sends one recall."""
    url = f"sqlite:///{folder}/server.db"
    with product.open(url, embedder=None) as engine:
        memory = engine.context(**IDENTITY).memory
        space = memory.create_memory_space("notes")
        known = facts("server", 1000)
        memory.add_atoms(space.id, [{"text": text, **FACT} for text in known])
        token = engine.keys.create(**IDENTITY).token
    surroundings = {**os.environ, f"{package.upper()}_EMBEDDER": "none", f"{package.upper()}_LOG_LEVEL": "info"}
    command = [sys.executable, "-m", f"{package}.cli", "serve", "--url", url, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings)
    loop = asyncio.new_event_loop()
    try:
        assert process.stderr is not None
        found = next((match for line in process.stderr if (match := re.search(r"http://([\d.]+):(\d+)", line))), None)
        if found is None:
            raise RuntimeError(f"the server of {package} ended before it was ready")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        connection = Connection(found[1], int(found[2]), {"Authorization": f"Bearer {token}"})
        asked = iter(questions("server", known, 200_000))
        path = f"/ai-memory/spaces/{space.id}/recall/topic"

        def ask() -> None:
            status, body = loop.run_until_complete(connection.post(path, {"query": next(asked), "limit": 10}))
            assert status == 200, body

        yield ask
    finally:
        process.terminate()
        process.wait(30)
        loop.close()


# --- the process that compares ----------------------------------------------------------------------------------------


@contextmanager
def check_out(commit: str) -> Iterator[Path]:
    """Yield a folder with the tree of a commit, its inner loops compiled like this tree's."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            _compile_loops(tree)
            _add_metadata(tree)
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def _compile_loops(tree: Path) -> None:
    headers = f"-I{sysconfig.get_path('include')}"
    for source in tree.glob("src/**/inner_loops.c"):
        target = source.with_name("inner_loops.abi3.so")
        command = ["cc", "-shared", "-fPIC", "-O3", "-g0", "-std=c11", "-fvisibility=hidden", headers, str(source)]
        subprocess.run([*command, "-o", str(target), "-lm"], check=True)


def _add_metadata(tree: Path) -> None:
    """Write what an installation would say of the package, since its server asks for its own version."""
    project = tomllib.loads(tree.joinpath("pyproject.toml").read_text())["project"]
    folder = tree / "src" / f"{project['name']}-{project['version']}.dist-info"
    folder.mkdir()
    folder.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )


@contextmanager
def running_tree(tree: Path, python: str) -> Iterator[Callable[[str], list[float]]]:
    """Start the process of a tree, and yield a function that runs one round of a case there."""
    [package] = [each.parent.name for each in tree.glob("src/*/__init__.py")]
    with tempfile.TemporaryDirectory() as folder:
        surroundings = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}"}
        command = [python, "-m", "benchmarks.beside_commit", "--worker", package, "--folder", folder]
        process = subprocess.Popen(
            command, cwd=folder, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        pipes = process.stdin, process.stdout
        if pipes[1].readline() != "ready\n":
            raise SystemExit(f"The process of {tree} did not start; see its message above.")

        def run_round(name: str) -> list[float]:
            print(name, file=pipes[0], flush=True)
            times: list[float] = json.loads(pipes[1].readline())
            return times

        try:
            yield run_round
        finally:
            pipes[0].close()
            process.wait(60)


def compare(this: Callable[[str], list[float]], other: Callable[[str], list[float]], rounds: int) -> dict[str, Any]:
    results = {}
    for name in CALLS:
        this(name)
        other(name)
        pairs = []
        for number in range(rounds):
            order = (this, other) if number % 2 else (other, this)
            measured = {run: median(run(name)) for run in order}
            pairs.append((measured[this], measured[other]))
        results[name] = describe(pairs)
        print(f"{name}: {results[name]}", file=sys.stderr)
    return results


def judge_goals(cases: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"goal": name, "reached": cases[name]["ratio"], "bound": f"<= {most:g}", "passed": cases[name]["ratio"] <= most}
        for name, most in GOALS.items()
    ]


def describe(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the medians of both trees and their ratio with its interval."""
    chance = random.Random(7)
    drawn = sorted(_ratio(chance.choices(pairs, k=len(pairs))) for _ in range(1000))
    return {
        "this_ms": round(median(this for this, _ in pairs) * 1000, 4),
        "other_ms": round(median(other for _, other in pairs) * 1000, 4),
        "ratio": round(_ratio(pairs), 3),
        "least": round(drawn[25], 3),
        "most": round(drawn[974], 3),
    }


def _ratio(pairs: list[tuple[float, float]]) -> float:
    return median(this / other for this, other in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="the commit to compare with, such as v0.2.0 or HEAD~1")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--python", default=sys.executable, help="the interpreter for the other commit")
    parser.add_argument("--output", default=str(OUTPUT))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve_rounds(options.worker, Path(options.folder))
        return
    if not options.commit:
        parser.error("argument commit: name the commit to compare with")
    named = subprocess.run(
        ["git", "rev-parse", "--short", options.commit], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    results: dict[str, Any] = {"environment": environment("longmind"), "other": named, "rounds": options.rounds}
    results["loads"] = [load()]
    with (
        check_out(named) as tree,
        running_tree(ROOT, sys.executable) as this,
        running_tree(tree, options.python) as other,
    ):
        results["cases"] = compare(this, other, options.rounds)
    results["loads"].append(load())
    results["goals"] = judge_goals(results["cases"])
    print(
        table(
            ("<case", "this ms", "other ms", "ratio", "least", "most"),
            [(name, *case.values()) for name, case in results["cases"].items()],
        )
    )
    for goal in results["goals"]:
        print(f"{goal['goal']}, ratio: {goal['reached']} {goal['bound']}, {'pass' if goal['passed'] else 'FAIL'}")
    write_json(Path(options.output), results)


if __name__ == "__main__":
    main()
