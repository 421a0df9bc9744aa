"""Comparison of the answers to callers with the stored data, independent of the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Outcome = Literal["done", "refused", "unknown", "improper"]
"""The answer to a caller: done, not done, unknown, or something that is not a proper answer."""


class CallerOperation(NamedTuple):
    """One request of a caller, and its outcome."""

    kind: str
    mark: str
    """A text that belongs to this operation alone, by which its effect is found."""
    outcome: Outcome
    attempts: int = 1
    """The number of requests; more than one only with a key that makes them the same operation."""
    seconds: float = 0.0
    """The duration of the longest attempt."""
    error: str = ""


class Ledger(NamedTuple):
    """The stored data: the count of each mark, and the numbers of each conversation's messages."""

    marks: Mapping[str, int]
    sequences: Mapping[str, Sequence[int]]


def compare_effects(operations: Iterable[CallerOperation], there: Ledger) -> Iterator[str]:
    """Yield effects that exist and should not, and effects that should exist and do not."""
    known = set()
    for each in operations:
        known.add(each.mark)
        found = there.marks.get(each.mark, 0)
        if each.outcome == "done" and found == 0:
            yield f"{each.mark} was acknowledged, and is lost"
        if each.outcome == "refused" and each.attempts == 1 and found:
            yield f"{each.mark} was refused with {each.error}, and is there"
        if found > 1:
            yield f"{each.mark} was asked for {each.attempts} times as one thing, and is there {found} times"
        if each.outcome == "improper":
            yield f"{each.mark} ended with {each.error}"
    for mark in there.marks.keys() - known:
        yield f"{mark} is there, and nobody asked for it"


def compare_orders(there: Ledger) -> Iterator[str]:
    """Yield conversations whose messages are not numbered consecutively."""
    for conversation, numbers in there.sequences.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield f"{conversation} has messages with numbers that repeat or leave gaps"


def compare_counts(operations: Iterable[CallerOperation], kind: str, found: int) -> Iterator[str]:
    """Compare a counter with the operations of a kind, each of which raises it by one."""
    counted = [each for each in operations if each.kind == kind]
    yield from (f"{each.mark} ended with {each.error}" for each in counted if each.outcome == "improper")
    outcomes = Counter(each.outcome for each in counted)
    least, most = outcomes["done"], outcomes["done"] + outcomes["unknown"] + outcomes["improper"]
    if not least <= found <= most:
        yield f"the counter of {kind} stands at {found}, and must be between {least} and {most}"


def compare_subscriber(
    operations: Iterable[CallerOperation],
    heard: Sequence[str],
    ledger: Sequence[tuple[int, str]],
    events: Mapping[str, str],
) -> Iterator[str]:
    """Compare a subscriber with the operations of its process: each commit is reported once, and nothing else."""
    if twice := [event_id for event_id, times in Counter(heard).items() if times > 1]:
        yield f"the subscriber saw {len(twice)} changes twice, such as {twice[:3]}"
    if strange := set(heard) - {event_id for _, event_id in ledger}:
        yield f"the subscriber saw {len(strange)} changes that do not exist, such as {sorted(strange)[:3]}"
    reported = set(heard)
    for each in operations:
        # A repeated operation may have been done by the first try, whose outcome was unknown.
        sure = each.outcome == "done" and each.attempts == 1 and each.mark in events
        if sure and events[each.mark] not in reported:
            yield f"the subscriber missed {each.mark}"


def compare_follower(seen: Sequence[tuple[int, str]], ledger: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Compare a follower with the ledger: each change once, in the order of the ledger, and none missing."""
    cursors = [cursor for cursor, _ in seen]
    if any(later <= earlier for earlier, later in pairwise(cursors)):
        yield "the follower was given a change twice, or one before another that comes earlier"
    missing = set(ledger) - set(seen)
    if missing:
        yield f"the follower missed {len(missing)} changes, such as {sorted(missing)[:3]}"
    strange = set(seen) - set(ledger)
    if strange:
        yield f"the follower saw {len(strange)} changes that do not exist, such as {sorted(strange)[:3]}"
