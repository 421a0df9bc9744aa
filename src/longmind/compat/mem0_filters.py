"""Filters in mem0's notation: entity ids, comparisons, and AND, OR and NOT, on the fields of a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ENTITY_IDS = ("user_id", "agent_id", "run_id")
ANYTHING = "*"

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, wanted: value == wanted,
    "ne": lambda value, wanted: value != wanted,
    "in": lambda value, wanted: value in wanted,
    "nin": lambda value, wanted: value not in wanted,
    "gt": lambda value, wanted: value > wanted,
    "gte": lambda value, wanted: value >= wanted,
    "lt": lambda value, wanted: value < wanted,
    "lte": lambda value, wanted: value <= wanted,
    "contains": lambda value, wanted: wanted in value,
    "icontains": lambda value, wanted: wanted.lower() in value.lower(),
}
_NEGATIONS = ("ne", "nin")


def is_match(fields: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """Return whether a memory passes filters; raise ValueError for an operator that mem0 does not know."""
    return all(_passes(fields, name, wanted) for name, wanted in filters.items())


def _passes(fields: Mapping[str, Any], name: str, wanted: Any) -> bool:
    """Return whether a memory passes one entry of a filter."""
    if name in ("AND", "OR", "NOT"):
        return _passes_group(fields, name, wanted)
    # As with the vector stores of mem0: also a memory without the field.
    if wanted == ANYTHING:
        return True
    if isinstance(wanted, list):
        return fields.get(name) in wanted
    if isinstance(wanted, Mapping):
        return all(_compare(fields, name, operator, value) for operator, value in wanted.items())
    return name in fields and bool(fields[name] == wanted)


def _passes_group(fields: Mapping[str, Any], name: str, conditions: Any) -> bool:
    """Return whether a memory passes conditions that are joined by AND, OR or NOT."""
    if not isinstance(conditions, list) or (name != "AND" and not conditions):
        words = "a list" if name == "AND" else "a non-empty list"
        raise ValueError(f"{name} operator requires {words} of conditions")
    passed = [is_match(fields, condition) for condition in conditions]
    return all(passed) if name == "AND" else any(passed) if name == "OR" else not any(passed)


def _compare(fields: Mapping[str, Any], name: str, operator: str, wanted: Any) -> bool:
    """Return whether a field compares with a value as an operator says."""
    compare = _COMPARISONS.get(operator)
    if compare is None:
        raise ValueError(f"Unsupported metadata filter operator: {operator}")
    if name not in fields:
        return operator in _NEGATIONS
    try:
        return compare(fields[name], wanted)
    except (TypeError, AttributeError):
        # Values of different types compare as unequal, and in no order.
        return operator in _NEGATIONS
