"""Timelines: which one events stand on, whose they are, and what a level lets through."""

from __future__ import annotations

from typing import Any

import pytest

import longmind
from longmind.scope import Level
from tests.events.samples import context_of, texts
from tests.scope.identities import LEGAL

TIMELINES: list[tuple[dict[str, str], Level, str | None, str | None]] = [
    ({"session_id": "s1"}, "session", "org:acme|session:s1", "session"),
    ({"session_id": "s1"}, "user", "org:acme|org:acme:user:ada", "user"),
    ({"run_id": "r1"}, "run", "org:acme|run:r1", "run"),
    ({}, "org", "org:acme", "org"),
    ({}, "scope", "org:acme|global", None),
    ({}, "session", None, None),
    ({}, "run", None, None),
    ({"session_id": "a|b:c/../d"}, "session", "org:acme|session:a%7Cb%3Ac%2F%2E%2E%2Fd", "session"),
]


@pytest.mark.conforms("D0.3", "D7.1", "D7.4")
def test_each_level_has_a_timeline_of_its_own(engine: longmind.Engine) -> None:
    for more, level, timeline, bucket_level in TIMELINES:
        events = context_of(engine, **more).events.at(level)
        assert (events.timeline(), events.memory_level(), events.bucket_level()) == (timeline, level, bucket_level)
        assert events.scope_id() == (timeline and timeline.removeprefix("org:acme|"))


@pytest.mark.conforms("D0.3", "D7.1")
def test_without_a_session_the_usual_timeline_is_the_users(engine: longmind.Engine) -> None:
    with_session, without = (context_of(engine, **more).events for more in ({"session_id": "s1"}, {}))
    assert with_session.timeline() == "org:acme|session:s1"
    assert without.timeline() == "org:acme|org:acme:user:ada" == without.at("user").timeline()
    assert (without.memory_level(), without.bucket_level()) == ("session", "user")


@pytest.mark.conforms("D0.3", "T25")
def test_a_named_bucket_is_no_other_timeline_whatever_its_name(engine: longmind.Engine) -> None:
    ctx = context_of(engine, session_id="s1", run_id="r1")
    names = ["session:s1", "global", "org:acme", "run:r1", "a|b", "a/b", *LEGAL]
    logs = [ctx.events.at(bucket=name) for name in names]
    logs += [ctx.events.at(level) for level in ("session", "user", "run", "org", "scope")]
    assert len({log.timeline() for log in logs}) == len(logs)
    for number, log in enumerate(logs):
        log.record("note", f"{number}")
    assert [texts(log.recent()) for log in logs] == [[f"{number}"] for number in range(len(logs))]
    assert (logs[0].memory_level(), logs[0].bucket_level()) == (None, None)
    wrong: list[dict[str, Any]] = [{}, {"level": "user", "bucket": "a"}, {"bucket": " "}, {"level": "galaxy"}]
    for arguments in wrong:
        with pytest.raises(longmind.InvalidInput):
            ctx.events.at(**arguments)


@pytest.mark.conforms("D1.7")
def test_a_level_lets_through_what_was_recorded_at_it(engine: longmind.Engine) -> None:
    for session in ("s1", "s2"):
        for run in ("r1", "r2"):
            context_of(engine, session_id=session, run_id=run).events.at("user").record("note", f"{session} {run}")
    log = context_of(engine, session_id="s2", run_id="r1").events.at("user")
    everything = ["s1 r1", "s1 r2", "s2 r1", "s2 r2"]
    expected: dict[Level | None, list[str]] = {
        None: everything,
        "scope": everything,
        "session": ["s2 r1", "s2 r2"],
        "run": ["s1 r1", "s2 r1"],
        "user": everything,
        "org": everything,
    }
    for level, wanted in expected.items():
        assert texts(log.recent(level=level)) == wanted, level
        assert texts(log.recent_persisted(level=level)) == wanted, level
        assert texts(log.recent(level=level, kinds=["note"], limit=1)) == wanted[-1:], level


