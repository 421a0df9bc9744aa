"""More callers than connections, and a caller that is stopped in the middle of a transaction."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil

import longmind
from harness.crew import Line, start_process, wait_until
from prove.postgres_faults.nodes import PostgresNode
from prove.postgres_faults.workload import LIMITS, ada, append_in
from prove.section import Check

_CALLERS = 12
_WRITING = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL"
_WAIT = 1.0


def check_exhausted_pool(node: PostgresNode) -> Check:
    """Block two connections with a lock: callers without one are refused in time, and served later."""
    settings = {**LIMITS, "pool_size": 2, "connect_timeout_seconds": _WAIT, "busy_timeout_seconds": 30.0}
    against = []
    with longmind.open(node.url(), **settings) as engine, ThreadPoolExecutor(_CALLERS) as threads:
        chat = ada(engine).conversations
        conversation = chat.create_conversation("crowded").id

        def call(number: int) -> tuple[str, float]:
            began = time.monotonic()
            try:
                chat.append_user_message(conversation, f"{number}")
            except longmind.StoreUnavailable as error:
                return error.message, time.monotonic() - began
            return "", time.monotonic() - began

        with node.session() as somebody:
            somebody.execute("LOCK TABLE longmind.events IN ACCESS EXCLUSIVE MODE")
            calls = [threads.submit(call, number) for number in range(_CALLERS)]
            time.sleep(2 * _WAIT)
            refused = [each.result() for each in calls if each.done()]
        answers = [each.result() for each in calls]
        stored = {message.text for message in chat.get_messages(conversation, limit=100)}
        again = [call(number)[0] for number in range(_CALLERS, 2 * _CALLERS)]
    if len(refused) != _CALLERS - 2 or not all("in use" in message for message, _ in refused):
        against.append(f"{len(refused)} of {_CALLERS} were refused: {sorted({message for message, _ in refused})}")
    if stored != {str(number) for number, (message, _) in enumerate(answers) if not message}:
        against.append(f"what is stored is not what was acknowledged: {sorted(stored)}")
    if any(again):
        against.append(f"it does not go on afterwards: {again}")
    slowest = max((seconds for _, seconds in refused), default=0.0)
    if slowest > _WAIT + 1:
        against.append("a refusal took too long")
    return Check(
        "Who finds no free connection is told so in time, and all are served when there are some again",
        not against,
        {"callers": _CALLERS, "connections": 2, "refused": len(refused), "slowest refusal seconds": slowest},
        "; ".join(against),
    )


def check_stopped_client(node: PostgresNode) -> Check:
    """Stop a process in the middle of a write: its locks are released, and its write is not half done."""
    settings = {**LIMITS, "busy_timeout_seconds": 1.0, "answer_timeout_seconds": 1.0}
    with longmind.open(node.url(), **settings) as engine:
        chat = ada(engine).conversations
        conversation = chat.create_conversation("stopped").id
        with start_process(_stop_in_a_write, node.url(), conversation, settings) as child:
            pid = child.hear()
            wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
            [(held,)] = node.administer(_WRITING)
            began = time.monotonic()
            refusals = 0
            while True:
                try:
                    chat.append_user_message(conversation, "I do not wait for ever.")
                    break
                except longmind.StoreBusy:
                    refusals += 1
                    if time.monotonic() - began > 20:
                        break
            seconds = time.monotonic() - began
            os.kill(pid, signal.SIGCONT)
            outcome = child.result()
        texts = sorted(message.text for message in chat.get_messages(conversation))
    expected = ["I do not wait for ever.", *(["I was stopped."] if outcome == "done" else [])]
    against = [] if held else ["it was stopped before it had written, so nothing was shown"]
    if seconds > 10:
        against.append("its locks were held")
    if texts != sorted(expected):
        against.append(f"its answer was {outcome}, and {texts} is stored")
    return Check(
        "A process that is stopped in the middle of a write holds nobody up for long, and its write is whole or not",
        not against,
        {"others wait seconds": seconds, "refused meanwhile": refusals, "the stopped one was told": outcome},
        "; ".join(against),
    )


def _stop_in_a_write(line: Line, url: str, conversation_id: str, settings: dict[str, Any]) -> str:
    with longmind.open(url, **settings) as engine:
        stopped = threading.Event()

        def write(run: Any, scope: longmind.Scope) -> None:
            append_in(run, scope, conversation_id, "I was stopped.")
            if not stopped.is_set():
                stopped.set()
                line.say(os.getpid())
                os.kill(os.getpid(), signal.SIGSTOP)

        try:
            engine._database.write(ada(engine).scope, write, ada(engine).scope)
        except longmind.StoreError as error:
            return type(error).__name__
    return "done"
