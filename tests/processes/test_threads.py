"""One engine shared by many threads, beside other processes: nobody starves, and nobody waits for himself."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

import longmind
from harness.crew import PATIENCE, Line, ada, run_together, start_process, wait_until
from harness.messages import all_messages

T = TypeVar("T")

THREADS = 16


def in_threads(count: int, work: Callable[[int], T]) -> list[T]:
    """Run a function in threads that begin at one moment, and collect what they return."""
    gate = threading.Barrier(count)

    def begin(index: int) -> T:
        gate.wait()
        return work(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def write_from_threads(line: Line, url: str, conversation_id: str, name: str, threads: int, writes: int) -> float:
    """The answer is how long the slowest write took, in seconds."""
    with ada(url, busy_timeout_seconds=10) as (_, ctx):

        def write(index: int) -> float:
            slowest = 0.0
            for number in range(writes):
                began = time.monotonic()
                ctx.conversations.append_user_message(conversation_id, f"{name}.{index}.{number}")
                slowest = max(slowest, time.monotonic() - began)
            return slowest

        line.wait_for_others()
        return max(in_threads(threads, write))


def test_sixteen_threads_and_two_other_processes_write_at_once_and_none_is_kept_waiting_too_long(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("crowd")
    crews = {"threads": (THREADS, 50), "alone": (1, 150), "alone too": (1, 150)}

    slowest = run_together(
        write_from_threads, [(database_url, conversation.id, name, *crew) for name, crew in crews.items()]
    )

    # pytest shows it when the test fails.
    print(f"the slowest write took {max(slowest):.3f} s")
    messages = ctx.conversations.get_raw_turns(conversation.id, limit=10_000)
    assert [message.sequence for message in messages] == list(range(1, len(messages) + 1))
    for name, (threads, writes) in crews.items():
        for index in range(threads):
            mine = [message.text for message in messages if message.text.startswith(f"{name}.{index}.")]
            assert mine == [f"{name}.{index}.{number}" for number in range(writes)]


def test_writes_that_fail_take_none_of_those_beside_them_along(ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("crowd")
    closed = ctx.conversations.create_conversation("crowd")
    ctx.conversations.close_conversation(closed.id)
    ctx.conversations.append_user_message(conversation.id, "first", idempotency_key="k")

    def write(index: int) -> Counter[str]:
        outcomes: Counter[str] = Counter()
        for number in range(20):
            try:
                match (index + number) % 4:
                    case 0:
                        ctx.conversations.append_user_message(closed.id, "too late")
                    case 1:
                        ctx.conversations.append_user_message(conversation.id, "other", idempotency_key="k")
                    case 2:
                        ctx.conversations.append_user_message("conv_unknown", "nowhere")
                    case _:
                        ctx.conversations.append_turn(
                            conversation.id, user_content=f"{index}.{number}", assistant={"content": "yes"}
                        )
                outcomes["written"] += 1
            except longmind.LongmindError as error:
                outcomes[type(error).__name__] += 1
        return outcomes

    for outcomes in in_threads(THREADS, write):
        assert outcomes == {"ConversationClosed": 5, "IdempotencyMismatch": 5, "NotFound": 5, "written": 5}
    messages = ctx.conversations.get_raw_turns(conversation.id, limit=10_000)
    assert [message.sequence for message in messages] == list(range(1, 1 + 2 * 5 * THREADS + 1))
    assert ctx.conversations.get_raw_turns(closed.id) == []


def share_with_writing_subscribers(line: Line, url: str) -> tuple[list[str], list[str]]:
    """Write from many threads while subscribers write too, one of them from yet another thread."""
    with ada(url, pool_size=4) as (engine, ctx), ThreadPoolExecutor(1) as elsewhere:
        crowd = ctx.conversations.create_conversation("crowd").id
        audit = ctx.conversations.create_conversation("audit").id
        echo = ctx.conversations.create_conversation("echo").id

        def note(change: longmind.Change) -> None:
            if change.conversation_id == crowd:
                ctx.conversations.append_system_message(audit, change.event_id, visibility="user")
                ctx.jobs.enqueue("look", {"message": change.event_id})

        def note_from_elsewhere(change: longmind.Change) -> None:
            if change.conversation_id == crowd:
                write = ctx.conversations.append_system_message
                elsewhere.submit(write, echo, change.event_id, visibility="user").result()

        engine.subscribe(note, kinds=["message.appended"])
        engine.subscribe(note_from_elsewhere, kinds=["message.appended"])
        engine.register_job("look", lambda run: len(run.context.conversations.get_messages(crowd, limit=5)))
        engine.start_workers(2)

        def write_and_read(index: int) -> None:
            for number in range(10):
                ctx.conversations.append_turn(
                    crowd, user_content=f"{index}.{number}", assistant={"content": f"to {index}.{number}"}
                )
                ctx.conversations.get_messages(crowd)
                own = ctx.conversations.create_conversation("own")
                ctx.conversations.close_conversation(own.id)

        in_threads(THREADS, write_and_read)
        line.say("all have written")

        def texts(conversation_id: str) -> list[str]:
            return [message.text for message in ctx.conversations.get_messages(conversation_id, limit=10_000)]

        # A change may be told by any thread that writes, a worker's too.
        wait_until(lambda: len(texts(echo)) == len(texts(crowd)))
        return texts(audit), texts(echo)


def test_subscribers_that_write_hold_up_neither_the_writers_nor_themselves(
    database_url: str, ctx: longmind.Context
) -> None:
    with start_process(share_with_writing_subscribers, database_url) as process:
        assert process.hear() == "all have written"
        noted, echoed = process.result()

    [crowd] = ctx.conversations.list_conversations(namespace="crowd")
    written = [message.id for message in ctx.conversations.get_messages(crowd.id, limit=10_000)]
    assert len(written) == 2 * 10 * THREADS
    assert sorted(noted) == sorted(written)
    assert echoed == noted
    assert len(ctx.conversations.list_conversations(namespace="own", status="closed")) == 10 * THREADS
    assert len(ctx.jobs.list_jobs(kind="look", limit=10_000)) == len(written)


def close_under_load(line: Line, url: str) -> list[str]:
    """Close the engine while threads write; the answer is what they were told is written."""
    with ada(url, pool_size=4) as (engine, ctx):
        crowd = ctx.conversations.create_conversation("crowd").id
        enough = threading.Event()
        written: list[str] = []

        def write_for_ever() -> None:
            while True:
                written.append(ctx.conversations.append_user_message(crowd, "Hello").id)
                ctx.conversations.get_messages(crowd, limit=1)
                if len(written) > 100:
                    enough.set()

        def write_or_close(index: int) -> None:
            if index:
                with pytest.raises(longmind.EngineClosed):
                    write_for_ever()
            else:
                assert enough.wait(PATIENCE)
                engine.close()

        in_threads(THREADS, write_or_close)
    return written


def test_an_engine_that_is_closed_under_load_refuses_and_loses_nothing(
    database_url: str, ctx: longmind.Context
) -> None:
    with start_process(close_under_load, database_url) as process:
        told = process.result()

    [crowd] = ctx.conversations.list_conversations(namespace="crowd")
    written = [message.id for message in all_messages(ctx.conversations, crowd.id)]
    assert sorted(told) == sorted(written)
