"""Ctrl-C while memory is being written: nothing is lost, nothing is claimed, and the engine goes on."""

from __future__ import annotations

import sys
import threading
from itertools import count

import pytest

import longmind
from harness.alarms import is_interrupted
from harness.crew import wait_until
from harness.messages import all_messages


@pytest.fixture(autouse=True)
def _finalisers_may_be_struck(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt that strikes in a finaliser is raised nowhere; the runner's own note of it must not be struck."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)


def keep_appending(ctx: longmind.Context, conversation_id: str, interrupts: int, every: float) -> list[str]:
    """Append until it was interrupted so often; gives what was acknowledged."""
    acknowledged: list[str] = []
    numbers = count(1)

    def append_for_ever() -> None:
        for number in numbers:
            ctx.conversations.append_user_message(conversation_id, f"main {number}")
            acknowledged.append(f"main {number}")

    for _ in range(interrupts):
        assert is_interrupted(append_for_ever, every, every)
    return acknowledged


def interrupts(database_url: str) -> tuple[int, float]:
    """How many, and how many seconds apart."""
    # An interrupt may strike inside the pool of connections to PostgreSQL, which then counts one for lost. So many
    # interrupts as SQLite is given here would use the pool up.
    return (1_000, 0.0013) if database_url.startswith("sqlite") else (25, 0.06)


def test_interrupts_wedge_nothing_and_lose_nothing_that_was_acknowledged(
    engine: longmind.Engine, ctx: longmind.Context, database_url: str
) -> None:
    conversation = ctx.conversations.create_conversation("n")
    acknowledged = keep_appending(ctx, conversation.id, *interrupts(database_url))
    ctx.conversations.append_user_message(conversation.id, "It goes on.")
    with longmind.open(database_url) as other:
        theirs = other.context(tenant_id="acme", app_id="support", user_id="ada").conversations
        theirs.append_user_message(conversation.id, "Others too.")
        kept = all_messages(theirs, conversation.id)
    assert [message.sequence for message in kept] == list(range(1, len(kept) + 1))
    texts = [message.text for message in kept]
    assert len(set(texts)) == len(texts)
    assert set(acknowledged) <= set(texts)


def test_an_interrupted_caller_takes_no_other_callers_write_down(
    engine: longmind.Engine, ctx: longmind.Context, database_url: str
) -> None:
    conversation = ctx.conversations.create_conversation("n")
    acknowledged: list[str] = []
    refused: list[BaseException] = []
    stop = threading.Event()

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            try:
                ctx.conversations.append_user_message(conversation.id, f"{name} {number}")
            except BaseException as error:
                refused.append(error)
                return
            acknowledged.append(f"{name} {number}")

    threads = [threading.Thread(target=write, args=(f"thread {place}",)) for place in range(4)]
    for thread in threads:
        thread.start()
    keep_appending(ctx, conversation.id, *interrupts(database_url))
    wait_until(lambda: bool(acknowledged or refused))
    stop.set()
    for thread in threads:
        thread.join()
    assert refused == []
    assert acknowledged
    texts = {message.text for message in all_messages(ctx.conversations, conversation.id)}
    assert set(acknowledged) <= texts


def test_what_one_callers_work_raises_is_its_own(engine: longmind.Engine, ctx: longmind.Context) -> None:
    """Many callers share a transaction on SQLite; one that leaves by SystemExit must not take the others along."""
    conversation = ctx.conversations.create_conversation("n")
    outcomes: list[object] = []

    def leave(run: object) -> None:
        raise SystemExit("bad effect")

    def misbehave() -> None:
        try:
            engine._database.write(ctx.scope, leave)
        except BaseException as error:
            outcomes.append(error)

    threads = [threading.Thread(target=misbehave) for _ in range(20)]
    threads += [
        threading.Thread(target=ctx.conversations.append_user_message, args=(conversation.id, f"{place}"))
        for place in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in outcomes] == [SystemExit] * 20
    assert len(ctx.conversations.get_messages(conversation.id)) == 20


@pytest.mark.parametrize("url", ["sqlite:///:memory:"])
def test_an_effect_may_read_what_its_transaction_has_written(url: str) -> None:
    with longmind.open(url) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        conversation = ctx.conversations.create_conversation("n")

        def look(run: object) -> str | None:
            found = ctx.conversations.get_conversation(conversation.id)
            return found.id if found else None

        engine.register_job("look", lambda run: longmind.Effect(look))
        job = ctx.jobs.enqueue("look")
        assert engine.work().succeeded == 1
        done = ctx.jobs.get_job(job.id)
        assert done is not None
        assert done.result == conversation.id
