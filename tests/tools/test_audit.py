"""The audit: every call leaves its line, and a line that is changed, removed or moved is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.audit.chain_export import export, verify_exported
from longmind.audit.verification import VerificationReport, verify
from longmind.store.tables import audit
from longmind.tools import Tools
from tests.clock import SettableClock
from tests.store.test_parity import execute
from tests.tools.conftest import OWNER
from tests.tools.test_storing import refusal


def outcomes(lines: list[longmind.AuditEntry]) -> list[tuple[str, str]]:
    return [(line.topic.removeprefix("tool.invoke."), line.outcome) for line in lines]


@pytest.mark.conforms("B5.4")
def test_every_call_leaves_its_lines(tools: Tools) -> None:
    entry = tools.memory_store("fact", "Uses macOS.")
    tools.memory_search("macOS")
    tools.memory_brief()
    tools.session_brief()
    refusal(tools, "memory_search", {"limit": 0})
    refusal(tools, "memory_drop", {})
    tools.memory_delete(entry.id)
    lines = tools.audit()
    assert outcomes(lines) == [
        ("memory_store", "routed"),
        ("memory_search", "routed"),
        ("memory_brief", "routed"),
        ("memory_brief", "routed"),
        ("memory_search", "rejected"),
        ("(unknown)", "rejected"),
        ("memory_delete", "routed"),
    ]
    assert [line.seq for line in lines] == list(range(1, 8))
    assert {(line.group, line.source) for line in lines} == {("default", "session:session-1")}
    assert (lines[4].reason, lines[4].field_paths, lines[4].stage) == ("VALIDATION_FAILED", ["limit"], 3)


@pytest.mark.conforms("B5.4")
def test_an_error_of_a_handler_leaves_two_lines_of_one_call(tools: Tools) -> None:
    refusal(tools, "memory_delete", {"id": "mem-none"})
    raised, answered = tools.audit()
    assert (raised.outcome, raised.phase, raised.error) == ("error", "raised", "NotFound")
    assert (answered.outcome, answered.phase, answered.error) == ("error", "answered", "HANDLER_ERROR")
    assert raised.correlation == answered.correlation


@pytest.mark.conforms("B5.4")
def test_lines_are_found_by_call_time_topic_and_outcome(tools: Tools, clock: SettableClock) -> None:
    for _ in range(3):
        tools.memory_brief()
        clock.advance(60)
    refusal(tools, "memory_search", {"limit": 0})
    everything = tools.audit()
    assert [line.seq for line in tools.audit(topic="tool.invoke.memory_brief")] == [1, 2, 3]
    assert [line.seq for line in tools.audit(outcome="rejected")] == [4]
    assert [line.seq for line in tools.audit(correlation=everything[1].correlation)] == [2]
    # Both ends belong to the range.
    second, third = everything[1].timestamp, everything[2].timestamp
    assert [line.seq for line in tools.audit(since=second, until=third)] == [2, 3]
    assert [line.seq for line in tools.audit(since=third)] == [3, 4]
    assert tools.audit(topic="tool.invoke.memory_brief", outcome="rejected") == []


def test_lines_can_be_read_page_by_page(tools: Tools) -> None:
    for _ in range(5):
        tools.memory_brief()
    page = tools.audit(limit=2)
    assert ([line.seq for line in page], page.next_cursor) == ([1, 2], "2")
    page = tools.audit(limit=3, cursor=page.next_cursor)
    assert ([line.seq for line in page], page.next_cursor) == ([3, 4, 5], None)
    wrong: Any = "nonsense"
    for call in (
        lambda: tools.audit(cursor=wrong),
        lambda: tools.audit(outcome=wrong),
        lambda: tools.audit(limit=wrong),
    ):
        with pytest.raises(longmind.InvalidInput):
            call()


@pytest.mark.conforms("B5.4")
def test_no_line_says_what_memory_says(tools: Tools) -> None:
    entry = tools.memory_store("preference", "WHISPER likes sk-abcdEFGH1234ijklMNOP5678", tags=["WHISPER"])
    tools.memory_search("WHISPER", tags=["WHISPER"])
    tools.memory_store("preference", "WHISPER likes tea", supersedes=entry.id)
    refusal(tools, "memory_store", {"type": "WHISPER", "content": "WHISPER"})
    refusal(tools, "memory_store", {"type": "fact", "content": "x", "WHISPER": "WHISPER"})
    refusal(tools, "memory_WHISPER", {"WHISPER": 1})
    refusal(tools, "memory_delete", {"id": "mem-WHISPER"})
    refusal(tools, "memory_store", {"type": "fact", "content": "x", "supersedes": entry.id})
    written = "".join(line.model_dump_json() for line in tools.audit())
    assert len(tools.audit()) >= 10
    assert "WHISPER" not in written
    assert "sk-abcd" not in written


@pytest.mark.conforms("B5.5")
def test_that_something_was_redacted_is_told_and_what_is_not(tools: Tools) -> None:
    tools.memory_store("fact", "The token is ghp_" + "a1B2" * 9)
    tools.memory_search("token")
    lines = tools.audit(outcome="sanitized")
    assert [line.field_paths for line in lines] == [["content"], ["results[0].content"]]
    assert {line.stage for line in lines} == {6}


def test_the_agent_is_named_where_it_is_known(engine: longmind.Engine) -> None:
    tools = engine.context(**OWNER, agent_id="planner", session_id="s").tools
    tools.memory_brief()
    assert tools.audit()[0].source == "agent:planner"


@pytest.fixture
def written(engine: longmind.Engine) -> longmind.Engine:
    """An audit with two chains, one of them with five lines."""
    for group in ("default", "others"):
        tools = engine.context(**OWNER, group=group).tools
        tools.memory_store("fact", "Uses macOS.")
        tools.memory_search("macOS")
        refusal(tools, "memory_delete", {"id": "mem-none"})
        tools.memory_brief()
    return engine


def checked(engine: longmind.Engine, key: str = "") -> VerificationReport:
    return verify(engine._database, key)


@pytest.mark.conforms("B5.4")
def test_an_audit_that_nobody_touched_is_whole(written: longmind.Engine) -> None:
    report = checked(written)
    assert (report.chains, report.lines, report.problems) == (2, 10, [])


TAMPERING: dict[str, tuple[str, list[int | None]]] = {
    "a line is changed": (
        """UPDATE tool_audit SET body = replace(body, '"routed"', '"rejected"') WHERE "group" = 'others' AND seq = 2""",
        [2],
    ),
    "what a line is found by is changed": (
        """UPDATE tool_audit SET outcome = 'rejected' WHERE "group" = 'others' AND seq = 2""",
        [2],
    ),
    "a line is removed from the middle": ("""DELETE FROM tool_audit WHERE "group" = 'others' AND seq = 3""", [4]),
    "the first line is removed": ("""DELETE FROM tool_audit WHERE "group" = 'others' AND seq = 1""", [2]),
    "the last line is removed": ("""DELETE FROM tool_audit WHERE "group" = 'others' AND seq = 5""", [5]),
    "the last lines are removed": ("""DELETE FROM tool_audit WHERE "group" = 'others' AND seq > 3""", [5]),
    "two lines change places": (
        """UPDATE tool_audit SET seq = -1 WHERE "group" = 'others' AND seq = 1;
        UPDATE tool_audit SET seq = 1 WHERE "group" = 'others' AND seq = 2;
        UPDATE tool_audit SET seq = 2 WHERE "group" = 'others' AND seq = -1""",
        [1, 2],
    ),
    "all lines are removed": ("""DELETE FROM tool_audit WHERE "group" = 'others'""", [5]),
    "where the chain ends is forgotten": ("""DELETE FROM tool_audit_heads WHERE "group" = 'others'""", [None]),
    "whose the chain is is changed": (
        """UPDATE tool_audit_heads SET user_id = 'bob' WHERE "group" = 'others'""",
        [None],
    ),
    "where the chain ends is moved": (
        """UPDATE tool_audit_heads SET seq = 4 WHERE "group" = 'others'""",
        [5],
    ),
    "a line is put in front of the first": (
        """INSERT INTO tool_audit (scope_id, "group", seq, at, correlation, topic, outcome, body, hash)
        SELECT scope_id, "group", 0, at, correlation, topic, outcome, body, hash FROM tool_audit
        WHERE "group" = 'others' AND seq = 3""",
        [0],
    ),
    "a line is put after the last": (
        """INSERT INTO tool_audit (scope_id, "group", seq, at, correlation, topic, outcome, body, hash)
        SELECT scope_id, "group", 6, at, correlation, topic, outcome, body, hash FROM tool_audit
        WHERE "group" = 'others' AND seq = 5""",
        [6],
    ),
    "the end goes with the last lines": (
        """DELETE FROM tool_audit WHERE "group" = 'others' AND seq > 3;
        UPDATE tool_audit_heads SET seq = 3, hash = (
            SELECT hash FROM tool_audit WHERE "group" = 'others' AND seq = 3
        ) WHERE "group" = 'others'""",
        [3],
    ),
    "all lines are removed, as if there had been none": (
        """DELETE FROM tool_audit WHERE "group" = 'others';
        UPDATE tool_audit_heads SET seq = 0, hash = '', seal = '' WHERE "group" = 'others'""",
        [0],
    ),
    "a line is made nonsense": (
        """UPDATE tool_audit SET body = '[[[' WHERE "group" = 'others' AND seq = 2""",
        [2],
    ),
    "a line is made too deep to read": (
        f"""UPDATE tool_audit SET body = '{"[" * 100_000}' WHERE "group" = 'others' AND seq = 2""",
        [2],
    ),
    "a line is moved to a time that is none": (
        """UPDATE tool_audit SET at = 9223372036854775807 WHERE "group" = 'others' AND seq = 2""",
        [2],
    ),
    "the chain is made nobody's": (
        """UPDATE tool_audit_heads SET user_id = '*' WHERE "group" = 'others'""",
        [None],
    ),
}

NOT_EXPORTED = (
    "what a line is found by is changed",
    "a line is moved to a time that is none",
    "a line is put after the last",
)


@pytest.mark.conforms("B5.4")
@pytest.mark.parametrize("how", TAMPERING)
def test_tampering_is_found_and_told_where(written: longmind.Engine, database_url: str, how: str) -> None:
    statement, places = TAMPERING[how]
    for each in statement.split(";"):
        execute(database_url, each)
    problems = checked(written).problems
    assert {problem.seq for problem in problems} >= set(places), problems
    assert {problem.group for problem in problems} == {"others"}
    # It can be exported all the same, and shows in the file.
    report = verify_exported([json.dumps(line) for line in export(written._database, "")], "")
    assert (report.problems == []) == (how in NOT_EXPORTED)


@pytest.mark.conforms("B5.4")
def test_who_can_write_the_database_cannot_forge_a_chain_that_has_a_key(database_url: str) -> None:
    with longmind.open(database_url, embedder=None, audit_key="a secret of the host") as engine:
        engine.context(**OWNER).tools.memory_brief()
        assert checked(engine, "a secret of the host").problems == []
        assert {problem.seq for problem in checked(engine, "").problems} == {1}
        assert {problem.seq for problem in checked(engine, "a guess").problems} == {1}
        assert "a secret of the host" not in repr(engine.settings)


@pytest.mark.conforms("B5.4")
def test_a_chain_that_was_cut_stays_cut_whatever_is_added_to_it(database_url: str) -> None:
    with longmind.open(database_url, embedder=None, audit_key="a secret of the host") as engine:
        tools = engine.context(**OWNER).tools
        for _ in range(3):
            tools.memory_brief()
        execute(database_url, "DELETE FROM tool_audit WHERE seq > 1")
        execute(database_url, "UPDATE tool_audit_heads SET seq = 1, hash = (SELECT hash FROM tool_audit WHERE seq = 1)")
        assert [problem.seq for problem in checked(engine, "a secret of the host").problems] == [1]
        for _ in range(2):
            tools.memory_brief()
        assert [problem.seq for problem in checked(engine, "a secret of the host").problems] == [2]


def test_a_chain_that_grows_meanwhile_is_whole(
    engine: longmind.Engine, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.memory_brief()
    read = audit.read_head

    def late(run: Any, group: str) -> Any:
        # Just after all lines were read, there are two more.
        if len(tools.audit()) < 9:
            tools.memory_brief()
            tools.memory_brief()
        return read(run, group)

    monkeypatch.setattr(audit, "read_head", late)
    report = checked(engine)
    assert (report.lines, report.problems) == (9, [])


def test_a_line_that_is_no_text_is_found(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    with longmind.open(url, embedder=None) as engine:
        engine.context(**OWNER).tools.memory_brief()
        execute(url, "UPDATE tool_audit SET body = CAST(x'ff' AS TEXT)")
        assert [problem.what for problem in checked(engine).problems] == ["has a line that is not text"]
        assert verify_exported([json.dumps(line) for line in export(engine._database, "")], "").problems != []


@pytest.fixture
def exported(written: longmind.Engine) -> list[str]:
    return [json.dumps(line) for line in export(written._database, "")]


def test_an_export_can_be_checked_without_the_database(exported: list[str]) -> None:
    report = verify_exported(exported, "")
    assert (report.chains, report.lines, report.problems) == (2, 10, [])


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [line.replace('"routed"', '"rejected"') for line in lines],
        lambda lines: lines[1:],
        lambda lines: lines[:2] + lines[3:],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: lines[:-1],
        lambda lines: lines[:4] + lines[5:],
        lambda lines: lines[:4],
        lambda lines: [*lines[:3], "nonsense", *lines[4:]],
        lambda lines: [line.replace('"userId": "ada"', '"userId": "bob"') for line in lines],
        lambda lines: lines[6:],
        lambda lines: lines[:-1] + lines[:6] + lines[-1:],
        lambda lines: [*lines, lines[0]],
        lambda lines: [*lines[:6], lines[5], *lines[6:]],
        lambda lines: [],
        lambda lines: [*lines, "[" * 100_000],
        lambda lines: [*lines, "[]"],
        lambda lines: [line.replace('"seq": 1,', '"seq": Infinity,') for line in lines],
        lambda lines: [line.replace('"seq": 1,', '"seq": 1.5,') for line in lines],
        lambda lines: [line.replace('"source": "', '"source": "\\ud800') for line in lines],
        lambda lines: [line.replace('"stage"', '"stage": 9, "stage"') for line in lines],
        lambda lines: [line.replace('"seq"', '"note": "", "seq"') for line in lines],
        lambda lines: [line.replace('"head": 5', '"head": 4') for line in lines],
    ],
    ids=[
        *("changed", "first", "middle", "reordered", "end mark", "last of a chain", "cut", "unreadable", "whose"),
        *("a whole chain", "a chain twice", "after the end", "after a chain", "empty", "too deep", "no object"),
        *("no number", "half a number", "half a character", "said twice", "something added", "another end"),
    ],
)
def test_an_export_that_was_tampered_with_is_found_out(
    exported: list[str], tamper: Callable[[list[str]], list[str]]
) -> None:
    assert verify_exported(tamper(exported), "").problems != []


@pytest.mark.patient
def test_a_long_chain_is_read_in_pieces(tmp_path: Path) -> None:
    with longmind.open(f"sqlite:///{tmp_path}/long.db", embedder=None, durability="normal") as engine:
        tools = engine.context(**OWNER).tools
        for _ in range(1_100):
            refusal(tools, "memory_drop", {})
        report = checked(engine)
        assert (report.lines, report.problems) == (1_100, [])
