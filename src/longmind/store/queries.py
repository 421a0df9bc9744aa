"""Named queries, read from the `.sql` files.

A paragraph of a file is a block. It opens with `-- name: …` or `-- fragment: …`, after comments that say why it is
there; `-- system: …` among them marks a statement that is meant to see all scopes. `{fragment}` in a query is replaced
by that fragment. The file of an engine overrides the shared ones. Each query of user data binds the scope, and both
engines have the same names: tests check both.
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
# The files that both engines understand. Each engine has one more for what it says differently.
SHARED = (
    "conversations",
    "messages",
    "ledger",
    "jobs",
    "spaces",
    "atoms",
    "entities",
    "index_segments",
    "extraction",
    "decisions",
    "blocks",
    "grants",
    "agents",
    "keys_and_metrics",
    "spend",
    "summaries",
    "tools",
    "events",
    "distilling",
    "event_search",
    "passages",
    "mirror",
    "admin",
)
_OPENING = re.compile(r"^-- (name|fragment): (\w+)\s*$")
_PLACEHOLDER = re.compile(r"(?<!:):(\w+)")


@dataclass(frozen=True)
class NamedQuery:
    """A statement with numbered or named parameters, as its engine wants them."""

    name: str
    text: str
    system: bool
    """True if it is meant to see all scopes, for work of the engine itself."""
    names: tuple[str, ...] = ()
    """The names of its parameters, in the order in which they first appear."""


def load_queries(engine: EngineName) -> dict[str, NamedQuery]:
    """Return all queries of an engine by name."""
    fragments: dict[str, str] = {}
    queries: dict[str, NamedQuery] = {}
    for source in (*SHARED, engine):
        for kind, query in _split_blocks((SQL / f"{source}.sql").read_text("utf-8")):
            if kind == "fragment":
                fragments[query.name] = query.text
            else:
                queries[query.name] = query
    return {name: _resolve_query(query, fragments, engine) for name, query in queries.items()}


def make_query(name: str, text: str, engine: EngineName) -> NamedQuery:
    """Return a statement that stands in no file, since it depends on the columns that a table has."""
    return _resolve_query(NamedQuery(name, text, system=False), {}, engine)


@cache
def expand_rows(query: NamedQuery, rows: int, same: int = 0) -> str:
    """Return an insert of one row as an insert of several rows, for SQLite, with numbers for its parameters.

    same: the number of parameters, from the first on, that have the same value in all rows and are bound once.
    """
    head, verb, values = query.text.rpartition(" VALUES ")
    own = len(query.names) - same

    def number_parameters(row: int) -> str:
        places = {name: 1 + place + (row * own if place >= same else 0) for place, name in enumerate(query.names)}
        return _PLACEHOLDER.sub(lambda found: f"?{places[found[1]]}", values)

    return f"{head}{verb}{', '.join(map(number_parameters, range(rows)))}"


def _split_blocks(source: str) -> Iterator[tuple[str, NamedQuery]]:
    # The comments above the opening line belong to the block.
    for paragraph in re.split(r"\n\s*\n", source):
        lines = paragraph.strip().splitlines()
        for number, line in enumerate(lines):
            opening = _OPENING.match(line)
            if opening:
                system = any(above.startswith("-- system:") for above in lines[:number])
                text = "\n".join(lines[number + 1 :]).strip().removesuffix(";")
                yield opening[1], NamedQuery(opening[2], text, system)
                break


def _resolve_query(query: NamedQuery, fragments: dict[str, str], engine: EngineName) -> NamedQuery:
    text = query.text
    for name, fragment in fragments.items():
        text = text.replace("{" + name + "}", fragment)
    names = tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))
    if engine == "postgres":
        text = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    return NamedQuery(query.name, text, query.system, names)
