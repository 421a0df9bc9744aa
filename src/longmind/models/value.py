"""The base of all values, and the list type that carries a cursor.

A recall makes twenty values and a page of messages hundreds, so values that come from the database skip
validation: `from_trusted` fills the instance's slots directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

T = TypeVar("T")
V = TypeVar("V", bound="Value")

_new = object.__new__
# A frozen value refuses assignment; these descriptors set its slots, and are the fastest way to do so.
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_known = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class Value(BaseModel):
    """A frozen value: attributes in snake_case, JSON in camelCase, both accepted as input."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        protected_namespaces=(),
    )

    @classmethod
    def from_trusted(cls, fields: dict[str, Any]) -> Self:
        """Make a value from all of its fields as the database returned them, without validation."""
        return _maker(cls)(fields)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.from_trusted = _maker(cls)  # type: ignore[method-assign, assignment]  # bound to the class once


HiddenAttributes = tuple[tuple[Any, Any], ...]
"""Descriptors, each with the value that it sets in an instance."""


def list_hidden_attributes(cls: type[Value]) -> HiddenAttributes:
    """Return the attributes that pydantic keeps in an instance besides its fields, as if all fields had been passed."""
    held = {"__pydantic_fields_set__": set(cls.model_fields), "__pydantic_extra__": None, "__pydantic_private__": None}
    return tuple([(BaseModel.__dict__[name], content) for name, content in held.items()])


def _maker(cls: type[V]) -> Callable[[dict[str, Any]], V]:
    every_field = set(cls.model_fields)

    def from_trusted(fields: dict[str, Any]) -> V:
        value = _new(cls)
        _set_fields(value, fields)
        _set_known(value, every_field)
        _set_extra(value, None)
        _set_private(value, None)
        return value

    return from_trusted


class Page(list[T], Generic[T]):
    """A list with `next_cursor`: pass it to the same call for the next page; None is the end."""

    def __init__(self, items: Iterable[T] = (), next_cursor: str | None = None) -> None:
        super().__init__(items)
        self.next_cursor = next_cursor
