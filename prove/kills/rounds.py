"""Rounds of the attack: several processes at once, each killed at a random instant while the others go on."""

from __future__ import annotations

import random
import signal
import socket
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from harness.crew import Child, Failed, started
from prove.kills import journal, processes
from prove.kills.reaching import APP, TENANT
from prove.kills.steps.conversations import BOUND
from prove.kills.steps.step import DAILY

USERS = 16
WRITERS = 3
SERVER_EVERY = 2
"""A server takes longer to come up than all of the rest, so not every round has one."""
WARM_UP = 12
"""Operations that a client may do before its end is near; less than this."""
SHORTEST, LONGEST = 0.0002, 0.2
"""Seconds between the moment when all are ready and a kill; short ones are as likely as long ones."""


@dataclass
class Tally:
    """What was done so far."""

    rounds: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    """By what was killed."""
    cut: Counter[str] = field(default_factory=Counter)
    """Operations that were never answered since who did them was killed, by kind."""

    @property
    def killed(self) -> int:
        return self.kills.total()


@dataclass(frozen=True)
class Attack:
    """A database under attack, and the journals of who uses it."""

    url: str
    folder: Path
    token: str
    """The key of the clients of its servers."""
    dice: random.Random
    tally: Tally = field(default_factory=Tally)

    @property
    def users(self) -> list[str]:
        return [f"u{number}" for number in range(1, USERS + 1)]

    def round(self) -> None:
        """Start writers, a worker and now and then a server with its client; kill all but the client, one by one."""
        *writing, asking = self.dice.sample(self.users, WRITERS + 1)
        client: Child | None = None
        victims: list[tuple[str, str | None, Child]] = []
        with ExitStack() as stack:
            # Every second time somebody else has the database open, so that it need not be recovered by the next.
            if self.tally.rounds % 2:
                stack.enter_context(processes.opened(self.url, self.folder))
            if self.tally.rounds % SERVER_EVERY == 0:
                port = _free_port()
                server = stack.enter_context(started(processes.serve, self.url, self.folder, port))
                _hear_ready(server)
                victims.append(("servers", asking, server))
                client = stack.enter_context(
                    started(processes.ask, port, self.token, self.folder, asking, self._seed(), self._warm_up())
                )
            for user in writing:
                writer = started(processes.write, self.url, self.folder, user, self._seed(), self._warm_up())
                victims.append(("writers", user, stack.enter_context(writer)))
            victims.append(("workers", None, stack.enter_context(started(processes.work, self.url, self.folder))))
            for _, _, child in victims[client is not None :]:
                _hear_ready(child)
            if client is not None:
                _hear_ready(client)
            self._kill(victims)
            if client is not None:
                client.result()
                self._note_cut(asking)
        self.tally.rounds += 1

    def _kill(self, victims: list[tuple[str, str | None, Child]]) -> None:
        instants = sorted(SHORTEST * (LONGEST / SHORTEST) ** self.dice.random() for _ in victims)
        self.dice.shuffle(victims)
        began = time.monotonic()
        for instant, (kind, user, child) in zip(instants, victims, strict=True):
            time.sleep(max(0.0, began + instant - time.monotonic()))
            child.kill()
            if child.wait_until_dead() != -signal.SIGKILL:
                child.result()
                raise Failed(f"One of the {kind} ended before it was killed.")
            self.tally.kills[kind] += 1
            if kind == "writers" and user is not None:
                self._note_cut(user)

    def _note_cut(self, user: str) -> None:
        cut = journal.read(self.folder, user).unanswered
        if cut is not None:
            self.tally.cut[cut.operation] += 1

    def _warm_up(self) -> int:
        return self.dice.randrange(WARM_UP)

    def _seed(self) -> int:
        return self.dice.randrange(2**32)


def prepare(url: str, folder: Path, dice: random.Random) -> Attack:
    """Make the database, the key of its servers, and the rule by which conversations become memory."""
    folder.mkdir(parents=True, exist_ok=True)
    with processes.opened(url, folder) as engine:
        host = engine.context(tenant_id=TENANT, app_id=APP, user_id="host", capabilities={"admin"})
        space = host.memory.create_memory_space(DAILY)
        policy = {"windowed": True, "windowTurns": 3}
        host.memory.create_binding({"namespace": BOUND, "userId": "*"}, [space.id], policy)
        made = engine.keys.create(tenant_id=TENANT, app_id=APP, any_user=True)
    return Attack(url, folder, made.token, dice)


def _hear_ready(child: Child) -> None:
    heard = child.hear()
    if heard != "ready":
        raise Failed(f"A process said {heard!r} before it was ready.")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
