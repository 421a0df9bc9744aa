"""Following: reading the changes of everybody from the ledger, from a cursor on."""

from __future__ import annotations

import queue
import threading
from typing import Any

import psycopg
import pytest

import longmind
from longmind.store.database import Transaction
from longmind.store.tables import conversations, ledger
from longmind.store.tables.conversations import NewConversation


def append_some(ctx: longmind.Context, count: int = 3) -> list[str]:
    id = ctx.conversations.create_conversation("n").id
    return [ctx.conversations.append_user_message(id, f"{number}").id for number in range(count)]


def test_an_empty_ledger_has_nothing_to_follow(engine: longmind.Engine) -> None:
    assert list(engine.follow()) == []
    assert engine.last_cursor() == 0


@pytest.mark.conforms("A0.6")
def test_one_follows_from_the_beginning_or_from_a_cursor_on(engine: longmind.Engine, ctx: longmind.Context) -> None:
    appended = append_some(ctx)
    changes = list(engine.follow())
    assert [change.event_id for change in changes[1:]] == appended
    assert list(engine.follow(None)) == list(engine.follow(0)) == changes
    for number, change in enumerate(changes, 1):
        assert list(engine.follow(change.cursor)) == changes[number:]
    assert engine.last_cursor() == changes[-1].cursor


def test_cursors_grow(engine: longmind.Engine, ctx: longmind.Context) -> None:
    append_some(ctx)
    append_some(ctx)
    cursors = [change.cursor for change in engine.follow()]
    assert len(cursors) == 8
    assert cursors == sorted(set(cursors))


def test_beyond_the_end_there_is_nothing(engine: longmind.Engine, ctx: longmind.Context) -> None:
    append_some(ctx)
    assert list(engine.follow(engine.last_cursor())) == []
    assert list(engine.follow(engine.last_cursor() + 1_000_000)) == []
    assert list(engine.follow(engine.last_cursor() + 1_000_000, wait=0.01)) == []


def test_the_ledger_is_read_to_its_end_however_long_it_is(engine: longmind.Engine, ctx: longmind.Context) -> None:
    id = ctx.conversations.create_conversation("n").id
    for _ in range(600):
        ctx.conversations.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
    changes = list(engine.follow())
    assert [change.data.get("sequence") for change in changes] == [None, *range(1, 1201)]


def test_a_follower_sees_the_changes_of_all_users_and_of_other_engines(
    engine: longmind.Engine, database_url: str
) -> None:
    told: list[longmind.Change] = []
    engine.subscribe(told.append)
    with longmind.open(database_url) as other:
        for tenant, user in (("acme", "ada"), ("acme", "bob"), ("other", "ada")):
            other.context(tenant_id=tenant, app_id="support", user_id=user).conversations.create_conversation("n")
    assert [(change.tenant_id, change.user_id) for change in engine.follow()] == [
        ("acme", "ada"),
        ("acme", "bob"),
        ("other", "ada"),
    ]
    # Subscribers, in turn, are told what their own engine wrote.
    assert told == []


def test_what_was_rolled_back_leaves_no_trace_and_holds_nobody_up(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    def write_and_fail(run: Transaction) -> None:
        # It has taken its place in the ledger when the transaction fails.
        conversations.create(run, ctx.scope, NewConversation("n", None, None, "{}"), 0)
        raise ValueError("half-way")

    engine.register_job("half-way", lambda run: longmind.Effect(write_and_fail))
    first = append_some(ctx)
    ctx.jobs.enqueue("half-way", max_attempts=1)
    assert engine.work().dead == 1
    second = append_some(ctx)
    changes = list(engine.follow())
    assert [change.kind for change in changes].count("conversation.created") == 2
    assert [change.event_id for change in changes if change.kind == "message.appended"] == first + second


def test_a_waiting_follower_gets_what_comes_and_ends_with_the_engine(database_url: str) -> None:
    with longmind.open(database_url) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        append_some(ctx)
        came: queue.Queue[str] = queue.Queue()

        def follow(after: int) -> None:
            for change in engine.follow(after, wait=True):
                came.put(change.event_id)

        follower = threading.Thread(target=follow, args=(engine.last_cursor(),))
        follower.start()
        id = ctx.conversations.create_conversation("n").id
        assert came.get(timeout=60).startswith("evt_")
        for _ in range(3):
            message = ctx.conversations.append_user_message(id, "Hello")
            assert came.get(timeout=60) == message.id
    follower.join(timeout=60)
    assert not follower.is_alive()
    assert came.empty()


def test_a_patient_follower_gives_up_when_nothing_came_for_so_long(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    appended = append_some(ctx)
    followed = [change.event_id for change in engine.follow(wait=0.2)]
    assert followed[1:] == appended


def test_a_follower_may_write_what_it_then_follows(engine: longmind.Engine, ctx: longmind.Context) -> None:
    service = ctx.conversations
    id = service.create_conversation("n").id
    followed = []
    for change in engine.follow():
        followed.append(change.kind)
        if len(followed) < 4:
            service.append_user_message(id, "Hello")
    assert followed == ["conversation.created"] + ["message.appended"] * 3


def test_a_cursor_or_a_wait_that_is_none_is_refused(engine: longmind.Engine) -> None:
    wrong_cursors: list[Any] = [-1, "0", 1.0, True]
    for cursor in wrong_cursors:
        with pytest.raises(longmind.InvalidInput, match="after"):
            engine.follow(cursor)
    wrong_waits: list[Any] = [-0.1, "long", None, float("nan")]
    for wait in wrong_waits:
        with pytest.raises(longmind.InvalidInput, match="wait"):
            engine.follow(wait=wait)


def test_a_closed_engine_cannot_be_followed(database_url: str) -> None:
    engine = longmind.open(database_url)
    append_some(engine.context(tenant_id="acme", app_id="support", user_id="ada"))
    begun = engine.follow()
    next(begun)
    engine.close()
    for wait in (False, True, 0.1):
        with pytest.raises(longmind.EngineClosed):
            engine.follow(wait=wait)
    # What it has read is given out, but that is not all there may be.
    with pytest.raises(longmind.EngineClosed):
        list(begun)


def test_a_kind_that_a_later_version_has_written_is_followed_too(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    id = ctx.conversations.create_conversation("n").id

    def record(run: Transaction) -> None:
        ledger.record(
            run, ctx.scope, event_id="evt_later", kind="conversation.reopened", at=0, conversation_id=id, data="{}"
        )

    engine.register_job("later", lambda run: longmind.Effect(record))
    ctx.jobs.enqueue("later")
    told: list[str] = []
    engine.subscribe(lambda change: told.append(change.kind))
    assert engine.work().succeeded == 1
    assert [change.kind for change in engine.follow()] == ["conversation.created", "conversation.reopened"]
    assert told == ["conversation.reopened"]


def test_an_impatient_follower_ends_at_a_gap_that_stays_open(postgres_url: str) -> None:
    with longmind.open(postgres_url) as engine, psycopg.connect(postgres_url) as foreign:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        first = append_some(ctx, 1)
        # Somebody takes a place in the ledger, and holds it.
        foreign.execute("LOCK TABLE longmind.events IN ROW EXCLUSIVE MODE")
        foreign.execute("SELECT nextval(pg_get_serial_sequence('longmind.events', 'position'))")
        second = append_some(ctx, 1)
        changes = list(engine.follow())
        assert [change.event_id for change in changes][1:] == first
        assert list(engine.follow(changes[-1].cursor, wait=0.01)) == []
        foreign.rollback()
        assert [change.event_id for change in engine.follow(changes[-1].cursor)][1:] == second
