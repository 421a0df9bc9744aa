"""Rounds of the attack: several processes at once, each killed at a random instant while the others go on."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from harness.crew import Child, ProcessFailed, start_process
from harness.postgres import free_port
from prove.kills import journal, processes, vendor
from prove.kills.commands import Command, command
from prove.kills.import_kill import kill_an_import
from prove.kills.steps import copies
from prove.kills.steps.conversations import BOUND
from prove.kills.steps.step import DAILY
from prove.kills.transports import APP, TENANT

USERS = 16
WRITERS = 7
SHORT_FUSE, LONG_FUSE = 10, 30_000
"""Function calls until a writer dies; an operation takes hundreds to thousands of them."""
IMPORTS = 2
"""Imports in a round by command."""
WARM_UP = 12
"""Operations that a client does before it may be killed; fewer than this."""
SHORTEST, LONGEST = 0.0002, 0.2
"""Seconds between the moment when all are ready and a kill; short ones are as likely as long ones."""


@dataclass(frozen=True)
class Victim:
    """A process that is to be killed."""

    kind: str
    process: Child | Command
    user: str | None = None
    """The user that it acts for."""
    by_itself: bool = False
    """True if it kills itself."""


@dataclass
class KillTally:
    """Counts of the attack so far."""

    rounds: int = 0
    imports: int = 0
    """Imports by command, each for another user."""
    kills: Counter[str] = field(default_factory=Counter)
    """Kills by the kind of process."""
    cut: Counter[str] = field(default_factory=Counter)
    """Operations without an answer, since their process was killed, by kind."""

    @property
    def killed(self) -> int:
        return self.kills.total()


@dataclass(frozen=True)
class KillAttack:
    """A database under attack, and the journals of its clients."""

    url: str
    folder: Path
    token: str
    """The key of the clients of its servers."""
    dice: random.Random
    tally: KillTally = field(default_factory=KillTally)
    users: Sequence[str] = tuple(f"u{number}" for number in range(1, USERS + 1))

    def round(self, *, writers: int = WRITERS, served: bool = False, by_command: bool = False) -> None:
        """Start writers, a worker and perhaps a server with its client; kill all but the client, one by one.

        By command, the worker and the server are the commands that operators start, and imports are killed before.
        """
        for _ in range(IMPORTS if by_command else 0):
            self._kill_import()
        *writing, asking = self.dice.sample(self.users, writers + 1)
        client: Child | None = None
        victims: list[Victim] = []
        with ExitStack() as stack:
            # Every second round another engine keeps the database open, so that no recovery is needed.
            if self.tally.rounds % 2:
                stack.enter_context(processes.open_engine(self.url, self.folder))
            if served:
                port = free_port()
                model_url = stack.enter_context(vendor.serve_answers())
                victims.append(Victim("servers", stack.enter_context(self._server(port, model_url, by_command))))
            victims.append(Victim("workers", stack.enter_context(self._worker(by_command))))
            _hear_ready(*(victim.process for victim in victims))
            if served:
                asked = (port, self.token, self.folder, asking, self._seed(), self._warm_up())
                client = stack.enter_context(start_process(processes.ask, *asked))
            for user in writing:
                given = (self.url, self.folder, user, self._seed(), self._warm_up(), self._fuse())
                writer = start_process(processes.write, *given)
                victims.append(Victim("writers", stack.enter_context(writer), user, by_itself=given[-1] is not None))
            _hear_ready(*(victim.process for victim in victims if victim.user), *([client] if client else []))
            self._kill(victims)
            if client is not None:
                client.result()
                self._note_cut(asking)
        if by_command:
            # Commands have no embedder, so their data has no vectors yet.
            with processes.open_engine(self.url, self.folder) as engine:
                engine.reindex()
        self.tally.rounds += 1

    def _server(self, port: int, model_url: str, by_command: bool) -> AbstractContextManager[Child | Command]:
        if by_command:
            return command(self.url, self.folder, model_url, "serve", "--port", str(port))
        return start_process(processes.serve, self.url, self.folder, port, model_url)

    def _worker(self, by_command: bool) -> AbstractContextManager[Child | Command]:
        if by_command:
            return command(self.url, self.folder, "", "worker")
        return start_process(processes.work, self.url, self.folder)

    @property
    def everybody(self) -> list[str]:
        """Return the users, and those that imports by command made up."""
        return [*self.users, *(path.stem for path in self.folder.glob("i*.jsonl"))]

    def _kill_import(self) -> None:
        """Import for a new user, or repeat the last import that did not finish."""
        user = f"i{self.tally.imports}"
        if not journal.read(self.folder, user).unanswered or self.dice.random() < 0.5:
            self.tally.imports += 1
            user = f"i{self.tally.imports}"
        if kill_an_import(self.url, self.folder, user, self.dice):
            self.tally.kills["imports"] += 1
            self._note_cut(user)

    def _kill(self, victims: list[Victim]) -> None:
        instants = sorted(SHORTEST * (LONGEST / SHORTEST) ** self.dice.random() for _ in victims)
        self.dice.shuffle(victims)
        began = time.monotonic()
        for instant, victim in zip(instants, victims, strict=True):
            time.sleep(max(0.0, began + instant - time.monotonic()))
            if not victim.by_itself:
                victim.process.kill()
            if victim.process.wait_until_dead() != -signal.SIGKILL:
                raise ProcessFailed(f"One of the {victim.kind} ended before it was killed.")
            self.tally.kills[victim.kind] += 1
            if victim.user is not None:
                self._note_cut(victim.user)

    def _note_cut(self, user: str) -> None:
        cut = journal.read(self.folder, user).unanswered
        if cut is not None:
            self.tally.cut[cut.operation] += 1

    def _warm_up(self) -> int:
        return self.dice.randrange(WARM_UP)

    def _fuse(self) -> int | None:
        """Return the calls until a writer dies for half of them; None for those that a timer kills."""
        return round(SHORT_FUSE * (LONG_FUSE / SHORT_FUSE) ** self.dice.random()) if self.dice.random() < 0.5 else None

    def _seed(self) -> int:
        return self.dice.randrange(2**32)


def prepare(url: str, folder: Path, dice: random.Random) -> KillAttack:
    """Create the database, the key for its servers, and the binding that turns conversations into memory."""
    folder.mkdir(parents=True, exist_ok=True)
    copies.write_templates(folder)
    with processes.open_engine(url, folder) as engine:
        host = engine.context(tenant_id=TENANT, app_id=APP, user_id="host", capabilities={"admin"})
        space = host.memory.create_memory_space(DAILY)
        policy = {"windowed": True, "windowTurns": 3}
        host.memory.create_binding({"namespace": BOUND, "userId": "*"}, [space.id], policy)
        made = engine.keys.create(tenant_id=TENANT, app_id=APP, admin=True)
    return KillAttack(url, folder, made.token, dice)


def _hear_ready(*processes: Child | Command) -> None:
    for process in processes:
        heard = process.hear()
        if heard != "ready":
            raise ProcessFailed(f"A process said {heard!r} before it was ready.")
