"""Followers in other processes see every change once, in order, while writers commit and roll back around them."""

from __future__ import annotations

import threading
from itertools import groupby, pairwise

import psycopg
import pytest

import longmind
from harness.crew import PATIENCE, Line, ProcessFailed, ada, collect_results, start_process, start_processes
from harness.postgres import PostgresServer
from longmind.clock import system_clock
from longmind.store.database import Transaction
from longmind.store.tables import conversations, jobs
from tests.processes.effects import leave_remark, leave_remark_and_undo, leave_remark_slowly

WRITERS = 4
ROUNDS = 40
END = "end"


def write_and_undo(line: Line, url: str, shared: str, closed: str, index: int) -> list[str]:
    """Write, with some writes refused and some undone on the way; the answer is the ids of the messages that stay."""
    written = []
    name = f"writer.{index}"
    with ada(url, rolling_summary_turns=0) as (engine, ctx):
        engine.register_job(f"{name}.undo", lambda run: longmind.Effect(leave_remark_and_undo, (run,)))
        engine.register_job(f"{name}.slow", lambda run: longmind.Effect(leave_remark_slowly, (run, 0.3)))
        own = ctx.conversations.create_conversation(name).id
        line.wait_for_others()
        written.append(ctx.conversations.append_user_message(own, "first", idempotency_key="k").id)
        for number in range(ROUNDS):
            turn = ctx.conversations.append_turn(shared, user_content="Hello", assistant={"content": "Hi"})
            message = ctx.conversations.append_user_message(own, f"{number}")
            written += [turn.user_message.id, turn.assistant_message.id, message.id]
            with pytest.raises(longmind.ConversationClosed):
                ctx.conversations.append_user_message(closed, "too late")
            with pytest.raises(longmind.IdempotencyMismatch):
                ctx.conversations.append_user_message(own, "something else", idempotency_key="k")
            if number % 4 == 0:
                ctx.jobs.enqueue(f"{name}.undo", {"conversation": own}, max_attempts=1)
                assert engine.work() == longmind.WorkReport(dead=1)
            # One after the other, so that the rest goes on while one of them lets its place in the ledger wait.
            if number == 4 + 8 * index:
                job = ctx.jobs.enqueue(f"{name}.slow", {"conversation": own})
                assert engine.work() == longmind.WorkReport(succeeded=1)
                written += [done.result for done in [ctx.jobs.get_job(job.id)] if done]
    return written


def follow_to_the_end(line: Line, url: str, after: int | None) -> list[longmind.Change]:
    seen = []
    with ada(url) as (engine, _):
        line.say("following")
        for change in engine.follow(after, wait=PATIENCE):
            seen.append(change)
            if change.data.get("namespace") == END:
                return seen
    raise ProcessFailed(f"Nothing came any more after {seen[-1:]}.")


@pytest.mark.conforms("A0.6")
def test_a_follower_sees_the_changes_of_all_processes_once_and_in_order(
    database_url: str, engine: longmind.Engine, ctx: longmind.Context
) -> None:
    shared = ctx.conversations.create_conversation("shared").id
    closed = ctx.conversations.create_conversation("closed").id
    ctx.conversations.close_conversation(closed)
    cursor = engine.last_cursor()

    with (
        start_process(follow_to_the_end, database_url, cursor) as late,
        start_process(follow_to_the_end, database_url, None) as early,
        start_processes(write_and_undo, [(database_url, shared, closed, index) for index in range(WRITERS)]) as writers,
    ):
        assert [late.hear(), early.hear()] == ["following", "following"]
        written = [message for ids in collect_results(writers) for message in ids]
        ctx.conversations.create_conversation(END)
        seen: list[longmind.Change] = late.result()
        seen_from_the_beginning: list[longmind.Change] = early.result()

    assert all(earlier.cursor < later.cursor for earlier, later in pairwise(seen_from_the_beginning))
    assert seen_from_the_beginning == list(engine.follow())
    assert seen == [change for change in seen_from_the_beginning if change.cursor > cursor]

    appended = [change for change in seen if change.kind == "message.appended"]
    assert sorted(change.event_id for change in appended) == sorted(written)
    in_conversation = sorted(appended, key=lambda change: change.conversation_id or "")
    for _, changes in groupby(in_conversation, key=lambda change: change.conversation_id):
        sequences = [change.data["sequence"] for change in changes]
        assert sequences == list(range(1, len(sequences) + 1))
    assert [change.kind for change in seen].count("conversation.created") == WRITERS + 1


def test_a_change_is_not_seen_before_one_that_stands_before_it_and_is_still_being_written(postgres_url: str) -> None:
    begun, placed, may_end = threading.Event(), threading.Event(), threading.Event()

    def begin_first_and_take_the_second_place(run: Transaction, attempt: longmind.JobRun) -> str:
        now = system_clock()
        jobs.enqueue(run, attempt.scope, jobs.NewJob("later", "{}", due_at=now, max_attempts=1), now)
        begun.set()
        assert placed.wait(PATIENCE)
        return leave_remark(run, attempt, "second")

    def begin_second_and_take_the_first_place(run: Transaction, attempt: longmind.JobRun) -> str:
        message_id = leave_remark(run, attempt, "first")
        # An answer from the server shows that all that was sent before has been done.
        conversations.get(run, attempt.job.payload["conversation"])
        placed.set()
        assert may_end.wait(PATIENCE)
        return message_id

    with ada(postgres_url) as (engine, ctx), ada(postgres_url) as (other, _):
        engine.register_job("early", lambda run: longmind.Effect(begin_first_and_take_the_second_place, (run,)))
        other.register_job("late", lambda run: longmind.Effect(begin_second_and_take_the_first_place, (run,)))
        for kind in ("early", "late"):
            ctx.jobs.enqueue(kind, {"conversation": ctx.conversations.create_conversation(kind).id})
        following = engine.following(engine.last_cursor())
        early, late = threading.Thread(target=engine.work), threading.Thread(target=other.work)
        early.start()
        assert begun.wait(PATIENCE)
        late.start()
        early.join()

        assert following.read() == []
        may_end.set()
        late.join()
        done = {job.kind: job.result for job in ctx.jobs.list_jobs()}
        assert [change.event_id for change in following.read()] == [done["late"], done["early"]]


def test_a_follower_waits_for_nobody_who_does_not_write_to_the_ledger(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    with ada(postgres_url) as (engine, ctx):
        conversation = ctx.conversations.create_conversation("gap")
        engine.register_job("undo", lambda run: longmind.Effect(leave_remark_and_undo, (run,)))
        ctx.jobs.enqueue("undo", {"conversation": conversation.id}, max_attempts=1)
        with psycopg.connect(postgres_url) as here, psycopg.connect(postgres_server.url()) as elsewhere:
            for connection in (here, elsewhere):
                # It makes the transaction one that writes, as far as the server can know.
                connection.execute("SELECT pg_current_xact_id()")
            assert engine.work() == longmind.WorkReport(dead=1)
            message = ctx.conversations.append_user_message(conversation.id, "after the gap")

            created, appended = engine.following().read()

    assert created.kind == "conversation.created"
    assert appended.event_id == message.id
    assert appended.cursor == created.cursor + 2
