"""Agreement of nodes: changes of keys, memory and blocks hold on the other node at once; rates are as documented."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import longmind
from prove.machines.http_client import HttpClient, client
from prove.machines.nodes import api_node
from prove.machines.world import API, CLIENT, QUICK, NetworkWorld
from prove.section import Check, Plan

ROUNDS = 15
FULL_ROUNDS = 200
RATE = 10


def run(plan: Plan, world: NetworkWorld) -> Iterator[Check]:
    url, door = world.new_database()
    rounds = FULL_ROUNDS if plan.full else ROUNDS
    whose: dict[str, Any] = {"tenant_id": "acme", "app_id": "prove", "user_id": "ada"}
    with longmind.open(door, embedder=None) as engine, ExitStack() as stack:
        # The nodes would not start without a key: others can reach them.
        token = engine.keys.create(**whose).token
        for name in API:
            stack.enter_context(api_node(world.lines[name], url, QUICK))
        asking = stack.enter_context(client(world.lines[CLIENT], token))
        yield _check_revocation(world, engine, asking, whose, rounds)
        yield _check_recall(world, asking, rounds)
        yield _check_blocks(world, asking, rounds)
        yield _check_rates(world, asking, engine.keys.create(**whose, rate=f"{RATE}/minute").token)


def _check_revocation(
    world: NetworkWorld, engine: longmind.Engine, asking: HttpClient, whose: dict[str, Any], rounds: int
) -> Check:
    late = 0
    for _ in range(rounds):
        key = engine.keys.create(**whose)
        before = [asking.ask(world.lines[name], "GET", "/ai-conversations", token=key.token).status for name in API]
        engine.keys.revoke(key.id)
        after = [asking.ask(world.lines[name], "GET", "/ai-conversations", token=key.token).status for name in API]
        late += (before, after) != ([200, 200], [401, 401])
    return Check(
        "a key that is revoked on another machine is refused by the next request on every node",
        passed=late == 0,
        figures={"keys": rounds},
        detail=f"{late} keys were not",
    )


def _check_recall(world: NetworkWorld, asking: HttpClient, rounds: int) -> Check:
    """Both nodes have the space in their caches when one of them writes."""
    space = asking.ask(world.lines[API[0]], "POST", "/ai-memory/spaces", {"name": "shared"}).body["id"]
    stale = []
    for number in range(rounds):
        writer, reader = (API, API[::-1])[number % 2]
        query = {"query": f"harbour {number}", "limit": 50}
        recall = f"/ai-memory/spaces/{space}/recall/topic"
        _texts(asking.ask(world.lines[reader], "POST", recall, query).body)
        atom = {"text": f"The harbour {number} is open.", "category": {"name": "notes", "kind": "FACT"}}
        made = asking.ask(world.lines[writer], "POST", f"/ai-memory/spaces/{space}/atoms", atom).body
        if atom["text"] not in _texts(asking.ask(world.lines[reader], "POST", recall, query).body):
            stale.append(f"{number} was not found")
        asking.ask(world.lines[writer], "POST", f"/ai-memory/atoms/{made['id']}/archive")
        if atom["text"] in _texts(asking.ask(world.lines[reader], "POST", recall, query).body):
            stale.append(f"{number} was found though it was archived")
    return Check(
        "recall on one node has what the other has just written, and no longer what it has just archived",
        passed=not stale,
        figures={"writes": 2 * rounds},
        detail="; ".join(stale[:5]),
    )


def _texts(found: Any) -> list[str]:
    return [hit["atom"]["text"] for hit in found["hits"]]


def _check_blocks(world: NetworkWorld, asking: HttpClient, rounds: int) -> Check:
    """Both nodes are given the same version to replace: one of them may."""
    path, wrong = "/api/v1/memory/blocks/core", []
    made = asking.ask(world.lines[API[0]], "PUT", path, {"content": "0", "expected_updated_at": None})
    seen = made.body["updated_at"]
    for number in range(rounds):
        both = [
            asking.send(world.lines[name], "PUT", path, {"content": f"{number} {name}", "expected_updated_at": seen})
            for name in API
        ]
        answers = [future.result(60) for future in both]
        statuses = sorted(answer.status for answer in answers)
        winner = next((answer for answer in answers if answer.good), None)
        stands = [asking.ask(world.lines[name], "GET", path).body["content"] for name in API]
        if statuses != [200, 409] or winner is None or set(stands) != {winner.body["content"]}:
            wrong.append(f"{statuses}, {stands}")
            break
        seen = winner.body["updated_at"]
    return Check(
        "of two writes to one version of a block on two nodes one wins, and both nodes show it",
        passed=not wrong,
        figures={"pairs": rounds},
        detail="; ".join(wrong),
    )


def _check_rates(world: NetworkWorld, asking: HttpClient, token: str) -> Check:
    admitted = {
        name: sum(asking.ask(world.lines[name], "GET", "/ai-conversations", token=token).good for _ in range(2 * RATE))
        for name in API
    }
    return Check(
        "a rate is counted by each node for itself, as documented for memory://, and exactly",
        passed=set(admitted.values()) == {RATE},
        figures={"rate": f"{RATE}/minute", "admitted": admitted},
        detail="a node admitted more or less",
    )
