"""Statements of recall go by keys, on a table that PostgreSQL knows nothing of yet as well."""

from __future__ import annotations

import json

import longmind
from longmind.store.database import Row, Transaction
from longmind.store.postgres.transaction import PostgresTransaction
from tests.embedder import WordsEmbedder


def test_atoms_are_read_by_their_positions_before_the_table_was_ever_analysed(postgres_url: str) -> None:
    with longmind.open(postgres_url, embedder=WordsEmbedder(dimension=2)) as engine:
        context = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        space_id = context.memory.create_memory_space("personal").id
        category = {"name": "notes", "kind": "FACT"}
        context.memory.add_atoms(space_id, [{"text": f"Number {n}.", "category": category} for n in range(20_000)])

        def plan(run: Transaction) -> list[Row]:
            assert isinstance(run, PostgresTransaction)
            atoms_at = run._queries["atoms_at"]
            text = f"EXPLAIN (ANALYZE, FORMAT JSON) {atoms_at.text}"
            values = {
                "scope_id": run.scope_id,
                "space_id": space_id,
                "positions": json.dumps([5, 17_000, 12, 19_999]),
                "revision": 2**60,
                "next_epoch": 2**61,
            }
            return run._connection.run_statement(text, [values[name] for name in atoms_at.names]).all()

        ((explained,),) = [row[0] for row in engine._database.read(context.scope, plan)]
    scans = [node for node in nodes(explained["Plan"]) if node.get("Relation Name") == "atoms"]
    assert [(scan["Index Name"], scan["Actual Rows"]) for scan in scans] == [("atoms_pkey", 1)]
    assert "position" in str(scans[0]["Index Cond"])


def nodes(plan: dict[str, object]) -> list[dict[str, object]]:
    inner = plan.get("Plans", [])
    assert isinstance(inner, list)
    return [plan, *(node for each in inner for node in nodes(each))]
