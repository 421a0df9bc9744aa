"""The time of a question's vector, and of a whole recall with it, on one core: as in version 0.2, and after each step.

All steps take turns in one run. `./dev bench embedding --help` lists the options.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import longmind
from benchmarks._recall_data import DIMENSION, CheapEmbedder, Vectors, facts, questions
from benchmarks.measure import RESULTS, Timing, environment, interleave, load, percentile, table, write_json
from longmind.providers.local.embedder import LocalEmbedder
from longmind.providers.local.onnx import pad_batch
from longmind.providers.local.query_encoder import QueryEncoder
from longmind.providers.model_files import MODELS, is_present
from longmind.providers.provider_registry import DEFAULT_MODEL
from longmind.settings import load_settings
from training.query_encoder.questions import make_questions

OUTPUT = RESULTS / "embedding.json"
MODEL = MODELS[DEFAULT_MODEL]
ATOMS = 1_000
ASKED = 2_000
TOP = 10
GOAL_MS = 3.5
PLAIN, INVENTED = "plain questions", "invented words"
OLD, DIRECT, FUSED, CONSTANT, REPEATED = (
    "as in 0.2",
    "one text at a time",
    "fused operators",
    "constants for the instruction",
    "asked again",
)
NOTES = (
    "Milliseconds of one call, pinned to one core. Each step includes those above it.",
    f"'{OLD}' reads the instruction with every question, in a batch of one. '{DIRECT}' does without lists and padding "
    f"of batches. '{FUSED}' runs the query graph on the instruction too, which is for its time alone.",
    f"'{CONSTANT}' is what an embedder does for a new question, and '{REPEATED}' for one of the last minute.",
    f"A recall finds the best {TOP} of {ATOMS:,} facts by words and meaning; vectors of facts are looked up.",
    f"'{PLAIN}' are everyday English. '{INVENTED}' are the questions of `./dev bench recall`, whose words take several "
    "tokens each.",
)


class Step:
    """An embedder of the benchmark: its model computes the vectors of questions in the way of one step."""

    model = CheapEmbedder.model
    dimension = DIMENSION

    def __init__(self, compute: Callable[[str], Vectors]) -> None:
        self.embed_query = compute
        self.embed_texts = CheapEmbedder().embed_texts


def make_steps(folder: Path) -> dict[str, Step]:
    embedder = LocalEmbedder(MODEL, folder)
    encoder = QueryEncoder(MODEL, folder, longest=256)
    steps = {
        OLD: lambda query: embedder.embed_texts([MODEL.query_prefix + query])[0],
        DIRECT: lambda query: _embed_directly(embedder, MODEL.query_prefix + query),
        FUSED: lambda query: encoder.encode(MODEL.query_prefix + query),
        CONSTANT: encoder.encode,
        REPEATED: embedder.embed_query,
    }
    return {name: Step(compute) for name, compute in steps.items()}


def _embed_directly(embedder: LocalEmbedder, text: str) -> Vectors:
    tokenizer, session = embedder.encoder.load()
    states, *_ = session.run(None, pad_batch([tokenizer.encode(text).ids]))
    return np.asarray(states[0, 0])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds to time each kind of question")
    parser.add_argument("--core", type=int, help="the core to run on; by default the last one")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    folder = Path(load_settings({}).models_folder)
    if not is_present(MODEL, folder):
        parser.error(f"the model {MODEL.name} is not installed. Run: longmind models pull")
    _pin(options.core)
    before = load()
    steps = make_steps(folder)
    known = facts("embedding", ATOMS)
    asked = {PLAIN: make_questions(ASKED), INVENTED: questions("embedding", known, ASKED)}
    embedding = {kind: _measure_embedding(steps, texts, options.seconds / 2) for kind, texts in asked.items()}
    recall = {kind: _measure_recall(steps, known, texts, options.seconds / 2) for kind, texts in asked.items()}
    reached = recall[PLAIN][CONSTANT].p50_ms
    results: dict[str, Any] = {
        "environment": environment("longmind", "numpy", "onnxruntime"),
        "loads": [before, load()],
        "tokens": {kind: _count_tokens(folder, texts) for kind, texts in asked.items()},
        "embedding": embedding,
        "recall": recall,
        "goal": {"reached": reached, "bound": f"<= {GOAL_MS:g}", "passed": reached <= GOAL_MS},
        "notes": list(NOTES),
    }
    write_json(options.output, results)
    _show(results)


def _pin(core: int | None) -> None:
    """Keep this process and the threads that it starts later on one core, where the system can do so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if core is None else core})


def _count_tokens(folder: Path, texts: Sequence[str]) -> dict[str, float]:
    """Return the median number of tokens of the questions, alone and with the instruction."""
    tokenizer, _ = QueryEncoder(MODEL, folder, longest=256).load()
    return {
        name: percentile([len(tokenizer.encode(prefix + text).ids) for text in texts], 50)
        for name, prefix in (("alone", ""), ("with the instruction", MODEL.query_prefix))
    }


def _measure_embedding(steps: dict[str, Step], texts: Sequence[str], seconds: float) -> dict[str, Timing]:
    def make(name: str, step: Step) -> Callable[[], object]:
        following = _follow(name, texts)
        return lambda: step.embed_query(next(following))

    return interleave({name: make(name, step) for name, step in steps.items()}, seconds=seconds)


def _measure_recall(
    steps: dict[str, Step], known: Sequence[str], texts: Sequence[str], seconds: float
) -> dict[str, Timing]:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/memory.db"
        space = _fill(url, known)
        engines = {name: longmind.open(url, embedder=step) for name, step in steps.items()}
        try:
            asking = {name: _make_recall(engine, space, _follow(name, texts)) for name, engine in engines.items()}
            return interleave(asking, seconds=seconds)
        finally:
            for engine in engines.values():
                engine.close()


def _follow(name: str, texts: Sequence[str]) -> Any:
    """Return the questions for a step without an end: all of them, or the first one again and again."""
    return cycle(texts[:1] if name == REPEATED else texts)


def _fill(url: str, known: Sequence[str]) -> str:
    with longmind.open(url, embedder=CheapEmbedder()) as engine:
        memory = _open_memory(engine)
        space = memory.create_memory_space("memory").id
        kind = {"name": "fact", "kind": "FACT"}
        memory.add_atoms(space, [{"text": text, "category": kind} for text in known])
        return str(space)


def _open_memory(engine: longmind.Engine) -> Any:
    return engine.context(tenant_id="bench", app_id="embedding", user_id="ada").memory


def _make_recall(engine: longmind.Engine, space: str, texts: Any) -> Callable[[], object]:
    memory = _open_memory(engine)
    return lambda: memory.recall_by_topic(space, next(texts), limit=TOP)


def _show(results: dict[str, Any]) -> None:
    for kind, tokens in results["tokens"].items():
        print(f"\n{kind}: {tokens['alone']} tokens, {tokens['with the instruction']} with the instruction")
        embedding, recall = results["embedding"][kind], results["recall"][kind]
        rows = [(name, embedding[name].p50_ms, recall[name].p50_ms, recall[name].p95_ms) for name in embedding]
        print(table(("<step", "vector p50", "recall p50", "recall p95"), rows))
    goal = results["goal"]
    verdict = "pass" if goal["passed"] else "FAIL"
    print(f"\nrecall of plain questions, ms: {goal['reached']} {goal['bound']}, {verdict}")
    print("\n".join(NOTES))


if __name__ == "__main__":
    main()
