"""What all values have in common, and the list type that carries a cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

T = TypeVar("T")
V = TypeVar("V", bound="Value")

_new = object.__new__
# A frozen value cannot be filled by assignment, and these are the fastest way: a recall makes twenty values.
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_known = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


class Value(BaseModel):
    """A frozen value: attributes in snake_case, JSON in camelCase, both accepted on the way in."""

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
        """Make a value from all of its fields as they came out of our own database, without checking them again."""
        return _maker(cls)(fields)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.from_trusted = _maker(cls)  # type: ignore[method-assign, assignment]  # it need not be told the class each time


Beside = tuple[tuple[Any, Any], ...]
"""Descriptors, each with what it puts into an instance."""


def list_hidden_attributes(cls: type[Value]) -> Beside:
    """What an instance holds besides its fields when all of them were given."""
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
    """A list that knows how to go on: pass `next_cursor` to the same call for what comes after; None is the end."""

    def __init__(self, items: Iterable[T] = (), next_cursor: str | None = None) -> None:
        super().__init__(items)
        self.next_cursor = next_cursor
