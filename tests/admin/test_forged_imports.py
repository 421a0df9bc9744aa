"""Exports that somebody has forged: their hash is right, since anybody can reckon it, and what they tell is not."""

from __future__ import annotations

import io
import json
import zipfile
from random import Random
from typing import Any

import pytest

import longmind
from harness.operation_calls import make_direct_call
from prove.hostile_input import read_everything
from prove.hostile_input.archives import files_of, forge_documents, make_broken_archives, pack, reseal
from tests.admin.planted_words import Words, plant


@pytest.fixture
def document(engine: longmind.Engine, ctx: longmind.Context) -> dict[str, Any]:
    plant(engine, make_direct_call(ctx), "ada", Words(1))
    told: dict[str, Any] = json.loads(json.dumps(ctx.admin.export_user_data()))
    return told


def into(engine: longmind.Engine, app: str, source: Any) -> longmind.Context:
    """Import for Eva in an app of her own; gives her context."""
    root = engine.context(tenant_id="beta", app_id=app, user_id="root", capabilities={"admin"})
    root.admin.import_user_data(source, "eva")
    return engine.context(tenant_id="beta", app_id=app, user_id="eva")


def changed(document: dict[str, Any], table: str, column: str, value: Any) -> dict[str, Any]:
    part = document["records"][table]
    place = part["columns"].index(column)
    rows = [[*row[:place], value, *row[place + 1 :]] for row in part["rows"]]
    return reseal({**document, "records": {**document["records"], table: {**part, "rows": rows}}})


FORGED: tuple[tuple[str, str, Any], ...] = (
    ("conversations", "created_at", 2**63),
    ("conversations", "created_at", -(2**62)),
    ("conversations", "metadata", "[1]"),
    ("conversations", "title", "\x00"),
    ("conversations", "status", "asleep"),
    ("conversations", "namespace", None),
    ("events", "content", '[{"type": "text"}]'),
    ("events", "tags", '{"a": 1}'),
    ("atoms", "trust", "god"),
    ("atoms", "kind", "COMMAND"),
    ("atoms", "position", 2**40),
    ("atoms", "tags", "[[]]"),
    ("spaces", "next_position", 2**40),
    ("blocks", "line_times", '["x"]'),
    ("blocks", "written_by", "somebody"),
    ("term_segments", "body", {"$bytes": "AAAA"}),
    ("term_segments", "atoms", 10**9),
    ("tool_quotas", "deletes", True),
    ("atoms", "confidence", True),
)
"""A table, a column and what is none of its values."""


def test_a_value_that_no_operation_would_have_written_is_refused(
    engine: longmind.Engine, document: dict[str, Any]
) -> None:
    eva = engine.context(tenant_id="beta", app_id="forged", user_id="eva")
    for table, column, value in FORGED:
        assert document["records"][table]["rows"]
        with pytest.raises(longmind.InvalidInput):
            into(engine, "forged", changed(document, table, column, value))
    assert not any(part["rows"] for part in eva.admin.export_user_data()["records"].values())


def test_whatever_is_forged_is_refused_or_can_be_used(engine: longmind.Engine, document: dict[str, Any]) -> None:
    read_everything(into(engine, "whole", document))
    statuses = []
    for number, (_, forged) in zip(range(8), forge_documents(document, Random(5)), strict=False):
        try:
            read_everything(into(engine, f"app{number}", forged))
        except longmind.LongmindError as error:
            statuses.append(error.status)
    assert statuses
    assert max(statuses) < 500


@pytest.mark.patient
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_were_made_to_do_harm_are_refused(engine: longmind.Engine, document: dict[str, Any]) -> None:
    whole = io.BytesIO()
    engine.context(tenant_id="acme", app_id="support", user_id="ada").admin.export_user_archive(whole)
    for _, archive in make_broken_archives(whole.getvalue()):
        with pytest.raises(longmind.InvalidInput):
            into(engine, "forged", io.BytesIO(archive))
    into(engine, "forged", io.BytesIO(pack(files_of(whole.getvalue()), zipfile.ZIP_STORED)))
