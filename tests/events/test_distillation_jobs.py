"""Distillation as a job: one summary for each, whatever becomes of its workers."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from tests.events.samples import context_of

LONG_TERM = "events.distill_long_term"


@pytest.fixture
def ctx(engine: longmind.Engine) -> longmind.Context:
    """Jobs are the user's, whatever session they are queued in, and so is the timeline that they are about."""
    return context_of(engine)


def summaries(ctx: longmind.Context, kind: str = "long_term_summary") -> list[longmind.Event]:
    return [event for event in ctx.events.search(kinds=[kind]) if event.kind == kind]


def result_of(ctx: longmind.Context, job: longmind.Job) -> Any:
    done = ctx.jobs.get_job(job.id)
    assert done is not None
    assert (done.status, done.error) == ("succeeded", None)
    return done.result


@pytest.mark.conforms("D5.1", "D5.4")
def test_a_job_distills_as_the_operation_does(engine: longmind.Engine, ctx: longmind.Context) -> None:
    ctx.events.record("note", "The disk was full.")
    ctx.events.record("other", "Nobody cares.")
    job = ctx.jobs.enqueue(LONG_TERM, {"include_kinds": ["note"], "summary_tag": "nightly"})
    assert engine.work() == longmind.WorkReport(succeeded=1)
    made = ctx.events.load_last_summary(summary_tag="nightly")
    assert made is not None
    assert made["text"] == "[note] The disk was full."
    assert result_of(ctx, job) == {"event_id": made["event_id"], "uri": made["uri"]}

    meta = ctx.jobs.enqueue("events.distill_meta_summary", {"source_tag": "nightly", "use_llm": False})
    engine.work()
    made = ctx.events.load_last_summary(summary_kind="meta_summary", summary_tag="meta")
    assert made is not None
    assert (made["num_source_summaries"], result_of(ctx, meta)["event_id"]) == (1, made["event_id"])


def test_a_job_distills_the_timeline_that_its_payload_names(engine: longmind.Engine, ctx: longmind.Context) -> None:
    session = context_of(engine, session_id="s1")
    session.events.record("note", "The disk was full.")
    job = ctx.jobs.enqueue(LONG_TERM, {"scope_id": session.events.scope_id()})
    engine.work()
    made = session.events.load_last_summary()
    assert made is not None
    assert (made["scope_id"], made["event_id"]) == ("session:s1", result_of(ctx, job)["event_id"])


def test_where_no_event_qualifies_the_job_records_nothing(engine: longmind.Engine, ctx: longmind.Context) -> None:
    job = ctx.jobs.enqueue(LONG_TERM)
    engine.work()
    assert result_of(ctx, job) == {"skipped": "No event qualifies."}
    assert summaries(ctx) == []


def test_what_is_distilled_while_its_user_is_erased_is_not_recorded(database_url: str, ctx: longmind.Context) -> None:
    ctx.events.record("note", "The disk was full.")

    class Erasing:
        name = "erasing@1"

        def summarise(self, earlier: str | None, messages: Any, limit: int) -> str:
            ctx.admin.delete_user_data(confirm=True)
            return "Ada's disk was full."

    ctx.jobs.enqueue(LONG_TERM, {"use_llm": True})
    with longmind.open(database_url, embedder=None, summariser=Erasing()) as engine:
        assert engine.work() == longmind.WorkReport(lost=1)
    assert summaries(ctx) == []
