"""Typed access to the fields of a JSON file, with errors that name the object and the fault."""

from __future__ import annotations

from typing import Any, TypeVar

from longmind.clock import to_micros
from longmind.errors import InvalidInput

Kind = TypeVar("Kind")
_KIND_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}


def read_field(holder: object, name: str, kind: type[Kind], owner: str) -> Kind:
    """Return a field of an object.

    owner: the name of the object, for the error.

    Raises InvalidInput if the field is missing or of another kind.
    """
    fields = require_kind(holder, dict, owner)
    if name not in fields:
        raise InvalidInput(f"{owner} has no {name!r}.")
    return require_kind(fields[name], kind, f"{name!r} of {owner}")


def read_filled_list(holder: object, name: str, owner: str) -> list[Any]:
    """Return a field that is a list and not empty."""
    found = read_field(holder, name, list, owner)
    if not found:
        raise InvalidInput(f"{name!r} of {owner} is empty.")
    return found


def read_instant(holder: object, name: str, owner: str) -> str:
    """Return a field that is an instant, as it is written."""
    text = read_field(holder, name, str, owner)
    to_micros(text, f"{name!r} of {owner}:")
    return text


def require_kind(value: object, kind: type[Kind], what: str) -> Kind:
    """Return a value, or raise InvalidInput if it is of another kind."""
    if not isinstance(value, kind):
        raise InvalidInput(f"{what} must be {_name_kind(kind)}, not {_name_kind(type(value))}.")
    return value


def _name_kind(kind: type) -> str:
    return _KIND_NAMES.get(kind, "a number")
