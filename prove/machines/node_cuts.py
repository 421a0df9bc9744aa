"""API nodes that are cut off in the middle of requests: from their clients, from the database, one way or both."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

import longmind
from prove.machines.accounts import Accounts, faults
from prove.machines.http_client import HttpClient, NodeAnswer, client
from prove.machines.network import Network
from prove.machines.nodes import api_node
from prove.machines.world import API, CLIENT, DATABASE, QUICK, SILENCE, NetworkWorld, connect
from prove.section import Check, Plan

MANNERS: dict[str, Callable[[Network, str], None]] = {
    "answers to clients lost": lambda lines, name: lines.lose(name, CLIENT),
    "cut off from clients": lambda lines, name: lines.cut(name, CLIENT),
    "cut off from the database": lambda lines, name: lines.cut(name, DATABASE),
    "answers of the database lost": lambda lines, name: lines.lose(DATABASE, name),
    "unheard by the database": lambda lines, name: lines.lose(name, DATABASE),
    "unplugged": lambda lines, name: lines.unplug(name),
}
FULL_ROUNDS = 10
WRITES_AT_ONCE = 12
LONGEST = 2 * SILENCE + 9.0
"""Seconds after which every request has to have an answer: the silence, once more for the retry, and a connection."""


@dataclass
class CutTally:
    accounts: Accounts = field(default_factory=Accounts)
    refused: Counter[str] = field(default_factory=Counter)
    unclean: list[str] = field(default_factory=list)
    uncut: list[str] = field(default_factory=list)
    """Requests that a node answered although it was cut off before they were sent."""
    slowest: float = 0.0
    retried: int = 0

    def look_at(self, answer: NodeAnswer) -> None:
        if not answer.good:
            self.refused[str(answer.status) if answer.status else answer.error] += 1
            # How long it took is the node's doing only where it answered.
            self.slowest = max(self.slowest, answer.seconds if answer.status else 0.0)
        if not answer.clean:
            self.unclean.append(f"{answer.status}: {answer.body!r:.200}")


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    url, door = world.new_database()
    with longmind.open(door, embedder=None) as engine:
        whose: dict[str, Any] = {"tenant_id": "acme", "app_id": "prove", "user_id": "ada"}
        conversation = engine.context(**whose).conversations.create_conversation("chat")
        token = engine.keys.create(**whose).token
    with (
        connect(door) as database,
        api_node(world.lines[API[0]], url, QUICK),
        api_node(world.lines[API[1]], url, QUICK),
        client(world.lines[CLIENT], token) as asking,
    ):
        path = f"/ai-conversations/{conversation.id}/messages/user"
        yield _nodes_cut(plan, world, asking, path, database)
        yield _database_cut(world, asking, path, database)


def _nodes_cut(
    plan: Plan, world: NetworkWorld, asking: HttpClient, path: str, database: psycopg.Connection[tuple[Any, ...]]
) -> Check:
    dice = plan.dice("node cuts")
    tally, cuts = CutTally(), Counter[str]()
    until = time.monotonic() + plan.seconds_left() * 0.4
    while not cuts or (min(cuts[each] for each in MANNERS) < FULL_ROUNDS if plan.full else time.monotonic() < until):
        manner = min(MANNERS, key=lambda each: cuts[each])
        name, other = dice.sample(API, 2)
        cuts[manner] += 1
        keys = [f"{manner} {cuts[manner]} {number}" for number in range(WRITES_AT_ONCE)]
        cut_after = dice.randrange(1, WRITES_AT_ONCE)
        sent = []
        for number, key in enumerate(keys):
            if number == cut_after:
                # The requests before it are in some part of their way then.
                time.sleep(dice.uniform(0, 0.1))
                MANNERS[manner](world.lines, name)
            tally.accounts.ask(f"message {key}")
            body = {"content": key}
            # A client that hears nothing of the node learns nothing by waiting for it.
            seconds = LONGEST + 2 if "database" in manner else 4.0
            sent.append(asking.send(world.lines[name], "POST", path, body, key=key, seconds=seconds))
        for number, (key, future) in enumerate(zip(keys, sent, strict=True)):
            first = future.result(90)
            if number >= cut_after and first.good:
                tally.uncut.append(f"{key} was answered over a line that was cut")
            _settle(world, asking, path, key, first, other, tally)
        world.lines.plug_in(name)
        world.lines.heal(name)
        _works_again(world, asking, name)
        for key in keys:
            # The node that was cut off must return the same message when it is asked again.
            again = asking.ask(world.lines[name], "POST", path, {"content": key}, key=key)
            tally.look_at(again)
            if again.good:
                tally.accounts.acknowledge(f"message {key}", again.body["id"])
    stands = dict(
        database.execute("SELECT idempotency_key, event_id FROM longmind.events WHERE idempotency_key IS NOT NULL")
    )
    rows = database.execute("SELECT idempotency_key FROM longmind.events WHERE content IS NOT NULL").fetchall()
    answers = {f"message {key}": str(event) for key, event in stands.items()}
    wrong = faults(tally.accounts, (f"message {key}" for (key,) in rows), answers)
    late = [f"the slowest answer took {tally.slowest:.0f} s"] if tally.slowest > LONGEST else []
    return Check(
        "requests to a node that is cut off are answered or fail cleanly; repeated on the other they are done once",
        passed=not wrong and not tally.unclean and not late and not tally.uncut,
        figures={
            "cuts": dict(cuts),
            "writes": len(tally.accounts.acknowledged),
            "repeated elsewhere": tally.retried,
            "refused": dict(tally.refused),
            "slowest refusal of a node": f"{tally.slowest:.1f} s",
        },
        detail="; ".join([*wrong[:5], *tally.unclean[:5], *late, *tally.uncut[:5]]),
    )


def _settle(
    world: NetworkWorld, asking: HttpClient, path: str, key: str, first: NodeAnswer, other: str, tally: CutTally
) -> None:
    tally.look_at(first)
    answer = first
    while not answer.good:
        tally.retried += 1
        answer = asking.ask(world.lines[other], "POST", path, {"content": key}, key=key)
        tally.look_at(answer)
    tally.accounts.acknowledge(f"message {key}", answer.body["id"])


def _works_again(world: NetworkWorld, asking: HttpClient, name: str, seconds: float = 30.0) -> float:
    began = time.monotonic()
    while asking.ask(world.lines[name], "GET", "/readyz", seconds=5).status != 200:
        if time.monotonic() - began > seconds:
            raise RuntimeError(f"{name} did not come back within {seconds:.0f} seconds")
        time.sleep(0.1)
    return time.monotonic() - began


def _database_cut(
    world: NetworkWorld, asking: HttpClient, path: str, database: psycopg.Connection[tuple[Any, ...]]
) -> Check:
    """Cut PostgreSQL off from everybody."""
    for name in API:
        world.lines.cut(name, DATABASE)
    during = [
        asking.send(
            world.lines[name], "POST", path, {"content": "lost?"}, seconds=LONGEST + 2, key=f"db {name} {number}"
        )
        for name in API
        for number in range(4)
    ]
    alive = [asking.ask(world.lines[name], "GET", "/healthz").status for name in API]
    answers = [future.result(90) for future in during]
    ready = [asking.ask(world.lines[name], "GET", "/readyz").status for name in API]
    for name in API:
        world.lines.heal(name)
    back = [_works_again(world, asking, name) for name in API]
    after = [
        asking.ask(world.lines[name], "POST", path, {"content": "lost?"}, key=f"db {name} {number}").status
        for name in API
        for number in range(4)
    ]
    [(written,)] = database.execute("SELECT count(*) FROM longmind.events WHERE idempotency_key LIKE 'db %'")
    statuses = Counter(answer.status for answer in answers)
    slowest = max(answer.seconds for answer in answers)
    passed = (
        set(statuses) == {503}
        and all(answer.clean for answer in answers)
        and (alive, ready) == ([200, 200], [503, 503])
        and set(after) == {201}
        and written == len(after)
        and slowest <= LONGEST
    )
    figures = {
        "answers": {str(status): number for status, number in statuses.items()},
        "slowest": f"{slowest:.1f} s",
        "healthz": alive,
        "readyz": ready,
        "seconds until ready again": [round(each, 1) for each in back],
    }
    return Check(
        "when PostgreSQL is cut off from all, nodes say so in time, stay alive, and go on by themselves afterwards",
        passed=passed,
        figures=figures,
        detail=f"answers after it: {after}; {written} of {len(after)} messages are there",
    )
