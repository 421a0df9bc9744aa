"""Subscribers: functions of this process that are told what was committed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from harness.crew import wait_until


def hold_a_conversation(ctx: longmind.Context) -> str:
    """Make a conversation with a turn in it, and close it: four changes."""
    id = ctx.conversations.create_conversation("daily-checkin").id
    ctx.conversations.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
    ctx.conversations.close_conversation(id)
    return id


def wait_until_told(told: Sequence[object], count: int) -> None:
    """On a slow machine the changes of several writes may be told by a thread in the background."""
    wait_until(lambda: len(told) >= count)


@pytest.mark.conforms("A0.6")
def test_a_subscriber_is_told_every_change_in_order(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    id = hold_a_conversation(ctx)
    assert [change.kind for change in told] == [
        "conversation.created",
        "message.appended",
        "message.appended",
        "conversation.closed",
    ]
    assert [change.data.get("sequence") for change in told] == [None, 1, 2, None]
    assert {(change.tenant_id, change.app_id, change.user_id, change.conversation_id) for change in told} == {
        ("acme", "support", "ada", id)
    }
    assert told == list(engine.follow())


@pytest.mark.conforms("A0.6")
def test_a_message_is_announced_by_its_id_role_place_turn_and_visibility(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append, kinds=["message.appended"])
    id = ctx.conversations.create_conversation("n").id
    message = ctx.conversations.append_system_message(id, "Be brief.")
    assert [change.data for change in told] == [
        {
            "messageId": message.id,
            "role": "system",
            "sequence": 1,
            "turnId": message.turn_id,
            "visibility": "internal",
        }
    ]
    assert (told[0].event_id, told[0].at) == (message.id, message.created_at)


def test_nothing_is_told_any_more_after_unsubscribing(engine: longmind.Engine, ctx: longmind.Context) -> None:
    left: list[longmind.Change] = []
    stayed: list[longmind.Change] = []
    unsubscribe = engine.subscribe(left.append)
    engine.subscribe(stayed.append)
    ctx.conversations.create_conversation("n")
    unsubscribe()
    unsubscribe()  # a second time is harmless
    ctx.conversations.create_conversation("n")
    assert (len(left), len(stayed)) == (1, 2)


def test_a_function_that_is_subscribed_twice_is_told_twice_and_leaves_once(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    told: list[longmind.Change] = []
    unsubscribe = engine.subscribe(told.append)
    engine.subscribe(told.append)
    ctx.conversations.create_conversation("n")
    assert len(told) == 2
    unsubscribe()
    ctx.conversations.create_conversation("n")
    assert len(told) == 3


@pytest.mark.conforms("A1.5")
def test_a_subscriber_may_ask_for_some_kinds_only(engine: longmind.Engine, ctx: longmind.Context) -> None:
    closed: list[str] = []
    some: list[str] = []
    none: list[str] = []
    engine.subscribe(lambda change: closed.append(change.kind), kinds=["conversation.closed"])
    engine.subscribe(lambda change: some.append(change.kind), kinds={"conversation.created", "conversation.closed"})
    engine.subscribe(lambda change: none.append(change.kind), kinds=[])
    hold_a_conversation(ctx)
    assert closed == ["conversation.closed"]
    assert some == ["conversation.created", "conversation.closed"]
    assert none == []


def test_an_unknown_kind_and_a_subscriber_that_cannot_be_called_are_refused(engine: longmind.Engine) -> None:
    unknown: list[Any] = ["conversation.reopened"]
    with pytest.raises(longmind.InvalidInput, match=r"conversation\.reopened"):
        engine.subscribe(print, kinds=unknown)
    wrong: list[Any] = [5, [1, "a"], [[]], "message.appended", b"message.appended"]
    for kinds in wrong:
        with pytest.raises(longmind.InvalidInput, match="kinds") as refusal:
            engine.subscribe(print, kinds=kinds)
        assert "conversation.closed" in refusal.value.hint
    not_callable: Any = "print"
    with pytest.raises(longmind.InvalidInput, match="callable"):
        engine.subscribe(not_callable)


def test_a_subscriber_that_fails_harms_neither_the_write_nor_the_others(
    engine: longmind.Engine, ctx: longmind.Context, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[longmind.Change] = []

    def fail(change: longmind.Change) -> None:
        raise ValueError("I am broken")

    engine.subscribe(fail)
    engine.subscribe(told.append)
    with caplog.at_level(logging.ERROR, logger="longmind.changes"):
        id = hold_a_conversation(ctx)
    assert len(told) == 4
    assert [message.text for message in ctx.conversations.get_messages(id)] == ["Hello", "Hi"]
    assert [record.name for record in caplog.records if record.levelname == "ERROR"] == ["longmind.changes"] * 4


def test_a_subscriber_that_wants_to_end_the_program_harms_nobody_either(
    engine: longmind.Engine, ctx: longmind.Context, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[longmind.Change] = []

    def end(change: longmind.Change) -> None:
        raise SystemExit(1)

    engine.subscribe(end)
    engine.subscribe(told.append)
    hold_a_conversation(ctx)
    assert told == list(engine.follow())
    assert [record.name for record in caplog.records if record.levelname == "ERROR"] == ["longmind.changes"] * 4


def test_after_an_interrupt_the_next_delivery_goes_on(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    interrupted: list[longmind.Change] = []

    def interrupt_once(change: longmind.Change) -> None:
        interrupted.append(change)
        if len(interrupted) == 2:
            raise KeyboardInterrupt

    engine.subscribe(interrupt_once)
    engine.subscribe(told.append)
    id = ctx.conversations.create_conversation("n").id
    with pytest.raises(KeyboardInterrupt):
        ctx.conversations.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
    assert len(told) == 1
    ctx.conversations.close_conversation(id)
    wait_until_told(told, 4)
    assert told == interrupted == list(engine.follow())


def test_a_slow_subscriber_holds_up_no_writer_for_long_and_is_told_all_in_order(sqlite_url: str) -> None:
    told: list[longmind.Change] = []
    tellers: set[str] = set()
    telling = threading.Lock()
    enough, hurry = threading.Event(), threading.Event()

    with longmind.open(sqlite_url) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")

        def dawdle(change: longmind.Change) -> None:
            # There is one teller at a time.
            assert telling.acquire(blocking=False)
            told.append(change)
            teller = threading.current_thread().name
            tellers.add(teller)
            # Who keeps no writer waiting takes so long that much is left when the writers are done.
            hurry.wait(60 if teller == "longmind-changes" else 0.15)
            telling.release()

        engine.subscribe(dawdle)

        def write() -> None:
            while not enough.is_set():
                ctx.conversations.create_conversation("n")

        # Without end, one of them would have to tell for as long as the other writes.
        with ThreadPoolExecutor(2) as pool:
            writers = [pool.submit(write) for _ in range(2)]
            try:

                def much_is_left() -> bool:
                    assert not any(writer.done() for writer in writers)
                    return "longmind-changes" in tellers and len(list(engine.follow())) > len(told) + 10

                wait_until(much_is_left)
                enough.set()
                for writer in writers:
                    # They come to their end although much still waits.
                    writer.result(timeout=30)
                everything = list(engine.follow())
                assert len(told) < len(everything)
            finally:
                enough.set()
                hurry.set()
    # Closing waits until the rest is told, and who told it has nothing more to do.
    assert told == everything
    wait_until(lambda: "longmind-changes" not in {thread.name for thread in threading.enumerate()})


def test_one_writer_alone_tells_a_slow_subscriber_itself(engine: longmind.Engine, ctx: longmind.Context) -> None:
    tellers: list[threading.Thread] = []

    def dawdle(change: longmind.Change) -> None:
        tellers.append(threading.current_thread())
        time.sleep(0.15)

    engine.subscribe(dawdle)
    hold_a_conversation(ctx)
    assert tellers == [threading.current_thread()] * 4


def test_a_subscriber_may_write_and_its_changes_come_after_the_present_one(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    told: list[tuple[str, str]] = []

    def begin_anew(change: longmind.Change) -> None:
        told.append((change.kind, change.data.get("namespace", "")))
        if change.data.get("namespace") == "first" and change.kind == "conversation.closed":
            next_one = ctx.conversations.create_conversation("second")
            ctx.conversations.append_user_message(next_one.id, "Again")
            told.append(("returned", ""))

    engine.subscribe(begin_anew)
    ctx.conversations.close_conversation(ctx.conversations.create_conversation("first").id)
    wait_until_told(told, 5)
    assert told == [
        ("conversation.created", "first"),
        ("conversation.closed", "first"),
        ("returned", ""),
        ("conversation.created", "second"),
        ("message.appended", ""),
    ]


def test_a_subscriber_may_wait_for_another_thread_that_writes(engine: longmind.Engine, ctx: longmind.Context) -> None:
    written: list[str] = []

    def write_elsewhere(change: longmind.Change) -> None:
        if change.data.get("namespace") == "first":
            thread = threading.Thread(
                target=lambda: written.append(ctx.conversations.create_conversation("second").namespace)
            )
            thread.start()
            thread.join(timeout=60)

    engine.subscribe(write_elsewhere)
    ctx.conversations.create_conversation("first")
    assert written == ["second"]


def test_what_is_told_is_committed_already(engine: longmind.Engine, ctx: longmind.Context, database_url: str) -> None:
    with longmind.open(database_url) as other:
        elsewhere = other.context(tenant_id="acme", app_id="support", user_id="ada")
        found: list[object] = []

        def look(change: longmind.Change) -> None:
            if change.kind == "message.appended":
                messages = elsewhere.conversations.get_raw_turns(change.conversation_id or "")
                found.append(any(message.id == change.event_id for message in messages))
            else:
                conversation = elsewhere.conversations.get_conversation(change.conversation_id or "")
                found.append(conversation and conversation.status)

        engine.subscribe(look)
        hold_a_conversation(ctx)
    assert found == ["open", True, True, "closed"]


@pytest.mark.conforms("T4")
def test_what_is_refused_or_was_there_already_is_not_told(engine: longmind.Engine, ctx: longmind.Context) -> None:
    service = ctx.conversations
    id = service.create_conversation("n").id
    service.append_user_message(id, "Hello", idempotency_key="k")
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    service.append_user_message(id, "Hello", idempotency_key="k")
    with pytest.raises(longmind.IdempotencyMismatch):
        service.append_user_message(id, "Another", idempotency_key="k")
    with pytest.raises(longmind.NotFound):
        service.append_user_message("conv_none", "Hello")
    with pytest.raises(longmind.InvalidInput):
        service.append_user_message(id, "\x00")
    assert told == []
    service.close_conversation(id)
    service.close_conversation(id)
    with pytest.raises(longmind.ConversationClosed):
        service.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
    assert [change.kind for change in told] == ["conversation.closed"]


def write_in_threads(ctx: longmind.Context) -> None:
    """Eight threads at once; every second append of a thread is refused."""
    closed = ctx.conversations.create_conversation("closed").id
    ctx.conversations.close_conversation(closed)
    together = threading.Barrier(8)

    def write() -> None:
        together.wait()
        id = ctx.conversations.create_conversation("n").id
        for _ in range(15):
            ctx.conversations.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
            with pytest.raises(longmind.ConversationClosed):
                ctx.conversations.append_user_message(closed, "Hello")

    with ThreadPoolExecutor(8) as pool:
        for writer in [pool.submit(write) for _ in range(8)]:
            writer.result()


@pytest.mark.conforms("A0.6")
def test_with_many_writers_each_committed_change_is_told_once(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    write_in_threads(ctx)
    wait_until_told(told, 2 + 8 * (1 + 15 * 2))
    assert sorted(told, key=lambda change: change.cursor) == list(engine.follow())


def test_on_sqlite_many_writers_are_told_of_in_the_order_of_the_ledger(sqlite_url: str) -> None:
    told: list[longmind.Change] = []
    with longmind.open(sqlite_url) as engine:
        engine.subscribe(told.append)
        write_in_threads(engine.context(tenant_id="acme", app_id="support", user_id="ada"))
        wait_until_told(told, 2 + 8 * (1 + 15 * 2))
        assert told == list(engine.follow())


@pytest.mark.conforms("A0.6")
def test_changes_hold_nothing_of_what_was_said(engine: longmind.Engine, ctx: longmind.Context) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    service = ctx.conversations
    id = service.create_conversation("n", title="s3cret title", metadata={"s3cret": "s3cret"}).id
    service.append_turn(
        id,
        user_content="s3cret question",
        assistant={"content": [{"type": "tool_use", "id": "1", "name": "s3cret", "arguments": {"s3cret": 1}}]},
        idempotency_key="s3cret-key",
        trace_id="s3cret-trace",
    )
    service.append_tool_result(id, "1", "s3cret answer", tool_name="s3cret")
    service.append_system_message(id, "s3cret rule")
    service.close_conversation(id)
    assert len(told) == 6
    for change in [*told, *engine.follow()]:
        assert "s3cret" not in change.model_dump_json()


@pytest.mark.conforms("A0.6", "A9.2", "A9.4")
def test_an_erasure_is_a_change_that_names_nobody(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.blocks.set_sleep_time(False)
    hold_a_conversation(ctx)
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    receipt = ctx.admin.delete_user_data(confirm=True)["receipt"]
    (erased,) = told
    assert erased.kind == "user.erased"
    assert (erased.tenant_id, erased.app_id, erased.user_id) == ("acme", "support", "*")
    assert erased.data == {"scopeId": ctx.scope.id, "epoch": receipt["epoch"], "receiptId": receipt["id"]}
    # Followers, also those of other processes, read it, and nothing else is left of the user.
    assert list(engine.follow()) == told
    assert "ada" not in repr(told)
    again = ctx.admin.delete_user_data(confirm=True)["receipt"]
    assert [change.data["receiptId"] for change in engine.follow()] == [receipt["id"], again["id"]]


@pytest.mark.conforms("A0.6")
def test_settings_of_a_user_and_imports_are_changes_too(engine: longmind.Engine, ctx: longmind.Context) -> None:
    hold_a_conversation(ctx)
    dump = ctx.admin.export_user_data()
    told: list[longmind.Change] = []
    engine.subscribe(told.append, kinds=["sleep_time.updated", "user.imported"])
    ctx.blocks.set_sleep_time(False, agent_id="writer")
    root = engine.context(tenant_id="acme", app_id="support", user_id="ada", capabilities={"admin"})
    root.admin.import_user_data(dump)
    assert [change.kind for change in told] == ["sleep_time.updated", "user.imported"]
    assert told[0].data == {"agentId": "writer", "enabled": False}
    assert (told[1].user_id, told[1].data["scopeId"]) == ("*", ctx.scope.id)
