"""Rows of a database in words that people understand: facts, messages and conversations, not tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longmind.cli.output import print_line, print_table

_NOUNS = {
    "atoms": ("fact", "facts"),
    "events": ("message or event", "messages and events"),
    "conversations": ("conversation", "conversations"),
    "spaces": ("memory space", "memory spaces"),
    "entities": ("person or thing", "people and things"),
    "blocks": ("memory block", "memory blocks"),
    "bindings": ("binding", "bindings"),
    "access_keys": ("API key", "API keys"),
    "jobs": ("job", "jobs"),
}
"""The content of the tables that people know of, in the order in which it is listed. All others serve these."""


def summarise_rows(counts: Mapping[str, int]) -> str:
    """Return the numbers of rows by table as one phrase, such as `3 facts, 2 conversations and 15 rows about them`."""
    parts = [_count(counts.get(table, 0), *nouns) for table, nouns in _NOUNS.items() if counts.get(table)]
    rest = sum(count for table, count in counts.items() if table not in _NOUNS)
    # Named as one: nobody looks for a segment of an index.
    if rest:
        parts.append(_count(rest, "row of indexes and logs", "rows of indexes and logs"))
    if len(parts) < 2:
        return "".join(parts) or "nothing"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def print_rows(counts: Mapping[str, int], *, verbose: bool, sentence: str, **columns: Mapping[str, Any]) -> None:
    """Print how many rows there are: a sentence in which `{rows}` stands for them, and with --verbose a table.

    columns: more about each table, by the heading of a column.
    """
    if verbose:
        headings = [name.replace("_", " ") for name in columns]
        rows = [
            (table, f"{count:,}", *(values.get(table, "") for values in columns.values()))
            for table, count in counts.items()
            if count
        ]
        print_table(("table", "rows", *headings), rows)
    print_line(sentence.format(rows=summarise_rows(counts)))


def _count(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"
