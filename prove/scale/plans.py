"""Search for statements that read a whole table, and so take longer with more users."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import longmind
from longmind.store.database import Transaction
from longmind.store.queries import NamedQuery
from longmind.store.whole_tables.user_rows import UserTableColumns

OVER_ALL = {
    "any_access_key": "stops at the first key",
    "audit_chains": "the audit is verified, exported or rotated as a whole",
    "copy_begun": "asked once, by a copy of the whole store",
    "count_access_keys": "asked when a server starts, and by the doctor",
    "count_unbound_conversations": "asked by the doctor, of a limited number of conversations",
    "jobs_of_all_scopes": "reads the newest jobs until there are enough",
    "last_erasure": "asked before every file is read",
    "list_access_keys": "the host lists the keys of all its tenants",
    "list_owners": "an operator who has mistyped a user sees those that are called alike",
    "mirrored_users": "the mirror is rebuilt from the whole ledger",
    "owners_of_covered_conversations": "a change of embedder goes through all users with messages to embed",
    "owners_of_stale_conversations": "a sweep looks at every open conversation; to index them would slow each append",
    "queue_by_kind": "counts the jobs that are due; done ones are not in its index",
    "spaces_lacking_vectors": "a change of embedder goes through all spaces",
}
"""Statements of the host's own work that may read all rows of a table, and why that is right."""

_SMALL = {"longmind_schema", "sqlite_master", "sqlite_sequence", "events_position_seq", "pragma_table_info"}
_FEW_PAGES = 50
"""Pages up to which PostgreSQL rightly reads a whole table, until it has grown."""
_SCANNED = re.compile(r"^SCAN (\w+)")
_ONLY_THE_WALL = re.compile(
    r"^(\(\(\(InitPlan \d+\)\.col1 = [\w.]*scope_id\) OR \(\(InitPlan \d+\)\.col1 = '\*'::text\)\))?$"
)
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


def statements(engine: longmind.Engine) -> Mapping[str, NamedQuery]:
    """Return all statements of an engine, including those generated for each table."""
    database: Any = engine._database
    assert UserTableColumns(database).all
    known: Mapping[str, NamedQuery] = database._queries
    return known


def whole_reads(engine: longmind.Engine, scope: longmind.Scope, *, seldom: bool = False) -> dict[str, list[str]]:
    """Return the statements that read a whole table or index, with the tables.

    `seldom` makes PostgreSQL do so only where it must: in an empty store it would do it everywhere.
    """
    look = _find_sqlite_scans if engine._database.engine == "sqlite" else _find_postgres_scans
    found = {}
    for name, query in statements(engine).items():
        tables = engine._database.read(None if query.system else scope, look, query, seldom)
        if tables := [table for table in tables if table not in _SMALL]:
            found[name] = tables
    return found


def find_unexpected(found: Mapping[str, list[str]]) -> list[str]:
    return [f"{name} reads all of {', '.join(tables)}" for name, tables in found.items() if name not in OVER_ALL]


def index_conditions(engine: longmind.Engine, scope: longmind.Scope, name: str) -> str:
    """Return the conditions that a statement looks up in indexes; it checks all others row by row."""
    query = statements(engine)[name]
    if engine._database.engine == "sqlite":
        return " ".join(step for step in engine._database.read(scope, _steps, query) if step.startswith("SEARCH"))
    plan = engine._database.read(scope, _plan, query, True)
    return " ".join(str(node.get("Index Cond", "")) for node, _ in _nodes(plan, ""))


def steps_of(engine: longmind.Engine, name: str) -> list[str]:
    """The steps of PostgreSQL's plan for a statement of the host's."""
    plan = engine._database.read(None, _plan, statements(engine)[name], False)
    return [node["Node Type"] for node, _ in _nodes(plan, "")]


def _steps(run: Transaction, query: NamedQuery) -> list[str]:
    connection: Any = run._connection  # type: ignore[attr-defined]  # a look behind the curtain
    steps = connection.execute(f"EXPLAIN QUERY PLAN {query.text}", dict.fromkeys(query.names))
    return [step for *_, step in steps]


def _find_sqlite_scans(run: Transaction, query: NamedQuery, _seldom: bool) -> list[str]:
    connection: Any = run._connection  # type: ignore[attr-defined]  # as above
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    named = _aliases(query.text, tables)
    scanned = [found[1] for step in _steps(run, query) if (found := _SCANNED.match(step))]
    return [named[each] for each in scanned if each in named]


def _aliases(text: str, tables: set[str]) -> dict[str, str]:
    found = re.findall(r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+AS\s+(\w+))?", text)
    return {alias or table: table for table, alias in found if table in tables}


def _find_postgres_scans(run: Transaction, query: NamedQuery, seldom: bool) -> list[str]:
    plan = _plan(run, query, seldom)
    found = [node["Relation Name"] for node, above in _nodes(plan, "") if _reads_all(node, above)]
    connection: Any = run._connection  # type: ignore[attr-defined]  # as above
    return [table for table in found if seldom or _pages(connection, table) > _FEW_PAGES]


def _plan(run: Transaction, query: NamedQuery, seldom: bool) -> Mapping[str, Any]:
    connection: Any = run._connection  # type: ignore[attr-defined]  # as above
    # The generic plan for all values, which the engine's connections keep.
    numbers = {name: f"${number}" for number, name in enumerate(query.names, 1)}
    text = _PLACEHOLDER.sub(lambda found: numbers[found[1]], query.text).replace("%%", "%")
    connection.execute(f"SET enable_seqscan TO {'off' if seldom else 'on'}")
    try:
        ((explained,),) = connection.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {text}").fetchall()
    finally:
        connection.execute("RESET enable_seqscan")
    plan: Mapping[str, Any] = explained[0]["Plan"]
    return plan


def _pages(connection: Any, table: str) -> int:
    ((pages,),) = connection.execute("SELECT relpages FROM pg_class WHERE oid = to_regclass(%s)", (table,)).fetchall()
    return int(pages)


def _reads_all(node: Mapping[str, Any], above: str) -> bool:
    kind = node["Node Type"]
    if kind in ("Index Scan", "Index Only Scan"):
        # The first of an order is read and no more, unless some are passed over: the wall around a user passes over
        # none for the host.
        passes_over = not _ONLY_THE_WALL.match(node.get("Filter", ""))
        return "Index Cond" not in node and (above != "Limit" or passes_over)
    return bool(kind == "Seq Scan")


def _nodes(plan: Mapping[str, Any], above: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    yield plan, above
    # A merge of ordered partitions reads the first row of each.
    below = above if plan["Node Type"] == "Merge Append" else plan["Node Type"]
    for inner in plan.get("Plans", []):
        yield from _nodes(inner, below)
