"""The workload while PostgreSQL is attacked: everything the engine does, in separate processes.

Each process reports in the end how its calls were answered. Operations with a key are repeated after an error; others
are not.
"""

from __future__ import annotations

import http.client
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import longmind
from harness.crew import Line
from longmind.models.content import encode_content
from longmind.server.app import make_app
from longmind.server.process import HttpServer, open_listener
from longmind.store.tables.messages import NewMessage
from longmind.store.triggers import conversation_writes
from prove.postgres_faults.comparison import CallerOperation, Outcome

LIMITS: dict[str, Any] = {
    "embedder": None,
    "pool_size": 4,
    "busy_timeout_seconds": 3.0,
    "answer_timeout_seconds": 3.0,
    "connect_timeout_seconds": 3.0,
    "job_lease_seconds": 4.0,
    "job_attempts": 100,
    "job_retry_seconds": 0.2,
    "job_retry_cap_seconds": 1.0,
    "worker_poll_seconds": 0.2,
}
THREADS = 2
_FAULT = 500
"""The status of errors that stand for a fault of the program."""
_PAUSE = 0.02


def ada(engine: longmind.Engine) -> longmind.Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="ada")


def quiet() -> None:
    """Silence the loggers, since each process reports its own errors."""
    for name in ("psycopg", "longmind"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def write_on(line: Line, url: str, stop: str, name: str, seed: int) -> tuple[list[CallerOperation], list[str]]:
    """Append, answer, count, remember, record and queue until `stop` exists; return this and a subscriber's changes."""
    quiet()
    with longmind.open(url, **LIMITS) as engine:
        heard: list[str] = []
        engine.subscribe(lambda change: heard.append(change.event_id))
        journal: list[CallerOperation] = []
        writers = [Writer(engine, Path(stop), f"{name}t{number}", seed + number) for number in range(THREADS)]
        line.say("ready")
        threads = [threading.Thread(target=writer.run, args=(journal,)) for writer in writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return journal, heard


class Writer:
    """One caller, with a conversation of its own."""

    def __init__(self, engine: longmind.Engine, stop: Path, name: str, seed: int) -> None:
        self._engine = engine
        self._ctx = ada(engine)
        self._stop = stop
        self._name = name
        self._counter = f"counter-{name[:2]}"
        self._chance = random.Random(seed)
        self._conversation = self._ctx.conversations.create_conversation("attacked", title=name).id
        self._space = self._ctx.memory.create_memory_space(name).id
        self._ways: dict[str, Callable[[str], object]] = {
            "append": self._append,
            "turn": self._turn,
            "bare": lambda mark: self._ctx.conversations.append_user_message(self._conversation, mark),
            "count": self._count,
            "tool": self._store,
            "event": lambda mark: self._ctx.events.record("attacked", mark),
            "atom": self._remember,
            "job": lambda mark: self._ctx.jobs.enqueue("attacked", {"mark": mark}, unique_key=mark),
        }

    def run(self, journal: list[CallerOperation]) -> None:
        number = 0
        while not self._stop.exists():
            number += 1
            kind = self._chance.choice(list(self._ways))
            mark = f"#{kind}:{self._name}.{number}#"
            journal.append(self._do(kind, mark, repeats=kind in ("append", "turn", "job")))
            time.sleep(_PAUSE)

    def _do(self, kind: str, mark: str, *, repeats: bool) -> CallerOperation:
        attempts, longest = 0, 0.0
        while True:
            attempts += 1
            began = time.monotonic()
            outcome, error = outcome_of(lambda: self._ways[kind](mark))
            longest = max(longest, time.monotonic() - began)
            if outcome in ("done", "improper") or not repeats or self._stop.exists():
                return CallerOperation(kind, mark, outcome, attempts, longest, error)
            time.sleep(_PAUSE)

    def _append(self, mark: str) -> None:
        self._ctx.conversations.append_user_message(self._conversation, mark, idempotency_key=mark)

    def _turn(self, mark: str) -> None:
        self._ctx.conversations.append_turn(
            self._conversation, user_content=mark, assistant={"content": "An answer."}, idempotency_key=mark
        )

    def _store(self, mark: str) -> None:
        # A new session for each entry, since a session may store only a few.
        session = self._engine.context(tenant_id="acme", app_id="support", user_id="ada", session_id=mark)
        session.tools.memory_store("fact", mark)

    def _count(self, mark: str) -> None:
        """Raise the number in a block that all share, by compare-and-set."""
        while True:
            block = self._ctx.blocks.get("core", agent_id=self._counter)
            number = int(block.content) if block else 0
            try:
                seen = block.updated_at if block else None
                self._ctx.blocks.update("core", str(number + 1), seen, agent_id=self._counter)
            except longmind.BlockConflict:
                continue
            return

    def _remember(self, mark: str) -> None:
        """Add an atom, which the same process must find at once."""
        self._ctx.memory.add_atoms(
            self._space, [{"text": f"{self._name} noted {mark}", "category": {"name": "notes", "kind": "FACT"}}]
        )
        try:
            found = self._ctx.memory.recall_by_topic(self._space, mark, limit=5)
        except longmind.StoreError:
            return
        if not any(mark in hit.atom.text for hit in found.hits):
            raise AssertionError("what was remembered is not found")


def outcome_of(attempt: Callable[[], object]) -> tuple[Outcome, str]:
    """Make a call and return what a caller may conclude from its end."""
    try:
        attempt()
    except longmind.OutcomeUnknown as error:
        return "unknown", type(error).__name__
    except longmind.StoreError as error:
        # An error without a class of its own does not tell a caller whether to try again.
        return ("refused" if error.status != _FAULT else "improper"), _words(error)
    except longmind.ToolError as error:
        # A call that must not be repeated may have been done.
        return ("refused" if error.retriable or error.code == "PLUGIN_ERROR" else "unknown"), error.code
    except Exception as error:
        return "improper", repr(error)
    return "done", ""


def _words(error: longmind.StoreError) -> str:
    return type(error).__name__ if error.status != _FAULT else f"{error!r} {error.__cause__!r}"


def work_on(line: Line, url: str, stop: str, conversation_id: str) -> int:
    """Work on jobs, each of which leaves a message in the transaction that ends it."""
    quiet()
    with longmind.open(url, **LIMITS) as engine:
        engine.register_job("attacked", lambda run: longmind.Effect(leave_message, (run.scope, conversation_id, run)))
        engine.start_workers(THREADS)
        line.say("ready")
        while not Path(stop).exists():
            time.sleep(0.05)
    return 0


def leave_message(run: Any, scope: longmind.Scope, conversation_id: str, job: Any) -> None:
    append_in(run, scope, conversation_id, f"#effect:{job.job.payload['mark'].strip('#')}#")


def append_in(run: Any, scope: longmind.Scope, conversation_id: str, text: str) -> None:
    """Append a message as part of a larger transaction."""
    at = time.time_ns() // 1000
    conversation_writes.append(run, scope, conversation_id, NewMessage("user", encode_content(text), "user", at), at)


def follow_on(line: Line, url: str, stop: str) -> list[tuple[int, str]]:
    """Follow all changes from the beginning; after an error go on from the last that was seen."""
    quiet()
    seen: list[tuple[int, str]] = []
    with longmind.open(url, **LIMITS) as engine:
        line.say("ready")
        at_end = False
        # Once more after the end, to see the last changes too.
        while not at_end:
            at_end = Path(stop).exists()
            try:
                for change in engine.follow(seen[-1][0] if seen else None, wait=0.5):
                    seen.append((change.cursor, change.event_id))
            except longmind.StoreError:
                at_end = False
                time.sleep(_PAUSE)
    return seen


def serve_on(line: Line, url: str, stop: str, name: str) -> tuple[list[CallerOperation], list[tuple[float, int]]]:
    """Run a server, a client that appends through it, and a probe of its readiness."""
    quiet()
    with longmind.open(url, **LIMITS) as engine:
        listener = open_listener("127.0.0.1", 0)
        port = listener.getsockname()[1]
        server = HttpServer(make_app(engine), engine, listener)
        threads = [threading.Thread(target=server.serve_until_stopped)]
        threads[0].start()
        readiness: list[tuple[float, int]] = []
        journal: list[CallerOperation] = []
        _, made = _ask(port, "POST", "/ai-conversations", {"namespace": "attacked", "title": "rest"})
        threads += [
            threading.Thread(target=_probe, args=(port, Path(stop), readiness)),
            threading.Thread(target=_post, args=(port, Path(stop), json.loads(made)["id"], name, journal)),
        ]
        for thread in threads[1:]:
            thread.start()
        line.say("ready")
        for thread in threads[1:]:
            thread.join()
        server.stop()
        threads[0].join()
    return journal, readiness


def _probe(port: int, stop: Path, readiness: list[tuple[float, int]]) -> None:
    while not stop.exists():
        status, _ = _ask(port, "GET", "/readyz")
        readiness.append((time.monotonic(), status))
        time.sleep(0.1)


def _post(port: int, stop: Path, conversation_id: str, name: str, journal: list[CallerOperation]) -> None:
    """Append over HTTP. Every second message has a key, and is sent again until it is answered."""
    number = 0
    path = f"/ai-conversations/{conversation_id}/messages/user"
    while not stop.exists():
        number += 1
        mark = f"#rest:{name}served.{number}#"
        headers = {"idempotency-key": mark} if number % 2 else {}
        attempts, longest = 0, 0.0
        outcome: Outcome = "refused"
        while outcome in ("refused", "unknown") and (not attempts or headers) and not (attempts and stop.exists()):
            attempts += 1
            began = time.monotonic()
            status, answer = _ask(port, "POST", path, {"content": mark}, headers)
            outcome = {201: "done", 200: "done", 503: "refused", 504: "unknown"}.get(status, "improper")  # type: ignore[assignment]
            longest = max(longest, time.monotonic() - began)
            time.sleep(_PAUSE)
        description = f"{status} {answer.decode()[:300]}" if outcome == "improper" else f"{status}"
        journal.append(CallerOperation("rest", mark, outcome, attempts, longest, description))


def _ask(
    port: int, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
