"""Closing what nobody goes on with is the host's decision; there is a helper for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import longmind
from tests.clock import SettableClock
from tests.conversations.conftest import Unchanged


def statuses(ctx: longmind.Context) -> dict[str, str]:
    return {each.namespace: each.status for each in ctx.conversations.list_conversations()}


@pytest.mark.conforms("A1.25")
def test_nothing_closes_a_conversation_by_itself(
    clocked: longmind.Engine, clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    id = clocked_ctx.conversations.create_conversation("support-chat").id
    clock.advance(10 * 365 * 24 * 3600)
    clocked.work()
    clocked_ctx.conversations.append_user_message(id, "Still here.")
    assert statuses(clocked_ctx) == {"support-chat": "open"}


@pytest.mark.conforms("A1.25")
@pytest.mark.parametrize("idle", [timedelta(minutes=30), 1800, 1800.0])
def test_a_conversation_is_stale_when_nothing_was_appended_for_so_long(
    clocked: longmind.Engine, clocked_ctx: longmind.Context, clock: SettableClock, idle: timedelta | float
) -> None:
    service = clocked_ctx.conversations
    forgotten = service.create_conversation("forgotten")
    clock.advance(1)
    service.append_user_message(forgotten.id, "Hello")
    lively = service.create_conversation("lively")
    clock.advance(1799)
    service.append_user_message(lively.id, "Hello again")
    assert service.close_stale(idle) == []
    clock.advance(1)
    closed = service.close_stale(idle)
    assert [(each.id, each.status) for each in closed] == [(forgotten.id, "closed")]
    assert statuses(clocked_ctx) == {"forgotten": "closed", "lively": "open"}
    assert service.close_stale(idle) == []
    assert [change.kind for change in clocked.follow()].count("conversation.closed") == 1


@pytest.mark.conforms("A1.25")
def test_an_imported_message_of_long_ago_is_still_an_append_of_now(
    clocked_ctx: longmind.Context, clock: SettableClock
) -> None:
    id = clocked_ctx.conversations.create_conversation("import").id
    clocked_ctx.conversations.append_user_message(id, "From the old system", created_at="2019-05-01T00:00:00Z")
    clock.advance(10)
    assert clocked_ctx.conversations.close_stale(60) == []


@pytest.mark.conforms("A1.25")
def test_closing_stale_ones_can_be_limited_to_a_namespace(clocked_ctx: longmind.Context, clock: SettableClock) -> None:
    for namespace in ("daily-checkin", "support-chat"):
        clocked_ctx.conversations.create_conversation(namespace)
    clock.advance(60)
    assert len(clocked_ctx.conversations.close_stale(60, namespace="daily-checkin")) == 1
    assert statuses(clocked_ctx) == {"daily-checkin": "closed", "support-chat": "open"}


@pytest.mark.conforms("A1.25", "A0.4")
def test_a_user_closes_only_his_own_and_the_host_those_of_everybody(
    clocked: longmind.Engine, clock: SettableClock
) -> None:
    contexts = [clocked.context(tenant_id="acme", app_id="support", user_id=user) for user in ("ada", "bob", "cy")]
    for context in contexts:
        context.conversations.create_conversation("support-chat")
    clock.advance(60)
    assert len(contexts[0].conversations.close_stale(60)) == 1
    assert [statuses(context)["support-chat"] for context in contexts] == ["closed", "open", "open"]
    assert clocked.close_stale(61) == 0
    assert clocked.close_stale(60, namespace="daily-checkin") == 0
    assert clocked.close_stale(60) == 2
    assert [statuses(context)["support-chat"] for context in contexts] == ["closed"] * 3


@pytest.mark.conforms("A1.25")
def test_an_idle_time_that_is_none_is_refused(ctx: longmind.Context, unchanged: Unchanged) -> None:
    ctx.conversations.create_conversation("support-chat")
    wrong: list[Any] = [-1, float("nan"), timedelta(seconds=-1), "60", None, True]
    with unchanged():
        for idle in wrong:
            with pytest.raises(longmind.InvalidInput, match="idle"):
                ctx.conversations.close_stale(idle)


@pytest.mark.conforms("A1.25")
def test_an_idle_time_longer_than_time_itself_closes_nothing(ctx: longmind.Context, unchanged: Unchanged) -> None:
    ctx.conversations.create_conversation("support-chat")
    with unchanged():
        for idle in (timedelta.max, 1e300, float("inf")):
            assert ctx.conversations.close_stale(idle) == []


@pytest.mark.conforms("A1.25")
def test_the_host_is_told_of_a_wrong_idle_time_or_namespace_though_nothing_is_open(engine: longmind.Engine) -> None:
    with pytest.raises(longmind.InvalidInput, match="idle"):
        engine.close_stale(-1)
    with pytest.raises(longmind.InvalidInput, match="namespace"):
        engine.close_stale(60, namespace=" ")
