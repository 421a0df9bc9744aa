"""A short life of three users with every operation of the workload in it, done in good order and noted in journals."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

from prove.kills import journal, processes, rounds, vendor
from prove.kills.journal import Entry
from prove.kills.steps import STEPS
from prove.kills.transports import Requests, ask_in_process, ask_over_http
from prove.kills.workload import AskIn, UserClient
from tests.server.live_server import serving

USERS = ADA, BEN, CLEO = ("u1", "u2", "u3")
LIFE = (
    "create create message turn run answer turn turn turn turn summary close atom atom batch archive delete atom "
    "supersede entity entity merge block block block block block_delete block block store store replace forget store "
    "search brief event events chat state state tool_result distill job job export archive_file "
    "sleep_time create create create message message message message message message grant grant grant grant grant "
    "revoke revoke revoke key key key key_revoke distill_job import import_file remove_copy import_file import"
).split()
ERASED = (
    "create turn atom event store block job key sleep_time grant erase create turn event import remove_copy".split()
)
SERVED = "sleep_time create create message message run_served run_served run_served grant import distill_job".split()


@dataclass(frozen=True)
class Story:
    attack: rounds.KillAttack

    def entries(self, user: str, operation: str) -> list[Entry]:
        return [each for each in journal.read(self.attack.folder, user).entries if each.operation == operation]

    def token(self, operation: str, which: int = 0, user: str = ADA) -> str:
        """The token of one of the operations of a kind."""
        return journal.token_of(user, self.entries(user, operation)[which].number)


def told(url: str, folder: Path) -> Story:
    attack = rounds.prepare(url, folder, random.Random(5))
    with processes.open_engine(url, folder) as engine:
        for user, operations in ((ADA, LIFE), (BEN, ERASED)):
            _live(ask_in_process(engine, user), folder, user, operations)
        with vendor.serve_answers() as url, patch.dict(os.environ, vendor.environment(url)), serving(engine) as server:
            headers = {"authorization": f"Bearer {attack.token}", "x-longmind-user": CLEO}
            requests = Requests(urlsplit(server.address).port or 0, headers)
            _live(ask_over_http(requests), folder, CLEO, SERVED, remote=True)
            requests.close()
        engine.work()
    return Story(replace(attack, users=USERS))


def _live(ask_in: AskIn, folder: Path, user: str, operations: Iterable[str], *, remote: bool = False) -> None:
    client = UserClient(ask_in, folder, user, random.Random(7), remote=remote)
    for operation in operations:
        client.take(STEPS[operation])
    client.close()
