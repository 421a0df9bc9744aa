"""A user's conversations, newest first, whole or page by page."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.clock import SettableClock


def all_pages(ctx: longmind.Context, limit: int, **filters: Any) -> list[longmind.Conversation]:
    found: list[longmind.Conversation] = []
    cursor = None
    while True:
        page = ctx.conversations.list_conversations(limit=limit, cursor=cursor, **filters)
        assert 0 < len(page) <= limit
        found += page
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.mark.conforms("A1.4")
def test_conversations_of_all_namespaces_are_listed_newest_first(
    clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    made = []
    for namespace in ("daily-checkin", "support-chat", "daily-checkin"):
        made.append(clocked_ctx.conversations.create_conversation(namespace))
        clock.advance(1)
    listed = clocked_ctx.conversations.list_conversations()
    assert listed == made[::-1]
    assert listed.next_cursor is None


@pytest.mark.conforms("A1.4")
def test_a_user_without_conversations_gets_an_empty_list(ctx: longmind.Context) -> None:
    assert ctx.conversations.list_conversations() == []
    assert ctx.conversations.list_conversations(limit=10).next_cursor is None


@pytest.mark.conforms("A1.4")
def test_the_list_can_be_narrowed_to_a_namespace_and_a_status(ctx: longmind.Context) -> None:
    service = ctx.conversations
    for namespace in ("daily-checkin", "support-chat"):
        for _ in range(2):
            service.create_conversation(namespace)
        service.close_conversation(service.create_conversation(namespace).id)
    assert len(service.list_conversations()) == 6
    assert {each.namespace for each in service.list_conversations(namespace="daily-checkin")} == {"daily-checkin"}
    assert len(service.list_conversations(namespace="daily-checkin")) == 3
    assert [each.status for each in service.list_conversations(status="closed")] == ["closed"] * 2
    open_checkins = service.list_conversations(namespace="daily-checkin", status="open")
    assert [(each.namespace, each.status) for each in open_checkins] == [("daily-checkin", "open")] * 2


@pytest.mark.conforms("A1.4")
@pytest.mark.parametrize("between", [0, 1], ids=["all in one instant", "one after the other"])
def test_the_pages_together_hold_each_conversation_once(
    clocked_ctx: longmind.Context, clock: SettableClock, between: int
) -> None:
    for number in range(11):
        clocked_ctx.conversations.create_conversation("odd" if number % 2 else "even")
        clock.advance(between)
    everything = list(clocked_ctx.conversations.list_conversations())
    assert len({each.id for each in everything}) == 11
    for limit in (1, 2, 5, 10, 11, 12):
        assert all_pages(clocked_ctx, limit) == everything, limit
    odd = [each for each in everything if each.namespace == "odd"]
    assert all_pages(clocked_ctx, 2, namespace="odd", status="open") == odd


@pytest.mark.conforms("A1.4")
def test_what_is_created_while_one_reads_does_not_disturb_the_pages_to_come(
    clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    service = clocked_ctx.conversations
    for _ in range(4):
        service.create_conversation("n")
        clock.advance(1)
    before = list(service.list_conversations())
    first = service.list_conversations(limit=2)
    service.create_conversation("n")
    second = service.list_conversations(limit=2, cursor=first.next_cursor)
    assert [*first, *second] == before
    assert second.next_cursor is None


@pytest.mark.conforms("A1.4")
def test_a_wrong_status_limit_or_cursor_is_refused(ctx: longmind.Context) -> None:
    service = ctx.conversations
    service.create_conversation("n")
    wrong_statuses: list[Any] = ["OPEN", "", "deleted", 1]
    for status in wrong_statuses:
        with pytest.raises(longmind.InvalidInput, match="status"):
            service.list_conversations(status=status)
    wrong_limits: list[Any] = [0, -1, True, 1.5, "10"]
    for limit in wrong_limits:
        with pytest.raises(longmind.InvalidInput, match="limit"):
            service.list_conversations(limit=limit)
    with pytest.raises(longmind.LimitExceeded, match="10,000"):
        service.list_conversations(limit=10_001)
    wrong_cursors: list[Any] = ["", "x", "/", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z/", "x/conv_1", 5, "\x00"]
    for cursor in wrong_cursors:
        with pytest.raises(longmind.InvalidInput, match="cursor"):
            service.list_conversations(cursor=cursor)
