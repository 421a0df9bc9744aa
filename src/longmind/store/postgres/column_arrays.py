"""Columns of many rows as parameters of a statement: written by hand, since the driver takes longer than the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

_BETWEEN = "\x00"
"""In no text that can be stored."""
_CHARACTERS_AT_ONCE = 16 * 1024 * 1024
"""No message to PostgreSQL may reach a gigabyte."""


def in_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[Mapping[str, Sequence[Any]]]:
    """Rows as columns: all of them together, unless they are too long to be sent at once."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    if len(rows) > 1 and sum(map(_characters, columns.values())) > _CHARACTERS_AT_ONCE:
        half = len(rows) // 2
        yield from in_columns(names, rows[:half])
        yield from in_columns(names, rows[half:])
    else:
        yield columns


def _characters(column: Sequence[Any]) -> int:
    return sum(len(each) for each in column if isinstance(each, str))


def in_short(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The columns as arrays, without those that hold one value only: these are members of the object `same`.

    The first column, which tells how many rows there are, is an array always.
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
