"""The effects of jobs, read from the tables without the engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg

Database = psycopg.Connection[tuple[Any, ...]]


def list_effects(database: Database) -> Iterator[str]:
    """Yield the effects in the database, each as often as it exists."""
    for (content,) in database.execute("SELECT content FROM longmind.events WHERE content LIKE '%\"job\\_%'"):
        yield f"remark {json.loads(content)[0]['text']}"
    for (text,) in database.execute("SELECT text FROM longmind.atoms"):
        yield f"atom {text}"
    for (conversation,) in database.execute("SELECT id FROM longmind.conversations WHERE rolling_summary IS NOT NULL"):
        yield f"summary {conversation}"
    for (timeline,) in database.execute("SELECT timeline_id FROM longmind.events WHERE stage LIKE 'summary%'"):
        yield f"distillate {timeline}"
    for (change,) in database.execute("SELECT data FROM longmind.events WHERE kind LIKE 'block.%'"):
        yield f"block {json.loads(change)['agentId']}"
    for space, _ in database.execute(_VECTORS):
        yield f"vectors {space}"
    for (timeline,) in database.execute("SELECT timeline_id FROM longmind.event_vectors"):
        yield f"event vectors {timeline}"


def answers(database: Database) -> dict[str, str]:
    """Return the predictable content of those effects."""
    queries = {
        "summary": "SELECT id, rolling_summary FROM longmind.conversations WHERE rolling_summary IS NOT NULL",
        "distillate": "SELECT timeline_id, text FROM longmind.events WHERE stage LIKE 'summary%'",
        "block": "SELECT agent_id, content FROM longmind.blocks",
        "vectors": _VECTORS,
        "event vectors": "SELECT timeline_id, events FROM longmind.event_vectors",
    }
    return {f"{name} {whose}": str(text) for name, query in queries.items() for whose, text in database.execute(query)}


# Only where they were asked for by name: in a space that all conversations go to, they come in any number of pieces.
_VECTORS = """
SELECT space_id, atoms FROM longmind.vector_segments
WHERE space_id IN (SELECT id FROM longmind.spaces WHERE name LIKE 'for vectors %')
"""
