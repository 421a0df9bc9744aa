"""The processes of the attack: writers, workers, servers, and the clients of servers. All but the last are killed."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import longmind
from harness.crew import Line
from harness.embedder import WordsEmbedder
from longmind.clock import system_clock
from longmind.extraction.candidate import Candidate, Extracted, SourceMessage
from longmind.store.database import Transaction
from longmind.store.tables.ledger import record_change
from prove.kills import vendor
from prove.kills.journal import TOKEN
from prove.kills.steps.events import DISTILL, REMARK
from prove.kills.transports import Requests, ask_in_process, ask_over_http
from prove.kills.workload import Lost, UserClient

LEFT = "remark.left"
"""The kind of the change that a finished job records."""
LEASE = 0.5


class Facts:
    """An extractor with a predictable outcome: each remark of the user is one fact, word for word."""

    name = "facts"

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        remarks = [each for each in messages if each.role == "user" and not each.read_only and TOKEN.match(each.text)]
        return Extracted([Candidate(each.text, "said", "FACT", "user", (each.id,)) for each in remarks])


def mirror_of(folder: Path) -> Path:
    """Return the folder of the mirrored events, next to the journals."""
    return folder / "mirror"


@contextmanager
def open_engine(url: str, folder: Path) -> Iterator[longmind.Engine]:
    """An engine as all processes of the attack have it."""
    with longmind.open(
        url,
        embedder=WordsEmbedder(),
        extractor=Facts(),
        job_attempts=100,
        job_lease_seconds=LEASE,
        job_retry_seconds=0.05,
        worker_poll_seconds=0.02,
        rolling_summary_turns=4,
        events_jsonl_dir=str(mirror_of(folder)),
        events_jsonl_fsync="never",
    ) as engine:
        engine.register_job(REMARK, _remark)
        engine.register_job(DISTILL, _distill)
        yield engine


def _remark(run: longmind.JobRun) -> longmind.Effect:
    return longmind.Effect(_leave_remark, (run,))


def _leave_remark(transaction: Transaction, run: longmind.JobRun) -> None:
    record_change(transaction, run.scope, LEFT, system_clock(), token=run.job.payload["token"])


def _distill(run: longmind.JobRun) -> dict[str, str | None]:
    payload = run.job.payload
    summary = run.context.events.distill_long_term(f"session:{payload['session']}", summary_tag=payload["token"])
    return {"summary": summary.get("event_id")}


def write(line: Line, url: str, folder: Path, user: str, seed: int, warm_up: int, fuse: int | None) -> None:
    """Act for a user with a separate engine until the process is killed, after `warm_up` operations.

    With a fuse it kills itself after that number of function calls, wherever that is: between two statements of a
    transaction, or between its commit and the answer, which a timer would seldom hit.
    """
    burning = _Fuse(fuse)
    with open_engine(url, folder) as engine:
        _act(line, UserClient(ask_in_process(engine, user), folder, user, random.Random(seed)), warm_up, burning)


class _Fuse:
    """A counter of function calls in all threads that kills the process when it runs out."""

    def __init__(self, calls: int | None) -> None:
        self._left: Iterator[int] | None = None
        self._calls = calls
        if calls is not None:
            # Threads take it along only if it is there before them.
            threading.setprofile(self._burn)
            sys.setprofile(self._burn)

    def light(self) -> None:
        self._left = None if self._calls is None else iter(range(self._calls))

    def _burn(self, *_: object) -> None:
        if self._left is not None and next(self._left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)


def _act(line: Line, client: UserClient, warm_up: int, fuse: _Fuse | None = None) -> None:
    acting = client.act()
    for _ in islice(acting, warm_up):
        pass
    line.say("ready")
    if fuse is not None:
        fuse.light()
    for _ in acting:
        pass


def work(line: Line, url: str, folder: Path) -> None:
    """Do jobs, until it is killed."""
    with open_engine(url, folder) as engine:
        engine.start_workers(2)
        line.say("ready")
        threading.Event().wait()


def serve(line: Line, url: str, folder: Path, port: int, model_url: str) -> None:
    """Answer requests and do jobs until the process is killed."""
    from longmind.server.app import make_app
    from longmind.server.process import HttpServer, open_listener

    os.environ.update(vendor.environment(model_url))
    with open_engine(url, folder) as engine:
        serving = HttpServer(make_app(engine), engine, open_listener("127.0.0.1", port), workers=1)
        serving.serve_until_stopped(lambda: line.say("ready"))


def ask(line: Line, port: int, token: str, folder: Path, user: str, seed: int, warm_up: int) -> None:
    """Act for a user through a server until the server stops answering."""
    requests = Requests(port, {"authorization": f"Bearer {token}", "x-longmind-user": user})
    with suppress(Lost):
        _act(line, UserClient(ask_over_http(requests), folder, user, random.Random(seed), remote=True), warm_up)
