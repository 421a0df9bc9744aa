"""Reads the named queries of the `.sql` files.

A block opens with `-- name: …` (or `-- fragment: …`) and may be preceded by comments that say why; `-- system: …`
among them marks a statement that is meant to see all scopes. The engine's own file overrides the common one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

EngineName = Literal["sqlite", "postgres"]

SQL = files("longmind.store") / "sql"
# What both engines understand, by noun; each engine has one file of its own for what it says differently.
SHARED = (
    "common",
    "memory",
    "extraction",
    "blocks",
    "grants",
    "host",
    "spend",
    "summaries",
    "tools",
    "working_context",
    "events",
    "distilling",
    "event_search",
    "mirror",
    "admin",
)
_OPENING = re.compile(r"^-- (name|fragment): (\w+)\s*$")
_PLACEHOLDER = re.compile(r"(?<!:):(\w+)")


@dataclass(frozen=True)
class Query:
    name: str
    text: str
    system: bool
    """Whether it is meant for the engine's own work over all scopes."""
    names: tuple[str, ...] = ()
    """Its parameters, in the order in which they first appear."""


def load_queries(engine: EngineName) -> dict[str, Query]:
    fragments: dict[str, str] = {}
    queries: dict[str, Query] = {}
    for source in (*SHARED, engine):
        for kind, query in _split_blocks((SQL / f"{source}.sql").read_text("utf-8")):
            if kind == "fragment":
                fragments[query.name] = query.text
            else:
                queries[query.name] = query
    return {name: _finish(query, fragments, engine) for name, query in queries.items()}


def make_query(name: str, text: str, engine: EngineName) -> Query:
    """A statement that no file has, since it depends on what columns a table has."""
    return _finish(Query(name, text, system=False), {}, engine)


@cache
def expand_rows(query: Query, rows: int, same: int = 0) -> str:
    """An insert that ends with the values of one row as an insert of several, for SQLite, with numbers for names.

    The first so many values are the same for all rows, and are bound once.
    """
    head, verb, values = query.text.rpartition(" VALUES ")
    own = len(query.names) - same

    def numbered(row: int) -> str:
        places = {name: 1 + place + (row * own if place >= same else 0) for place, name in enumerate(query.names)}
        return _PLACEHOLDER.sub(lambda found: f"?{places[found[1]]}", values)

    return f"{head}{verb}{', '.join(map(numbered, range(rows)))}"


def _split_blocks(source: str) -> Iterator[tuple[str, Query]]:
    # A paragraph is a block; the comments above its opening line belong to it.
    for paragraph in re.split(r"\n\s*\n", source):
        lines = paragraph.strip().splitlines()
        for number, line in enumerate(lines):
            opening = _OPENING.match(line)
            if opening:
                system = any(above.startswith("-- system:") for above in lines[:number])
                text = "\n".join(lines[number + 1 :]).strip().removesuffix(";")
                yield opening[1], Query(opening[2], text, system)
                break


def _finish(query: Query, fragments: dict[str, str], engine: EngineName) -> Query:
    text = query.text
    for name, fragment in fragments.items():
        text = text.replace("{" + name + "}", fragment)
    names = tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))
    if engine == "postgres":
        text = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    return Query(query.name, text, query.system, names)
