"""The pattern job: patterns are found among events, written with them as evidence, and never written twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import longmind
from tests.clock import SettableClock
from tests.extraction.conftest import talk

DAY = 24 * 3600.0


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock("2026-03-02T09:00:00Z")


@pytest.fixture
def engine(database_url: str, clock: SettableClock) -> Iterator[longmind.Engine]:
    with longmind.open(database_url, embedder="none", clock=clock, job_retry_seconds=0.001) as engine:
        yield engine


def add_cancellations(ctx: longmind.Context, space: longmind.MemorySpace, *days: int) -> list[str]:
    """Add one event on each of some days of January, and return their ids."""
    told = [
        {
            "text": "User cancelled the Tuesday meeting.",
            "category": {"name": "event", "kind": "EPISODE"},
            "valid_from": f"2026-01-{day:02}T09:00:00Z",
        }
        for day in days
    ]
    return [atom.id for atom in ctx.memory.add_atoms(space.id, told)]


def patterns(ctx: longmind.Context, space: longmind.MemorySpace) -> list[longmind.Atom]:
    """Return all versions of all patterns, the oldest first."""
    found = [atom for atom in ctx.memory.list_atoms(space.id, limit=1000) if atom.category.kind == "PATTERN"]
    return found[::-1]


@pytest.mark.conforms("A3.8")
def test_recurring_events_become_a_pattern_with_evidence_that_recall_finds(
    ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    events = add_cancellations(ctx, space, 6, 13, 20)
    (pattern,) = ctx.memory.mine_patterns(space.id)
    assert pattern.text == (
        "User repeatedly cancelled the Tuesday meeting "
        "(3 times between 6 January and 20 January 2026, mostly on Tuesdays, about every 7 days)"
    )
    assert (pattern.evidence, pattern.category.kind, pattern.decision) == (events, "PATTERN", "add")
    assert ctx.memory.get_atom(pattern.id) == pattern
    hits = ctx.memory.recall_by_topic(space.id, "What does the user repeatedly cancel, about every 7 days?").hits
    assert hits[0].atom.id == pattern.id
    assert {hit.atom.id for hit in hits} == {pattern.id, *events}
    assert ctx.memory.get_atom(events[0]).evidence == []  # type: ignore[union-attr]  # it is there


def test_a_known_pattern_is_left_alone_until_a_new_event_gives_it_a_new_version(
    ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    add_cancellations(ctx, space, 6, 13, 20)
    (first,) = ctx.memory.mine_patterns(space.id)
    assert ctx.memory.mine_patterns(space.id) == []
    (fourth,) = add_cancellations(ctx, space, 27)
    (second,) = ctx.memory.mine_patterns(space.id)
    assert (second.supersedes, second.evidence) == (first.id, [*first.evidence, fourth])
    assert ctx.memory.mine_patterns(space.id) == []
    before, after = patterns(ctx, space)
    assert (before.superseded_by, after.superseded_by) == (second.id, None)


@pytest.mark.parametrize("how", ["deleted", "rejected", "archived"])
def test_an_archived_pattern_does_not_come_back_when_it_happens_again(
    ctx: longmind.Context, space: longmind.MemorySpace, how: str
) -> None:
    add_cancellations(ctx, space, 6, 13, 20)
    (pattern,) = ctx.memory.mine_patterns(space.id)
    if how == "deleted":
        ctx.memory.delete_atom(pattern.id)
    else:
        ctx.memory.archive_atom(pattern.id, rejected=how == "rejected")
    assert ctx.memory.mine_patterns(space.id) == []
    add_cancellations(ctx, space, 27)
    assert ctx.memory.mine_patterns(space.id) == []
    assert [atom for atom in patterns(ctx, space) if atom.status == "ACTIVE"] == []


def test_deleted_events_are_no_evidence(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    first, *_ = add_cancellations(ctx, space, 6, 13, 20)
    ctx.memory.delete_atom(first)
    assert ctx.memory.mine_patterns(space.id) == []
    add_cancellations(ctx, space, 27)
    (pattern,) = ctx.memory.mine_patterns(space.id)
    assert first not in pattern.evidence


def test_a_pattern_is_deleted_with_its_events_and_comes_back_with_new_ones(
    ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    first, *_ = add_cancellations(ctx, space, 6, 13, 20)
    (pattern,) = ctx.memory.mine_patterns(space.id)
    ctx.memory.delete_atom(first)
    assert ctx.memory.get_atom(pattern.id) is None
    assert [hit.atom.id for hit in ctx.memory.recall_by_topic(space.id, "repeatedly").hits if hit.atom.evidence] == []
    assert ctx.memory.mine_patterns(space.id) == []
    add_cancellations(ctx, space, 27)
    (again,) = ctx.memory.mine_patterns(space.id)
    assert (len(again.evidence), first in again.evidence) == (3, False)


def test_a_pattern_that_loses_one_of_many_events_keeps_the_others(
    ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    first, *others = add_cancellations(ctx, space, 6, 13, 20, 27)
    (pattern,) = ctx.memory.mine_patterns(space.id)
    ctx.memory.delete_atom(first)
    kept = ctx.memory.get_atom(pattern.id)
    assert kept is not None
    assert kept.evidence == others
    (newer,) = ctx.memory.mine_patterns(space.id)
    assert (newer.evidence, newer.supersedes) == (others, pattern.id)
    assert "3 times between 13 January" in newer.text
    assert ctx.memory.mine_patterns(space.id) == []


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            [
                "I've cancelled the yoga class.",
                "I cancelled the yoga class today.",
                "I have cancelled the yoga class again.",
            ],
            "User repeatedly cancelled the yoga class",
        ),
        (["I've skipped lunch."] * 3, "User has repeatedly skipped lunch"),
        (["I didn't go to the gym today."] * 3, "User repeatedly didn't go to the gym"),
        (["I couldn't sleep last night."] * 3, "User repeatedly couldn't sleep"),
        (["I've lived in Oslo for years."] * 3, None),
        (["I haven't decided on a name yet."] * 3, None),
        (["I've been thinking about yoga."] * 3, None),
    ],
)
def test_events_in_the_perfect_and_denied_events_count(
    engine: longmind.Engine,
    ctx: longmind.Context,
    space: longmind.MemorySpace,
    clock: SettableClock,
    told: list[str],
    found: str | None,
) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    for text in told:
        talk(ctx, text)
        assert engine.work().failed == 0
        clock.advance(7 * DAY)
    assert [atom.text.partition(" (")[0] for atom in patterns(ctx, space)] == ([] if found is None else [found])


def test_doing_and_not_doing_something_are_two_patterns(ctx: longmind.Context, space: longmind.MemorySpace) -> None:
    event = {"category": {"name": "event", "kind": "EPISODE"}}
    for day in (6, 8, 10):
        when = {"valid_from": f"2026-01-{day:02}", **event}
        ctx.memory.add_atom(space.id, {"text": "User cancelled the Tuesday meeting.", **when})
        ctx.memory.add_atom(space.id, {"text": "User did not cancel the Tuesday meeting.", **when})
    assert len(ctx.memory.mine_patterns(space.id)) == 2
    assert ctx.memory.mine_patterns(space.id) == []


def test_an_extraction_with_events_queues_a_pattern_job(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace, clock: SettableClock
) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    for _ in range(3):
        talk(ctx, "I cancelled the yoga class today.")
        assert engine.work().failed == 0
        clock.advance(7 * DAY)
    (pattern,) = patterns(ctx, space)
    events = {atom.id: atom for atom in ctx.memory.list_atoms(space.id) if atom.category.kind == "EPISODE"}
    assert set(pattern.evidence) <= set(events)
    assert len(pattern.evidence) == len(pattern.source_message_ids) == 3
    jobs = ctx.jobs.list_jobs(kind="memory.mine_patterns")
    assert [job.status for job in jobs] == ["succeeded"] * 3
    assert jobs[0].result == {"added": [pattern.id], "superseded": []}


def test_many_extractions_of_one_day_queue_few_pattern_jobs(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    ctx.memory.create_binding({"namespace": "chat", "userId": "ada"}, [space.id])
    for number in range(9):
        talk(ctx, f"I went to shop number {number} today and bought a kayak there.")
        engine.work()
    assert 1 <= len(ctx.jobs.list_jobs(kind="memory.mine_patterns")) <= 5


def test_the_patterns_of_a_deleted_space_are_not_looked_for(
    engine: longmind.Engine, ctx: longmind.Context, space: longmind.MemorySpace
) -> None:
    ctx.jobs.enqueue("memory.mine_patterns", {"memorySpaceId": space.id})
    ctx.memory.delete_memory_space(space.id)
    assert engine.work().succeeded == 1
    with pytest.raises(longmind.NotFound):
        ctx.memory.mine_patterns(space.id)
