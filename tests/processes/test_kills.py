"""Writers that are killed at any moment: what they were told is written stays, and nothing is half-written."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import Path

import apsw
import pytest

import longmind
from harness.crew import Line, ada, start_process
from harness.integrity import find_damage
from tests.processes.server_activity import wait_until_quiet

KILLS = 30
KILLS_WHILE_OPENING = 8

Acknowledgement = tuple[str, dict[str, str]]
"""What was done, and the texts that were written by id."""


def write_for_ever(line: Line, url: str, name: str, seed: int) -> None:
    """Do all kinds of writes in a random order, and acknowledge each one when its call has returned."""
    chance = random.Random(seed)
    with ada(url) as (_, ctx):
        [shared] = ctx.conversations.list_conversations(namespace="shared")
        own = ""
        number = 0
        while True:
            number += 1
            text = f"{name}.{number}"
            conversation_id = chance.choice([shared.id, own or shared.id])
            match chance.choice(["turn", "turn", "turn", "message", "message", "job", "create", "close"]):
                case "turn":
                    turn = ctx.conversations.append_turn(
                        conversation_id, user_content=f"turn {text}", assistant={"content": f"to {text}"}
                    )
                    line.say(
                        ("append", {turn.user_message.id: f"turn {text}", turn.assistant_message.id: f"to {text}"})
                    )
                case "message":
                    message = ctx.conversations.append_user_message(
                        conversation_id, f"message {text}", idempotency_key=text
                    )
                    line.say(("append", {message.id: f"message {text}"}))
                case "job":
                    line.say(("enqueue", {ctx.jobs.enqueue("look", {"text": text}).id: text}))
                case "close" if own:
                    line.say(("close", {ctx.conversations.close_conversation(own).id: ""}))
                    own = ""
                case _:
                    own = ctx.conversations.create_conversation("own", title=text).id
                    line.say(("create", {own: text}))


@pytest.mark.conforms("A1.11")
def test_thirty_writers_killed_at_random_moments_lose_nothing_and_leave_nothing_half_written(
    database_url: str,
) -> None:
    chance = _seeded()
    with ada(database_url) as (_, ctx):
        shared = ctx.conversations.create_conversation("shared", title="shared")
    told: list[Acknowledgement] = [("create", {shared.id: "shared"})]

    for number in range(KILLS):
        # Every second time nobody else is there, so that the next who opens the database has to put it in order.
        if number % 2:
            told += _kill_a_writer(database_url, f"writer {number}", chance)
        with ada(database_url) as (_, ctx):
            if not number % 2:
                told += _kill_a_writer(database_url, f"writer {number}", chance)
            message = ctx.conversations.append_user_message(shared.id, f"message survivor.{number}")
        told.append(("append", {message.id: message.text}))

    wait_until_quiet(database_url)
    with ada(database_url) as (engine, ctx):
        _check_what_is_there(engine, ctx, told)
        ctx.conversations.append_user_message(shared.id, "and on it goes")
    assert list(find_damage(database_url)) == []
    assert {kind for kind, _ in told} == {"create", "close", "append", "enqueue"}


def _kill_a_writer(url: str, name: str, chance: random.Random) -> list[Acknowledgement]:
    with start_process(write_for_ever, url, name, chance.randrange(1_000_000)) as writer:
        told = [writer.hear() for _ in range(chance.randrange(1, 40))]
        time.sleep(chance.uniform(0, 0.005))
        writer.kill()
        return [*told, *writer.hear_to_the_end()]


def _check_what_is_there(engine: longmind.Engine, ctx: longmind.Context, told: list[Acknowledgement]) -> None:
    acknowledged: dict[str, dict[str, str]] = {"create": {}, "close": {}, "append": {}, "enqueue": {}}
    for kind, written in told:
        acknowledged[kind] |= written

    conversations = {each.id: each for each in ctx.conversations.list_conversations()}
    assert acknowledged["create"].items() <= {each.id: each.title for each in conversations.values()}.items()
    assert all(conversations[id].status == "closed" for id in acknowledged["close"])

    texts: dict[str, str] = {}
    for conversation in conversations.values():
        messages = ctx.conversations.get_raw_turns(conversation.id, limit=10_000)
        assert [message.sequence for message in messages] == list(range(1, conversation.message_count + 1))
        for message, following in zip_longest(messages, messages[1:]):
            if message.text.startswith("turn "):
                assert (following.role, following.turn_id) == ("assistant", message.turn_id)
                assert following.text == message.text.replace("turn ", "to ")
        texts |= {message.id: message.text for message in messages}
    assert acknowledged["append"].items() <= texts.items()
    assert _repeated(texts.values()) == []

    jobs = {job.id: job.payload["text"] for job in ctx.jobs.list_jobs(kind="look", limit=10_000)}
    assert acknowledged["enqueue"].items() <= jobs.items()
    assert _repeated(jobs.values()) == []

    changes = [(change.kind, change.event_id, change.conversation_id or "") for change in engine.follow()]
    assert sorted(id for kind, id, _ in changes if kind == "message.appended") == sorted(texts)
    assert sorted(id for kind, _, id in changes if kind == "conversation.created") == sorted(conversations)
    assert sorted(id for kind, _, id in changes if kind == "conversation.closed") == sorted(
        each.id for each in conversations.values() if each.status == "closed"
    )


def open_and_write(line: Line, url: str) -> None:
    with ada(url) as (_, ctx):
        ctx.conversations.create_conversation("first")
        line.say("written")


def test_a_database_whose_maker_was_killed_is_made_by_the_next_who_opens_it(new_url: Callable[[], str]) -> None:
    chance = _seeded()
    for _ in range(KILLS_WHILE_OPENING):
        url = new_url()
        with start_process(open_and_write, url) as maker:
            time.sleep(chance.uniform(0, 0.08))
            maker.kill()
            written = len(list(maker.hear_to_the_end()))

        with ada(url) as (_, ctx):
            assert len(ctx.conversations.list_conversations()) >= written
            conversation = ctx.conversations.create_conversation("second")
            assert ctx.conversations.append_user_message(conversation.id, "Hello").sequence == 1
        assert list(find_damage(url)) == []


def die_with_a_journal(line: Line, path: str) -> None:
    """Die in a write that keeps its way back in a journal, as before a file is switched to the write-ahead log."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    # With so little memory the file itself is written to before the commit.
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE conversations SET title = 'half-written'")
    connection.execute("CREATE TABLE rubbish (bytes BLOB)")
    connection.executemany("INSERT INTO rubbish VALUES (zeroblob(?))", [(4096,)] * 1_000)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_database_whose_writer_left_a_journal_is_opened_and_put_in_order(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    with ada(sqlite_url) as (_, ctx):
        conversation = ctx.conversations.create_conversation("first", title="whole")
    with start_process(die_with_a_journal, path) as writer:
        assert writer.wait_until_dead() == -signal.SIGKILL
    assert Path(f"{path}-journal").stat().st_size > 0

    with ada(sqlite_url) as (_, ctx):
        assert ctx.conversations.list_conversations() == [conversation]
        ctx.conversations.append_user_message(conversation.id, "Hello")
    assert list(find_damage(sqlite_url)) == []


def _seeded() -> random.Random:
    seed = random.randrange(1_000_000)
    # pytest shows it when the test fails.
    print(f"seed {seed}")
    return random.Random(seed)


def _repeated(texts: Iterable[str]) -> list[str]:
    return [text for text, times in Counter(texts).items() if times > 1]
