"""A worker whose jobs take a while, so that it can be cut off in the middle of one: it says when it begins.

It does the engine's own kinds of jobs and three of the proof's: `remark`, which appends a message in the transaction
that ends the job; `slow-remark`, whose transaction stays open for a while; and `long-remark`, which takes longer than
a lease, so that a worker that is cut off from it comes back too late. So do the engine's own jobs over texts that are
marked for it.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence

import longmind
from longmind.clock import system_clock
from longmind.extraction.candidate import Candidate, Extracted, SourceMessage
from longmind.models.content import encode_content
from longmind.server.observability.logs import set_up_logs
from longmind.store.database import Transaction
from longmind.store.tables.messages import NewMessage
from longmind.store.triggers import conversation_writes
from prove.machines.hash_embedder import HashEmbedder
from prove.machines.slow_job_marks import find_mark


class Thoughts:
    """Work that takes a while, as with a model, and longer for texts that are marked."""

    def __init__(self, seconds: float, long: float) -> None:
        self._seconds = seconds
        self._long = long

    def think(self, about: str, *, long: bool = False) -> None:
        print(json.dumps({"began": about, "at": time.time()}), flush=True)
        time.sleep(self._long if long else self._seconds)

    def think_over(self, texts: Iterable[str], *kinds: str) -> None:
        found = find_mark(texts, *kinds)
        self.think(found or f"short {kinds[0]}", long=found is not None)


class EachMessage(Thoughts):
    """An extractor for which each remark of the user is a fact."""

    name = "each-message"

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        self.think_over((message.text for message in messages), "extraction", "sleep")
        return Extracted(
            [
                Candidate(message.text, "notes", "FACT", "user", (message.id,))
                for message in messages
                if message.role == "user" and not message.read_only
            ]
        )


class Verbatim(Thoughts):
    """A summariser that omits nothing while there is room, so that missing and repeated texts show."""

    name = "verbatim@1"

    def summarise(self, earlier: str | None, messages: Sequence[SourceMessage], limit: int) -> str:
        self.think_over((message.text for message in messages), "summary", "distillation")
        return "|".join([*filter(None, [earlier]), *(message.text for message in messages)])[-limit:]


class SlowWords(HashEmbedder, Thoughts):
    """An embedder that is slow for marked texts, and instant for others."""

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        if found := find_mark(texts, "vectors", "event vectors"):
            self.think(found, long=True)
        return super().embed_texts(texts)


def leave_remark(run: Transaction, attempt: longmind.JobRun, open_seconds: float) -> str:
    now = system_clock()
    new = NewMessage(role="system", content=encode_content(attempt.job.id), visibility="user", at=now)
    message = conversation_writes.append(run, attempt.scope, attempt.job.payload["conversation"], new, now)
    if open_seconds:
        print(json.dumps({"began": "transaction", "at": time.time()}), flush=True)
        time.sleep(open_seconds)
    return message.id


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--think", type=float, default=0.3)
    parser.add_argument("--open", type=float, default=0.5, help="how long the transaction of a slow remark is open")
    parser.add_argument("--long", type=float, default=3.5, help="how long it thinks over what takes long")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", type=float, default=0.0, help="by how many seconds its clock is wrong")
    options = parser.parse_args()
    paces = (options.think, options.long)
    thoughts = Thoughts(*paces)

    def remark(attempt: longmind.JobRun) -> longmind.Effect:
        thoughts.think(attempt.job.kind, long=attempt.job.kind == "long-remark")
        return longmind.Effect(leave_remark, (attempt, options.open if attempt.job.kind == "slow-remark" else 0.0))

    wrong = int(options.clock * 1_000_000)
    stop = threading.Event()
    with longmind.open(
        extractor=EachMessage(*paces),
        summariser=Verbatim(*paces),
        embedder=SlowWords(*paces),
        clock=(lambda: system_clock() + wrong) if wrong else system_clock,
    ) as engine:
        set_up_logs(engine.settings)
        for kind in ("remark", "slow-remark", "long-remark"):
            engine.register_job(kind, remark)
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, lambda *_: stop.set())
        engine.start_workers(options.threads)
        print(f"at work at {engine._clock()}", file=sys.stderr, flush=True)
        stop.wait()
        engine.stop_workers(5)


if __name__ == "__main__":
    main()
