"""A short life of two users with every operation of the workload in it, done in good order and noted in journals."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from prove.kills import journal, processes, rounds
from prove.kills.journal import Entry
from prove.kills.reaching import in_process
from prove.kills.steps import STEPS
from prove.kills.workload import Client

ADA, BEN = "u1", "u2"
LIFE = (
    "create create message turn run answer turn turn turn turn summary close atom atom batch archive delete atom "
    "supersede entity entity merge block block block block block_delete block block store store replace forget store "
    "search brief event events chat state state tool_result distill job job export archive_file"
).split()
ERASED = "create turn atom event store block job erase create turn event".split()


@dataclass(frozen=True)
class Story:
    attack: rounds.Attack

    def entries(self, user: str, operation: str) -> list[Entry]:
        return [each for each in journal.read(self.attack.folder, user).entries if each.operation == operation]

    def token(self, operation: str, which: int = 0, user: str = ADA) -> str:
        """The token of one of the operations of a kind."""
        return journal.token_of(user, self.entries(user, operation)[which].number)


def told(url: str, folder: Path) -> Story:
    attack = rounds.prepare(url, folder, random.Random(5))
    with processes.opened(url, folder) as engine:
        for user, operations in ((ADA, LIFE), (BEN, ERASED)):
            client = Client(in_process(engine, user), folder, user, random.Random(7))
            for operation in operations:
                client.take(STEPS[operation])
            client.close()
        engine.work()
    return Story(attack)
