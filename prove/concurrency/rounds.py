"""One round: sixteen clients in four processes, some of them killed or cut off, and the verdict on their answers."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from harness.crew import Child, start_process
from prove.concurrency.clients import PROCESSES, look_at_all, play, prepare_objects
from prove.concurrency.counterexample import explain_smallest
from prove.concurrency.followers import FollowerReport, compare_followers, read_changes
from prove.concurrency.history import Operation, group_by_object, read_history
from prove.concurrency.linearizable import Undecided, is_linearizable
from prove.concurrency.objects import KINDS

_CUT = """
SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND random() < 0.3
"""
_LAST = "the last"


@dataclass(frozen=True)
class RoundAttack:
    """The attack on the clients while they play."""

    seconds: float
    kills: int = 0
    cuts: int = 0
    """The number of times that the server ends connections to PostgreSQL."""


@dataclass
class RoundResult:
    """The verdicts of a round, and the effects of the attack."""

    judged: dict[str, KindOutcome]
    seen: FollowerReport
    kills: int = 0
    """Kills of processes that were still playing."""
    cut: int = 0
    """Connections that were ended."""

    @property
    def unknown(self) -> int:
        return sum(outcome.unknown for outcome in self.judged.values())


@dataclass
class KindOutcome:
    """Counts and contradictions for one kind of object."""

    operations: int = 0
    objects: int = 0
    unknown: int = 0
    most_at_once: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    undecided: list[str] = field(default_factory=list)
    """Messages about histories that are too tangled to decide within the limit of steps."""
    wrong: list[str] = field(default_factory=list)

    def add(self, other: KindOutcome) -> None:
        self.operations += other.operations
        self.objects += other.objects
        self.unknown += other.unknown
        self.most_at_once = max(self.most_at_once, other.most_at_once)
        self.answers += other.answers
        self.undecided += other.undecided
        self.wrong += other.wrong


def play_round(url: str, folder: Path, attack: RoundAttack, dice: random.Random) -> RoundResult:
    """Play, read everything once more, and judge."""
    folder.mkdir()
    objects = prepare_objects(url)
    kills = cut = 0
    with ExitStack() as crew:
        names = _names()

        def start() -> Child:
            work = (url, folder, next(names), objects, dice.randrange(2**32))
            return crew.enter_context(start_process(play, *work))

        playing = [start() for _ in range(PROCESSES)]
        for child in playing:
            child.hear()
        until = time.monotonic() + attack.seconds
        for child in playing:
            child.say(until)
        for what in _moments(attack, dice):
            if what == "kill":
                place = dice.randrange(PROCESSES)
                playing[place].kill()
                kills += time.monotonic() < until
                playing[place] = start()
                playing[place].hear()
                playing[place].say(until)
            else:
                with psycopg.connect(url, autocommit=True) as connection:
                    [(ended,)] = connection.execute(_CUT)
                    cut += ended
        for child in playing:
            while child.hear() != "played":
                pass
        look_at_all(url, folder, objects, _LAST)
        for child in playing:
            child.result()
    history = read_history(folder)
    # Nothing disturbs the last look, which settles every open outcome.
    assert all(operation.known for operation in history if operation.client == _LAST), "the last look had no answer"
    kinds = {name: kind for kind, names in objects.items() for name in names}
    judged = {kind: judge(kind, _select_kind(kind, kinds, history)) for kind in objects}
    return RoundResult(
        judged, compare_followers(read_changes(folder), _select_kind("conversations", kinds, history)), kills, cut
    )


def judge(kind: str, operations: list[Operation]) -> KindOutcome:
    """Judge whether the operations on objects of one kind are linearizable."""
    model = KINDS[kind].model
    outcome = KindOutcome(
        operations=len(operations),
        unknown=sum(not operation.known for operation in operations),
        answers=Counter(word for operation in operations if (word := operation.refusal)),
    )
    for part in group_by_object(operations).values():
        outcome.objects += 1
        outcome.most_at_once = max(outcome.most_at_once, _most_at_once(part))
        try:
            if not is_linearizable(model, part):
                outcome.wrong.append(explain_smallest(model, part))
        except Undecided as undecided:
            outcome.undecided.append(str(undecided))
    return outcome


def _select_kind(kind: str, kinds: dict[str, str], history: list[Operation]) -> list[Operation]:
    """Return the operations on one kind of object; an object's key contains the name that it was prepared with."""
    return [each for each in history if any(kinds[name] == kind for name in kinds if name in each.key)]


def _moments(attack: RoundAttack, dice: random.Random) -> Iterator[str]:
    """Yield each attack at its moment."""
    begin = time.monotonic()
    wanted = [*["kill"] * attack.kills, *["cut"] * attack.cuts]
    for at, what in sorted((dice.uniform(0.1, 0.9) * attack.seconds, what) for what in wanted):
        time.sleep(max(0.0, begin + at - time.monotonic()))
        yield what


def _names() -> Iterator[str]:
    return (f"p{number}c" for number in range(1, 1000))


def _most_at_once(operations: list[Operation]) -> int:
    steps = [(each.called, 1) for each in operations if each.known]
    steps += [(each.returned, -1) for each in operations if each.returned is not None]
    most = now = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most
