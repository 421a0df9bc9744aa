"""Makes plain JSON of the values that Python programs keep their state in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from pydantic import BaseModel

from longmind.errors import LimitExceeded
from longmind.events.event_builder import written

AS_SHOWN = "__repr__"
_DEEPEST = 100
_MOST_BITS = 14_000


class Plain:
    """A value as plain JSON, and the places in it that could only be kept as the text they show themselves as."""

    def __init__(self, where: str, value: object) -> None:
        self.kept_as_text: list[str] = []
        self._around: set[int] = set()
        self.value = self._made(where, value, 0)

    def _made(self, where: str, value: object, depth: int) -> Any:
        if isinstance(value, Enum):
            value = value.value
        match value:
            case None | bool() | str():
                return value
            case int():
                return value if _is_written(value) else self._shown(where, value)
            case float():
                return value if math.isfinite(value) else self._shown(where, value)
            case datetime() | date() | time():
                return value.isoformat()
        if depth > _DEEPEST:
            raise LimitExceeded("The depth of a state", limit=_DEEPEST, given=depth, unit="levels")
        if id(value) in self._around:
            # It holds itself.
            return self._shown(where, value)
        self._around.add(id(value))
        try:
            return self._opened(where, value, depth)
        finally:
            self._around.discard(id(value))

    def _opened(self, where: str, value: object, depth: int) -> Any:
        match value:
            case Mapping():
                return self._mapped(where, value, value.items(), depth)
            case list() | tuple():
                return self._listed(where, value, depth)
            case set() | frozenset():
                return self._listed(where, _sorted(value), depth)
            case BaseModel():
                return self._mapped(where, value, iter(value), depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            named = ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
            return self._mapped(where, value, named, depth)
        return self._shown(where, value)

    def _listed(self, where: str, members: Iterable[object], depth: int) -> list[Any]:
        return [self._made(f"{where}[{number}]", member, depth + 1) for number, member in enumerate(members)]

    def _mapped(self, where: str, value: object, members: Iterable[tuple[object, object]], depth: int) -> Any:
        made: dict[str, Any] = {}
        for key, member in members:
            name = _key(key)
            if name is None or name in made:
                # Two keys would become one, and a value be lost.
                return self._shown(where, value)
            made[name] = self._made(f"{where}.{name}", member, depth + 1)
        return made

    def _shown(self, where: str, value: object) -> dict[str, str]:
        self.kept_as_text.append(where)
        return {AS_SHOWN: written(value)}


def _is_written(number: int) -> bool:
    """Whether Python writes an integer out, and reads it back: of thousands of digits it does not."""
    return number.bit_length() <= _MOST_BITS


def _key(key: object) -> str | None:
    if isinstance(key, Enum):
        key = key.value
    match key:
        case str():
            return key
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[key]
        case int():
            return str(key) if _is_written(key) else None
        case float():
            return str(key)
        case datetime() | date() | time():
            return key.isoformat()
    return None


def _sorted(members: Iterable[Any]) -> list[Any]:
    """In an order that is the same each time: sets have none of their own."""
    given = list(members)
    if all(isinstance(member, str) for member in given) or all(isinstance(member, int | float) for member in given):
        return sorted(given)
    return sorted(given, key=written)
