"""Erasure: every row and all that was derived from them, once and for good, with a receipt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import longmind
from longmind.store.database_url import sqlite_path
from longmind.store.whole_tables.user_tables import COPIED_TABLES, KEPT_TABLES, USER_TABLES
from tests.admin.conftest import Cli, bytes_of, empty, live, of
from tests.extraction.conftest import talk
from tests.store.schema import postgres_columns, postgres_tables, sqlite_columns, sqlite_tables

EVERYBODY = {"namespace": "chat", "userId": "*"}


@pytest.mark.conforms("A9.2")
def test_an_erasure_removes_everything_and_a_second_one_finds_nothing(
    engine: longmind.Engine, ada: longmind.Context
) -> None:
    live(ada)
    engine.work()
    export = ada.admin.export_user_data()
    deleted = ada.admin.delete_user_data(confirm=True)["deleted"]
    for name in ("conversations", "spaces", "atoms", "entities", "bindings", "blocks", "jobs", "events"):
        assert deleted[name] == len(export[name]) > 0, name
    assert deleted["messages"] == 4
    rows = {name: len(table["rows"]) for name, table in export["records"].items() if name != "events"}
    assert {name: deleted[name] for name in rows} == rows
    assert empty(ada)
    assert set(ada.admin.delete_user_data(confirm=True)["deleted"].values()) == {0}
    # The user is as new.
    live(ada)
    assert len(ada.conversations.list_conversations()) == 1


@pytest.mark.conforms("A9.2")
@pytest.mark.parametrize("confirm", [False, None, "true", 1])
def test_without_confirmation_nothing_is_erased(ada: longmind.Context, confirm: Any) -> None:
    live(ada)
    before = bytes_of(ada)
    with pytest.raises(longmind.InvalidInput, match="nothing was erased"):
        ada.admin.delete_user_data(confirm=confirm)
    with pytest.raises(longmind.InvalidInput):
        ada.admin.delete_user_data()
    assert bytes_of(ada) == before


@pytest.mark.conforms("A9.3", "T8")
def test_an_administrator_erases_another_user_and_the_neighbour_is_untouched_byte_for_byte(
    engine: longmind.Engine, ada: longmind.Context, bob: longmind.Context, root: longmind.Context
) -> None:
    for each in (ada, bob):
        live(each)
    stranger = engine.context(tenant_id="other", app_id="support", user_id="ada")
    live(stranger)
    engine.work()
    before = bytes_of(bob), bytes_of(stranger)
    with pytest.raises(longmind.Forbidden):
        bob.admin.delete_user_data("ada", confirm=True)
    assert not empty(ada)
    assert root.admin.delete_user_data("ada", confirm=True)["deleted"]["conversations"] == 1
    assert empty(ada)
    assert (bytes_of(bob), bytes_of(stranger)) == before


def test_every_table_is_covered_or_said_to_hold_nothing_of_a_user(engine: longmind.Engine, database_url: str) -> None:
    if database_url.startswith("sqlite"):
        connection = apsw.Connection(sqlite_path(database_url))
        columns = {table: sqlite_columns(connection, table) for table in sqlite_tables(connection)}
        connection.close()
    else:
        with psycopg.connect(database_url) as server:
            columns = {table: postgres_columns(server, table) for table in postgres_tables(server)}
    covered = {place.table for place in USER_TABLES}
    assert columns.keys() == covered | (KEPT_TABLES.keys() - {"longmind_schema"})
    assert columns.keys() == {place.table for place in COPIED_TABLES}
    # Whatever names a user is covered, and keys are erased in a manner of their own.
    naming = {table for table, names in columns.items() if {"user_id", "owner_id"} & set(names)}
    assert naming <= covered | {"access_keys"}
    for place in COPIED_TABLES:
        assert {place.partition, *place.key, *place.order} <= set(columns[place.table])


@pytest.mark.conforms("T9", "A9.4")
def test_what_a_shared_space_has_learned_from_the_user_goes_and_what_others_said_stays(
    engine: longmind.Engine, ada: longmind.Context, bob: longmind.Context, root: longmind.Context
) -> None:
    shared = root.memory.create_memory_space("insights", kind="shared")
    root.memory.create_binding(EVERYBODY, [shared.id])
    root.memory.create_entity(shared.id, "PERSON", "Made by hand")
    talk(ada, "I met Xaver in Graz.")
    talk(bob, "I met Grete in Graz.")
    engine.work()
    root.memory.grant_space(shared.id, "ada")
    assert len(root.memory.recall_by_topic(shared.id, "Graz").hits) == 2
    deleted = root.admin.delete_user_data("ada", confirm=True)["deleted"]
    assert (deleted["shared_atoms"], deleted["shared_entities"], deleted["named_in_history"]) == (1, 1, 1)
    assert [hit.atom.text for hit in root.memory.recall_by_topic(shared.id, "Xaver Graz").hits] == [
        "I met Grete in Graz."
    ]
    names = {entity.canonical_name for entity in root.memory.search_entities(shared.id, "")}
    assert names == {"Made by hand", "Grete", "Graz"}
    assert not {'"ada"', '\\"ada\\"'} & set(re.findall(r'\\*"ada\\*"', json.dumps(root.admin.export_user_data())))
    assert root.memory.list_grants(shared.id) == []


@pytest.mark.conforms("T9")
def test_what_a_shared_space_that_was_put_away_has_of_the_user_goes_too(
    engine: longmind.Engine, ada: longmind.Context, root: longmind.Context
) -> None:
    shared = root.memory.create_memory_space("insights", kind="shared")
    root.memory.create_binding(EVERYBODY, [shared.id])
    talk(ada, "I met Xaver.")
    engine.work()
    root.memory.delete_memory_space(shared.id)
    assert root.admin.delete_user_data("ada", confirm=True)["deleted"]["shared_atoms"] == 1
    assert "Xaver" not in json.dumps(root.admin.export_user_data())


def test_an_erasure_leaves_events_of_others_as_they_were_recorded(
    ada: longmind.Context, root: longmind.Context
) -> None:
    ada.events.record("note", "Mine.")
    # Of a kind that grants are told under, and yet the words of who recorded it.
    root.events.record("space.granted", {"readerId": "ada"})
    root.events.record_raw(base={"kind": "space.revoked"})
    before = root.events.recent_persisted()
    root.admin.delete_user_data("ada", confirm=True)
    assert ada.events.recent() == []
    assert root.events.recent() == root.events.recent() == root.events.recent_persisted() == before


def test_bindings_that_name_the_user_name_only_the_others_afterwards(
    ada: longmind.Context, root: longmind.Context
) -> None:
    space = root.memory.create_memory_space("insights", kind="shared")
    both = root.memory.create_binding(
        [{"namespace": "chat", "userId": "ada"}, {"namespace": "chat", "userId": "bob"}], [space.id]
    )
    root.memory.create_binding({"namespace": "mail", "userId": "ada"}, [space.id])
    assert root.admin.delete_user_data("ada", confirm=True)["deleted"]["named_in_bindings"] == 2
    (left,) = root.memory.list_bindings()
    assert left.id == both.id
    assert [member.user_id for member in left.members] == ["bob"]
    assert empty(ada)


def test_a_receipt_is_proven_by_the_log_and_no_other_is(
    ada: longmind.Context, bob: longmind.Context, root: longmind.Context, cli: Cli
) -> None:
    live(ada)
    receipt = ada.admin.delete_user_data(confirm=True)["receipt"]
    assert receipt["counts"]["conversations"] == 1
    assert len(receipt["audit"]) == 1
    root.admin.delete_user_data("bob", confirm=True)
    assert root.admin.verify_receipt(json.loads(json.dumps(receipt)))
    for changed in (
        {"id": "era_none"},
        {"counts": {**receipt["counts"], "atoms": 99}},
        {"subject": "somebody else"},
        {"hash": "0" * 64},
        {"seq": 2},
    ):
        assert not root.admin.verify_receipt({**receipt, **changed})
    assert '"ada"' not in json.dumps(receipt)
    assert cli("audit", "verify").returncode == 0


def test_a_log_that_somebody_has_changed_proves_nothing(
    sqlite_url: str,
) -> None:
    with longmind.open(sqlite_url, embedder="none", audit_key="secret") as engine:
        ada = of(engine, "ada")
        live(ada)
        receipt = ada.admin.delete_user_data(confirm=True)["receipt"]
    connection = apsw.Connection(sqlite_path(sqlite_url))
    connection.execute("UPDATE tool_audit SET body = replace(body, '\"conversations\":1', '\"conversations\":7')")
    connection.close()
    with longmind.open(sqlite_url, embedder="none", audit_key="secret") as engine:
        ada = of(engine, "ada")
        assert not ada.admin.verify_receipt(receipt)
        assert not ada.admin.verify_receipt({**receipt, "counts": {**receipt["counts"], "conversations": 7}})


def test_files_that_cannot_be_removed_cost_nobody_the_receipt_and_are_told_of(sqlite_url: str, tmp_path: Path) -> None:
    log, away = tmp_path / "log", tmp_path / "away"
    with longmind.open(sqlite_url, embedder="none", events_jsonl_dir=str(log)) as engine:
        ada, bob = of(engine, "ada"), of(engine, "bob")
        for each in (ada, bob):
            each.events.record("note", f"{each.scope.user_id} met Xaver.")
        # A disk that is not there.
        log.rename(away)
        log.write_text("")
        erased = ada.admin.delete_user_data(confirm=True)
        assert empty(ada)
        assert erased["deleted"]["events"] == 1
        assert ada.admin.verify_receipt(erased["receipt"])
        assert erased["physical"]["done"] is False
        assert "JSONL files of the user remain" in erased["physical"]["left"]
        log.unlink()
        away.rename(log)
        assert len(ada.events.jsonl_files()) == 1
        again = ada.admin.delete_user_data(confirm=True)["physical"]
        assert (again["done"], again["left"]) == (True, None)
        assert (len(ada.events.jsonl_files()), len(bob.events.jsonl_files())) == (0, 1)
