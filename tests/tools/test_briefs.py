"""memory_brief, and the brief that a session starts with."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

import longmind
from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.tools import Tools
from tests.clock import SettableClock
from tests.tools.test_storing import refusal

InSession = Callable[[str], longmind.Context]
DAY = 24 * 3600


def add(ctx: longmind.Context, kind: str, texts: list[str]) -> None:
    """Put entries into the group without counting them to a session."""
    ctx.tools.memory_search()
    if not ctx.memory.list_memory_spaces():
        ctx.tools.memory_delete(ctx.tools.memory_store("fact", "Makes the group.").id)
    (space,) = ctx.memory.list_memory_spaces()
    ctx.memory.add_atoms(space.id, [{"text": text, "category": {"name": "x", "kind": kind}} for text in texts])


@pytest.mark.conforms("B3.2", "B3.3", "B3.4", "B3.9")
def test_a_brief_has_what_tells_how_to_behave_first_and_then_the_newest(tools: Tools, clock: SettableClock) -> None:
    for type, content in (("fact", "A"), ("preference", "B"), ("context", "C"), ("correction", "D"), ("fact", "E")):
        tools.memory_store(type, content, tags=["t"])  # type: ignore[arg-type]  # the types are known
        clock.advance(DAY)
    told = tools.invoke("memory_brief", {})
    assert [entry["content"] for entry in told["entries"]] == ["D", "B", "E", "C", "A"]
    assert [entry["age_days"] for entry in told["entries"]] == [2, 4, 1, 3, 5]
    assert told["entries"][0].keys() == {"id", "type", "content", "behavioral", "tags", "age_days"}
    assert (told["generated_at"], told["entry_count"], told["brief_count"]) == ("2026-03-06T09:30:00.000000Z", 5, 5)
    assert told["notice"] == SUGGESTIONS_NOTICE


@pytest.mark.conforms("B3.3")
def test_an_age_is_in_whole_days(tools: Tools, clock: SettableClock) -> None:
    tools.memory_store("fact", "A")
    clock.advance(DAY - 1)
    assert tools.memory_brief().entries[0].age_days == 0
    clock.advance(1)
    assert tools.memory_brief().entries[0].age_days == 1


@pytest.mark.conforms("B3.1", "B3.3", "T10")
def test_provenance_comes_on_request(tools: Tools) -> None:
    tools.memory_store("fact", "A")
    (plain,) = tools.invoke("memory_brief", {"include_provenance": False})["entries"]
    (entry,) = tools.invoke("memory_brief", {"include_provenance": True})["entries"]
    added = {name: value for name, value in entry.items() if name not in plain}
    assert added == {"session_id": "session-1", "group": "default", "origin": "tool", "trust": "assistant"}
    assert refusal(tools, "memory_brief", {"include_provenance": "yes"}).field == "include_provenance"


@pytest.mark.conforms("B3.5")
def test_content_stands_on_one_line(tools: Tools) -> None:
    tools.memory_store("fact", "a\r\nb\rc\nd\x0be\x0cf\x85g\u2028h\u2029i\n\nj")
    assert tools.memory_brief().entries[0].content == "a b c d e f g h i  j"


@pytest.mark.conforms("B3.6")
def test_a_brief_has_fifty_entries_at_the_most(ctx: longmind.Context) -> None:
    add(ctx, "FACT", [f"Fact {number}" for number in range(60)])
    brief = ctx.tools.memory_brief()
    assert (len(brief.entries), brief.brief_count, brief.entry_count) == (50, 50, 60)
    assert brief.entries[0].content == "Fact 59"


@pytest.mark.conforms("B3.6")
def test_a_brief_has_ten_thousand_characters_at_the_most(ctx: longmind.Context) -> None:
    add(ctx, "FACT", [f"{number:03}".ljust(999, "x") for number in range(20)])
    brief = ctx.tools.memory_brief()
    assert [entry.content[:3] for entry in brief.entries] == [f"{number:03}" for number in range(19, 9, -1)]


@pytest.mark.conforms("B3.6")
def test_what_was_superseded_is_counted_and_not_shown(tools: Tools) -> None:
    old = tools.memory_store("fact", "Old")
    tools.memory_store("fact", "New", supersedes=old.id)
    brief = tools.memory_brief()
    assert ([entry.content for entry in brief.entries], brief.entry_count, brief.brief_count) == (["New"], 2, 1)


@pytest.mark.conforms("T19")
def test_one_long_entry_keeps_no_other_out(ctx: longmind.Context) -> None:
    add(ctx, "FACT", ["Before", "x" * 9_999, "After", "y" * 9_000, "Last"])
    shown = [entry.content[:6] for entry in ctx.tools.memory_brief().entries]
    assert shown == ["Last", "yyyyyy", "After", "Before"]


@pytest.mark.conforms("T19")
def test_rules_do_not_hide_every_fact(ctx: longmind.Context) -> None:
    add(ctx, "FACT", [f"Fact {number}" for number in range(30)])
    add(ctx, "RULE", [f"Rule {number}" for number in range(80)])
    entries = ctx.tools.memory_brief().entries
    assert [entry.content for entry in entries if entry.behavioral] == [f"Rule {n}" for n in range(79, 44, -1)]
    assert [entry.content for entry in entries if not entry.behavioral] == [f"Fact {n}" for n in range(29, 14, -1)]


@pytest.mark.conforms("T19")
def test_long_rules_leave_facts_their_share_of_the_characters(ctx: longmind.Context) -> None:
    add(ctx, "FACT", [f"{number}".ljust(1_000, "f") for number in range(9)])
    add(ctx, "RULE", [f"{number}".ljust(1_000, "r") for number in range(30)])
    entries = ctx.tools.memory_brief().entries
    assert [entry.behavioral for entry in entries] == [True] * 7 + [False] * 3


@pytest.mark.conforms("B3.7", "B3.8", "B5.1", "T10")
def test_a_session_starts_with_a_brief_in_words(tools: Tools, clock: SettableClock) -> None:
    tools.memory_store("preference", "Likes\nshort answers")
    clock.advance(3 * DAY)
    tools.memory_store("fact", "Uses </memory> {{macOS}} ```")
    heading, behavioral, facts = tools.session_brief().split("\n\n")
    assert heading == "## Memory Context"
    assert behavioral.splitlines()[1:] == [SUGGESTIONS_NOTICE, "- [preference] Likes short answers (3d ago)"]
    assert facts.splitlines()[-1] == "- [fact] Uses &lt;/memory&gt; { {macOS} } ''' (0d ago)"


@pytest.mark.conforms("B3.8")
def test_an_empty_half_is_left_out_and_an_empty_brief_is_empty(tools: Tools) -> None:
    assert tools.session_brief() == ""
    entry = tools.memory_store("fact", "Uses macOS.")
    assert SUGGESTIONS_NOTICE not in tools.session_brief()
    tools.memory_delete(entry.id)
    tools.memory_store("preference", "Likes tea.")
    assert "### Facts" not in tools.session_brief()
    assert SUGGESTIONS_NOTICE in tools.session_brief()


@pytest.mark.conforms("B3.7")
def test_a_session_starts_without_memory_when_there_is_trouble(
    engine: longmind.Engine, tools: Tools, caplog: pytest.LogCaptureFixture
) -> None:
    tools.memory_store("fact", "Uses macOS.")
    engine.close()
    with caplog.at_level(logging.WARNING, "longmind.tools"):
        assert tools.session_brief() == ""
    assert "a session starts without memory: PLUGIN_UNAVAILABLE" in caplog.text


@pytest.mark.conforms("B3.7")
def test_a_session_does_not_wait_long_for_memory(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("longmind.tools.service.SESSION_START_SECONDS", 0.05)
    with longmind.open(database_url, embedder=None) as engine, longmind.open(database_url, embedder=None) as other:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        ctx.tools.memory_store("fact", "Uses macOS.")

        def hold(run: Any) -> str:
            # The chain of the audit is held meanwhile, so that the brief has to wait.
            run.one("hold_audit_head", group="default", tenant_id="acme", app_id="support", user_id="ada")
            return ctx.tools.session_brief()

        began = time.monotonic()
        with caplog.at_level(logging.WARNING, "longmind.tools"):
            assert other._database.write(ctx.scope, hold) == ""
        # A write waits for others for half a minute; to note that it was late must not take that long either.
        assert time.monotonic() - began < engine.settings.busy_timeout_seconds / 2
        assert "a session starts without memory: PLUGIN_TIMEOUT" in caplog.text
