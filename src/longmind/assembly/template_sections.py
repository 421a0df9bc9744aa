"""Which sections a kind of prompt has: a template is tried on all of them when it is registered."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.assembly.sections import Shape

Outline = dict[str, Shape]
"""The names of the sections in their order, and how each is built."""

WORKING_CONTEXT: Outline = {
    "user_memory": "lines",
    "summary": "text",
    "always_on": "memory",
    "recalled": "memory",
    "turns": "turns",
}

LINE_FIELDS = ("line", "number", "text", "about", "category", "kind", "date", "until", "source")
"""What a template can say of a fact; `line` is what the default one says: the number, the text and what is about it."""
_NOT_ALWAYS = ("category", "until")
"""Those that can be empty."""
MESSAGE_FIELDS = ("line", "who", "role", "date", "text")
"""What it can say of a message; `line` is who and the text."""

# Cannot be in a template: no text that is accepted has it.
_MARK = "\x00"


def list_marks(outline: Outline) -> dict[str, str]:
    """For each part of the outline, what stands for it in the sample."""
    parts = (
        part
        for name, shape in outline.items()
        for part in ((f"{name}.facts", f"{name}.suggestions") if shape == "memory" else (name,))
    )
    return {part: f"{_MARK}{part}{_MARK}" for part in parts}


def list_suggestion_parts(outline: Outline) -> set[str]:
    """The parts that stand in no prompt without the notice before them."""
    kinds = {"lines": "{}", "memory": "{}.suggestions"}
    return {kinds[shape].format(name) for name, shape in outline.items() if shape in kinds}


def build_sample(outline: Outline, parts: Collection[str], *, spare: str = "") -> dict[str, Any]:
    """The variables of a prompt that has some of its parts, with these words for what not every line has."""
    marks = list_marks(outline)
    shown: dict[str, Any] = {"any": bool(parts), "notice": SUGGESTIONS_NOTICE}
    for name, shape in outline.items():
        if shape == "text":
            shown[name] = {"text": marks[name]} if name in parts else False
        elif shape == "lines":
            group = {"title": "x", "items": [{"title": "x", "text": marks[name]}]}
            shown[name] = {"groups": [group]} if name in parts else False
        elif shape == "turns":
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
