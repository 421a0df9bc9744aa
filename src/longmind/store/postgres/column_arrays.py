"""Columns of many rows as array parameters of a statement.

The array literals are written by hand: the driver takes longer to convert lists than the server to insert the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

_BETWEEN = "\x00"
"""A character that no storable text contains, to join texts with."""
_CHARACTERS_AT_ONCE = 16 * 1024 * 1024
"""No message to PostgreSQL may reach a gigabyte."""


def split_into_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[Mapping[str, Sequence[Any]]]:
    """Yield the rows as columns: all at once, or in halves of halves if they are too long to be sent together."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    if len(rows) > 1 and sum(map(_characters, columns.values())) > _CHARACTERS_AT_ONCE:
        half = len(rows) // 2
        yield from split_into_columns(names, rows[:half])
        yield from split_into_columns(names, rows[half:])
    else:
        yield columns


def _characters(column: Sequence[Any]) -> int:
    return sum(len(each) for each in column if isinstance(each, str))


def to_parameters(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return columns as arrays, and those with a single value throughout as members of the JSON object `same`.

    The first column is always an array, since it determines the number of rows.
    """
    first, *others = columns
    parameters: dict[str, Any] = {first: _array(columns[first])}
    same = {}
    for name in others:
        column = columns[name]
        if len(column) == 1 or (column[0] == column[-1] and len(set(column)) == 1):
            same[name] = column[0]
            parameters[name] = None
        else:
            parameters[name] = _array(column)
    parameters["same"] = to_json(same).decode()
    return parameters


def _array(column: Sequence[Any]) -> Any:
    kinds = set(map(type, column))
    if kinds == {str}:
        joined = _BETWEEN.join(column).replace("\\", r"\\").replace('"', r"\"")
        return '{"' + joined.replace(_BETWEEN, '","') + '"}'
    if kinds in ({int}, {float}):
        return "{" + str(list(column))[1:-1] + "}"
    return list(column)
