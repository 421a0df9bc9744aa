"""Line edits of a block's text, as a model requests them.

A model names a line in the form in which a prompt showed it: sanitised, with a bullet. The stored line may differ, so
lines are compared in that form, and lines that a model merely copies are stored as they were.
"""

from __future__ import annotations

from longmind.assembly.memory_line import sanitise_line
from longmind.errors import InvalidInput
from longmind.models.block import split_lines


def add_line(content: str, line: str) -> str:
    """Return the text with a line added at its end; a line that it has already is not added again."""
    new = _to_single_line(line)
    # Compared as shown: to the model two lines that look alike are the same line.
    if any(sanitise_line(each) == sanitise_line(new) for each in split_lines(content)):
        return content
    text = content.rstrip("\n")
    return f"{text}\n{new}" if text.strip() else new


def replace_line(content: str, old: str, new: str) -> str:
    """Return the text with a line replaced; raise InvalidInput if it has no such line."""
    place = _find_place(content, old)
    lines = split_lines(content)
    return "\n".join([*lines[:place], _to_single_line(new), *lines[place + 1 :]])


def remove_line(content: str, old: str) -> str:
    """Return the text without a line; raise InvalidInput if it has no such line."""
    place = _find_place(content, old)
    lines = split_lines(content)
    return "\n".join([*lines[:place], *lines[place + 1 :]])


def restore_lines(before: str, content: str) -> str:
    """Return a whole text from a model, with the lines that it only copied as they were stored before."""
    stored = {sanitise_line(line): line for line in split_lines(before)}
    return "\n".join(stored.get(line.removeprefix("- ").strip(), line) for line in content.splitlines())


def _find_place(content: str, line: str) -> int:
    forms = {line.strip(), line.strip().removeprefix("- "), sanitise_line(line)}
    places = [
        place
        for place, each in enumerate(split_lines(content))
        if each.strip() and (each.strip() in forms or sanitise_line(each) in forms)
    ]
    if not places:
        raise InvalidInput("The block has no such line.", hint="Copy the line exactly as the block has it.")
    return places[0]


def _to_single_line(line: str) -> str:
    text = " ".join(line.split()).removeprefix("- ")
    if not text:
        raise InvalidInput("The line is blank.", hint="Pass its text, or use remove_line.")
    return text
