"""Notes on parameters, read from the docstring of an operation.

Docstrings hold them as `name: text` or `name, other: text`, several on a line or one over several lines. The OpenAPI
document shows each note with its parameter, and the rest as the description of the operation.
"""

from __future__ import annotations

import re
from collections.abc import Collection

# A note begins a paragraph or follows a full stop, and ends where the errors are listed.
_START = re.compile(r"(?:^|(?<=[.!] ))(?:(\w+(?:, \w+)*): |(?=Raises ))")


def split_notes(docstring: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring without its first paragraph, and the notes on parameters by name.

    names: the parameters of the operation; other words before a colon belong to the text.
    """
    described: list[str] = []
    notes: dict[str, str] = {}
    for paragraph in docstring.split("\n\n")[1:]:
        first, *parts = _START.split(" ".join(paragraph.split()))
        described.append(first)
        # The parameters that the text belongs to; none while it describes the operation.
        current: list[str] = []
        for listed, text in zip(parts[::2], parts[1::2], strict=True):
            noted = [] if listed is None else listed.split(", ")
            if listed is None or all(name in names for name in noted):
                current, words = noted, text
            else:
                words = f"{listed}: {text}"
            if current:
                notes |= {name: notes.get(name, "") + words for name in current}
            else:
                described.append(words)
    capital = {name: note[:1].upper() + note[1:].rstrip() for name, note in notes.items()}
    return " ".join(filter(None, (each.strip() for each in described))), capital
