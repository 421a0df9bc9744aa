"""Plain JSON of the values in which Python programs keep their state."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from pydantic import BaseModel

from longmind.errors import LimitExceeded

REPR_KEY = "__repr__"
_MAX_DEPTH = 100
_MAX_BITS = 14_000


class PlainJson:
    """A value as plain JSON in `value`.

    Values that JSON cannot express are stored as their repr() under `__repr__`, and `kept_as_text` lists their places.
    """

    def __init__(self, where: str, value: object) -> None:
        self.kept_as_text: list[str] = []
        self._ancestors: set[int] = set()
        self.value = self._convert(where, value, 0)

    def _convert(self, where: str, value: object, depth: int) -> Any:
        if isinstance(value, Enum):
            value = value.value
        match value:
            case None | bool() | str():
                return value
            case int():
                return value if _is_writable(value) else self._keep_as_text(where, value)
            case float():
                return value if math.isfinite(value) else self._keep_as_text(where, value)
            case datetime() | date() | time():
                return value.isoformat()
        if depth > _MAX_DEPTH:
            raise LimitExceeded("The depth of a state", limit=_MAX_DEPTH, given=depth, unit="levels")
        if id(value) in self._ancestors:
            # The value contains itself.
            return self._keep_as_text(where, value)
        self._ancestors.add(id(value))
        try:
            return self._convert_container(where, value, depth)
        finally:
            self._ancestors.discard(id(value))

    def _convert_container(self, where: str, value: object, depth: int) -> Any:
        match value:
            case Mapping():
                return self._convert_items(where, value, value.items(), depth)
            case list() | tuple():
                return self._convert_members(where, value, depth)
            case set() | frozenset():
                return self._convert_members(where, _sort_members(value), depth)
            case BaseModel():
                return self._convert_items(where, value, iter(value), depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            attributes = ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
            return self._convert_items(where, value, attributes, depth)
        return self._keep_as_text(where, value)

    def _convert_members(self, where: str, members: Iterable[object], depth: int) -> list[Any]:
        return [self._convert(f"{where}[{number}]", member, depth + 1) for number, member in enumerate(members)]

    def _convert_items(self, where: str, value: object, items: Iterable[tuple[object, object]], depth: int) -> Any:
        converted: dict[str, Any] = {}
        for key, member in items:
            name = _to_name(key)
            if name is None or name in converted:
                # Two keys would become one, and a value would be lost.
                return self._keep_as_text(where, value)
            converted[name] = self._convert(f"{where}.{name}", member, depth + 1)
        return converted

    def _keep_as_text(self, where: str, value: object) -> dict[str, str]:
        self.kept_as_text.append(where)
        return {REPR_KEY: to_safe_repr(value)}


def to_safe_repr(value: object) -> str:
    """Return the repr() of a value as text that can be stored; never raises."""
    try:
        return repr(value).replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
    except Exception:
        # Its own __repr__ fails, or it is or holds a number of thousands of digits.
        if isinstance(value, int):
            return hex(value)
        return f"<{type(value).__name__}>"


def _is_writable(number: int) -> bool:
    """Return whether Python writes an integer in decimal: it refuses thousands of digits."""
    return number.bit_length() <= _MAX_BITS


def _to_name(key: object) -> str | None:
    """Return a dict's key as json.dumps() would write it; None if it has no such form."""
    if isinstance(key, Enum):
        key = key.value
    match key:
        case str():
            return key
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[key]
        case int():
            return str(key) if _is_writable(key) else None
        case float():
            return str(key)
        case datetime() | date() | time():
            return key.isoformat()
    return None


def _sort_members(members: Iterable[Any]) -> list[Any]:
    """Return the members of a set in a stable order."""
    given = list(members)
    if all(isinstance(member, str) for member in given) or all(isinstance(member, int | float) for member in given):
        return sorted(given)
    return sorted(given, key=to_safe_repr)
