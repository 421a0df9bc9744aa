"""An engine in a process that forks: parent and child go on with it, each with connections of its own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from functools import partial

import psycopg
import pytest

import longmind
from harness.crew import Line, ada, start_process, wait_until
from harness.messages import all_messages

WRITES = 50
FORKS = 20
SECONDS_FOR_A_CHILD = 60


def forked(work: Callable[[], object]) -> int:
    """Run a function in a fork of this process, which then exits, with 0 if all went well. The answer is its id."""
    child = os.fork()
    if child:
        return child
    # A child that hangs is ended by the alarm, and so is seen.
    signal.alarm(SECONDS_FOR_A_CHILD)
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def append_many(ctx: longmind.Context, conversation_id: str, name: str) -> None:
    for number in range(WRITES):
        ctx.conversations.append_turn(
            conversation_id, user_content=f"{name}.{number}", assistant={"content": f"to {name}.{number}"}
        )
        assert ctx.conversations.get_messages(conversation_id, limit=1)


def write_on_both_sides_of_a_fork(line: Line, url: str, conversation_id: str) -> int:
    with ada(url) as (_, ctx):
        append_many(ctx, conversation_id, "before")
        child = forked(lambda: append_many(ctx, conversation_id, "child"))
        append_many(ctx, conversation_id, "parent")
        code = exit_code(child)
        # The child's end took nothing of the parent's with it.
        append_many(ctx, conversation_id, "after")
    return code


def test_parent_and_child_of_a_fork_both_go_on_writing_through_the_engine(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("fork")

    with start_process(write_on_both_sides_of_a_fork, database_url, conversation.id) as process:
        assert process.result() == 0

    messages = ctx.conversations.get_raw_turns(conversation.id, limit=10_000)
    assert [message.sequence for message in messages] == list(range(1, 8 * WRITES + 1))
    for name in ("before", "child", "parent", "after"):
        mine = [message.text for message in messages[::2] if message.text.startswith(f"{name}.")]
        assert mine == [f"{name}.{number}" for number in range(WRITES)]


def keep_a_child_waiting(line: Line, url: str, conversation_id: str) -> None:
    """Fork, let both write, and stay until the test has looked."""
    with ada(url, pool_size=1) as (_, ctx):
        ctx.conversations.append_user_message(conversation_id, "before")
        seen, tell = os.pipe()
        wait, go_on = os.pipe()

        def write_and_wait() -> None:
            ctx.conversations.append_user_message(conversation_id, "child")
            os.write(tell, b".")
            os.read(wait, 1)

        child = forked(write_and_wait)
        os.read(seen, 1)
        ctx.conversations.append_user_message(conversation_id, "parent")
        line.say("both have written")
        line.hear()
        os.write(go_on, b".")
        assert exit_code(child) == 0


def test_parent_and_child_of_a_fork_have_a_session_each(postgres_url: str) -> None:
    with ada(postgres_url) as (_, ctx):
        conversation = ctx.conversations.create_conversation("fork")
    with (
        start_process(keep_a_child_waiting, postgres_url, conversation.id) as process,
        psycopg.connect(postgres_url, autocommit=True) as connection,
    ):
        assert process.hear() == "both have written"
        count = (
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'longmind' AND backend_type = 'client backend'"
        )
        # A session that has ended is there for a moment longer.
        wait_until(lambda: connection.execute(count).fetchone() == (2,))
        process.say("go on")
        process.result()


def outlive_the_parents_engine(line: Line, url: str, conversation_id: str) -> int:
    """Close the engine in the parent while a child goes on with it."""
    with ada(url) as (_, ctx):
        append_many(ctx, conversation_id, "before")
        seen, tell = os.pipe()
        wait, go_on = os.pipe()

        def write_before_and_after() -> None:
            ctx.conversations.append_user_message(conversation_id, "while it was open")
            os.write(tell, b".")
            os.read(wait, 1)
            append_many(ctx, conversation_id, "child")

        child = forked(write_before_and_after)
        os.read(seen, 1)
    os.write(go_on, b".")
    return exit_code(child)


def test_what_a_child_writes_after_its_parent_has_closed_the_engine_is_kept(database_url: str) -> None:
    with ada(database_url) as (_, ctx):
        conversation = ctx.conversations.create_conversation("fork")
    with start_process(outlive_the_parents_engine, database_url, conversation.id) as process:
        assert process.result() == 0

    with ada(database_url) as (_, ctx):
        messages = ctx.conversations.get_raw_turns(conversation.id, limit=10_000)
        assert [message.sequence for message in messages] == list(range(1, 4 * WRITES + 2))
        mine = [message.text for message in messages if message.text.startswith("child.")]
        assert mine == [f"child.{number}" for number in range(WRITES)]


def fork_while_threads_work(line: Line, url: str, conversation_id: str) -> list[int]:
    """Fork again and again while other threads write and read; the answer is how the children ended."""
    with ada(url) as (_, ctx):
        enough = threading.Event()

        def write() -> None:
            while not enough.is_set():
                ctx.conversations.append_user_message(conversation_id, "thread")

        def read() -> None:
            while not enough.is_set():
                ctx.conversations.get_messages(conversation_id)

        threads = [threading.Thread(target=work) for work in (write, write, read, read)]
        for thread in threads:
            thread.start()
        codes = []
        for number in range(FORKS):
            child = forked(partial(ctx.conversations.append_user_message, conversation_id, f"child {number}"))
            codes.append(exit_code(child))
            if codes[-1]:
                break
        enough.set()
        for thread in threads:
            thread.join()
    return codes


def test_a_child_that_is_forked_while_other_threads_are_at_work_can_write(
    database_url: str, ctx: longmind.Context
) -> None:
    conversation = ctx.conversations.create_conversation("fork")

    with start_process(fork_while_threads_work, database_url, conversation.id) as process:
        assert process.result() == [0] * FORKS

    messages = all_messages(ctx.conversations, conversation.id)
    assert [message.sequence for message in messages] == list(range(1, len(messages) + 1))
    children = [message.text for message in messages if message.text.startswith("child")]
    assert children == [f"child {number}" for number in range(FORKS)]


def fork_with_a_database_in_memory(line: Line) -> tuple[int, int]:
    """How the child ended, and how many messages the parent has after it."""
    with ada("sqlite:///:memory:") as (_, ctx):
        conversation = ctx.conversations.create_conversation("fork")

        def write() -> None:
            with pytest.raises(longmind.EngineClosed) as refused:
                ctx.conversations.append_user_message(conversation.id, "child")
            assert refused.value.hint == "Use a file, or open an engine in the child."
            with pytest.raises(longmind.EngineClosed):
                ctx.conversations.get_messages(conversation.id)
            with ada("sqlite:///:memory:") as (_, own):
                own.conversations.create_conversation("fork")

        code = exit_code(forked(write))
        ctx.conversations.append_user_message(conversation.id, "parent")
        return code, len(ctx.conversations.get_messages(conversation.id))


def test_a_database_in_memory_is_closed_in_a_fork_and_open_in_its_parent() -> None:
    with start_process(fork_with_a_database_in_memory) as process:
        assert process.result() == (0, 1)
