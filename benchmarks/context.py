"""The time to build a working context: spaces of 1,000 and 10,000 atoms, conversations of 100 and 10,000 turns.

Eight atoms are recalled, ten are always on, and the last ten turns are included. `./dev bench context --help` lists the
options.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import longmind
from benchmarks._recall_data import CheapEmbedder, facts, questions
from benchmarks.measure import RESULTS, Call, environment, interleave, load, table, write_json
from harness.postgres import PostgresServer
from longmind.assembly.sections import Section
from longmind.assembly.templates import Templates
from longmind.assembly.tokens import choose_counter
from longmind.assembly.wording import make_atom_piece, make_turns_piece
from longmind.models.working_context import WorkingContext

EngineName = Literal["sqlite", "postgres"]

OUTPUT = RESULTS / "context.json"
ATOMS = (1_000, 10_000)
TURNS = (100, 10_000)
ALWAYS_ON = 10
QUESTIONS = 200
GOAL_MS = 3.0
FLAT = 1.25
"""How much longer the long conversation may take: measuring the same twice differs by that on a busy machine."""
NOTES = (
    "Times are milliseconds of one call of build_working_context: 8 recalled atoms, 10 always-on atoms, the last 10 "
    "turns, a budget of 8,000 tokens, the default template. Vectors of questions are precomputed, so no model runs.",
    "The parts are timed by separate calls, so they do not quite add up to the whole: recall is recall_by_topic; "
    "always-on is a context of always-on atoms alone; reading is a context of turns alone; counting is counting the "
    "tokens of a block; rendering is formatting its lines and filling the template.",
    "Token counts of lines are cached. This benchmark repeats its questions, so nearly all lines come from the cache; "
    "in a growing conversation, all but the newest turn and newly recalled atoms do.",
    "Tight is a budget of half the tokens, so that some parts are left out. As of is the same call with known_at.",
)


@dataclass(frozen=True)
class Case:
    """The space and the conversation of one user."""

    context: longmind.Context
    space_id: str
    conversation_id: str
    asked: list[str]

    def build(self, **options: Any) -> WorkingContext:
        return self.context.working_context.build_working_context(
            self.conversation_id, memory_space_id=self.space_id, **options
        )


def main() -> None:
    options = _read_options()
    results: dict[str, Any] = {
        "environment": environment("longmind", "numpy", "apsw", "psycopg", "combustache"),
        "loads": [load()],
        "notes": list(NOTES),
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        for name in options.engines:
            with (
                _open_folder(name, folder) as url,
                longmind.open(url, embedder=CheapEmbedder(), durability="normal") as engine,
            ):
                results[name] = _measure(engine, options)
    results["loads"].append(load())
    results["goals"] = [goal for name in options.engines for goal in _judge_goals(name, results[name])]
    write_json(Path(options.output), results)
    _show(results, options.engines)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atoms", type=int, nargs="+", default=list(ATOMS))
    parser.add_argument("--turns", type=int, nargs="+", default=list(TURNS))
    parser.add_argument("--engines", nargs="+", choices=("sqlite", "postgres"), default=["sqlite", "postgres"])
    parser.add_argument("--seconds", type=float, default=8.0, help="seconds to time all cases, and all parts")
    parser.add_argument("--folder", help="the folder for databases; by default the system's temporary folder")
    parser.add_argument("--output", default=str(OUTPUT))
    return parser.parse_args()


@contextmanager
def _open_folder(name: EngineName, folder: Path) -> Iterator[str]:
    if name == "sqlite":
        yield f"sqlite:///{folder}/context.db"
        return
    with PostgresServer() as server:
        yield server.create_database("context")


def _fill(engine: longmind.Engine, atoms: int, turns: int) -> Case:
    context = engine.context(tenant_id="bench", app_id="context", user_id=f"{atoms} atoms, {turns} turns")
    space_id = context.memory.create_memory_space("main").id
    known = facts(f"{atoms}", atoms)
    always, others = {"name": "identity", "kind": "FACT"}, {"name": "fact", "kind": "FACT"}
    context.memory.add_atoms(
        space_id,
        [{"text": text, "category": always if at < ALWAYS_ON else others} for at, text in enumerate(known)],
    )
    conversation = context.conversations.create_conversation("chat")
    for number in range(turns):
        said, answered = known[number % atoms], known[(number * 7) % atoms]
        context.conversations.append_turn(conversation.id, user_content=said, assistant={"content": answered})
    return Case(context, space_id, conversation.id, questions(f"{atoms}", known, QUESTIONS))


def _measure(engine: longmind.Engine, options: argparse.Namespace) -> dict[str, Any]:
    cases = {f"{atoms:,} atoms, {turns:,} turns": _fill(engine, atoms, turns)
             for atoms in options.atoms for turns in options.turns}  # fmt: skip
    engine.work()
    whole = interleave({name: _time_whole(case) for name, case in cases.items()}, seconds=options.seconds)
    name, largest = list(cases.items())[-1]
    block = largest.build(recall_query=largest.asked[0], always_on_category_names=["identity"])
    parts = interleave(_time_parts(largest, block), seconds=options.seconds)
    return {"whole": whole, "parts of": name, "parts": parts, "tokens": block.tokens_estimated}


def _time_whole(case: Case, **more: Any) -> Call:
    asked = cycle(case.asked)
    return lambda: case.build(recall_query=next(asked), always_on_category_names=["identity"], **more)


def _time_parts(case: Case, built: WorkingContext) -> dict[str, Call]:
    count, memory, asked = choose_counter("auto"), case.context.memory, cycle(case.asked)
    template = Templates().find(None)
    return {
        "whole": _time_whole(case),
        "recall": lambda: memory.recall_by_topic(case.space_id, next(asked), limit=8),
        "always-on": lambda: case.build(always_on_category_names=["identity"], recent_turns=0),
        "reading": lambda: case.build(),
        "counting": lambda: count(built.context_block),
        "rendering": lambda: template.render(_make_sections(built)),
        "tight": _time_whole(case, token_budget=built.tokens_estimated // 2),
        "as of": _time_whole(case, known_at=built.built_at),
    }


def _make_sections(built: WorkingContext) -> list[Section]:
    """Return the sections of a context, formatted again."""
    atoms = {atom.id: atom for atom in built.atoms_used}
    remembered = [
        Section(section.name, "memory", tuple(make_atom_piece(atoms[each]) for each in section.atom_ids))
        for section in built.sections
        if section.atom_ids
    ]
    return [*remembered, Section("turns", "turns", (make_turns_piece(built.messages),))]


def _judge_goals(engine: str, measured: dict[str, Any]) -> list[dict[str, Any]]:
    whole = measured["whole"]
    names = list(whole)
    most = max(whole[name].p50_ms for name in names)
    growth = max(whole[long].p50_ms / whole[short].p50_ms for short, long in zip(names[::2], names[1::2], strict=True))
    return [
        {"goal": f"{engine}: p50 of all at most {GOAL_MS} ms", "measured": most, "met": most <= GOAL_MS},
        {
            "goal": f"{engine}: a long conversation takes at most {FLAT} times as long as a short one",
            "measured": round(growth, 2),
            "met": growth <= FLAT,
        },
    ]


def _show(results: dict[str, Any], engines: list[str]) -> None:
    for name in engines:
        for part in ("whole", "parts"):
            rows = [(label, each.p50_ms, each.p95_ms, each.calls) for label, each in results[name][part].items()]
            print(f"\n{name}, {part}:")
            print(table(["<", "p50 ms", "p95 ms", "calls"], rows))
    for goal in results["goals"]:
        print(f"{'met' if goal['met'] else 'MISSED'}: {goal['goal']} ({goal['measured']})")


if __name__ == "__main__":
    main()
