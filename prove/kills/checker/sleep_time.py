"""Sleep-time memory of an agent, compared with the conversations that it was made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from prove.kills.checker.blocks import KEPT
from prove.kills.checker.era import Era
from prove.kills.checker.observation import Observation, mark_of
from prove.kills.steps.step import SLEEPER

ROOM = 8_000
"""The most characters of an archival block."""


def wrong_sleep_time(era: Era, seen: Observation) -> Iterator[str]:
    """Check that sleep-time memory is on exactly when it was set."""
    on = any(each["agentId"] == SLEEPER and each["enabled"] for each in seen.export["sleep_time"])
    states = {entry.state for entry in era.select("sleep_time")}
    if "done" in states and not on:
        yield "sleep-time memory was set and is off"
    if on and not states & {"done", "lost"} and not era.late:
        yield "sleep-time memory is on and nobody has set it"


def wrong_sleep(era: Era, seen: Observation) -> Iterator[str]:
    """Check that the agent's blocks hold every remark of the user once, and nothing else."""
    rows = seen.records("conversations")
    sleeping = {row["id"]: row for row in rows if row["agent_id"] == SLEEPER}
    for entry in era.select("create"):
        if entry.answer and entry.given["agent"] == SLEEPER and entry.answer["id"] not in sleeping:
            yield f"conversation {entry.answer['id']} was begun with {SLEEPER}, and is not theirs"
    blocks = [each for each in seen.export["blocks"] if each["agent_id"] == SLEEPER]
    lines = Counter(line for block in blocks for line in _lines(block["content"]))
    remarks = {row.text for id in sleeping for row in seen.messages.get(id, ()) if row.role == "user"}
    if twice := sorted(line for line, times in lines.items() if times > 1):
        yield f"blocks have taken in twice: {twice}"
    if unknown := sorted(lines.keys() - remarks):
        yield f"blocks have taken in what nobody has said: {unknown}"
    yield from _wrong_marks(
        era, sleeping, remarks - lines.keys(), max((len(each["content"]) for each in blocks), default=0)
    )
    for block in blocks:
        yield from _wrong_revisions(block)


def _wrong_marks(era: Era, sleeping: dict[str, dict[str, Any]], missing: set[str], length: int) -> Iterator[str]:
    # A late operation may have happened before sleep-time memory was on.
    numbers = {mark.number for row in sleeping.values() if (mark := mark_of(row["title"]))}
    if numbers & era.late:
        return
    if left := sorted(text for text in missing if length + len(text) + 1 <= ROOM):
        yield f"blocks have not taken in: {left}"
    for id, row in sleeping.items():
        if row["slept_until"] != row["next_sequence"] - 1:
            yield f"conversation {id} was read until {row['slept_until']}, and goes until {row['next_sequence'] - 1}"


def _wrong_revisions(block: dict[str, Any]) -> Iterator[str]:
    """Check that each version adds lines to the one before, and that none is missing."""
    versions = sorted((each["revision"], each["content"]) for each in block["revisions"])
    versions.append((block["version"], block["content"]))
    numbers = [version for version, _ in versions]
    if numbers != list(range(numbers[0], numbers[-1] + 1)) or (numbers[0] != 1 and numbers[-1] <= KEPT):
        yield f"the blocks of {SLEEPER} have gaps: {numbers}"
    for (_, before), (version, after) in pairwise(versions):
        if not set(_lines(before)) < set(_lines(after)):
            yield f"version {version} of a block of {SLEEPER} has lost lines, or has no new ones"


def _lines(content: str) -> list[str]:
    return [line for line in content.split("\n") if line.strip()]
