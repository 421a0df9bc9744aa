"""Processes that share a session share what it may do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import longmind
from harness.crew import Line, run_together
from longmind.audit.verification import verify

PROCESSES = 8
OWNER: dict[str, Any] = {"tenant_id": "acme", "app_id": "support", "user_id": "ada"}


def race(line: Line, url: str, name: str, to_supersede: list[str], to_delete: list[str]) -> Counter[str]:
    done: Counter[str] = Counter()

    def attempt(what: str, tool: str, arguments: dict[str, object]) -> None:
        try:
            tools.invoke(tool, arguments)
        except longmind.ToolError as error:
            done[f"{what} {error.code}"] += 1
        else:
            done[what] += 1

    with longmind.open(url, embedder=None) as engine:
        tools = engine.context(**OWNER, session_id="shared").tools
        line.wait_for_others()
        for id in to_supersede:
            attempt("supersedes", "memory_store", {"type": "fact", "content": f"{name} anew", "supersedes": id})
        for number in range(6):
            attempt("stores", "memory_store", {"type": "fact", "content": f"{name} {number}"})
        for id in to_delete:
            attempt("deletes", "memory_delete", {"id": id})
    return done


@pytest.mark.conforms("T14", "B1.8", "B1.9", "B4.2")
def test_eight_processes_get_no_more_through_than_one(database_url: str) -> None:
    with longmind.open(database_url, embedder=None) as engine:
        entries = [
            engine.context(**OWNER, session_id=f"before-{number % 2}").tools.memory_store("fact", f"Entry {number}").id
            for number in range(4 * PROCESSES)
        ]
        shares = [entries[4 * number : 4 * number + 4] for number in range(PROCESSES)]
        done = run_together(
            race, [(database_url, f"process {number}", share[:2], share[2:]) for number, share in enumerate(shares)]
        )
        total = sum(done, Counter[str]())
        assert total["supersedes"] + total["stores"] == 20
        assert total["supersedes"] <= 5
        assert total["deletes"] == 5
        refused = total["supersedes RATE_LIMITED"] + total["stores RATE_LIMITED"] + total["deletes RATE_LIMITED"]
        assert 20 + 5 + refused == sum(total.values()) == PROCESSES * 10
        tools = engine.context(**OWNER, session_id="after").tools
        brief = tools.memory_brief()
        assert brief.entry_count == len(entries) + 20 - 5
        report = verify(engine._database, "")
        # A line for each call of the three sessions, one after the other whoever made it.
        assert (report.lines, report.problems) == (len(entries) + PROCESSES * 10 + 1, [])
