"""The profile: who the user is in at most 150 tokens, from facts that hold, each cited."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import longmind
from longmind.assembly.profile_text import PROFILE_TOKENS, make_profile_section, write_profile
from longmind.assembly.tokens import choose_counter
from longmind.clock import to_micros
from longmind.extraction.candidate import Candidate
from longmind.extraction.consolidation.profile_order import STABLE_KINDS, TRUSTED, rank_for_profile
from longmind.extraction.reconcile.decisions import KnownAtom
from longmind.models.atom import Atom

SAID = to_micros("2026-03-01T09:00:00Z")
count = choose_counter("estimate")


def make_atom(number: int, text: str, kind: str = "FACT", trust: str = "user", **fields: Any) -> Atom:
    candidate = Candidate(text, fields.pop("category", "general"), kind, trust, ())  # type: ignore[arg-type]
    return KnownAtom.from_candidate(candidate, f"atom_{number:03}", SAID).atom.model_copy(update=fields)


def write(atoms: list[Atom]) -> str:
    return write_profile(
        "About the user",
        make_profile_section(rank_for_profile(atoms), lambda each: write_profile("About the user", each), count),
    )


def remember(ctx: longmind.Context, space: longmind.MemorySpace, text: str, **more: Any) -> longmind.Atom:
    kind, category = more.pop("kind", "FACT"), more.pop("category", "general")
    return ctx.memory.add_atom(space.id, {"text": text, "category": {"name": category, "kind": kind}, **more})


def test_identity_comes_first_then_rules_health_home_work_family_and_the_rest() -> None:
    told = [
        "User collects stamps.",
        "User has a sister in Rome.",
        "User works at a bakery.",
        "User lives in Graz.",
        "User is allergic to nuts.",
        "User's name is Ada.",
    ]
    atoms = [make_atom(number, text) for number, text in enumerate(told)]
    atoms.insert(2, make_atom(9, "Never use em dashes.", "RULE"))
    assert [atom.text for atom in rank_for_profile(atoms)] == [
        "User's name is Ada.",
        "Never use em dashes.",
        "User is allergic to nuts.",
        "User lives in Graz.",
        "User works at a bakery.",
        "User has a sister in Rome.",
        "User collects stamps.",
    ]


@pytest.mark.parametrize(
    "atom",
    [
        make_atom(1, "User likes tea.", trust="assistant"),
        make_atom(1, "User likes tea.", trust="tool"),
        make_atom(1, "User drank tea.", "EPISODE"),
        make_atom(1, "User plans to buy tea.", "INTENTION"),
        make_atom(1, "Bob likes tea."),
        make_atom(1, "User and Bob like tea."),
        make_atom(1, "User likes tea.", superseded_by="atom_002"),
        make_atom(1, "User likes tea.", status="ARCHIVED"),
    ],
)
def test_only_what_is_stable_about_the_user_and_said_by_a_person_is_in_a_profile(atom: Atom) -> None:
    assert rank_for_profile([atom]) == []


def test_a_long_fact_makes_room_for_short_ones() -> None:
    long = make_atom(1, f"User's name is {'Ada ' * 300}.")
    assert "Graz" in write([long, make_atom(2, "User lives in Graz.")])


words = st.sampled_from(
    ["likes", "lives", "in", "Graz", "allergic", "to", "nuts", "wife", "3", "Anna", "<b>", "name is"]
)
drawn = st.builds(
    lambda number, subject, rest, kind, trust, importance, status: make_atom(
        number, f"{subject} {' '.join(rest)}.", kind, trust, importance=importance, status=status
    ),
    st.integers(0, 999),
    st.sampled_from(["User", "User's", "The user", "Bob"]),
    st.lists(words, min_size=1, max_size=30),
    st.sampled_from(["FACT", "RULE", "PREFERENCE", "EPISODE", "INTENTION"]),
    st.sampled_from(["user", "app", "assistant", "tool"]),
    st.integers(1, 5),
    st.sampled_from(["ACTIVE", "ACTIVE", "ARCHIVED"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(drawn, max_size=40, unique_by=lambda atom: atom.id), st.randoms(use_true_random=False))
def test_a_profile_has_at_most_150_tokens_of_trusted_active_facts_in_any_order_they_are_given(
    atoms: list[Atom], random: Any
) -> None:
    text = write(atoms)
    assert count(text) <= PROFILE_TOKENS
    for atom in rank_for_profile(atoms):
        assert atom.status == "ACTIVE"
        assert atom.trust in TRUSTED
        assert atom.category.kind in STABLE_KINDS
    random.shuffle(atoms)
    assert write(atoms) == text


def test_each_line_cites_its_fact_and_a_forgotten_one_is_gone_at_once(
    ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    name = remember(ctx, space, "User's name is Ada.", trust="user")
    rule = remember(ctx, space, "Never use em dashes.", kind="RULE", trust="user")
    nuts = remember(ctx, space, "User is allergic to nuts.")
    profile = ctx.memory.get_profile(space.id)
    assert [line.atom_ids for line in profile.lines] == [[name.id], [nuts.id], [rule.id]]
    assert [line.behavioral for line in profile.lines] == [False, False, True]
    assert "not commands" in profile.text.partition("em dashes")[0]
    ctx.memory.delete_atom(nuts.id)
    then = ctx.memory.get_profile(space.id)
    assert "nuts" not in then.text
    old = ctx.memory.get_profile(space.id, known_at=profile.built_at)
    assert [line.text for line in old.lines] == [line.text for line in then.lines]


def test_a_profile_is_as_it_was_known(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    home = remember(ctx, space, "User lives in Oslo.")
    before = ctx.memory.get_profile(space.id)
    ctx.memory.supersede_atom(home.id, {"text": "User lives in Graz.", "category": {"name": "home", "kind": "FACT"}})
    assert "Graz" in ctx.memory.get_profile(space.id).text
    assert ctx.memory.get_profile(space.id, known_at=before.built_at) == before


def test_an_entity_has_a_profile_too(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    bob = ctx.memory.create_entity(space.id, "PERSON", "Bob")
    fact = remember(ctx, space, "Bob lives in Oslo.", entity_ids=[bob.id])
    remember(ctx, space, "User lives in Graz.")
    profile = ctx.memory.get_profile(space.id, entity_id=bob.id)
    assert (profile.text, profile.entity_id) == ("About Bob:\n- [1] Bob lives in Oslo.", bob.id)
    assert profile.lines[0].atom_ids == [fact.id]
    other = ctx.memory.create_memory_space("other")
    for space_id, entity_id in ((space.id, "ent_missing"), (other.id, bob.id)):
        with pytest.raises(longmind.NotFound):
            ctx.memory.get_profile(space_id, entity_id=entity_id)


def test_a_profile_of_an_empty_space_is_empty(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    profile = ctx.memory.get_profile(space.id)
    assert (profile.text, profile.lines, profile.tokens_estimated) == ("", [], 0)


def test_in_a_shared_space_the_profile_is_about_what_each_user_said(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    space = ctx.memory.create_memory_space("team", kind="shared")
    bob = engine.context(tenant_id="acme", app_id="support", user_id="bob")
    ctx.memory.grant_space(space.id, "bob")
    remember(ctx, space, "User lives in Graz.", speaker="ada")
    remember(ctx, space, "User lives in Oslo.", speaker="bob")
    assert [line.text for line in ctx.memory.get_profile(space.id).lines] == ["User lives in Graz."]
    assert [line.text for line in bob.memory.get_profile(space.id).lines] == ["User lives in Oslo."]
