"""Sleep-time memory is on unless the settings or the app turn it off, and what it costs has bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import longmind
from longmind.blocks import sleep_time_job
from longmind.extraction.model.extractor import ModelExtractor
from longmind.providers.testing import ScriptedModel
from tests.blocks.model_calls import archival, core, talk
from tests.clock import SettableClock
from tests.extraction.model_answers import facts

ADA: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(
        database_url, clock=clock, embedder="none", extractor="rules", sleep_time="on", rolling_summary_turns=0
    ) as engine:
        yield engine


@pytest.mark.conforms("C11", "C22")
def test_what_a_settled_conversation_told_is_in_core_memory_and_prompts(
    engine: longmind.Engine, ctx: longmind.Context, clock: SettableClock
) -> None:
    assert ctx.blocks.get_sleep_time() == longmind.SleepTime(enabled=True, idle_seconds=600)
    talk(ctx, "I live in Oslo.", close=True)
    left_open = talk(ctx, "I prefer window seats.")
    assert engine.work().succeeded == 1
    assert core(ctx) == ["User lives in Oslo."]
    for said in ("My name is Ada.", "Always answer in metric units."):
        clock.advance(400)
        ctx.conversations.append_user_message(left_open.id, said)
    # However much is said, one job waits; it looks again when the silence may be over.
    assert len(ctx.jobs.list_jobs(status="queued")) == 1
    assert engine.work().succeeded == 0
    clock.advance(600)
    assert engine.work().succeeded == 1
    assert core(ctx)[1:] == ["User prefers window seats.", "User's name is Ada.", "Always answer in metric units."]
    space = ctx.memory.create_memory_space("daily")
    built = ctx.working_context.build_working_context(left_open.id, memory_space_id=space.id)
    assert "User lives in Oslo." in built.context_block
    model = ScriptedModel(["Hello."])
    ctx.conversations.run_turn(left_open.id, model=model, user_text="Hello!")
    assert "User lives in Oslo." in (model.requests[0].system or "")


@pytest.mark.conforms("C11")
def test_a_user_or_an_agent_may_turn_it_off(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.blocks.set_sleep_time(False)
    assert not ctx.blocks.get_sleep_time().enabled
    talk(ctx, "I live in Oslo.", close=True)
    assert ctx.jobs.list_jobs() == []
    writer = engine.context(**ADA, agent_id="writer")
    ctx.blocks.set_sleep_time(True)
    ctx.blocks.set_sleep_time(False, agent_id="writer")
    talk(writer, "I live in Oslo.", close=True)
    assert engine.work().succeeded == 0
    assert ctx.blocks.list() == []


@pytest.mark.conforms("C11")
@pytest.mark.parametrize("settings", [{"sleep_time": "off"}, {"extractor": "none"}])
def test_settings_turn_it_off(database_url: str, settings: dict[str, Any]) -> None:
    with longmind.open(database_url, embedder="none", **{"sleep_time": "on", **settings}) as engine:
        ctx = engine.context(**ADA)
        assert not ctx.blocks.get_sleep_time().enabled
        talk(ctx, "I live in Oslo.", close=True)
        assert ctx.jobs.list_jobs() == []
    with pytest.raises(longmind.InvalidInput, match="sleep_time is 'maybe'"):
        longmind.open(database_url, sleep_time="maybe")  # type: ignore[arg-type]  # a mistake on purpose


@pytest.mark.conforms("C11")
def test_the_idle_time_of_the_settings_counts(database_url: str, clock: SettableClock) -> None:
    options: dict[str, Any] = {"embedder": "none", "extractor": "rules", "sleep_time": "on", "clock": clock}
    with longmind.open(database_url, sleep_time_idle_seconds=30, **options) as engine:
        ctx = engine.context(**ADA)
        talk(ctx, "I live in Oslo.")
        clock.advance(29)
        assert engine.work().succeeded == 0
        clock.advance(2)
        assert engine.work().succeeded == 1
        assert core(ctx) == ["User lives in Oslo."]


@pytest.mark.conforms("C11", "C22")
def test_what_a_binding_extracts_is_waited_for_and_not_extracted_twice(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    space = ctx.memory.create_memory_space("personal")
    binding = ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    ctx.memory.update_binding(binding.id, enabled=False)
    ctx.memory.update_binding(binding.id, enabled=True)
    talk(ctx, "I live in Oslo.", close=True)
    engine.work()
    (slept,) = ctx.jobs.list_jobs(kind="blocks.sleep")
    assert (slept.status, slept.result["added"]) == ("succeeded", 1)
    assert core(ctx) == ["User lives in Oslo."]


@pytest.mark.conforms("C11", "C22")
def test_a_long_conversation_is_read_in_parts(
    engine: longmind.Engine, ctx: longmind.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sleep_time_job, "MOST_MESSAGES", 3)
    talk(ctx, "I live in Oslo.", "I prefer tea.", "I prefer window seats.", "My name is Ada.", close=True)
    assert engine.work().succeeded == 1
    assert core(ctx) == [
        "User lives in Oslo.",
        "User prefers tea.",
        "User prefers window seats.",
        "User's name is Ada.",
    ]


@pytest.mark.conforms("C11")
@pytest.mark.parametrize(("tokens", "asked"), [(0, 0), (1, 1), (1_000_000, 2)])
def test_a_model_costs_no_more_than_the_tokens_of_the_day(
    database_url: str, clock: SettableClock, tokens: int, asked: int
) -> None:
    model = ScriptedModel(lambda request: facts())
    with longmind.open(
        database_url,
        clock=clock,
        embedder="none",
        extractor=ModelExtractor(model),
        sleep_time="on",
        sleep_time_daily_tokens=tokens,
        rolling_summary_turns=0,
    ) as engine:
        ctx = engine.context(**ADA)
        for said in ("I live in Oslo.", "I prefer window seats."):
            talk(ctx, said, close=True)
            assert engine.work().succeeded == 1
        assert len(model.requests) == asked
        # The rules have read what the model was not asked about.
        assert core(ctx) == ["User lives in Oslo.", "User prefers window seats."][asked:]
        notes = [job.result["note"] for job in ctx.jobs.list_jobs(kind="blocks.sleep") if "note" in job.result]
        assert len(notes) == 2 - asked
        assert all(each.startswith("The tokens of the day for sleep-time memory are used up") for each in notes)
        clock.advance(24 * 3600)
        talk(ctx, "My name is Ada.", close=True)
        engine.work()
        assert len(model.requests) == (asked + 1 if tokens else 0)


@pytest.mark.conforms("B4.1", "A9.4")
def test_what_is_deleted_leaves_core_memory_too(engine: longmind.Engine, ctx: longmind.Context) -> None:
    space = ctx.memory.create_memory_space("personal")
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    talk(ctx, "I live in Oslo.", "I prefer tea.", "I bought a red bike yesterday.", close=True)
    engine.work()
    known = {atom.text: atom for atom in ctx.memory.list_atoms(space.id)}
    assert core(ctx) == ["User lives in Oslo.", "User prefers tea."]
    block = ctx.blocks.get("core")
    assert block is not None
    ctx.blocks.update("core", f"- {block.content}\nLikes jazz.", block.updated_at)
    home, taste = known["User lives in Oslo."], known["User prefers tea."]
    (bike,) = [atom for text, atom in known.items() if "bike" in text]
    newer = ctx.memory.supersede_atom(home.id, {"text": "User lives in Bergen.", "category": home.category})
    assert core(ctx) == ["- User lives in Bergen.", "User prefers tea.", "Likes jazz."]
    ctx.memory.archive_atom(taste.id)
    assert core(ctx) == ["- User lives in Bergen.", "Likes jazz."]
    ctx.memory.delete_atom(newer.id)
    ctx.memory.delete_atom(home.id)
    ctx.memory.delete_atom(bike.id)
    assert (core(ctx), archival(ctx)) == (["Likes jazz."], [])
    kept = [each.content for each in (*ctx.blocks.revisions("core"), *ctx.blocks.revisions("archival"))]
    assert kept
    assert not any(word in content for content in kept for word in ("Bergen", "Oslo", "bike"))
