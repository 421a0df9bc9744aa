"""The memory part of a prompt, for programs that keep the conversation themselves."""

from __future__ import annotations

import pytest

import longmind
from tests.working_context.conftest import Ada


def test_it_is_the_working_context_without_summary_and_turns(ada: Ada) -> None:
    ada.remember("Ada is allergic to peanuts.", name="health", trust="user")
    ada.remember("The office plant is a fern.")
    ada.say("Shall we have dinner?", "Gladly.")
    built = ada.ctx.working_context.build_memory_context(ada.space_id, query="plant in the office", token_budget=400)
    assert "fern" in built.context_block
    assert (built.messages, built.rolling_summary_until_seq) == ([], 0)
    assert built.tokens_estimated <= 400
    whole = ada.build(recall_query="plant in the office", recent_turns=0, token_budget=400)
    assert built.context_block == whole.context_block


def test_without_a_query_it_shows_what_is_always_known(ada: Ada) -> None:
    ada.remember("The user is called Ada.", name="identity", importance=5, trust="user")
    ada.remember("The office plant is a fern.", importance=1)
    built = ada.ctx.working_context.build_memory_context(ada.space_id)
    assert [atom.text for atom in built.atoms_used] == ["The user is called Ada."]


def test_an_unknown_space_and_a_wrong_budget_are_refused(ada: Ada) -> None:
    with pytest.raises(longmind.NotFound):
        ada.ctx.working_context.build_memory_context("ms_none")
    with pytest.raises(longmind.InvalidInput):
        ada.ctx.working_context.build_memory_context(ada.space_id, token_budget=0)