@pytest.mark.conforms("T20", "V10", "D1.7")
def test_a_level_without_its_id_shows_nothing(engine: longmind.Engine) -> None:
    whole, bare = context_of(engine, session_id="s1", run_id="r1"), context_of(engine)
    for ctx in (whole, bare):
        log = ctx.events.at("user")
        log.record_chat_user("Hello")
        log.record_state("planner", 1)
    log = bare.events.at("user")
    assert len(log.recent()) == 4
    for level in ("session", "run"):
        assert log.recent(level=level) == []
        assert log.recent_persisted(level=level) == []
        assert log.recent_chat(level=level) == []
        assert log.latest_state("planner", level=level) is None
        assert log.state_history("planner", level=level, use_persistence=True) == []


@pytest.mark.conforms("T20", "V10")
def test_a_timeline_of_an_id_that_is_not_known_has_nothing_and_takes_nothing(engine: longmind.Engine) -> None:
    context_of(engine, run_id="r1").events.at("run").record("note", "of a run")
    log = context_of(engine).events.at("run")
    assert log.recent() == log.recent_persisted() == log.recent_chat() == log.recent_tool_results(tool="x") == []
    assert log.latest_state("planner") is None
    for record in (lambda: log.record("note", "x"), lambda: log.record_many([{"text": "x"}])):
        with pytest.raises(longmind.InvalidInput, match="'run'"):
            record()


@pytest.mark.conforms("D0.3")
def test_a_timeline_of_the_organisation_holds_only_what_its_user_recorded(engine: longmind.Engine) -> None:
    strangers = [{"user_id": "bob"}, {"app_id": "sales"}, {"tenant_id": "globex"}]
    levels: tuple[Level, ...] = ("session", "user", "run", "org", "scope")
    ada = context_of(engine, session_id="s1", run_id="r1")
    for level in levels:
        ada.events.at(level).record("note", "of Ada")
    for who in strangers:
        stranger = context_of(engine, session_id="s1", run_id="r1", **who)
        for level in levels:
            assert stranger.events.at(level).recent() == []
            assert stranger.events.at(level).recent_persisted(level=level) == []
            stranger.events.at(level).record("note", "of somebody else")
    for level in levels:
        assert texts(ada.events.at(level).recent()) == ["of Ada"]


@pytest.mark.conforms("V2", "D0.3")
def test_with_an_organisation_what_was_written_is_read_in_every_way(ctx: longmind.Context) -> None:
    event = ctx.events.record_state("planner", 1)
    assert ctx.events.timeline() == "org:acme|session:s1"
    assert ctx.events.recent() == ctx.events.recent_persisted() == [event]
    assert ctx.events.latest_state("planner") == ctx.events.latest_state("planner", use_persistence=True) == 1


@pytest.mark.conforms("D7.2", "D7.3")
def test_where_one_is_can_be_told_and_printed(engine: longmind.Engine, capsys: pytest.CaptureFixture[str]) -> None:
    ctx = context_of(engine, session_id="s1", run_id="r1", graph_id="g1")
    info = ctx.events.scope_info()
    expected = {
        "timeline_id": "org:acme|session:s1",
        "memory_scope_id": "session:s1",
        "memory_level": "session",
        "bucket_level": "session",
        "has_indices": True,
        "run_id": "r1",
        "session_id": "s1",
        "graph_id": "g1",
        "node_id": None,
        "org_id": "acme",
        "user_id": "ada",
        "app_id": "support",
    }
    assert info.items() >= expected.items()
    assert "client_id" not in info
    ctx.events.debug_print_scope()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(info)
    assert "[MEM] timeline_id: org:acme|session:s1" in lines
    ctx.events.debug_print_scope(prefix="[DEBUG-MEM]")
    assert all(line.startswith("[DEBUG-MEM] ") for line in capsys.readouterr().out.splitlines())
