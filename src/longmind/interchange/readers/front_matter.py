"""The block of `name: value` lines at the top of a Markdown file.

Notes of people and of programs use a small part of YAML there: texts, dates, numbers, and lists of texts. That part is
read; anything deeper is left alone, as no fact of memory stands in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELD = re.compile(r"^(?P<name>[A-Za-z_][\w -]*):(?:\s+(?P<value>.*))?$")
_MEMBER = re.compile(r"^\s*-\s+(?P<value>.*)$")


@dataclass(frozen=True)
class MarkdownNote:
    """A Markdown file in two parts."""

    fields: dict[str, str | list[str]]
    body: str

    def text(self, *names: str) -> str:
        """Return the first of the named fields that holds a text."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def list(self, name: str) -> list[str]:
        """Return a field as a list of texts."""
        value = self.fields.get(name, [])
        return value if isinstance(value, list) else [each.strip() for each in value.split(",") if each.strip()]


def split_note(text: str) -> MarkdownNote:
    """Return the fields and the body of a note; a note without a block at the top has no fields."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return MarkdownNote({}, text)
    # A line of dashes that nothing closes is a rule, and not the beginning of fields.
    end = next((place for place, line in enumerate(lines[1:], 1) if line.strip() in ("---", "...")), None)
    if end is None:
        return MarkdownNote({}, text)
    return MarkdownNote(_parse_fields(lines[1:end]), "\n".join(lines[end + 1 :]))


def _parse_fields(lines: list[str]) -> dict[str, str | list[str]]:
    """Return the fields of the lines; members of a list stand on lines of their own."""
    fields: dict[str, str | list[str]] = {}
    name = ""
    for line in lines:
        if found := _FIELD.match(line):
            name = found["name"].strip()
            fields[name] = _parse_value((found["value"] or "").strip())
        elif (member := _MEMBER.match(line)) and name:
            known = fields[name]
            fields[name] = [*(known if isinstance(known, list) else []), _unquote(member["value"].strip())]
    return fields


def _parse_value(value: str) -> str | list[str]:
    """Return a value as a text, or as a list if it is in brackets."""
    if value.startswith("[") and value.endswith("]"):
        return [_unquote(each.strip()) for each in value[1:-1].split(",") if each.strip()]
    return _unquote(value)


def _unquote(value: str) -> str:
    """Return a text without the quotation marks around it."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
