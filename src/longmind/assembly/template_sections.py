"""The sections that a kind of prompt has, and samples of them.

A template is tried on samples when it is registered: with every part present, and with every combination of missing
parts. So a registered template is known to show suggestions only under their notice.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.assembly.sections import Shape

Outline = dict[str, Shape]
"""The names of the sections in their order, and how each is built."""

WORKING_CONTEXT: Outline = {
    "profile": "memory",
    "user_memory": "lines",
    "summary": "text",
    "always_on": "memory",
    "recalled": "memory",
    "quotes": "quotes",
    "turns": "turns",
}

LINE_FIELDS = ("line", "number", "text", "about", "category", "kind", "date", "until", "source")
"""Fields of a fact; `line` is the one of the default template: number, text and remarks."""
_NOT_ALWAYS = ("category", "until")
"""Fields that may be empty."""
MESSAGE_FIELDS = ("line", "who", "role", "date", "text")
"""Fields of a message; `line` is the speaker and the text, and in a quote the day before them."""

# Cannot occur in a template: accepted texts never hold it.
_MARK = "\x00"


def list_marks(outline: Outline) -> dict[str, str]:
    """Return a mark for each part of an outline, which stands for the part in a sample."""
    parts = (
        part
        for name, shape in outline.items()
        for part in ((f"{name}.facts", f"{name}.suggestions") if shape == "memory" else (name,))
    )
    return {part: f"{_MARK}{part}{_MARK}" for part in parts}


def list_suggestion_parts(outline: Outline) -> set[str]:
    """Return the parts that no prompt may show without the notice above them."""
    kinds = {"lines": "{}", "memory": "{}.suggestions"}
    return {kinds[shape].format(name) for name, shape in outline.items() if shape in kinds}


def build_sample(outline: Outline, parts: Collection[str], *, spare: str = "") -> dict[str, Any]:
    """Return the variables of a prompt with some of its parts; `spare` fills fields that not every line has."""
    marks = list_marks(outline)
    shown: dict[str, Any] = {"any": bool(parts), "notice": SUGGESTIONS_NOTICE}
    for name, shape in outline.items():
        if shape == "text":
            shown[name] = {"text": marks[name]} if name in parts else False
        elif shape == "lines":
            group = {"title": "x", "items": [{"title": "x", "text": marks[name]}]}
            shown[name] = {"groups": [group]} if name in parts else False
        elif shape in ("quotes", "turns"):
            message = {**dict.fromkeys(MESSAGE_FIELDS, "x"), "line": marks[name], "text": marks[name]}
            shown[name] = {"items": [{"messages": [message]}]} if name in parts else False
        else:
            kinds = {kind: f"{name}.{kind}" for kind in ("facts", "suggestions")}
            lines = {kind: _build_line(marks[part], spare) if part in parts else False for kind, part in kinds.items()}
            shown[name] = lines if any(lines.values()) else False
    return shown


def _build_line(mark: str, spare: str) -> dict[str, Any]:
    fields = {**dict.fromkeys(LINE_FIELDS, "x"), **dict.fromkeys(_NOT_ALWAYS, spare)}
    return {"items": [{**fields, "line": mark, "text": mark}]}
