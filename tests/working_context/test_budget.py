"""The budget: what goes first when room is short, and that it is kept whatever it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import longmind
from longmind.assembly.templates import BUILT_IN
from longmind.assembly.tokens import choose_counter
from longmind.models.block import CORE_ENTRIES_LIMIT
from longmind.models.content import ToolResultBlock, ToolUseBlock
from longmind.models.working_context import WorkingContext
from tests.clock import SettableClock
from tests.working_context.conftest import Ada, of

SECTIONS = ["user_memory", "summary", "always_on", "recalled", "turns"]
WORDS = st.text("abc xyz éß 你好 <{`\n", min_size=1, max_size=120).filter(lambda text: text.strip())


def shown(built: WorkingContext, name: str) -> list[str]:
    return next((section.atom_ids + section.message_ids for section in built.sections if section.name == name), [])


@pytest.fixture
def long(ada: Ada) -> Ada:
    for importance in (2, 5, 1, 4):
        ada.remember(f"Ada has the trait number {importance}", "identity", importance=importance)
    for number in range(4):
        ada.remember(f"Lunch fact {number} {'lunch ' * number}", "food")
    for number in range(5):
        ada.say(f"Turn {number}: what is there for lunch today?", f"Soup number {number}.")
    ada.summarise()
    return ada


@pytest.mark.conforms("A7.5")
def test_turns_go_first_then_hits_then_what_is_always_on_and_last_the_summary_is_cut(long: Ada) -> None:
    options: dict[str, Any] = {"recall_query": "lunch", "always_on_category_names": ["identity"]}
    full = long.build(**options)
    hits, always = shown(full, "recalled"), shown(full, "always_on")
    by_importance = [atom.id for atom in sorted(full.atoms_used[:4], key=lambda atom: -atom.importance)]
    assert len(hits) == 4
    summary = full.context_block.split("\n")[3]
    for budget in range(full.tokens_estimated, 0, -7):
        built = long.build(**options, token_budget=budget)
        assert built.tokens_estimated <= budget
        turns = shown(built, "turns")
        assert turns == shown(full, "turns")[len(shown(full, "turns")) - len(turns) :], "the oldest have gone"
        assert len(turns) % 2 == 0
        assert built.left_out.turns == 5 - len(turns) // 2
        assert shown(built, "recalled") == hits[: len(shown(built, "recalled"))], "the lowest scores have gone"
        assert shown(built, "recalled") + built.left_out.recalled == hits
        left = set(shown(built, "always_on"))
        assert left == set(by_importance[: len(left)]), "the least important have gone"
        assert [each for each in by_importance if each not in left] == built.left_out.always_on
        assert not turns or shown(built, "recalled") == hits
        assert not shown(built, "recalled") or shown(built, "always_on") == always
        if built.sections:
            assert built.sections[0].name == "summary"
            whole = summary in built.context_block
            assert whole is not built.left_out.summary_shortened
            assert whole or not left
    assert long.build(**options, token_budget=1).context_block == ""


@pytest.mark.conforms("A7.5")
def test_nothing_goes_that_there_is_room_for(long: Ada) -> None:
    options: dict[str, Any] = {"recall_query": "lunch", "always_on_category_names": ["identity"]}
    sizes = {long.build(**options, token_budget=budget).tokens_estimated for budget in range(150, 600, 3)}
    for size in sizes:
        if size:
            assert long.build(**options, token_budget=size).tokens_estimated == size


@pytest.mark.conforms("A7.5")
def test_a_tools_answer_never_stands_without_its_call(ada: Ada) -> None:
    talk, conversation = ada.ctx.conversations, ada.conversation_id
    ada.say("first", "turn")
    talk.append_user_message(conversation, "What is the weather?")
    for call in ("one", "two"):
        use = {"type": "tool_use", "id": call, "name": "weather", "arguments": {"city": "Graz"}}
        talk.append_assistant_turn(conversation, [use])
    talk.append_user_message(conversation, "And quickly, please.")
    talk.append_tool_result(conversation, "one", "sunny", tool_name="weather")
    talk.append_tool_result(conversation, "two", "rainy", tool_name="weather")
    talk.append_assistant_turn(conversation, "Sun and rain.")
    ada.say("last", "words")
    full = ada.build()
    assert len(full.messages) == 11
    kept = set()
    for budget in range(1, full.tokens_estimated + 1):
        built = ada.build(token_budget=budget)
        assert_whole(built)
        kept.add(len(built.messages))
    assert kept == {0, 2, 9, 11}
    # The call is in a turn that was not asked for.
    assert [message.text for message in ada.build(recent_turns=2).messages] == [
        "And quickly, please.",
        "Sun and rain.",
        "last",
        "words",
    ]


def assert_whole(built: WorkingContext) -> None:
    called: set[str] = set()
    for message in built.messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                called.add(block.id)
            elif isinstance(block, ToolResultBlock):
                assert block.tool_use_id in called


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, Any]]:
    step = st.one_of(
        st.tuples(st.just("turn"), st.tuples(WORDS, WORDS)),
        st.tuples(st.just("tool"), WORDS),
        st.tuples(st.just("late result"), WORDS),
        st.tuples(st.just("atom"), st.tuples(WORDS, st.sampled_from(["FACT", "RULE", "PREFERENCE", "EPISODE"]))),
        st.tuples(st.just("known"), st.tuples(WORDS, st.integers(1, 5))),
        st.tuples(st.just("summary"), st.none()),
        st.tuples(st.sampled_from(["core", "archival"]), st.tuples(WORDS, st.sampled_from([None, "planner"]))),
    )
    return draw(st.lists(step, max_size=12))


def live(ada: Ada, life: list[tuple[str, Any]]) -> None:
    talk, conversation = ada.ctx.conversations, ada.conversation_id
    for number, (kind, what) in enumerate(life):
        if kind == "turn":
            ada.say(*what)
        elif kind in ("tool", "late result"):
            talk.append_user_message(conversation, what)
            use = {"type": "tool_use", "id": f"call {number}", "name": "look", "arguments": {"for": what}}
            talk.append_assistant_turn(conversation, [use])
            if kind == "late result":
                ada.say("meanwhile", "yes")
            talk.append_tool_result(conversation, f"call {number}", what)
        elif kind == "atom":
            ada.remember(what[0], "other", what[1])
        elif kind == "known":
            ada.remember(what[0], "known", importance=what[1])
        elif kind in ("core", "archival"):
            keep_line(ada, kind, *what)
        else:
            ada.summarise()


def keep_line(ada: Ada, block_type: Any, text: str, agent_id: str | None) -> None:
    block = ada.ctx.blocks.get(block_type, agent_id=agent_id)
    lines = [*(block.entries if block else ()), *text.split("\n")]
    read_at = block.updated_at if block else None
    ada.ctx.blocks.update(block_type, "\n".join(lines[-CORE_ENTRIES_LIMIT:]), read_at, agent_id=agent_id)


POLICIES = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "archival_mode": st.sampled_from(["auto", "off", "tool_only"]),
        "archival_limit": st.integers(1, 3),
        "include_user_core": st.booleans(),
        "include_agent_core": st.booleans(),
    },
)


def check(ada: Ada, budget: int, template_id: str, turns: int, policy: dict[str, Any] | None) -> None:
    built = ada.build(
        recall_query="abc xyz",
        always_on_category_names=["known"],
        token_budget=budget,
        template_id=template_id,
        recent_turns=turns,
        memory_policy=policy,
        agent_id="planner",
    )
    assert built.tokens_estimated <= budget
    names = [section.name for section in built.sections]
    assert names == [name for name in SECTIONS if name in names]
    assert policy is not None or "user_memory" not in names
    if template_id != "messages":
        assert built.tokens_estimated == choose_counter("auto")(built.context_block)
    used = [atom.id for atom in built.atoms_used]
    assert len(used) == len(set(used))
    assert used == [id for section in built.sections for id in section.atom_ids]
    if template_id == "default":
        marked = [line for line in built.context_block.split("\n") if line.startswith("- [")]
        assert [line.partition("]")[0] for line in marked] == [f"- [{n}" for n in range(1, len(used) + 1)]
    messages = [message.id for message in built.messages]
    assert len(messages) == len(set(messages))
    assert_whole(built)


@pytest.mark.patient
@pytest.mark.conforms("A7.5")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    life=steps(),
    budgets=st.lists(st.integers(1, 700), min_size=3, max_size=3),
    turns=st.integers(0, 6),
    policy=POLICIES,
)
def test_the_budget_is_kept_whatever_is_said_and_remembered(
    engine: longmind.Engine,
    clock: SettableClock,
    life: list[tuple[str, Any]],
    budgets: list[int],
    turns: int,
    policy: dict[str, Any] | None,
) -> None:
    ada = of(engine, clock)
    for block in ada.ctx.blocks.list():
        ada.ctx.blocks.delete(block.block_type, agent_id=block.agent_id)
    live(ada, life)
    for budget, template_id in zip(budgets, BUILT_IN, strict=True):
        check(ada, budget, template_id, turns, policy)
