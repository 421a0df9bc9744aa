"""Compares what callers were told with what is there. It knows nothing of the engine that both come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Outcome = Literal["done", "refused", "unknown", "improper"]
"""What a caller was told: it is done; it was not done; nobody knows; or something that is no proper answer."""


class CallerOperation(NamedTuple):
    """One thing that somebody wanted, and how it ended for them."""

    kind: str
    mark: str
    """What can be found again of it, and of nothing else."""
    outcome: Outcome
    attempts: int = 1
    """How often it was asked for; more than once only with a key that makes it the same thing."""
    seconds: float = 0.0
    """How long the longest attempt took."""
    error: str = ""


class Ledger(NamedTuple):
    """What is there: each mark as often as it was found, and the numbers of each conversation's messages."""

    marks: Mapping[str, int]
    sequences: Mapping[str, Sequence[int]]


def compare_effects(operations: Iterable[CallerOperation], there: Ledger) -> Iterator[str]:
    """What is there but should not be, and what should be there and is not."""
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
    """Conversations whose messages are not numbered one after another."""
    for conversation, numbers in there.sequences.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield f"{conversation} has messages with numbers that repeat or leave gaps"


def compare_counts(operations: Iterable[CallerOperation], kind: str, found: int) -> Iterator[str]:
    """A counter that each operation of a kind raises by one, seen as a whole."""
    counted = [each for each in operations if each.kind == kind]
    yield from (f"{each.mark} ended with {each.error}" for each in counted if each.outcome == "improper")
    told = Counter(each.outcome for each in counted)
    least, most = told["done"], told["done"] + told["unknown"] + told["improper"]
    if not least <= found <= most:
        yield f"the counter of {kind} stands at {found}, and must be between {least} and {most}"


def compare_subscriber(
    operations: Iterable[CallerOperation],
    heard: Sequence[str],
    ledger: Sequence[tuple[int, str]],
    events: Mapping[str, str],
) -> Iterator[str]:
    """What the subscriber of a process was told against what that process did: of each commit once, of nothing else."""
    if twice := [event_id for event_id, times in Counter(heard).items() if times > 1]:
        yield f"the subscriber was told twice of {len(twice)} changes, such as {twice[:3]}"
    if strange := set(heard) - {event_id for _, event_id in ledger}:
        yield f"the subscriber was told of {len(strange)} changes that are not there, such as {sorted(strange)[:3]}"
    told = set(heard)
    for each in operations:
        # What was asked for again may have been done by the first try, of which nobody knew.
        sure = each.outcome == "done" and each.attempts == 1 and each.mark in events
        if sure and events[each.mark] not in told:
            yield f"the subscriber was not told of {each.mark}"


def compare_follower(seen: Sequence[tuple[int, str]], ledger: Sequence[tuple[int, str]]) -> Iterator[str]:
    """A follower's way against the ledger: each change once, in the order of the ledger, and none left out."""
    cursors = [cursor for cursor, _ in seen]
    if any(later <= earlier for earlier, later in pairwise(cursors)):
        yield "the follower was given a change twice, or one before another that comes earlier"
    missing = set(ledger) - set(seen)
    if missing:
        yield f"the follower missed {len(missing)} changes, such as {sorted(missing)[:3]}"
    strange = set(seen) - set(ledger)
    if strange:
        yield f"the follower was told {len(strange)} changes that are not there, such as {sorted(strange)[:3]}"
