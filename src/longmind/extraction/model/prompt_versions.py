"""Prompts by version: one file each, with placeholders that are filled in on use.

A published prompt never changes, since atoms are stored with the version that found them. A change is a new version.
Only the list of slots, where a prompt has one, is that of the package.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from longmind.errors import InvalidInput
from longmind.extraction.slot_types import SLOT_TYPES

_PROMPTS = files("longmind.extraction.model") / "prompts"
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_FAMILY = "extraction-"
_SLOTS = "{{slots}}"


@dataclass(frozen=True)
class Prompt:
    """The text of one version."""

    version: str
    text: str

    @property
    def placeholders(self) -> frozenset[str]:
        """The names of the values that the text needs."""
        return frozenset(_PLACEHOLDER.findall(self.text))

    def fill(self, **values: object) -> str:
        """Return the text with all placeholders filled. Raises `ValueError` for a value too many or too few."""
        if values.keys() != self.placeholders:
            raise ValueError(f"{self.version} has the placeholders {sorted(self.placeholders)}, not {sorted(values)}")
        return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), self.text)


@lru_cache
def list_versions() -> list[str]:
    """Return the full names of all versions, sorted."""
    return sorted(file.name.removesuffix(".md") for file in _PROMPTS.iterdir() if file.name.endswith(".md"))


def to_full_name(version: str) -> str:
    """Return the full name of a version; `v1` is short for `extraction-v1`."""
    return version if version.startswith(_FAMILY) else f"{_FAMILY}{version}"


@lru_cache
def load_prompt(version: str) -> Prompt:
    """Return the prompt of a version; `v1` is short for `extraction-v1`. Raises `InvalidInput` for an unknown one."""
    full = to_full_name(version)
    if full not in list_versions():
        raise InvalidInput(f"Unknown extraction version {version!r}.", hint=f"Use one of {', '.join(list_versions())}.")
    return Prompt(full, (_PROMPTS / f"{full}.md").read_text("utf-8").replace(_SLOTS, describe_slots()))


def describe_slots() -> str:
    """Return the table of slots as a model is shown it."""
    rows = ["| attribute | values | category | kind | importance | text about the user |", "| --- " * 6 + "|"]
    for slot in SLOT_TYPES.values():
        values, text = "one" if slot.single else "many", (slot.template or "").format(value="…")
        rows.append(f"| {slot.attribute} | {values} | {slot.category} | {slot.kind} | {slot.importance} | {text} |")
    return "\n".join(rows)
