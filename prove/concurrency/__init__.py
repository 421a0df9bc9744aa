"""Sixteen clients in four processes contend for the same objects; a single client must explain every answer.

No maintained Python library checks histories for linearizability, so `linearizable.py` searches by itself; its tests
plant bugs and compare it with trying every order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from harness.postgres import PostgresServer
from prove.concurrency.clients import CLIENTS, PROCESSES
from prove.concurrency.objects import KINDS
from prove.concurrency.rounds import KindOutcome, RoundAttack, RoundResult, play_round
from prove.section import Check, Plan, Section, judge_claim, skip_check

ROUND_SECONDS = 4.0
MOST_UNDECIDED = 0.05
"""The share of histories that may be too tangled for a verdict."""
GOAL = {"operations": 20_000, "kills": 50}
"""The counts that a full run reaches on each engine."""
_AT_ONCE = PROCESSES * CLIENTS // 2
"""The least number of clients that must use one object at the same time for the attack to count."""


@dataclass
class ConcurrencyTally:
    """The sum of all rounds on one engine."""

    kinds: dict[str, KindOutcome] = field(default_factory=lambda: {kind: KindOutcome() for kind in KINDS})
    rounds: int = 0
    kills: int = 0
    cut: int = 0
    changes: int = 0
    followers_wrong: list[str] = field(default_factory=list)
    calm: int = 0
    unanswered: int = 0
    """Operations that had no answer though nobody was killed or cut off."""

    def add(self, played: RoundResult, calm: bool) -> None:
        for kind, outcome in played.judged.items():
            self.kinds[kind].add(outcome)
        self.rounds += 1
        self.kills += played.kills
        self.cut += played.cut
        self.changes += played.seen.changes
        self.followers_wrong += [played.seen.wrong] if played.seen.wrong else []
        if calm:
            self.calm += 1
            self.unanswered += played.unknown

    @property
    def operations(self) -> int:
        return sum(outcome.operations for outcome in self.kinds.values())

    @property
    def reached(self) -> bool:
        return self.operations >= GOAL["operations"] and self.kills >= GOAL["kills"]


def run(plan: Plan) -> Iterator[Check]:
    for number, engine in enumerate(plan.engines):
        until = time.monotonic() + plan.seconds_left() / (len(plan.engines) - number)
        with ExitStack() as servers:
            server = servers.enter_context(PostgresServer()) if engine == "postgresql" else None
            yield from checks_of(engine, _attack(plan, engine, server, until))


def _attack(plan: Plan, engine: str, server: PostgresServer | None, until: float) -> ConcurrencyTally:
    tally, dice = ConcurrencyTally(), plan.dice(f"concurrency {engine}")
    for number in count(1):
        name = f"{engine}_{number}"
        url = server.create_database(name) if server else f"sqlite:///{plan.folder}/{name}.db"
        # Every third round is left in peace: what nobody knows the outcome of explains a lot.
        calm = number % 3 == 1
        attack = RoundAttack(ROUND_SECONDS, kills=0 if calm else 2, cuts=0 if calm or server is None else 3)
        tally.add(play_round(url, Path(plan.folder, name), attack, dice), calm)
        if tally.reached if plan.full else number > 1 and time.monotonic() + 2 * ROUND_SECONDS > until:
            break
    return tally


def checks_of(engine: str, tally: ConcurrencyTally) -> Iterator[Check]:
    for kind, outcome in tally.kinds.items():
        figures = {
            "operations": outcome.operations,
            "objects": outcome.objects,
            "at once": outcome.most_at_once,
            "outcome unknown": outcome.unknown,
            **({"histories too tangled to decide": len(outcome.undecided)} if outcome.undecided else {}),
            **outcome.answers,
        }
        # A few of many may be too tangled; where more are, it is not known what there is to know.
        wrong = outcome.wrong or (
            outcome.undecided if len(outcome.undecided) > outcome.objects * MOST_UNDECIDED else []
        )
        claim = f"{engine}: {KINDS[kind].claim}"
        if outcome.most_at_once < 2 and not wrong:
            yield skip_check(claim, "no two clients were at the same one at the same time")
        else:
            # What nobody knows the outcome of can be explained by anything.
            yield judge_claim(claim, outcome.operations - outcome.unknown, wrong[:1], figures)
    yield judge_claim(
        f"{engine}: all who follow see the changes in one order, that of time, and miss none",
        tally.changes,
        tally.followers_wrong[:1],
        {"changes": tally.changes, "followers in a round": PROCESSES},
    )
    yield Check(
        f"{engine}: where nobody is killed or cut off, every operation is answered",
        passed=tally.calm > 0 and not tally.unanswered,
        figures={"rounds": tally.calm},
        detail=f"{tally.unanswered} were not",
    )
    yield _was_an_attack(engine, tally)


def _was_an_attack(engine: str, tally: ConcurrencyTally) -> Check:
    most = max(outcome.most_at_once for outcome in tally.kinds.values())
    unknown = sum(outcome.unknown for outcome in tally.kinds.values())
    return Check(
        f"{engine}: {PROCESSES * CLIENTS} clients over {PROCESSES} processes got into each other's way, and some were "
        "killed in the middle",
        passed=most >= _AT_ONCE
        and unknown > 0
        and tally.kinds["blocks"].answers["conflict"] > 0
        and tally.kills > 0
        and (tally.cut > 0 or engine == "sqlite"),
        figures={
            "rounds": tally.rounds,
            "operations": tally.operations,
            "kills": tally.kills,
            "connections cut": tally.cut,
            "at once": most,
            "outcome unknown": unknown,
        },
        detail="Too little happened at once to show anything.",
    )


SECTION = Section(
    name="concurrency",
    title="Concurrency: sixteen clients over four processes",
    seconds=120,
    run=run,
)
