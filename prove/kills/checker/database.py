"""Check of the database without Longmind: it is sound, its tables agree, and nothing is left of the erased."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import apsw
import psycopg

from harness.integrity import find_damage
from prove.kills.checker.era import Era
from prove.kills.journal import TOKEN

Row = tuple[Any, ...]

# Rows that belong to something which is not there. Everything of a user begins with scope_id.
_ORPHANS = {
    "messages without their conversation": """
        SELECT event_id FROM events e WHERE sequence IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM conversations c WHERE c.scope_id = e.scope_id AND c.id = e.conversation_id)""",
    "atoms without their space": """
        SELECT id FROM atoms a WHERE NOT EXISTS
        (SELECT 1 FROM spaces s WHERE s.scope_id = a.scope_id AND s.id = a.space_id)""",
    "index segments without their space": """
        SELECT space_id FROM (SELECT scope_id, space_id FROM term_segments
            UNION ALL SELECT scope_id, space_id FROM vector_segments
            UNION ALL SELECT scope_id, space_id FROM fact_segments) x WHERE NOT EXISTS
        (SELECT 1 FROM spaces s WHERE s.scope_id = x.scope_id AND s.id = x.space_id)""",
    "names without their entity": """
        SELECT folded FROM entity_names n WHERE NOT EXISTS
        (SELECT 1 FROM entities e WHERE e.scope_id = n.scope_id AND e.id = n.entity_id)""",
    "links of atoms or entities that are not there": """
        SELECT atom_id FROM atom_entities l WHERE NOT EXISTS
        (SELECT 1 FROM entities e WHERE e.scope_id = l.scope_id AND e.id = l.entity_id) OR NOT EXISTS
        (SELECT 1 FROM atoms a WHERE a.scope_id = l.scope_id AND a.id = l.atom_id)""",
    "revisions without their block": """
        SELECT version FROM block_revisions r WHERE NOT EXISTS
        (SELECT 1 FROM blocks b WHERE b.scope_id = r.scope_id AND b.agent_id = r.agent_id
            AND b.block_type = r.block_type AND b.content IS NOT NULL)""",
    "summaries without their conversation": """
        SELECT conversation_id FROM rolling_summaries r WHERE NOT EXISTS
        (SELECT 1 FROM conversations c WHERE c.scope_id = r.scope_id AND c.id = r.conversation_id)""",
    "marks of extraction without their conversation": """
        SELECT conversation_id FROM extraction_marks m WHERE NOT EXISTS
        (SELECT 1 FROM conversations c WHERE c.scope_id = m.scope_id AND c.id = m.conversation_id)""",
    "conversations whose next number is not the one after the last": """
        SELECT id FROM conversations c WHERE next_sequence <> 1 + (SELECT COUNT(*) FROM events e
            WHERE e.scope_id = c.scope_id AND e.conversation_id = c.id AND e.sequence IS NOT NULL)""",
    "spaces whose places are not all taken once": """
        SELECT id FROM spaces s WHERE next_position <> (SELECT COUNT(*) FROM (
            SELECT position FROM atoms a WHERE a.scope_id = s.scope_id AND a.space_id = s.id
            UNION SELECT position FROM atom_removals r WHERE r.scope_id = s.scope_id AND r.space_id = s.id) p)""",
    "spaces whose words are not all in the index": """
        SELECT id FROM spaces s WHERE next_position <> (SELECT COALESCE(SUM(atoms), 0) FROM term_segments t
            WHERE t.scope_id = s.scope_id AND t.space_id = s.id)""",
    "atoms whose vectors are not in the index": """
        SELECT a.id FROM atoms a JOIN spaces s ON s.scope_id = a.scope_id AND s.id = a.space_id
        WHERE s.vector_model IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vector_segments v
            WHERE v.scope_id = a.scope_id AND v.space_id = a.space_id AND v.model = s.vector_model
            AND a.position >= v.first AND a.position < v.first + v.atoms)""",
    "events at one place of the ledger": "SELECT position FROM events GROUP BY position HAVING COUNT(*) > 1",
    "messages of one number": """
        SELECT conversation_id FROM events WHERE sequence IS NOT NULL
        GROUP BY scope_id, conversation_id, sequence HAVING COUNT(*) > 1""",
    "one key twice in a conversation": """
        SELECT idempotency_key FROM events WHERE idempotency_key IS NOT NULL
        GROUP BY scope_id, conversation_id, idempotency_key HAVING COUNT(*) > 1""",
    "chains of the audit that do not end where their head says": """
        SELECT h.seq FROM tool_audit_heads h WHERE h.seq <> (SELECT COUNT(*) FROM tool_audit a
            WHERE a.scope_id = h.scope_id AND a."group" = h."group")""",
    "lines of the audit without a head": """
        SELECT a.seq FROM tool_audit a WHERE NOT EXISTS
        (SELECT 1 FROM tool_audit_heads h WHERE h.scope_id = a.scope_id AND h."group" = a."group")""",
}


class Tables:
    """The rows of a database, read by SQL."""

    def __init__(self, url: str) -> None:
        self._sqlite: apsw.Connection | None = None
        if url.startswith("sqlite:///"):
            self._sqlite = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
        else:
            self._postgres = psycopg.connect(url, autocommit=True, options="-c search_path=longmind,public")

    def rows(self, query: str) -> list[Row]:
        if self._sqlite is not None:
            return [tuple(row) for row in self._sqlite.execute(query)]
        return self._postgres.execute(query.encode()).fetchall()

    def names(self) -> list[str]:
        if self._sqlite is not None:
            found = self.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        else:
            found = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'longmind'")
        return sorted(name for (name,) in found)

    def close(self) -> None:
        (self._sqlite or self._postgres).close()


def wrong_tables(url: str, eras: Mapping[str, Sequence[Era]], gone: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the database as a whole, and what it still holds of erased users."""
    yield from find_damage(url)
    with closing(Tables(url)) as tables:
        for what, query in _ORPHANS.items():
            if found := tables.rows(query):
                yield f"{what}: {found[:5]}"
        yield from _wrong_chains(tables)
        yield from _traces(tables, eras, gone)


