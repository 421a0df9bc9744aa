"""The consolidation job: facts that say the same are merged, past plans closed, whoever else is writing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import longmind
from tests.clock import SettableClock
from tests.extraction.conftest import talk
from tests.extraction.scripted_extractor import SentenceExtractor

KIND = "memory.consolidate"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-02T09:00:00Z")


@pytest.fixture
def engine(database_url: str, extractor: SentenceExtractor, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(
        database_url, extractor=extractor, embedder="none", clock=clock, job_retry_seconds=0.001
    ) as engine:
        yield engine


def tell(ctx: longmind.Context, space: longmind.MemorySpace, *texts: str, kind: str = "FACT", **more: Any) -> list[str]:
    """Add facts, each with a message of its own that it cites, and return their ids."""
    conversation = ctx.conversations.create_conversation("told")
    ids = []
    for text in texts:
        message = ctx.conversations.append_user_message(conversation.id, text)
        new = {"text": text, "category": {"name": "general", "kind": kind}, "source_message_ids": [message.id], **more}
        # A bulk stores what is stated again, too.
        ids += [atom.id for atom in ctx.memory.add_atoms(space.id, [new])]
    return ids


def consolidate(engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace) -> dict[str, Any]:
    job = ctx.jobs.enqueue(KIND, {"memorySpaceId": space.id})
    assert engine.work().failed == 0
    done = ctx.jobs.get_job(job.id)
    assert done is not None
    assert done.status == "succeeded"
    assert isinstance(done.result, dict)
    return done.result


def get(ctx: longmind.Context, atom_id: str) -> longmind.Atom:
    atom = ctx.memory.get_atom(atom_id)
    assert atom is not None
    return atom


@pytest.mark.conforms("A3.14")
def test_the_fact_that_stays_cites_all_messages_and_the_other_is_superseded_by_it(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    bob = ctx.memory.create_entity(space.id, "PERSON", "Bob")
    first, other = tell(ctx, space, "User likes tea.", "User likes coffee.")
    (second,) = tell(ctx, space, "user likes TEA", importance=5, entity_ids=[bob.id])
    cited = [*get(ctx, second).source_message_ids, *get(ctx, first).source_message_ids]
    result = consolidate(engine, ctx, space)
    assert result == {
        "superseded": [{"atomId": first, "supersededBy": second, "because": "It says the same in the same words."}],
        "ended": [],
    }
    stays = get(ctx, second)
    assert (stays.source_message_ids, stays.entity_ids, stays.importance) == (cited, [bob.id], 5)
    assert (get(ctx, first).superseded_by, get(ctx, other).superseded_by) == (second, None)
    hits = ctx.memory.recall_by_topic(space.id, "tea").hits
    assert [hit.atom.id for hit in hits if "tea" in hit.atom.text.lower()] == [second]
    assert consolidate(engine, ctx, space) == {"superseded": [], "ended": []}


def test_what_was_known_before_a_merge_is_still_told(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    first, second = tell(ctx, space, "User likes tea.", "User likes tea!")
    clock.advance(60)
    before = longmind.clock.to_iso(clock())
    clock.advance(60)
    consolidate(engine, ctx, space)
    then = ctx.memory.recall_by_topic(space.id, "tea", known_at=before)
    assert {hit.atom.id for hit in then.hits} == {first, second}


def test_a_past_deadline_ends_with_its_day_and_an_appointment_stays(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    past, appointment, future = tell(
        ctx,
        space,
        "User's report is due by 5 March 2026.",
        "User has a dentist appointment on 5 March 2026.",
        "User's exam paper is due by 5 June 2026.",
        kind="INTENTION",
    )
    assert consolidate(engine, ctx, space)["ended"] == []
    clock.advance(7 * 24 * 3600.0)
    (ended,) = consolidate(engine, ctx, space)["ended"]
    assert (ended["atomId"], get(ctx, past).valid_to, get(ctx, future).valid_to) == (past, ended["validTo"], None)
    assert ended["validTo"].startswith("2026-03-06T00:00:00")
    hits = ctx.memory.recall_by_topic(space.id, "report appointment exam").hits
    assert {hit.atom.id for hit in hits} == {appointment, future}
    assert consolidate(engine, ctx, space)["ended"] == []


def test_each_merge_and_closing_is_a_decision_with_a_reason(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    tell(ctx, space, "User likes tea.", importance=4)
    (second,) = tell(ctx, space, "User likes tea!")
    (past,) = tell(ctx, space, "User's report is due by 5 March 2026.", kind="INTENTION")
    clock.advance(7 * 24 * 3600.0)
    consolidate(engine, ctx, space)
    decisions = {each.action: each for each in ctx.memory.list_decisions(space.id)}
    assert {"merge", "reinforce", "end"} <= set(decisions)
    assert (decisions["merge"].atom_id, decisions["end"].atom_id) == (second, past)
    assert all(each.because.endswith(".") for each in decisions.values())
    ctx.memory.undo_decision(decisions["merge"].id)
    ctx.memory.undo_decision(decisions["end"].id)
    assert (get(ctx, second).superseded_by, get(ctx, past).valid_to) == (None, None)


def test_an_extraction_queues_one_consolidation_per_space(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    for _ in range(3):
        talk(ctx, "User likes tea.")
        talk(ctx, "User likes coffee.")
        assert engine.work().failed == 0
    assert [job.status for job in ctx.jobs.list_jobs(kind=KIND)] == ["queued"]
    clock.advance(120)
    assert engine.work().failed == 0
    talk(ctx, "User likes cakes.")
    assert engine.work().failed == 0
    assert [job.status for job in ctx.jobs.list_jobs(kind=KIND)] == ["queued"]


def test_consolidations_that_race_leave_what_one_leaves(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    ids = tell(ctx, space, *(f"User likes {what}{end}" for what in ("tea", "cake", "jam") for end in (".", "!", "")))
    for _ in range(6):
        ctx.jobs.enqueue(KIND, {"memorySpaceId": space.id})
    with ThreadPoolExecutor(4) as threads:
        reports = [thread.result() for thread in [threads.submit(engine.work) for _ in range(4)]]
    assert sum(report.succeeded for report in reports) == 6
    results = [job.result for job in ctx.jobs.list_jobs(kind=KIND)]
    assert sum(len(result["superseded"]) for result in results if isinstance(result, dict)) == 6
    left = [get(ctx, each) for each in ids if get(ctx, each).superseded_by is None]
    assert sorted(len(atom.source_message_ids) for atom in left) == [3, 3, 3]
    assert consolidate(engine, ctx, space) == {"superseded": [], "ended": []}


def test_a_consolidation_that_was_overtaken_decides_again(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    first, second = tell(ctx, space, "User likes tea.", "User likes tea!")
    parts = engine._parts
    write = parts.pipeline.consolidator.prepare(ctx.scope, space.id)
    # A worker that died here has written nothing.
    assert get(ctx, second).superseded_by is None
    ctx.memory.delete_atom(first)
    with pytest.raises(longmind.store.database.EffectConflict):
        parts.database.write(ctx.scope, write)
    assert get(ctx, second).superseded_by is None
    assert consolidate(engine, ctx, space) == {"superseded": [], "ended": []}


def test_deciding_inside_the_transaction_leaves_the_same(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    (first,) = tell(ctx, space, "User likes tea.", importance=4)
    (second,) = tell(ctx, space, "User likes tea!")
    write = engine._parts.pipeline.consolidator.prepare(ctx.scope, space.id, in_transaction=True)
    result = engine._parts.database.write(ctx.scope, write)
    assert [each["atomId"] for each in result["superseded"]] == [second]
    assert get(ctx, first).superseded_by is None
    assert consolidate(engine, ctx, space) == {"superseded": [], "ended": []}


def test_the_facts_of_two_speakers_of_a_shared_space_stay_two(engine: longmind.Engine, ctx: longmind.Context) -> None:
    space = ctx.memory.create_memory_space("team", kind="shared")
    tell(ctx, space, "User likes tea.", speaker="ada")
    tell(ctx, space, "User likes tea.", speaker="bob")
    assert consolidate(engine, ctx, space)["superseded"] == []


def test_a_deleted_space_is_not_consolidated(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    ctx.memory.delete_memory_space(space.id)
    assert consolidate(engine, ctx, space) == {"skipped": "The space is deleted."}
