"""Small changes to a block's text, as a model asks for them: it names lines in the form in which it has seen them."""

from __future__ import annotations

from longmind.assembly.memory_line import shown_line
from longmind.errors import InvalidInput
from longmind.models.block import split_lines


def with_line(content: str, line: str) -> str:
    """The text with one more line at its end; one that it has already is not doubled."""
    new = _single(line)
    if any(shown_line(each) == shown_line(new) for each in split_lines(content)):
        return content
    text = content.rstrip("\n")
    return f"{text}\n{new}" if text.strip() else new


def with_line_replaced(content: str, old: str, new: str) -> str:
    place = _place_of(content, old)
    lines = split_lines(content)
    return "\n".join([*lines[:place], _single(new), *lines[place + 1 :]])


def without_line(content: str, old: str) -> str:
    place = _place_of(content, old)
    lines = split_lines(content)
    return "\n".join([*lines[:place], *lines[place + 1 :]])


def written_anew(before: str, content: str) -> str:
    """A whole text from a model: lines that it has only copied are kept as they were, not as it was shown them."""
    shown = {shown_line(line): line for line in split_lines(before)}
    return "\n".join(shown.get(line.removeprefix("- ").strip(), line) for line in content.splitlines())


def _place_of(content: str, line: str) -> int:
    wanted = {line.strip(), line.strip().removeprefix("- "), shown_line(line)}
    found = [
        place
        for place, each in enumerate(split_lines(content))
        if each.strip() and (each.strip() in wanted or shown_line(each) in wanted)
    ]
    if not found:
        raise InvalidInput("No line of the block is like the one you named.", hint="Copy it as it stands in the block.")
    return found[0]


def _single(line: str) -> str:
    text = " ".join(line.split()).removeprefix("- ")
    if not text:
        raise InvalidInput("The line is blank.", hint="Give its text, or remove the line instead.")
    return text
