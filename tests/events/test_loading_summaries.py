"""Summaries are found again: by tag and kind, however old they are, and by the scope they are filed under."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import longmind
from tests.clock import SettableClock
from tests.events.samples import context_of


def made(ctx: longmind.Context, text: str, **wanted: Any) -> dict[str, Any]:
    """A summary of one event alone."""
    ctx.events.record("note", text, tags=[text])
    return ctx.events.distill_long_term(include_tags=[text], **wanted)


@pytest.mark.conforms("D5.5", "D5.6")
def test_the_newest_summaries_of_a_tag_are_loaded_oldest_first(ctx: longmind.Context) -> None:
    first, second, third = (made(ctx, text) for text in ("one", "two", "three"))
    project = made(ctx, "four", summary_tag="project", summary_kind="project_summary")
    weekly = made(ctx, "five", summary_kind="weekly")

    assert ctx.events.load_recent_summaries() == [second, third, weekly]
    assert ctx.events.load_recent_summaries(limit=10) == [first, second, third, weekly]
    assert ctx.events.load_recent_summaries(summary_tag="project") == [project]
    assert ctx.events.load_recent_summaries(summary_tag="other") == []
    assert ctx.events.load_last_summary() == third
    assert ctx.events.load_last_summary(summary_kind="weekly") == weekly
    assert ctx.events.load_last_summary(summary_tag="project") is None
    assert ctx.events.load_last_summary(summary_tag="project", summary_kind="project_summary") == project


@pytest.mark.conforms("D5.5", "D5.6", "D5.7")
def test_a_summary_outlives_the_hot_log(database_url: str, clock: SettableClock) -> None:
    with longmind.open(database_url, embedder="none", clock=clock, hot_log_events=10) as engine:
        ctx = context_of(engine, session_id="s1")
        summary = made(ctx, "It rained.")
        clock.advance(30 * 24 * 3600)
        ctx.events.record_many([{"kind": "note", "data": "x"}] * 20)

        assert summary["event_id"] not in [event.event_id for event in ctx.events.recent(limit=1000)]
        assert ctx.events.load_last_summary() == summary
        assert ctx.events.load_recent_summaries() == [summary]
        assert ctx.events.chat_history_for_llm()["summary"] == "[note] It rained."
        assert ctx.events.soft_hydrate_last_summary() == summary


@pytest.mark.conforms("D5.7")
def test_a_loaded_summary_is_told_of_on_the_timeline(ctx: longmind.Context) -> None:
    summary = made(ctx, "It rained.")
    assert ctx.events.soft_hydrate_last_summary() == summary

    told = ctx.events.recent()[-1]
    assert (told.kind, told.stage, told.tags) == (
        "long_term_summary_hydrate",
        "hydrate",
        ["summary", "hydrate", "session"],
    )
    assert (told.severity, told.signal, told.data) == (1, 0.4, {"summary": summary})
    assert ctx.events.recent_persisted()[-1] == told
    # Telling of it makes no summary of it.
    assert ctx.events.load_recent_summaries() == [summary]


@pytest.mark.conforms("D5.7")
def test_without_a_summary_nothing_is_told(ctx: longmind.Context) -> None:
    made(ctx, "It rained.")
    before = ctx.events.recent()

    assert ctx.events.soft_hydrate_last_summary(summary_tag="project") is None
    assert ctx.events.recent() == before


@pytest.mark.conforms("D5.6", "T20")
def test_a_level_that_the_context_has_no_id_of_shows_no_summary(engine: longmind.Engine, ctx: longmind.Context) -> None:
    summary = made(ctx, "It rained.")

    assert ctx.events.load_last_summary(level="run") == summary
    assert context_of(engine, session_id="s1", run_id="r2").events.load_last_summary(level="run") is None
    assert context_of(engine, session_id="s1").events.load_last_summary(level="run") is None
    assert context_of(engine, session_id="s1").events.load_last_summary(level="user") == summary


@pytest.mark.conforms("D5.5", "D5.6")
def test_another_session_of_the_same_user_is_read_by_its_scope_id(
    engine: longmind.Engine, ctx: longmind.Context
) -> None:
    summary = made(ctx, "It rained.")
    later = context_of(engine, session_id="s2")

    assert later.events.load_last_summary() is None
    assert later.events.load_last_summary("session:s1") == summary
    assert later.events.load_recent_summaries(scope_id="session:s1") == [summary]
    assert later.events.chat_history_for_llm(summary_scope_id="session:s1")["summary"] == "[note] It rained."
    assert later.events.soft_hydrate_last_summary("session:s1") == summary
    assert later.events.recent()[-1].scope_id == "session:s2"
    # Its events can be distilled from there, and the summary is filed with them.
    again = later.events.distill_long_term("session:s1")
    assert again["source_event_ids"] == summary["source_event_ids"]
    assert ctx.events.load_last_summary() == again
    assert later.events.distill_long_term("session:s3") == {}


@pytest.mark.conforms("D5.1", "D5.5")
def test_a_summary_can_be_filed_under_a_name_of_the_callers_own(ctx: longmind.Context) -> None:
    ctx.events.record("note", "It rained.")
    summary = ctx.events.distill_long_term(scope_id="project/456", summary_tag="a/b")

    assert summary["uri"].startswith(f"longmind://mem/project%2F456/summaries/a%2Fb/{summary['ts']}")
    assert ctx.events.load_last_summary("project/456", summary_tag="a/b") == summary
    assert ctx.events.load_recent_summaries("project/456", summary_tag="a/b") == [summary]
    assert ctx.events.load_last_summary(summary_tag="a/b") is None
    assert ctx.events.load_last_summary("project", summary_tag="a/b") is None
    # What was recorded under that name goes before what this session has.
    ctx.events.at(bucket="project/456").record("note", "It snowed.")
    assert ctx.events.distill_long_term(scope_id="project/456")["text"] == "[note] It snowed."
    meta = ctx.events.distill_meta_summary("project/456", source_tag="a/b", use_llm=False)
    assert (meta["num_source_summaries"], meta["summary"]) == (1, "[note] It rained.")


@pytest.mark.conforms("D5.6")
def test_a_scope_id_opens_nobody_elses_summaries(engine: longmind.Engine, ctx: longmind.Context) -> None:
    made(ctx, "It rained.")
    made(ctx, "It snowed.", scope_id="project")
    bob = context_of(engine, user_id="bob", session_id="s1").events
    for scope_id in ("session:s1", "org:acme:user:ada", "org:acme", "project", "global", None):
        assert bob.load_last_summary(scope_id) is None
        assert bob.load_recent_summaries(scope_id) == []
        assert bob.distill_long_term(scope_id) == {}
        assert bob.soft_hydrate_last_summary(scope_id) is None


@pytest.mark.conforms("D5.2")
def test_where_events_are_mirrored_a_summary_is_found_in_a_file(sqlite_url: str, tmp_path: Path) -> None:
    with longmind.open(sqlite_url, embedder="none", events_jsonl_dir=str(tmp_path / "log")) as engine:
        ctx = context_of(engine, session_id="s1")
        summary = made(ctx, "It rained.")
        assert ctx.events.load_last_summary() == summary
    address, _, event_id = summary["uri"].partition("#")
    assert (urlsplit(address).scheme, event_id) == ("file", summary["event_id"])
    rows = [json.loads(line) for line in Path(unquote(urlsplit(address).path)).read_text("utf-8").splitlines()]
    assert [row["data"]["summary"] for row in rows if row["event_id"] == event_id] == ["[note] It rained."]
