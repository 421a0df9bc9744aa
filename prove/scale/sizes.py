"""The rows of a filled store, counted by SQL, and its size on the disk by table and index."""

from __future__ import annotations

from typing import Any

import apsw
import psycopg

from prove.scale.stores import StorePair, path_of

_OF_ATOMS = (
    "atoms", "atom_removals", "term_segments", "vector_segments", "fact_segments", "entities", "entity_names",
    "atom_entities",
)  # fmt: skip
_OF_EVENTS = ("events", "event_vectors")

_POSTGRES = """
SELECT table_class.relname::text, COALESCE(index_class.relname::text, ''),
    CASE WHEN index_class.oid IS NULL THEN pg_table_size(table_class.oid) ELSE pg_relation_size(index_class.oid) END
FROM pg_class AS table_class
LEFT JOIN LATERAL (
    SELECT NULL::oid AS indexrelid UNION ALL SELECT indexrelid FROM pg_index WHERE indrelid = table_class.oid
) AS of_table ON true
LEFT JOIN pg_class AS index_class ON index_class.oid = of_table.indexrelid
WHERE table_class.relnamespace = 'longmind'::regnamespace AND table_class.relkind = 'r'
"""

_COUNTED = {
    "users": "SELECT COUNT(DISTINCT scope_id) FROM atoms",
    "atoms": "SELECT COUNT(*) FROM atoms",
    "events": "SELECT COUNT(*) FROM events",
}


def count_rows(url: str) -> dict[str, int]:
    """Count the rows in the database, independently of the program that filled it."""
    if url.startswith("sqlite:"):
        connection = apsw.Connection(str(path_of(url)), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return {name: int(connection.execute(query).get) for name, query in _COUNTED.items()}
        finally:
            connection.close()
    with psycopg.connect(url, options="-c search_path=longmind") as postgres:
        return {name: int(row[0]) for name, query in _COUNTED.items() for row in postgres.execute(query.encode())}


def sizes(pair: StorePair) -> dict[str, Any]:
    """Return the bytes of the big store, of its parts, and of one atom and one event with all that belongs to them."""
    parts = _measure_sqlite(pair.big) if pair.engine == "sqlite" else _measure_postgres(pair.big)
    tables: dict[str, int] = {}
    for (table, _), size in parts.items():
        tables[table] = tables.get(table, 0) + size
    rows = pair.filled.rows
    total = sum(tables.values())
    atoms, events = (sum(tables.get(table, 0) for table in group) for group in (_OF_ATOMS, _OF_EVENTS))
    return {
        "total": total,
        "per user": total // rows["users"],
        "per atom": atoms // rows["atoms"],
        "per event": events // rows["events"],
        "tables": _largest(tables),
        "indexes": _largest({index: size for (_, index), size in parts.items() if index}),
    }


def _largest(sizes: dict[str, int], count: int = 12) -> dict[str, int]:
    return dict(sorted(sizes.items(), key=lambda each: -each[1])[:count])


def _measure_sqlite(url: str) -> dict[tuple[str, str], int]:
    connection = apsw.Connection(str(path_of(url)), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables: dict[Any, Any] = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master"))
        stored: Any = connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name").fetchall()
        return {(tables.get(name, name), "" if tables.get(name, name) == name else name): size for name, size in stored}
    finally:
        connection.close()


def _measure_postgres(url: str) -> dict[tuple[str, str], int]:
    with psycopg.connect(url) as connection:
        return {(table, index): size for table, index, size in connection.execute(_POSTGRES)}
