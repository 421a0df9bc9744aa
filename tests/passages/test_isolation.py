"""What was said is quoted to the user who said it, in the spaces that a binding names, and nowhere else."""

from __future__ import annotations

import pytest

import longmind
from tests.passages.person import BY_MEANING, BY_WORDS, QUESTIONS, SECRET, FamiliarEmbedder, Person, meet

OTHERS = {
    "another user": {"user_id": "bob"},
    "another app": {"app_id": "sales"},
    "another tenant": {"tenant_id": "globex"},
}


@pytest.fixture
def embedder() -> FamiliarEmbedder:
    return FamiliarEmbedder()


@pytest.fixture
def ada(engine: longmind.Engine) -> Person:
    """A user who has told a secret, which is found by words and by meaning."""
    ada = meet(engine)
    ada.bind()
    ada.say(SECRET)
    engine.work()
    for question in QUESTIONS:
        assert "automobile" in ada.recalled(question)
        assert "automobile" in ada.searched(question)
        assert SECRET in ada.prompt(question)
    assert ada.quotes(BY_WORDS) == ada.quotes(BY_MEANING) == [SECRET]
    return ada


@pytest.mark.conforms("A0.3", "A0.4")
@pytest.mark.parametrize("other", OTHERS)
def test_nobody_else_is_shown_what_a_user_has_said(ada: Person, engine: longmind.Engine, other: str) -> None:
    stranger = meet(engine, **OTHERS[other])
    stranger.bind()
    stranger.bind("*")
    stranger.say("The weather is fine.")
    engine.work()
    for question in QUESTIONS:
        assert "automobile" not in stranger.recalled(question)
        assert "automobile" not in stranger.searched(question)
        with pytest.raises(longmind.NotFound):
            stranger.quotes(question, ada.space_id)
        with pytest.raises(longmind.NotFound):
            stranger.prompt(question, ada.space_id)
    assert stranger.quotes("What is the weather like?") == ["The weather is fine."]


@pytest.mark.conforms("A0.3")
def test_only_conversations_of_a_namespace_that_a_binding_names_are_quoted(
    ada: Person, engine: longmind.Engine
) -> None:
    ada.say("The automobile of the doctor crashed too", ada.talk("diary"))
    engine.work()
    for question in QUESTIONS:
        assert "doctor" not in ada.recalled(question)
        assert ada.quotes(question) == [SECRET]
        # The event log has no spaces: it is the user's own, and shows all of it.
        assert "doctor" in ada.searched(question)


def test_a_binding_leads_into_the_spaces_that_it_names_and_into_no_other(ada: Person, engine: longmind.Engine) -> None:
    work = ada.ctx.memory.create_memory_space("work").id
    ada.bind("office", work)
    ada.say("The automobile of the boss crashed", ada.talk("office"))
    engine.work()
    for question in QUESTIONS:
        assert ada.quotes(question, work) == ["The automobile of the boss crashed"]
        assert SECRET not in ada.prompt(question, work)
        assert ada.quotes(question) == [SECRET]
        assert "boss" not in ada.recalled(question)


@pytest.mark.conforms("T5")
def test_a_binding_for_everybody_leads_what_each_says_into_their_own_space(engine: longmind.Engine) -> None:
    root = engine.context(tenant_id="acme", app_id="support", user_id="root", capabilities={"admin"})
    of_root = root.memory.create_memory_space("personal").id
    root.memory.create_binding({"namespace": "chat", "user_id": "*"}, [of_root])
    ada, bob = meet(engine, "ada"), meet(engine, "bob")
    spaces = {person: person.ctx.memory.create_memory_space("personal").id for person in (ada, bob)}
    ada.say("The automobile of Ada crashed")
    bob.say("The automobile of Bob crashed")
    root.conversations.append_user_message(
        root.conversations.create_conversation("chat").id, "The automobile of the administrator crashed"
    )
    engine.work()
    for question in QUESTIONS:
        assert ada.quotes(question, spaces[ada]) == ["The automobile of Ada crashed"]
        assert bob.quotes(question, spaces[bob]) == ["The automobile of Bob crashed"]
        found = root.memory.recall_by_topic(of_root, question)
        assert [passage.text for passage in found.passages] == ["The automobile of the administrator crashed"]
        # They have other spaces too, which nothing leads to.
        assert ada.quotes(question) == bob.quotes(question) == []


def test_an_agent_of_another_group_is_quoted_nothing_that_leads_to_the_space_of_the_first(
    ada: Person, engine: longmind.Engine
) -> None:
    team = engine.context(tenant_id="acme", app_id="support", user_id="ada", group="team")
    team.tools.memory_store("fact", "The team meets at noon")
    for question in QUESTIONS:
        assert "automobile" not in team.tools.memory_search(question).model_dump_json()
        # Nor where something else than a question is asked for.
        for narrowed in ({"type": "fact"}, {"tags": ["car"]}):
            assert "automobile" not in str(ada.ctx.tools.invoke("memory_search", {"query": question, **narrowed}))


def test_what_others_say_changes_no_score(ada: Person, engine: longmind.Engine) -> None:
    before = ada.ctx.memory.recall_by_topic(ada.space_id, BY_WORDS).passages
    bob = meet(engine, "bob")
    bob.bind()
    for number in range(20):
        bob.say(f"Automobile: the automobile {number} crashed")
    engine.work()
    assert ada.ctx.memory.recall_by_topic(ada.space_id, BY_WORDS).passages == before
