"""Memory blocks in a working context: whose, by which policy, where they stand, and when they go."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.assembly.templates import BUILT_IN
from longmind.models.working_context import WorkingContext
from longmind.providers.testing import ScriptedModel
from tests.clock import SettableClock
from tests.working_context.conftest import Ada, of

AUTO = {"archival_mode": "auto"}
NO_CORE = {"include_user_core": False, "include_agent_core": False}


@pytest.fixture
def kept(ada: Ada) -> Ada:
    """A user with all kinds of blocks, of whom something is known and said beside them."""
    blocks = ada.ctx.blocks
    blocks.update("core", "- Likes tea.\n\nLives in Graz.", None)
    blocks.update("core", "Books aisle seats.", None, agent_id="planner")
    blocks.update("core", "Writes short.", None, agent_id="writer")
    blocks.update("archival", "Sister Anna lives in Oslo\nFavourite film is Alien", None)
    blocks.update("archival", "Anna gets a window seat", None, agent_id="planner")
    ada.remember("Ada is allergic to peanuts", "health", importance=5)
    ada.remember("Anna is a dentist", "family")
    ada.say("Shall we visit Anna?", "Gladly.")
    ada.summarise()
    return ada


def lines(built: WorkingContext) -> list[str]:
    """The lines of blocks that a context of the default template shows."""
    return [line.removeprefix("* ") for line in built.context_block.split("\n") if line.startswith("* ")]


def everything(ada: Ada, **options: Any) -> WorkingContext:
    return ada.build(
        recall_query="Where does sister Anna live?",
        always_on_category_names=["health"],
        **{"memory_policy": AUTO, "agent_id": "planner", **options},
    )


@pytest.mark.conforms("C6", "C10")
def test_core_memory_and_what_archival_memory_has_on_the_query_stand_before_all_else(kept: Ada) -> None:
    built = everything(kept)
    assert [each.name for each in built.sections] == ["user_memory", "summary", "always_on", "recalled", "turns"]
    assert built.context_block.split("\n")[1:13] == [
        "",
        "## What is kept about the user",
        SUGGESTIONS_NOTICE,
        "About the user:",
        "* Likes tea.",
        "* Lives in Graz.",
        "About the user, for this agent:",
        "* Books aisle seats.",
        "What archival memory has on this:",
        "* Sister Anna lives in Oslo",
        "* Anna gets a window seat",
        "",
    ]
    for template_id in BUILT_IN:
        block = everything(kept, template_id=template_id).context_block
        places = [block.index(text) for text in (SUGGESTIONS_NOTICE, "Likes tea.", "aisle", "Oslo", "visit", "peanuts")]
        assert places == sorted(places)


@pytest.mark.conforms("C6", "C10")
def test_without_a_policy_core_memory_is_there_and_the_archive_is_not(kept: Ada) -> None:
    for template_id in BUILT_IN:
        built = everything(kept, template_id=template_id, memory_policy=None)
        assert built == everything(kept, template_id=template_id, memory_policy={})
        assert "Lives in Graz." in built.context_block
        assert "Oslo" not in built.context_block
        left_out = everything(kept, template_id=template_id, memory_policy=NO_CORE)
        assert "user_memory" not in [section.name for section in left_out.sections]
        assert left_out.tokens_estimated < built.tokens_estimated


@pytest.mark.conforms("C6", "C10")
@pytest.mark.parametrize("mode", ["tool_only", "auto", "off"])
def test_the_policy_chooses_what_of_the_blocks_is_there(kept: Ada, mode: str) -> None:
    archival = ["Sister Anna lives in Oslo", "Anna gets a window seat"] if mode == "auto" else []
    for user in (True, False):
        for agent in (True, False):
            policy = {"archival_mode": mode, "include_user_core": user, "include_agent_core": agent}
            core = ["Likes tea.", "Lives in Graz."] * user + ["Books aisle seats."] * agent
            assert lines(everything(kept, memory_policy=policy)) == core + archival
    assert lines(everything(kept, memory_policy=longmind.MemoryPolicy())) == [
        "Likes tea.",
        "Lives in Graz.",
        "Books aisle seats.",
    ]


@pytest.mark.conforms("C8", "C10")
def test_archival_lines_are_bounded_by_the_limit_and_the_least_score_and_need_a_query(kept: Ada) -> None:
    auto = {**AUTO, **NO_CORE}
    assert lines(everything(kept, memory_policy={**auto, "archival_limit": 1})) == ["Sister Anna lives in Oslo"]
    scores = [line.score for line in kept.ctx.blocks.recall("Where does sister Anna live?", agent_id="planner")]
    assert scores[0] > scores[1]
    assert lines(everything(kept, memory_policy={**auto, "archival_min_score": scores[0]})) == [
        "Sister Anna lives in Oslo"
    ]
    assert lines(kept.build(memory_policy=auto)) == []
    assert lines(kept.build(memory_policy=auto, recall_query="  ")) == []


@pytest.mark.conforms("C10")
@pytest.mark.parametrize("wrong", [{"archival_mode": "always"}, {"archival_limit": 0}, {"every": True}, "auto", 7])
def test_a_policy_that_is_none_is_refused(ada: Ada, wrong: Any) -> None:
    with pytest.raises(longmind.InvalidInput, match="memory_policy"):
        ada.build(memory_policy=wrong)
    with pytest.raises(longmind.InvalidInput, match="agent_id"):
        ada.build(agent_id=" ")


@pytest.mark.conforms("C3", "C6")
def test_each_agent_has_its_own_and_the_context_names_the_usual_one(engine: longmind.Engine, kept: Ada) -> None:
    assert lines(everything(kept, agent_id="writer"))[2:] == ["Writes short.", "Sister Anna lives in Oslo"]
    assert lines(everything(kept, agent_id=None))[2:] == ["Sister Anna lives in Oslo"]
    planner = engine.context(tenant_id="acme", app_id="support", user_id="ada", agent_id="planner")

    def of_planner(**options: Any) -> list[str]:
        built = planner.working_context.build_working_context(
            kept.conversation_id, memory_space_id=kept.space_id, memory_policy={}, **options
        )
        return lines(built)

    assert of_planner()[2:] == ["Books aisle seats."]
    assert of_planner(agent_id="writer")[2:] == ["Writes short."]


@pytest.mark.conforms("C3", "T6")
def test_what_others_keep_is_not_there(engine: longmind.Engine, clock: SettableClock, kept: Ada) -> None:
    bob = of(engine, clock, "bob")
    assert everything(bob).context_block == ""
    bob.ctx.blocks.update("core", "Likes coffee.", None)
    assert lines(everything(bob)) == ["Likes coffee."]
    assert "Likes coffee." not in everything(kept).context_block


@pytest.mark.conforms("C6", "A7.3")
def test_nothing_is_said_twice_in_the_same_words(engine: longmind.Engine, ada: Ada) -> None:
    blocks = ada.ctx.blocks
    blocks.update("core", "Likes tea.\nHas a cat.\nLIKES TEA.\nIs called Ada.", None)
    blocks.update("core", "- Has a cat.\nBooks aisle seats.", None, agent_id="planner")
    blocks.update("archival", "Has a cat.\nThe cat is called Tom.", None)
    ada.remember("Has a cat.", "pets")
    ada.remember("Likes tea.", "taste", "PREFERENCE")
    ada.remember("Is called Ada.", "identity")
    ada.remember("The cat eats fish.", "pets")
    options: dict[str, Any] = {"recall_query": "cat tea Ada", "always_on_category_names": ["identity"]}
    built = ada.build(**options, memory_policy=AUTO, agent_id="planner")
    assert lines(built) == ["Likes tea.", "Has a cat.", "Books aisle seats.", "The cat is called Tom."]
    # What is always on has its source with it, and stays; what is recalled is known from the blocks already.
    assert [atom.text for atom in built.atoms_used] == ["Is called Ada.", "The cat eats fish."]
    # A template that shows no blocks loses nothing to them, and one without what is always on has all of their lines.
    engine.templates.register("facts", "{{#recalled}}{{#facts}}{{#items}}{{text}}\n{{/items}}{{/facts}}{{/recalled}}")
    facts = ada.build(**options, memory_policy=AUTO, template_id="facts")
    assert sorted(facts.context_block.split("\n")) == ["Has a cat.", "The cat eats fish."]
    engine.templates.register(
        "blocks",
        "{{#user_memory}}{{notice}}{{#groups}}\n{{title}}:{{#items}} {{text}}{{/items}}{{/groups}}{{/user_memory}}",
    )
    shown = ada.build(**options, memory_policy={}, template_id="blocks").context_block
    assert shown == f"{SUGGESTIONS_NOTICE}\nAbout the user: Likes tea. Has a cat. Is called Ada."


@pytest.mark.patient
@pytest.mark.conforms("C6", "A7.5")
@pytest.mark.parametrize("template_id", BUILT_IN)
def test_lines_of_blocks_go_after_all_else_and_before_the_summary_is_shortened(kept: Ada, template_id: str) -> None:
    def build(**options: Any) -> WorkingContext:
        return everything(kept, template_id=template_id, **options)

    full = build()
    texts = ["Likes tea.", "Lives in Graz.", "Books aisle", "Sister Anna lives in Oslo", "Anna gets a window"]
    left = set()
    for budget in range(full.tokens_estimated, 0, -3):
        built = build(token_budget=budget)
        assert built.tokens_estimated <= budget
        there = [text for text in texts if text in built.context_block]
        assert there == texts[: len(there)], "the last ones have gone"
        assert built.left_out.user_memory == len(texts) - len(there)
        names = [section.name for section in built.sections]
        assert there == texts or not {"always_on", "recalled", "turns"} & set(names)
        assert not (there and built.left_out.summary_shortened)
        assert ("user_memory" in names) is bool(there)
        left.add(len(there))
    assert left == set(range(len(texts) + 1))
    assert build(token_budget=1).context_block == ""


@pytest.mark.conforms("C6")
def test_the_blocks_of_a_time_are_there_as_they_were_then(kept: Ada) -> None:
    first = everything(kept)
    kept.clock.advance(60)
    blocks = kept.ctx.blocks
    for block in blocks.list():
        blocks.update(
            block.block_type, "Anna has moved to Rome with her sister", block.updated_at, agent_id=block.agent_id
        )
    blocks.update("core", "Is new.", None, agent_id="newcomer")
    later = everything(kept)
    assert lines(later) == ["Anna has moved to Rome with her sister"]
    assert everything(kept, known_at=first.built_at) == first
    assert lines(everything(kept, agent_id="newcomer", known_at=first.built_at))[2:] == ["Sister Anna lives in Oslo"]
    kept.clock.advance(60)
    for block in blocks.list():
        blocks.update(block.block_type, "", block.updated_at, agent_id=block.agent_id)
    assert lines(everything(kept)) == []
    assert everything(kept, known_at=later.built_at) == later
    assert everything(kept, known_at=first.built_at) == first
    assert lines(everything(kept, known_at="2026-01-01T00:00:00Z")) == []
    # What is deleted is not brought back.
    blocks.delete("core")
    assert lines(everything(kept, known_at=first.built_at))[0] == "Books aisle seats."


@pytest.mark.conforms("C6", "C10")
def test_a_turn_that_is_given_a_context_does_not_say_core_memory_once_more(kept: Ada) -> None:
    context = everything(kept, template_id="messages")
    model = ScriptedModel(["Yes.", "Yes."])

    def asked(**options: Any) -> str:
        kept.ctx.conversations.run_turn(
            kept.conversation_id,
            model=model,
            user_text="And Anna?",
            options={"system_prompt": context.context_block},
            agent_id="planner",
            **options,
        )
        return model.requests[-1].system or ""

    assert asked(memory_policy=NO_CORE) == context.context_block
    # Of a block that the context shows in part only, the model sees the whole: it may replace it.
    assert asked() == context.context_block
    kept.ctx.blocks.update("core", "Likes coffee.", kept.ctx.blocks.get("core").updated_at)  # type: ignore[union-attr]
    assert asked().count("Likes coffee.") == 1
    assert asked().count("Books aisle seats.") == 1
