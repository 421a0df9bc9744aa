"""Who may see a message decides who is quoted it: hidden ones reach nobody, internal ones reach models."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.passages.person import BY_MEANING, BY_WORDS, QUESTIONS, SECRET, FamiliarEmbedder, Person, meet


@pytest.fixture
def embedder() -> FamiliarEmbedder:
    return FamiliarEmbedder()


@pytest.fixture
def ada(engine: longmind.Engine) -> Person:
    ada = meet(engine)
    ada.bind()
    return ada


def hide_question(ada: Person, conversation_id: str) -> None:
    ada.say(SECRET, conversation_id, visibility="hidden")


def hide_turn(ada: Person, conversation_id: str) -> None:
    ada.ctx.conversations.append_turn(
        conversation_id, user_content=SECRET, user_visibility="hidden", assistant={"content": "I am sorry."}
    )


def hide_answer(ada: Person, conversation_id: str) -> None:
    ada.say("Good morning", conversation_id)
    ada.ctx.conversations.append_assistant_turn(conversation_id, SECRET, visibility="hidden")


def speak_as_the_host(visibility: Any) -> Any:
    def say(ada: Person, conversation_id: str) -> None:
        ada.ctx.conversations.append_system_message(conversation_id, SECRET, visibility=visibility)

    return say


NEVER = {
    "a hidden question": hide_question,
    "a hidden question with an answer": hide_turn,
    "a hidden answer": hide_answer,
    "a hidden instruction": speak_as_the_host("hidden"),
    "an internal instruction": speak_as_the_host("internal"),
    "an instruction that the user sees": speak_as_the_host("user"),
}


@pytest.mark.conforms("A1.16", "A7.9")
@pytest.mark.parametrize("what", NEVER)
def test_what_is_hidden_and_what_the_host_instructs_is_quoted_to_nobody(
    ada: Person, engine: longmind.Engine, embedder: FamiliarEmbedder, what: str
) -> None:
    conversation_id = ada.talk()
    NEVER[what](ada, conversation_id)
    ada.say("The weather is fine", conversation_id)
    for _ in range(2):
        for question in QUESTIONS:
            assert "automobile" not in ada.recalled(question)
        # With words, and after this round by meaning.
        engine.work()
    assert SECRET not in embedder.embedded
    if "hidden" in what:
        for question in QUESTIONS:
            assert "automobile" not in ada.searched(question)
    assert ada.quotes("What is the weather like?")[0] == "The weather is fine"


@pytest.mark.conforms("A1.15")
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_is_internal_is_quoted_to_models_though_the_user_does_not_see_it(
    ada: Person, engine: longmind.Engine, role: str
) -> None:
    conversation_id = ada.talk()
    if role == "user":
        ada.say(SECRET, conversation_id, visibility="internal")
    else:
        ada.say("Good morning", conversation_id)
        ada.ctx.conversations.append_assistant_turn(conversation_id, SECRET, visibility="internal")
    assert ada.tool_quotes(BY_WORDS)[0] == SECRET
    engine.work()
    for question in (BY_WORDS, BY_MEANING):
        assert ada.tool_quotes(question)[0] == SECRET
        assert SECRET in ada.prompt(question)
    assert SECRET not in [message.text for message in ada.ctx.conversations.get_messages(conversation_id)]
    shown = ada.ctx.conversations.get_messages(conversation_id, include_internal=True)
    assert SECRET in [message.text for message in shown]


def test_what_a_tool_has_answered_is_quoted_as_from_a_tool(ada: Person) -> None:
    conversation_id = ada.talk()
    chat = ada.ctx.conversations
    chat.append_user_message(conversation_id, "Look into the log.")
    call = [{"type": "tool_use", "id": "call", "name": "look", "arguments": {"what": "the automobile"}}]
    chat.append_assistant_turn(conversation_id, call)
    chat.append_tool_result(conversation_id, "call", SECRET)
    chat.append_assistant_turn(conversation_id, "It is in the log.")
    (passage, *_) = ada.ctx.memory.recall_by_topic(ada.space_id, BY_WORDS).passages
    assert (passage.text, passage.messages[0].role) == (SECRET, "tool")
    assert ada.quotes(trust=["user"])[:1] != [SECRET]
    assert SECRET in ada.quotes(trust=["tool"])


def test_a_filter_by_what_only_facts_have_leaves_quotes_out(ada: Person) -> None:
    ada.say(SECRET)
    entity = ada.ctx.memory.create_entity(ada.space_id, "OBJECT", "automobile")
    assert ada.quotes(status="ACTIVE") == ada.quotes(status=None) == [SECRET]
    filters: tuple[dict[str, Any], ...] = (
        {"entity": entity.id},
        {"entity": "automobile"},
        {"category_names": ["notes"]},
        {"kinds": ["FACT"]},
        {"tags": ["a"]},
        {"min_importance": 1},
        {"status": "ARCHIVED"},
    )
    for only in filters:
        assert ada.quotes(**only) == []
