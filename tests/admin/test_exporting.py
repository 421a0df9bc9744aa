"""What an export has in it: all that is kept of a user, and nothing of anybody else."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

import longmind
from tests.admin.conftest import Cli, bytes_of, live, of


@pytest.mark.conforms("A9.1", "A0.1", "A1.16")
def test_an_export_has_everything_of_the_user(engine: longmind.Engine, ada: longmind.Context) -> None:
    space = live(ada)
    engine.work()
    export = ada.admin.export_user_data()
    (conversation,) = export["conversations"]
    assert conversation["title"] == "The talk of ada"
    assert {message["visibility"] for message in conversation["messages"]} == {"user", "internal", "hidden"}
    assert [message["sequence"] for message in conversation["messages"]] == [1, 2, 3, 4]
    assert space.id in [each["id"] for each in export["spaces"]]
    assert {"ada has a dog.", "ada has a cat.", "I am ada."} <= {atom["text"] for atom in export["atoms"]}
    assert {"House of ada", "Grete"} <= {entity["canonicalName"] for entity in export["entities"]}
    assert [binding["memorySpaceIds"] for binding in export["bindings"]] == [[space.id]]
    (block,) = export["blocks"]
    assert (block["content"], [each["content"] for each in block["revisions"]]) == (
        "ada likes coffee.",
        ["ada likes tea."],
    )
    assert [each["text"] for each in export["summaries"]]
    assert {"wait", "memory.extract"} <= {job["kind"] for job in export["jobs"]}
    assert "conversation.closed" in {event["kind"] for event in export["events"]}
    assert [line["group"] for line in export["audit"]] == ["team"]
    assert export["quotas"][0]["stores"] == 1
    assert export["sleep_time"] == [{**export["sleep_time"][0], "agentId": None, "enabled": True}]
    assert json.loads(json.dumps(export)) == export


@pytest.mark.conforms("A9.1")
def test_an_export_has_spaces_that_were_put_away_and_both_ends_of_grants(
    ada: longmind.Context, bob: longmind.Context
) -> None:
    put_away = ada.memory.create_memory_space("old")
    ada.memory.add_atom(put_away.id, {"text": "Still here.", "category": {"name": "n", "kind": "FACT"}})
    ada.memory.delete_memory_space(put_away.id)
    theirs = bob.memory.create_memory_space("handbook", kind="shared")
    bob.memory.grant_space(theirs.id, "ada")
    export = ada.admin.export_user_data()
    assert "Still here." in [atom["text"] for atom in export["atoms"]]
    assert [(each["ownerId"], each["userId"]) for each in export["grants"]] == [("bob", "ada")]


@pytest.mark.conforms("A9.1", "A0.4")
def test_an_export_is_of_nobody_else_and_the_same_as_long_as_nothing_changes(
    engine: longmind.Engine, ada: longmind.Context, bob: longmind.Context
) -> None:
    live(ada)
    before = bytes_of(ada)
    live(bob)
    stranger = engine.context(tenant_id="other", app_id="support", user_id="ada")
    live(stranger)
    assert bytes_of(ada) == before
    assert "bob" not in before
    archives = [io.BytesIO(), io.BytesIO()]
    for file in archives:
        ada.admin.export_user_archive(file)
    assert archives[0].getvalue() == archives[1].getvalue()


@pytest.mark.conforms("A9.1")
def test_an_archive_says_what_the_document_says(ada: longmind.Context, tmp_path: Path) -> None:
    live(ada)
    document = ada.admin.export_user_data()
    lines = ada.admin.export_user_archive(tmp_path / "ada.zip")
    with zipfile.ZipFile(tmp_path / "ada.zip") as zip:
        atoms = [json.loads(line) for line in zip.read("atoms.jsonl").splitlines()]
        messages = [json.loads(line) for line in zip.read("messages.jsonl").splitlines()]
        events = [json.loads(line) for line in zip.read("records/events.jsonl").splitlines()]
    assert atoms == document["atoms"]
    assert messages == [each for conversation in document["conversations"] for each in conversation["messages"]]
    assert events == document["records"]["events"]["rows"]
    assert lines["atoms.jsonl"] == len(atoms)
    assert (tmp_path / "ada.zip").stat().st_mode & 0o077 == 0
    with pytest.raises(longmind.InvalidInput, match=r"cannot be created: File exists.*never replaces a file"):
        ada.admin.export_user_archive(tmp_path / "ada.zip")


@pytest.mark.patient
def test_an_archive_of_a_large_user_takes_no_more_memory_than_one_of_a_small_user(
    engine: longmind.Engine, tmp_path: Path
) -> None:
    peaks = []
    for name, atoms in (("small", 200), ("large", 1_600)):
        context = of(engine, name)
        space = context.memory.create_memory_space("facts")
        text = "A fact that is long enough to weigh something. " * 20
        context.memory.add_atoms(
            space.id, [{"text": f"{text}{n}", "category": {"name": "n", "kind": "FACT"}} for n in range(atoms)]
        )
        tracemalloc.start()
        context.admin.export_user_archive(tmp_path / f"{name}.zip")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # The larger one has eight times as much text, twice; rows are fetched a few hundred at a time.
    assert peaks[1] < 3 * peaks[0]


@pytest.mark.conforms("A9.3", "T8")
def test_the_data_of_others_is_for_administrators_and_each_look_at_it_stands_in_the_log(
    ada: longmind.Context, bob: longmind.Context, root: longmind.Context
) -> None:
    live(ada)
    for refused in (
        lambda: bob.admin.export_user_data("ada"),
        lambda: bob.admin.export_user_archive(io.BytesIO(), "ada"),
        lambda: bob.admin.delete_user_data("ada", confirm=True),
        lambda: bob.admin.import_user_data(ada.admin.export_user_data()),
    ):
        with pytest.raises(longmind.Forbidden, match="admin"):
            refused()
    assert root.admin.export_user_data("ada") == ada.admin.export_user_data()
    assert bob.admin.export_user_data("bob")["conversations"] == []


@pytest.mark.conforms("T8")
def test_the_log_tells_what_was_asked_for_and_by_its_hashes_alone_of_whom(
    ada: longmind.Context, bob: longmind.Context, root: longmind.Context, cli: Cli
) -> None:
    live(ada)
    with pytest.raises(longmind.Forbidden):
        bob.admin.export_user_data("ada")
    root.admin.export_user_data("ada")
    root.admin.delete_user_data("ada", confirm=True)
    lines = [json.loads(line) for line in cli("audit", "export").stdout.splitlines()]
    log = [line["entry"] for line in lines if line.get("userId") == "*" and "entry" in line]
    assert [(entry["topic"], entry["outcome"]) for entry in log] == [
        ("admin.export_user_data", "rejected"),
        ("admin.export_user_data", "routed"),
        ("admin.delete_user_data", "routed"),
    ]
    assert len({entry["details"]["subject"] for entry in log}) == 1
    assert [entry["source"] == log[1]["source"] for entry in log] == [False, True, True]
    assert not [name for name in ("ada", "bob", "root") if f'"{name}"' in json.dumps(log)]
    assert cli("audit", "verify").returncode == 0