def count_restarted_jobs(url: str) -> dict[str, int]:
    """Return the number of jobs of each kind that were begun more than once, since their workers were killed."""
    with closing(Tables(url)) as tables:
        return dict(tables.rows("SELECT kind, COUNT(*) FROM jobs WHERE attempts > 1 GROUP BY kind ORDER BY kind"))


def _wrong_chains(tables: Tables) -> Iterator[str]:
    """Check that the hash of each line of the audit covers the line before it, from the first on."""
    before: dict[tuple[str, str], str] = {}
    lines = tables.rows('SELECT scope_id, "group", seq, body, hash FROM tool_audit ORDER BY scope_id, "group", seq')
    for scope_id, group, seq, body, hash in lines:
        text = "\n".join((scope_id, group, str(seq), before.get((scope_id, group), ""), body))
        if hashlib.sha256(text.encode()).hexdigest() != hash:
            yield f"line {seq} of the audit of {group} does not follow the one before it"
        before[scope_id, group] = hash
    for scope_id, group, hash in tables.rows('SELECT scope_id, "group", hash FROM tool_audit_heads WHERE seq > 0'):
        if before.get((scope_id, group)) != hash:
            yield f"the audit of {group} does not end where its head says"


def _traces(tables: Tables, eras: Mapping[str, Sequence[Era]], gone: Collection[str]) -> Iterator[str]:
    """Check that no row mentions an operation that was refused or erased, or a user that was erased."""
    named = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in gone) or r"(?!)")
    for table in tables.names():
        for row in tables.rows(f'SELECT * FROM "{table}"'):
            text = json.dumps(row, default=lambda value: bytes(value).decode("latin-1"))
            if found := named.search(text):
                yield f"{table} mentions {found[0]}, a removed user"
            for user, number in TOKEN.findall(text):
                if user in eras and not any(era.may_be_there(int(number)) for era in eras[user]):
                    yield f"{table} mentions {user}n{number}, which was erased or refused"
