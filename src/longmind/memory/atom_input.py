"""Atoms as callers write them: a text, a dict or a value, with some fields as keywords of the call."""

from __future__ import annotations

from typing import Any

from pydantic.alias_generators import to_camel

from longmind.models.atom import Atom, AtomInput, Category, NewAtom


def add_fields(atom: AtomInput, *, kind: object = None, category: object = None, **fields: object) -> AtomInput:
    """Return an atom with fields that were passed beside it, which win over its own; None leaves a field as it is.

    kind, category: the kind and the name of its category.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if not given and kind is None and category is None:
        return atom
    own = _list_own_fields(atom)
    if own is None:
        # What it is instead is said where it is checked.
        return atom
    if kind is not None or category is not None:
        known = own.get("category", {})
        if isinstance(known, Category):
            known = known.model_dump()
        elif isinstance(known, str):
            known = {"name": known}
        named = {"name": category, "kind": kind}
        if isinstance(known, dict):
            own["category"] = known | {name: value for name, value in named.items() if value is not None}
    return own | given


def keep_category(atom: AtomInput, old: Atom) -> AtomInput:
    """Return a newer version of an atom with the category of the old one, unless it names its own."""
    own = _list_own_fields(atom)
    return atom if own is None or "category" in own else own | {"category": old.category.model_dump()}


def _list_own_fields(atom: object) -> dict[str, Any] | None:
    """Return the fields that an atom sets, by their names in Python; None for what is no atom."""
    match atom:
        case str():
            return {"text": atom}
        case NewAtom():
            return {name: getattr(atom, name) for name in atom.model_fields_set}
        case dict():
            return {str(_IN_PYTHON.get(name, name)): value for name, value in atom.items()}
        case _:
            return None


_IN_PYTHON: dict[object, str] = {to_camel(name): name for name in NewAtom.model_fields}
