"""Whose a conversation is: nobody else can find it, read it or write to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import longmind
from longmind.operations import OPERATIONS
from longmind.scope import timeline_id
from tests.conversations.ledger import ledger_rows

STRANGERS: list[dict[str, Any]] = [
    {"tenant_id": "other", "app_id": "support", "user_id": "ada"},
    {"tenant_id": "acme", "app_id": "other", "user_id": "ada"},
    {"tenant_id": "acme", "app_id": "support", "user_id": "bob"},
]

# What can be done with a conversation's id. Each names itself, so that a failure says which one it was.
BY_ID: dict[str, Callable[[longmind.Context, str], object]] = {
    "get_messages": lambda ctx, id: ctx.conversations.get_messages(id),
    "get_raw_turns": lambda ctx, id: ctx.conversations.get_raw_turns(id, include_hidden=True),
    "append_user_message": lambda ctx, id: ctx.conversations.append_user_message(id, "Hello"),
    "append_user_message with a key": lambda ctx, id: ctx.conversations.append_user_message(
        id, "Hello", idempotency_key="first"
    ),
    "append_assistant_turn": lambda ctx, id: ctx.conversations.append_assistant_turn(id, "Hello"),
    "append_tool_result": lambda ctx, id: ctx.conversations.append_tool_result(id, "call_1", "sunny"),
    "append_system_message": lambda ctx, id: ctx.conversations.append_system_message(id, "Be brief."),
    "append_turn": lambda ctx, id: ctx.conversations.append_turn(id, user_content="Hi", assistant={"content": "Hi"}),
    "append_turn with a key": lambda ctx, id: ctx.conversations.append_turn(
        id, user_content="Hello", assistant={"content": "Hi"}, idempotency_key="first"
    ),
    "close_conversation": lambda ctx, id: ctx.conversations.close_conversation(id),
}


@pytest.fixture
def adas(ctx: longmind.Context) -> longmind.Conversation:
    conversation = ctx.conversations.create_conversation("support-chat", title="Refund")
    ctx.conversations.append_user_message(conversation.id, "Hello", idempotency_key="first")
    return conversation


@pytest.mark.conforms("A0.2")
def test_the_tenant_the_app_and_the_user_come_from_the_context(ctx: longmind.Context) -> None:
    conversation = ctx.conversations.create_conversation("support-chat")
    assert (conversation.tenant_id, conversation.app_id, conversation.user_id) == ("acme", "support", "ada")
    assert conversation.namespace == "support-chat"


@pytest.mark.conforms("A0.2")
def test_no_operation_takes_a_tenant_an_app_or_a_user() -> None:
    # Administration is about users; for whom it may be asked is tried there.
    open_to_all = [each for each in OPERATIONS if each.needs is None and each.service != "admin"]
    taken = {operation.path: operation.signature.parameters for operation in open_to_all}
    assert "conversations.create_conversation" in taken
    for path, parameters in taken.items():
        assert not parameters.keys() & {"tenant_id", "app_id", "user_id"}, path
        # The scope of blocks is one of three words.
        assert all(parameter.annotation is not longmind.Scope for parameter in parameters.values()), path


@pytest.mark.conforms("A0.2", "A0.4")
@pytest.mark.parametrize("identity", ["", "   ", "*", None, 7, "a\x00b", "a\nb", "\ud800", "x" * 256])
def test_what_cannot_be_an_identity_makes_no_context(sqlite_url: str, identity: str) -> None:
    known: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}
    with longmind.open(sqlite_url) as engine:
        for name in known:
            with pytest.raises(longmind.InvalidIdentity, match=name):
                engine.context(**{**known, name: identity})


@pytest.mark.conforms("A0.3", "A0.4")
@pytest.mark.parametrize("stranger", STRANGERS, ids=["tenant", "app", "user"])
def test_a_conversation_is_seen_only_by_its_own_tenant_app_and_user(
    engine: longmind.Engine, ctx: longmind.Context, adas: longmind.Conversation, stranger: dict[str, Any]
) -> None:
    other = engine.context(**stranger)
    assert other.conversations.get_conversation(adas.id) is None
    assert other.conversations.list_conversations() == []
    assert other.conversations.list_conversations(namespace="support-chat") == []
    assert other.conversations.close_stale(0) == []
    kept = ctx.conversations.get_conversation(adas.id)
    assert kept is not None
    assert kept.status == "open"
    assert ctx.conversations.list_conversations() == [kept]


@pytest.mark.conforms("A0.3")
def test_namespaces_are_partitions_of_one_users_conversations(ctx: longmind.Context) -> None:
    checkin = ctx.conversations.create_conversation("daily-checkin")
    support = ctx.conversations.create_conversation("support-chat")
    assert ctx.conversations.list_conversations(namespace="daily-checkin") == [checkin]
    assert ctx.conversations.list_conversations(namespace="support-chat") == [support]
    assert ctx.conversations.list_conversations(namespace="Support-Chat") == []


@pytest.mark.conforms("A0.4")
@pytest.mark.parametrize("stranger", STRANGERS, ids=["tenant", "app", "user"])
def test_a_foreign_id_answers_exactly_like_a_missing_one(
    engine: longmind.Engine, ctx: longmind.Context, adas: longmind.Conversation, stranger: dict[str, Any]
) -> None:
    other = engine.context(**stranger)
    missing = "conv_" + "0" * 32
    before = ctx.conversations.get_conversation(adas.id), list(engine.follow())
    for name, use in BY_ID.items():
        answers = []
        for id in (adas.id, missing):
            with pytest.raises(longmind.NotFound) as refusal:
                use(other, id)
            assert refusal.value.status == 404
            answers.append(str(refusal.value).replace(id, "…"))
        assert answers[0] == answers[1], name
    assert (ctx.conversations.get_conversation(adas.id), list(engine.follow())) == before


@pytest.mark.conforms("A0.4")
def test_the_same_idempotency_key_means_nothing_to_another_user(
    engine: longmind.Engine, adas: longmind.Conversation
) -> None:
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob").conversations
    own = bob.create_conversation("support-chat")
    message = bob.append_user_message(own.id, "Something else", idempotency_key="first")
    assert (message.sequence, message.replayed) == (1, False)


@pytest.mark.conforms("A0.4", "T25")
def test_ids_with_separators_in_them_do_not_run_into_one_another(engine: longmind.Engine) -> None:
    names = [
        ("a", "b", "c"),
        ("a|b", "b", "c"),
        ("a", "b|b", "c"),
        ("a|b|c", "b", "c"),
        ("a:b", "c", "d"),
        ("a", "b:c", "d"),
        ("a/b", "c", "d"),
        ("a", "b/c", "d"),
        ("a%7Cb", "b", "c"),
        ("..", "b", "c"),
        ("a", "b", "org:a"),
    ]
    contexts = [engine.context(tenant_id=tenant, app_id=app, user_id=user) for tenant, app, user in names]
    made = [context.conversations.create_conversation("support-chat") for context in contexts]
    for context, conversation, name in zip(contexts, made, names, strict=True):
        assert context.conversations.list_conversations() == [conversation], name


@pytest.mark.conforms("T25")
def test_timelines_of_ids_with_separators_in_them_stay_apart(engine: longmind.Engine, database_url: str) -> None:
    sessions = ["s", "s|session:t", "s:t", "s/t", "../s", "s%7Ct", "..", "org:acme:user:ada", "é|ü"]
    for session in sessions:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada", session_id=session)
        conversation = ctx.conversations.create_conversation("support-chat")
        ctx.conversations.append_user_message(conversation.id, "Hello")
    rows = ledger_rows(database_url, "SELECT session_id, timeline_id FROM {events} WHERE kind = 'chat.turn'")
    timelines = dict(rows)
    assert set(timelines) == set(sessions)
    assert len(set(timelines.values())) == len(sessions)
    for session, timeline in timelines.items():
        assert timeline.count("|") == 1, session
        assert "/" not in timeline, session
        assert ".." not in timeline, session


@pytest.mark.conforms("T25")
def test_a_user_cannot_take_the_timeline_of_another_by_the_choice_of_a_name() -> None:
    wide = longmind.Scope("acme", "support", "ada")
    named_like_it = longmind.Scope("acme", "support", "org:acme:user:ada", session_id="org:acme:user:ada")
    assert timeline_id(named_like_it) != timeline_id(wide)
    assert timeline_id(named_like_it, "user") != timeline_id(wide, "user")
