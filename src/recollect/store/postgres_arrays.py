"""Columns of many rows as parameters of a statement: written by hand, since the driver takes longer than the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

_BETWEEN = "\x00"
"""In no text that can be stored."""


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
