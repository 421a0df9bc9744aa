"""Reads the fields of a file, and says of one that cannot be used whose it is and what is wrong with it."""

from __future__ import annotations

from typing import Any, TypeVar

from longmind.clock import to_micros
from longmind.errors import InvalidInput

Kind = TypeVar("Kind")
_IN_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def field(holder: object, name: str, kind: type[Kind], whose: str) -> Kind:
    """What an object of the file has under a name."""
    has = of_kind(holder, dict, whose)
    if name not in has:
        raise InvalidInput(f"{whose} has no {name!r}.")
    return of_kind(has[name], kind, f"{name!r} of {whose}")


def filled(holder: object, name: str, whose: str) -> list[Any]:
    """The same of a list that must hold something."""
    found = field(holder, name, list, whose)
    if not found:
        raise InvalidInput(f"{name!r} of {whose} is empty.")
    return found


def instant(holder: object, name: str, whose: str) -> str:
    """The same of a moment in time, as it is written."""
    written = field(holder, name, str, whose)
    to_micros(written, f"{name!r} of {whose}:")
    return written


def of_kind(value: object, kind: type[Kind], what: str) -> Kind:
    if not isinstance(value, kind):
        raise InvalidInput(f"{what} must be {_in_words(kind)}, not {_in_words(type(value))}.")
    return value


def _in_words(kind: type) -> str:
    return _IN_WORDS.get(kind, "a number")
