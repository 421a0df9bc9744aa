"""The profile in a working context: first, always on, small, and not repeated."""

from __future__ import annotations

import pytest

from longmind.assembly.profile_text import PROFILE_TOKENS
from longmind.assembly.tokens import choose_counter
from tests.working_context.conftest import Ada

count = choose_counter("auto")


def section(built: object, name: str) -> list[str]:
    return next((each.atom_ids for each in built.sections if each.name == name), [])  # type: ignore[attr-defined]


@pytest.mark.parametrize("template_id", ["default", "xml", "messages"])
def test_the_profile_comes_first_whatever_is_asked_and_is_not_repeated(ada: Ada, template_id: str) -> None:
    nuts = ada.remember("User is allergic to nuts.", "health")
    rule = ada.remember("Never use em dashes.", "style", "RULE", trust="user")
    other = ada.remember("The bakery sells cakes without nuts.", "places")
    ada.say("Hello", "Hello")
    built = ada.build(recall_query="nuts", template_id=template_id)
    assert built.sections[0].name == "profile"
    assert section(built, "profile") == [nuts.id, rule.id]
    assert section(built, "recalled") == [other.id]
    assert [atom.id for atom in built.atoms_used] == [nuts.id, rule.id, other.id]
    assert built.context_block.count("allergic to nuts") == 1
    assert [atom.id for atom in ada.build(template_id=template_id).atoms_used] == [nuts.id, rule.id]


def test_it_can_be_left_out(ada: Ada) -> None:
    nuts = ada.remember("User is allergic to nuts.", "health")
    built = ada.build(recall_query="nuts", include_profile=False)
    assert [each.name for each in built.sections] == ["recalled"]
    assert section(built, "recalled") == [nuts.id]


def test_what_an_always_on_category_shows_is_not_in_the_profile(ada: Ada) -> None:
    nuts = ada.remember("User is allergic to nuts.", "health")
    home = ada.remember("User lives in Graz.", "home")
    ada.remember("User lives in  GRAZ.", "notes")
    built = ada.build(always_on_category_names=["health", "home"])
    assert section(built, "profile") == []
    assert section(built, "always_on") == [home.id, nuts.id]


@pytest.mark.parametrize("template_id", ["default", "xml", "messages"])
def test_it_never_takes_more_than_150_tokens(ada: Ada, template_id: str) -> None:
    for number in range(40):
        ada.remember(f"User owns {number} antique clocks from a shop in Salzburg.", "things")
        ada.remember(f"Never mention clock number {number}.", "style", "RULE")
    built = ada.build(template_id=template_id)
    rendered = built.context_block.split("\n", 1)[1]
    assert 3 < len(section(built, "profile")) < 20
    # The xml layout closes the whole with one tag.
    assert count(rendered.removesuffix("</remembered>").strip()) <= PROFILE_TOKENS


def test_it_takes_a_fifth_of_a_short_budget_and_its_other_facts_can_be_recalled(ada: Ada) -> None:
    atoms = [ada.remember(f"User likes fruit number {number}.", "taste") for number in range(6)]
    first_ones = [atom.id for atom in reversed(atoms)]
    assert section(ada.build(), "profile") == first_ones
    tight = ada.build(token_budget=250, recall_query="fruit")
    shown = section(tight, "profile")
    assert 0 < len(shown) < 6
    assert shown == first_ones[: len(shown)]
    assert set(section(tight, "recalled")) == set(first_ones) - set(shown)


def test_a_line_of_a_block_that_says_the_same_is_not_repeated(ada: Ada) -> None:
    ada.remember("User lives in Graz.", "home")
    ada.ctx.blocks.update("core", "User lives in Graz.\nLikes tea.", None)
    block = ada.build(memory_policy={}).context_block
    assert block.count("Graz") == 1
    assert "Likes tea." in block


def test_a_template_without_a_profile_shows_its_facts_elsewhere(ada: Ada) -> None:
    nuts = ada.remember("User is allergic to nuts.", "health")
    ada.ctx.working_context._templates.register(
        "plain", "{{#recalled}}{{#facts}}{{#items}}{{{line}}}{{/items}}{{/facts}}{{/recalled}}"
    )
    built = ada.build(recall_query="nuts", template_id="plain")
    assert section(built, "recalled") == [nuts.id]
