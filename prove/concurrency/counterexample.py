"""The smallest part of a history that proves it impossible, formatted for a person."""

from __future__ import annotations

from collections.abc import Sequence

from prove.concurrency.history import Operation, format_operations
from prove.concurrency.linearizable import Model, Undecided, is_linearizable

_STEPS = 50_000
"""Search steps after which a part is kept whole: it explains as much, in more lines."""


def find_smallest(model: Model, operations: Sequence[Operation]) -> list[Operation]:
    """Cut off what came later, then forget answers, as long as what is left is still impossible.

    Both only make a history easier to explain, so that what cannot be explained afterwards could not before either.
    """
    kept = _cut(model, operations)
    size = len(kept)
    while size:
        size //= 2
        for begin in range(0, len(kept), max(size, 1)):
            weaker = _forget_answers(model, kept, range(begin, begin + max(size, 1)))
            if weaker != kept and _is_impossible(model, weaker):
                kept = weaker
    return kept


def explain_smallest(model: Model, operations: Sequence[Operation]) -> str:
    part = find_smallest(model, operations)
    shown = [operation for operation in part if operation.known]
    beside = [operation for operation in part if not operation.known]
    lines = f"No order explains these {len(shown)} of {len(operations)} operations on {part[0].key}:\n"
    lines += format_operations(shown)
    if beside:
        lines += f"\nnor does any outcome of {len(beside)} others that were under way or before, such as:\n"
        lines += format_operations(beside[-5:])
    return lines


def _cut(model: Model, operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations up to the first answer that no order explains."""
    ends = sorted(operation.returned for operation in operations if operation.returned is not None)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if is_linearizable(model, _cut_after(operations, ends[middle])):
            low = middle + 1
        else:
            high = middle
    return _cut_after(operations, ends[low])


def _cut_after(operations: Sequence[Operation], end: int) -> list[Operation]:
    return [
        operation if operation.returned is not None and operation.returned <= end else operation.forget_answer()
        for operation in operations
        if operation.called <= end
    ]


def _forget_answers(model: Model, operations: list[Operation], places: range) -> list[Operation]:
    """Return the operations without some answers; reads without an answer are left out."""
    return [
        operation.forget_answer() if place in places else operation
        for place, operation in enumerate(operations)
        if not ((place in places or not operation.known) and operation.name in model.reads)
    ]


def _is_impossible(model: Model, operations: list[Operation]) -> bool:
    try:
        return not is_linearizable(model, operations, _STEPS)
    except Undecided:
        return False
