"""Memory blocks and the quotas of the memory tools, as the journal promises them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from prove.kills.checker.era import Era
from prove.kills.checker.observation import Observation, mark_of
from prove.kills.journal import Entry
from prove.kills.steps.step import SLEEPER
from prove.kills.workload import session_of

KEPT = 100
"""How many revisions of a block are kept at least."""

Place = tuple[str, str | None]


def wrong_blocks(era: Era, seen: Observation) -> Iterator[str]:
    writes: dict[Place, list[Entry]] = defaultdict(list)
    for entry in era.select("block", "block_delete"):
        place = entry.given["place"]
        if entry.state != "refused":
            writes[place["block_type"], place["agent_id"]].append(entry)
    there = {
        (each["block_type"], each["agent_id"]): each
        for each in seen.export["blocks"]
        if each["agent_id"] != SLEEPER  # no client writes the blocks of this agent
    }
    for place in writes.keys() | there.keys():
        for problem in _wrong_block(era, writes[place], there.get(place)):
            yield f"block {place}: {problem}"


def _wrong_block(era: Era, writes: list[Entry], block: dict[str, Any] | None) -> Iterator[str]:
    """Check that a block holds the last write, its revisions the earlier ones, and its version counts them all."""
    possible = _possible_last(writes)
    held = None if block is None else _number(block["content"])
    if held not in possible and held not in era.late:
        yield f"it holds {held}, and the last write was {possible}"
    if block is None:
        return
    versions = sorted((each["revision"], _number(each["content"])) for each in block["revisions"])
    versions.append((block["version"], held))
    numbers = [number for _, number in versions if number not in era.late]
    if [version for version, _ in versions] != list(range(versions[0][0], versions[-1][0] + 1)):
        yield f"its revisions have gaps: {[version for version, _ in versions]}"
    if len(set(numbers)) != len(numbers) or None in numbers:
        yield f"something was written twice: {numbers}"
    updates = {entry.number: entry for entry in writes if entry.operation == "block"}
    deletes = [entry for entry in writes if entry.operation == "block_delete"]
    if not set(numbers) <= updates.keys():
        yield f"somebody unknown has written: {sorted(set(numbers) - updates.keys(), key=str)}"
    last_possible = max((each.number for each in deletes), default=0)
    last_sure = max((each.number for each in deletes if each.state == "done"), default=0)
    needed = {number for number, each in updates.items() if each.state == "done" and number > last_possible}
    if not needed <= set(numbers) and block["version"] <= KEPT:
        yield f"writes are lost: {sorted(needed - set(numbers))}"
    if any(number is not None and number < last_sure for number in numbers):
        yield f"it was deleted by {last_sure}, and {numbers} are there"
    sure = sum(entry.state == "done" for entry in writes)
    if not sure <= block["version"] <= len(writes) + len(era.late):
        yield f"its version is {block['version']}, of {sure} to {len(writes)} writes"


def _possible_last(writes: list[Entry]) -> set[int | None]:
    """Return the numbers that a block may hold: the last answered write, or a later one without an answer."""
    possible: set[int | None] = {None}
    for entry in writes:
        value = entry.number if entry.operation == "block" else None
        possible = {value} if entry.state == "done" else possible | {value}
    return possible


def _number(content: str) -> int | None:
    mark = mark_of(content)
    return mark.number if mark is not None else None


_COUNTED = {"stores": ("store", "replace"), "supersedes": ("replace",), "deletes": ("forget",)}
_AUDITED = {"stores": "tool.invoke.memory_store", "deletes": "tool.invoke.memory_delete"}


def wrong_quotas(era: Era, seen: Observation) -> Iterator[str]:
    """Check that the quotas of each session agree with its operations and with its audit."""
    counted = {each["sessionId"]: each for each in seen.export["quotas"]}
    if len(counted) != len(seen.export["quotas"]):
        yield "a session has its quotas twice"
    lines = Counter(
        (line["entry"]["source"].removeprefix("session:"), line["entry"]["topic"])
        for line in seen.export["audit"]
        if line["entry"]["outcome"] == "routed"
    )
    sessions = {session_of(entry.number) for entry in era.entries} | counted.keys()
    for session in sorted(sessions):
        for counter, operations in _COUNTED.items():
            used = counted.get(session, {}).get(counter, 0)
            of_session = [each for each in era.select(*operations) if session_of(each.number) == session]
            sure = sum(each.state == "done" for each in of_session)
            lost = sum(each.state == "lost" for each in of_session) + len(era.late)
            if not sure <= used <= sure + lost:
                yield f"session {session} has used {used} {counter}, of {sure} to {sure + lost} that were done"
            if counter in _AUDITED and lines[session, _AUDITED[counter]] != used:
                audited = lines[session, _AUDITED[counter]]
                yield f"session {session} has used {used} {counter}, and its audit has {audited} lines of it"
