"""A load of requests from the client's machine: the order comes on its input, the result goes to its output."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from typing import Any

from benchmarks._http_load import Load, Request, run_load


def choose_for(client: dict[str, str]) -> Any:
    def choose(chance: random.Random) -> Request:
        if chance.random() < 0.7:
            query = {"query": f"coffee {chance.randrange(100)}", "limit": 10}
            return "recall", f"/ai-memory/spaces/{client['space']}/recall/topic", query
        body = {"content": f"Number {chance.randrange(10**6)}."}
        return "append", f"/ai-conversations/{client['conversation']}/messages/user", body

    return choose


async def ask_all(order: dict[str, Any]) -> list[Load]:
    nodes = order["nodes"]
    clients = [({"Authorization": f"Bearer {each['token']}"}, choose_for(each)) for each in order["clients"]]
    shares = [run_load(node, clients[place :: len(nodes)], order["seconds"]) for place, node in enumerate(nodes)]
    return await asyncio.gather(*shares)


def main() -> None:
    print("at work", file=sys.stderr, flush=True)
    loads = asyncio.run(ask_all(json.loads(sys.stdin.readline())))
    answered = {
        "requests": sum(len(times) for load in loads for times in load.times.values()),
        "refused": sum(sum(load.refused.values()) for load in loads),
        "elapsed": max(load.elapsed for load in loads),
    }
    print(json.dumps(answered), flush=True)


if __name__ == "__main__":
    main()
