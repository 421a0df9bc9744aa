"""The base of all values, and the list type that carries a cursor.

A recall makes twenty values and a page of messages hundreds, so values that come from the database skip
validation: `from_trusted` fills the instance's slots directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

T = TypeVar("T")
V = TypeVar("V", bound="Value")

REPR_LENGTH = 240
"""Characters of the fields in a `repr`, at most."""
_TEXT_LENGTH = 60
_SHOWN_ITEMS = 3

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

    shown: ClassVar[tuple[str, ...]] = ()
    """The fields that `repr` shows, for values that have many; by default all of them."""

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield what `repr` shows: the fields that are filled, long ones shortened, as many as fit into a line."""
        room = REPR_LENGTH
        for name in self.shown or type(self).model_fields:
            value = getattr(self, name)
            # An empty field says nothing, and a secret one must not.
            if value is None or value in ("", [], {}) or not type(self).model_fields[name].repr:
                continue
            brief = shorten_value(value)
            room -= len(name) + len(repr(brief))
            # What does not fit is left out, and marked as missing.
            if room < 0:
                yield None, Abridged("…")
                return
            yield name, brief

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


class Abridged(str):
    """A text that stands for a value in a `repr`, without quotation marks."""

    def __repr__(self) -> str:
        """Return the text itself."""
        return str(self)


def shorten_value(value: object) -> object:
    """Return a value as the `repr` of another one shows it: long texts cut, lists and dicts as their sizes."""
    match value:
        case str():
            return value if len(value) <= _TEXT_LENGTH else value[: _TEXT_LENGTH - 1] + "…"
        case list() | tuple() | dict() if len(value) > 1 or len(repr_briefly(value)) > _TEXT_LENGTH:
            return Abridged(f"<{len(value):,} items>")
        case _:
            return value


def repr_briefly(value: object) -> str:
    """Return the start of the `repr` of a value, without writing out a long text."""
    members = list(value.values()) if isinstance(value, dict) else value
    if isinstance(members, list | tuple):
        return "".join(map(repr_briefly, members[:2]))
    return repr(shorten_value(value))


class Page(list[T], Generic[T]):
    """A list with `next_cursor`: pass it to the same call for the next page; None is the end."""

    def __init__(self, items: Iterable[T] = (), next_cursor: str | None = None) -> None:
        super().__init__(items)
        self.next_cursor = next_cursor

    def __repr__(self) -> str:
        """Return the list, of a long one the first items and the number of the others, and the cursor."""
        more = len(self) - _SHOWN_ITEMS
        shown = ", ".join(map(repr, self[:_SHOWN_ITEMS])) + (f", … {more:,} more" if more > 0 else "")
        return f"[{shown}]" if self.next_cursor is None else f"Page([{shown}], next_cursor={self.next_cursor!r})"
