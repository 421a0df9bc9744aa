"""Instants: ISO 8601 texts in UTC that sort as they follow one another."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest

import longmind
from tests.clock import SettableClock
from tests.conversations.conftest import Unchanged
from tests.conversations.ledger import ledger_rows

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.mark.conforms("T23")
def test_instants_are_iso_texts_in_utc_of_one_precision(ctx: longmind.Context) -> None:
    service = ctx.conversations
    id = service.create_conversation("n").id
    message = service.append_user_message(id, "Hello")
    closed = service.close_conversation(id)
    assert closed.closed_at is not None
    for instant in (closed.created_at, closed.updated_at, closed.closed_at, message.created_at):
        assert ISO.fullmatch(instant)
        assert abs(datetime.fromisoformat(instant) - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.conforms("T23")
def test_instants_sort_as_text_in_the_order_of_time(clocked_ctx: longmind.Context, clock: SettableClock) -> None:
    # A round second, then parts of it: with the fraction left out, the first would sort after the others.
    id = clocked_ctx.conversations.create_conversation("n").id
    for seconds in (0, 0.000001, 0.099999, 0.4, 0.5, 9.0, 90.0, 86_400.0):
        clock.advance(seconds)
        clocked_ctx.conversations.append_user_message(id, "Hello")
    instants = [message.created_at for message in clocked_ctx.conversations.get_messages(id)]
    assert instants == sorted(instants)
    assert instants[0] == "2026-03-01T09:30:00.000000Z"
    assert [datetime.fromisoformat(instant) for instant in instants] == sorted(map(datetime.fromisoformat, instants))


@pytest.mark.conforms("T16", "T23")
def test_inside_an_instant_is_a_whole_number_of_microseconds(
    clocked_ctx: longmind.Context, clock: SettableClock, database_url: str
) -> None:
    clock.advance(0.123457)
    id = clocked_ctx.conversations.create_conversation("n").id
    message = clocked_ctx.conversations.append_user_message(id, "Hello")
    assert message.created_at == "2026-03-01T09:30:00.123457Z"
    assert ledger_rows(database_url, "SELECT ts FROM {events} WHERE kind = 'chat.turn'") == [(clock.now,)]


@pytest.mark.conforms("T16")
def test_updated_at_grows_with_every_change_even_when_the_clock_does_not(
    clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    service = clocked_ctx.conversations
    id = service.create_conversation("n").id
    seen = []

    def look() -> None:
        conversation = service.get_conversation(id)
        assert conversation is not None
        seen.append(conversation.updated_at)

    look()
    for step in (0, 0, -3600, 0, 7200, 0):
        clock.advance(step)
        service.append_turn(id, user_content="Hello", assistant={"content": "Hi"})
        look()
    clock.advance(-86_400)
    service.close_conversation(id)
    look()
    assert all(earlier < later for earlier, later in pairwise(seen)), seen
    assert seen[:3] == [f"2026-03-01T09:30:00.00000{number}Z" for number in range(3)]


@pytest.mark.conforms("T16")
def test_reading_and_refused_writes_leave_updated_at_alone(clocked_ctx: longmind.Context, clock: SettableClock) -> None:
    service = clocked_ctx.conversations
    id = service.create_conversation("n").id
    service.append_user_message(id, "Hello", idempotency_key="k")
    before = service.get_conversation(id)
    clock.advance(60)
    service.get_messages(id)
    service.append_user_message(id, "Hello", idempotency_key="k")
    with pytest.raises(longmind.IdempotencyMismatch):
        service.append_user_message(id, "Another", idempotency_key="k")
    assert service.get_conversation(id) == before


@pytest.mark.conforms("T16", "T23")
def test_an_imported_message_keeps_the_instant_it_was_said_at(ctx: longmind.Context) -> None:
    service = ctx.conversations
    instants: list[tuple[str | datetime, str]] = [
        ("2019-05-01T10:00:00Z", "2019-05-01T10:00:00.000000Z"),
        ("2019-05-01T10:00:00.5Z", "2019-05-01T10:00:00.500000Z"),
        ("2019-05-01T10:00:00.123456+02:00", "2019-05-01T08:00:00.123456Z"),
        ("2019-05-01T10:00:00", "2019-05-01T10:00:00.000000Z"),
        ("2019-05-01", "2019-05-01T00:00:00.000000Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
        (datetime(2019, 5, 1, 10), "2019-05-01T10:00:00.000000Z"),
        (datetime(2019, 5, 1, 10, tzinfo=timezone(timedelta(hours=-5))), "2019-05-01T15:00:00.000000Z"),
    ]
    for given, kept in instants:
        id = service.create_conversation("import").id
        service.append_user_message(id, "a", created_at=given)
        service.append_assistant_turn(id, "b", created_at=given)
        service.append_tool_result(id, "call_1", "c", created_at=given)
        service.append_system_message(id, "d", created_at=given)
        service.append_turn(id, user_content="e", assistant={"content": "f"}, created_at=given)
        assert [message.created_at for message in service.get_raw_turns(id)] == [kept] * 6, given


@pytest.mark.conforms("A1.13")
def test_messages_are_read_in_the_order_of_their_sequence_whenever_they_were_said(
    ctx: longmind.Context, conversation: longmind.Conversation
) -> None:
    for year in (2020, 2018, 2022, 2019):
        ctx.conversations.append_user_message(conversation.id, f"{year}", created_at=f"{year}-01-01T00:00:00Z")
    messages = ctx.conversations.get_messages(conversation.id)
    assert [message.text for message in messages] == ["2020", "2018", "2022", "2019"]
    assert [message.sequence for message in messages] == [1, 2, 3, 4]


def test_an_instant_that_cannot_be_is_refused(
    ctx: longmind.Context, conversation: longmind.Conversation, unchanged: Unchanged
) -> None:
    service, id = ctx.conversations, conversation.id
    wrong: list[Any] = [
        "yesterday",
        "",
        "2019-13-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00+12:00",
        datetime.now(UTC) + timedelta(days=2),
        1_556_704_800,
        True,
    ]
    with unchanged():
        for instant in wrong:
            with pytest.raises(longmind.InvalidInput, match="created_at"):
                service.append_user_message(id, "Hello", created_at=instant)
            with pytest.raises(longmind.InvalidInput, match="created_at"):
                service.append_turn(id, user_content="Hello", assistant={"content": "Hi"}, created_at=instant)
