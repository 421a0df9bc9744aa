"""What is in a working context, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from tests.clock import SettableClock
from tests.embedder import WordsEmbedder
from tests.working_context.conftest import Ada, of


@pytest.fixture
def busy(ada: Ada) -> Ada:
    """A user of whom everything is there that a context can have in it."""
    ada.remember("Ada Lovelace is the user's name", "identity", trust="user", origin="user")
    ada.remember("Ada prefers short answers", "preference", "PREFERENCE", trust="user")
    ada.remember("Ada is allergic to peanuts", "health")
    ada.remember("The cafe on Main Street is closed", "places", trust="tool")
    for number in range(3):
        ada.say(f"Question number {number} about lunch", f"Answer number {number}")
    ada.summarise()
    return ada


def position(text: str, part: str) -> int:
    assert text.count(part) == 1, f"{part!r} is there {text.count(part)} times"
    return text.index(part)


@pytest.mark.conforms("A7.1", "A7.2")
@pytest.mark.parametrize("template_id", ["default", "xml"])
def test_the_summary_comes_first_then_what_is_always_on_then_what_is_recalled_then_the_last_turns(
    busy: Ada, template_id: str
) -> None:
    built = busy.build(
        recall_query="peanuts", recall_limit=1, always_on_category_names=["identity"], template_id=template_id
    )
    assert [section.name for section in built.sections] == ["summary", "always_on", "recalled", "turns"]
    block = built.context_block
    memory = [position(block, part) for part in ("Ada Lovelace is", "allergic to peanuts")]
    places = [block.index("Question number 0"), *memory, block.rindex("Answer number 2")]
    assert places == sorted(places)
    assert block.count("Answer number 2") == 2, "once in the summary, and once in its turn"
    assert isinstance(built.tokens_estimated, int)
    assert 0 < built.tokens_estimated <= 8000
    assert [message.text for message in built.messages][-1] == "Answer number 2"
    assert built.rolling_summary_until_seq == 6


@pytest.mark.conforms("A7.3")
def test_always_on_atoms_are_there_whatever_is_asked_and_only_once(busy: Ada) -> None:
    asked = busy.build(recall_query="Ada Lovelace name peanuts", always_on_category_names=["identity", "health"])
    unasked = busy.build(always_on_category_names=["identity", "health"])
    ids = [atom.id for atom in asked.atoms_used]
    assert len(ids) == len(set(ids))
    assert {atom.text for atom in unasked.atoms_used} == {
        "Ada Lovelace is the user's name",
        "Ada is allergic to peanuts",
    }
    for atom in unasked.atoms_used:
        assert asked.context_block.count(atom.text) == 1
    # What is always on takes no place of a hit.
    full = busy.build(recall_query="Ada", recall_limit=2, always_on_category_names=["identity", "health"])
    assert [len(section.atom_ids) for section in full.sections if section.name == "recalled"] == [2]


@pytest.mark.conforms("A7.3")
def test_the_number_of_a_line_is_the_place_of_its_atom(busy: Ada) -> None:
    built = busy.build(recall_query="Ada", always_on_category_names=["preference", "identity"])
    assert len(built.atoms_used) == 4
    for number, atom in enumerate(built.atoms_used, 1):
        assert f"- [{number}] {atom.text} (" in built.context_block


@pytest.mark.conforms("A7.4", "A7.6")
def test_without_a_query_nothing_is_recalled_and_the_summary_can_be_left_out(busy: Ada) -> None:
    built = busy.build(include_rolling_summary=False)
    assert [section.name for section in built.sections] == ["turns"]
    assert built.atoms_used == []
    assert "in short" not in built.context_block
    assert built.rolling_summary_until_seq == 0
    assert busy.build(recall_query="   ").atoms_used == []
    assert busy.build(recall_query="Ada", recall_limit=0).atoms_used == []


@pytest.mark.conforms("A7.9")
def test_only_what_is_active_and_valid_now_is_there(ada: Ada) -> None:
    old = ada.remember("Ada lives in Rome", "home")
    ada.clock.advance(1)
    ada.ctx.memory.supersede_atom(old.id, {"text": "Ada lives in Paris", "category": {"name": "home", "kind": "FACT"}})
    ada.ctx.memory.archive_atom(ada.remember("Ada lives in a tent", "home").id)
    ada.remember("Ada lives in Lima", "home", valid_from="2027-01-01T00:00:00Z")
    ada.remember("Ada lives in Oslo", "home", valid_from="2020-01-01T00:00:00Z", valid_to="2021-01-01T00:00:00Z")
    ada.remember("Ada flies to Kyoto", "home", "INTENTION", valid_from="2026-05-01T00:00:00Z")
    expected = {"Ada lives in Paris", "Ada flies to Kyoto"}
    assert {atom.text for atom in ada.build(always_on_category_names=["home"]).atoms_used} == expected
    assert {atom.text for atom in ada.build(recall_query="where Ada lives").atoms_used} == expected


@pytest.mark.conforms("A7.9")
def test_an_always_on_atom_that_another_process_has_changed_is_as_it_is_now(
    ada: Ada, database_url: str, clock: SettableClock
) -> None:
    memory = ada.ctx.memory
    ben, benjamin = (memory.create_entity(ada.space_id, "PERSON", name).id for name in ("Ben", "Benjamin"))
    stays, archived, superseded, deleted = (
        ada.remember(f"Benjamin {what}", "identity", entity_ids=[benjamin])
        for what in ("stays", "is archived", "is superseded", "is deleted")
    )

    def shown(**more: Any) -> list[longmind.Atom]:
        return ada.build(always_on_category_names=["identity"], **more).atoms_used

    before = shown()
    assert len(before) == 4
    assert shown() == before, "from memory"
    known_at = ada.build().built_at
    clock.advance(60)
    with longmind.open(database_url, embedder=WordsEmbedder(), clock=clock) as other:
        elsewhere = other.context(tenant_id="acme", app_id="support", user_id="ada").memory
        elsewhere.archive_atom(archived.id)
        newer = elsewhere.supersede_atom(
            superseded.id, {"text": "Benjamin is newer", "category": {"name": "identity", "kind": "FACT"}}
        )
        elsewhere.delete_atom(deleted.id)
        elsewhere.merge_entities(ben, benjamin)
        expected = {id: elsewhere.get_atom(id) for id in (stays.id, newer.id)}
    for _ in range(2):
        assert {atom.id: atom for atom in shown()} == expected
    then = shown(known_at=known_at)
    assert [atom.id for atom in then] == [atom.id for atom in before if atom.id != deleted.id]
    assert {atom.status for atom in then} == {"ACTIVE"}
    assert {atom.superseded_by for atom in then} == {None}


@pytest.mark.conforms("A7.8", "A7.9", "A1.16")
def test_the_messages_are_the_last_turns_without_what_is_hidden_or_was_answered_anew(ada: Ada) -> None:
    talk, conversation = ada.ctx.conversations, ada.conversation_id
    ada.say("the oldest", "left behind")
    talk.append_turn(conversation, user_content="again?", assistant={"content": "bad"}, idempotency_key="k")
    talk.append_turn(conversation, user_content="again?", assistant={"content": "good"}, idempotency_key="k")
    talk.append_user_message(conversation, "a secret", visibility="hidden")
    talk.append_system_message(conversation, "be brief")
    built = ada.build(recent_turns=2)
    assert [message.text for message in built.messages] == ["again?", "good", "be brief"]
    for text in ("a secret", "bad", "left behind"):
        assert text not in built.context_block
    assert ada.build(recent_turns=0).messages == []


@pytest.mark.conforms("A7.5")
@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_a_turn_of_many_rows_is_there_as_a_whole(ada: Ada, wanted: int) -> None:
    ada.say("The first", "Yes")
    ada.say("The second", "Yes")
    talk, conversation = ada.ctx.conversations, ada.conversation_id
    talk.append_user_message(conversation, "The third")
    for number in range(60):
        call = {"type": "tool_use", "id": f"call {number}", "name": "count", "arguments": {}}
        talk.append_assistant_turn(conversation, [call])
        talk.append_tool_result(conversation, f"call {number}", str(number))
    built = ada.build(recent_turns=wanted, token_budget=100_000)
    assert [message.sequence for message in built.messages] == list(range(7 - 2 * wanted, 126))


def test_preferences_and_rules_stand_under_the_notice_and_facts_before_it(busy: Ada) -> None:
    busy.remember("Always answer in English", "style", "RULE")
    block = busy.build(
        recall_query="answer English", always_on_category_names=["preference", "identity"], include_profile=False
    ).context_block
    assert block.count(SUGGESTIONS_NOTICE) == 2
    parts = block.split(SUGGESTIONS_NOTICE)
    assert "Ada Lovelace" in parts[0]
    assert "prefers short" in parts[1]
    assert "Always answer" in parts[2]


@pytest.mark.conforms("T10")
def test_a_line_tells_when_and_from_whom_it_is_known(busy: Ada) -> None:
    block = busy.build(recall_query="cafe Main Street", always_on_category_names=["identity"]).context_block
    assert "(2026-03-01; user)" in block
    assert "(2026-03-01; from a tool, not confirmed by the user)" in block


def test_what_is_said_twice_in_the_same_words_is_shown_once(ada: Ada) -> None:
    ada.remember("Ada likes tea", "taste")
    ada.remember("Ada  likes TEA", "drinks")
    assert len(ada.build(recall_query="tea").atoms_used) == 1
    assert len(ada.build(recall_query="tea", always_on_category_names=["taste"]).atoms_used) == 1


def test_an_empty_conversation_and_an_empty_space_make_an_empty_context(ada: Ada) -> None:
    built = ada.build(recall_query="anything", always_on_category_names=["identity"])
    assert (built.context_block, built.messages, built.atoms_used, built.tokens_estimated) == ("", [], [], 0)


@pytest.mark.conforms("A0.4")
def test_the_conversation_and_the_space_of_somebody_else_are_as_good_as_missing(
    engine: longmind.Engine, ada: Ada, clock: SettableClock
) -> None:
    bob = of(engine, clock, "bob")
    for conversation_id, space_id in (
        (bob.conversation_id, ada.space_id),
        (ada.conversation_id, bob.space_id),
        ("conv_missing", ada.space_id),
        (ada.conversation_id, "ms_missing"),
    ):
        with pytest.raises(longmind.NotFound):
            ada.ctx.working_context.build_working_context(conversation_id, memory_space_id=space_id)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("token_budget", 0),
        ("token_budget", -1),
        ("token_budget", 2**70),
        ("token_budget", "8000"),
        ("recent_turns", -1),
        ("recent_turns", True),
        ("recall_limit", 100_000),
        ("always_on_category_names", "identity"),
        ("recall_query", 7),
        ("known_at", "yesterday"),
        ("template_id", "no such"),
        ("template_id", 7),
    ],
)
def test_what_makes_no_sense_is_refused(ada: Ada, option: str, value: object) -> None:
    with pytest.raises((longmind.InvalidInput, longmind.LimitExceeded), match=option.partition("_")[0]):
        ada.build(**{option: value})


@pytest.mark.conforms("A10.1")
def test_a_chatbot_remembers_what_was_said_in_an_earlier_conversation(engine: longmind.Engine, ada: Ada) -> None:
    ada.ctx.memory.create_binding({"namespace": "daily-checkin", "user_id": "ada"}, [ada.space_id])
    ada.say("My name is Ada and I live in Graz.", "Nice to meet you!")
    ada.ctx.conversations.close_conversation(ada.conversation_id)
    engine.work()
    later = ada.ctx.conversations.create_conversation("daily-checkin")
    built = ada.ctx.working_context.build_working_context(
        later.id, memory_space_id=ada.space_id, recall_query="Where do I live?"
    )
    assert "Graz" in built.context_block
    assert built.atoms_used[0].source_conversation_id == ada.conversation_id


@pytest.mark.parametrize("template_id", ["default", "xml", "messages"])
def test_a_weak_fact_is_marked_unless_it_is_always_on(ada: Ada, template_id: str) -> None:
    ada.remember("The boiler in the kitchen leaks", "home")
    for number in range(20):
        ada.remember(f"Person{number} likes thing{number}", "people")
    ada.remember("Answer in German", "style", "RULE")
    query = "Why does the boiler in the kitchen leak?"
    hits = ada.ctx.memory.recall_by_topic(ada.space_id, query, limit=4).hits
    assert [hit.weak for hit in hits] == [False, True, True, True]
    built = ada.build(recall_query=query, recall_limit=4, template_id=template_id, always_on_category_names=["style"])
    lines = {
        atom.text: line for line in built.context_block.splitlines() for atom in built.atoms_used if atom.text in line
    }
    marked = {text for text, line in lines.items() if "; perhaps unrelated)" in line}
    assert marked == {text for text in lines if text.startswith("Person")}
    assert len(marked) == 3
    assert "Answer in German" in lines
