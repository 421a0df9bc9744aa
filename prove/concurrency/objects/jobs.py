"""Jobs with a unique key: each is queued once, however many clients queue it."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import longmind
from prove.concurrency.history import Operation
from prove.concurrency.linearizable import IMPOSSIBLE, Impossible
from prove.concurrency.objects.player import Player

_KEYS = 40
_MOVES_A_KEY = 3


class JobModel:
    """A job's id: None before it is queued, empty while unknown. `list` returns every id there is."""

    initial: str | None = None
    reads = frozenset({"list"})

    def step(self, state: str | None, operation: Operation) -> str | Impossible | None:
        if not operation.known:
            return state or ""
        if operation.name == "list":
            if len(operation.answer) > 1:
                return IMPOSSIBLE
            listed: str | None = operation.answer[0] if operation.answer else None
            return listed if listed == state or (listed and state == "") else IMPOSSIBLE
        return operation.answer if state in (None, "", operation.answer) else IMPOSSIBLE


class UniqueJobs:
    claim = "a job with a unique key is queued once, whoever queues it"
    model = JobModel()

    def prepare(self, ctx: longmind.Context) -> list[str]:
        return ["job"]

    def move(self, player: Player, name: str) -> None:
        moves = player.known["queued"] = player.known.get("queued", -1) + 1
        key = f"{name}-{min(moves // _MOVES_A_KEY, _KEYS - 1)}"
        jobs = player.context().jobs
        player.client.do(key, "enqueue", None, lambda: jobs.enqueue("nothing", unique_key=key).id)

    def look(self, player: Player, name: str) -> None:
        found = defaultdict(list)
        for job in player.context().jobs.list_jobs(limit=1000):
            found[job.unique_key].append(job.id)
        for number in range(_KEYS):
            key = f"{name}-{number}"
            player.client.do(key, "list", None, partial(found.get, key, []))
