"""An export brought in elsewhere: all of it under the ids it had, or nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind.admin.user_export import hash_document
from tests.admin.conftest import KEY, bytes_of, empty, live, of
from tests.embedder import WordsEmbedder
from tests.extraction.scripted_extractor import SentenceExtractor


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, database_url: str) -> Iterator[longmind.Engine]:
    """Another database, of the other engine."""
    other = request.getfixturevalue("postgres_url" if database_url.startswith("sqlite") else "sqlite_url")
    with longmind.open(other, embedder=WordsEmbedder(), extractor=SentenceExtractor(), audit_key=KEY) as engine:
        yield engine


def readable(context: longmind.Context) -> dict[str, Any]:
    """What a person reads of an export, without the audit, which stays where it was written."""
    export = context.admin.export_user_data()
    return {name: part for name, part in export.items() if name not in ("records", "sha256", "audit")}


@pytest.mark.parametrize("form", ["document", "archive"])
def test_what_is_imported_into_the_other_engine_is_what_was_exported(
    engine: longmind.Engine, elsewhere: longmind.Engine, ada: longmind.Context, form: str, tmp_path: Path
) -> None:
    space = live(ada)
    engine.work()
    if form == "document":
        source: Any = json.loads(json.dumps(ada.admin.export_user_data()))
    else:
        source = tmp_path / "ada.zip"
        ada.admin.export_user_archive(source)
    admin = of(elsewhere, "root", capabilities={"admin"})
    imported = admin.admin.import_user_data(source, "ada")["imported"]
    assert imported["events"] > 0
    again = of(elsewhere, "ada")
    assert readable(again) == readable(ada)
    assert set(admin.admin.import_user_data(source, "ada")["imported"].values()) == {0}
    (hit, *_) = again.memory.recall_by_topic(space.id, "cat").hits
    assert hit.atom.text == "ada has a cat."
    # It can be gone on with.
    again.memory.add_atom(space.id, {"text": "A parrot too.", "category": {"name": "pets", "kind": "FACT"}})
    assert again.memory.recall_by_topic(space.id, "parrot").hits[0].atom.text == "A parrot too."
    with pytest.raises(longmind.Conflict, match="other data"):
        admin.admin.import_user_data(source, "ada")


def test_what_was_corrected_is_known_in_the_other_engine_as_it_was_believed_at_each_time(
    elsewhere: longmind.Engine, ada: longmind.Context
) -> None:
    space = ada.memory.create_memory_space("homes")
    versions: list[longmind.Atom] = []
    for city, begins in (("Oslo", "2025-01-01"), ("Rome", "2025-09-01"), ("Paris", "2025-06-01")):
        new = {"text": f"Ada lives in {city}", "category": {"name": "home", "kind": "FACT"}, "valid_from": begins}
        versions.append(
            ada.memory.supersede_atom(versions[-1].id, new) if versions else ada.memory.add_atom(space.id, new)
        )
    admin = of(elsewhere, "root", capabilities={"admin"})
    admin.admin.import_user_data(json.loads(json.dumps(ada.admin.export_user_data())), "ada")
    again = of(elsewhere, "ada").memory
    for version, home in zip(versions, ("Oslo", "Oslo", "Paris"), strict=True):
        found = again.recall_by_topic(space.id, "lives", valid_at="2025-07-01", known_at=version.created_at)
        assert [hit.atom.text for hit in found.hits] == [f"Ada lives in {home}"]
    again.delete_atom(versions[2].id)
    of(elsewhere, "ada", capabilities={"admin"}).memory.restore_atom(versions[1].id)
    assert [atom.text for atom in again.list_atoms(space.id, valid_at="2025-07-01")] == ["Ada lives in Oslo"]


def test_what_is_imported_for_another_user_is_theirs_in_every_column(
    engine: longmind.Engine, elsewhere: longmind.Engine, ada: longmind.Context
) -> None:
    live(ada)
    shared = ada.memory.create_memory_space("handbook", kind="shared")
    ada.memory.grant_space(shared.id, "bob")
    root = elsewhere.context(tenant_id="other", app_id="sales", user_id="root", capabilities={"admin"})
    root.admin.import_user_data(ada.admin.export_user_data(), "eva")
    eva = elsewhere.context(tenant_id="other", app_id="sales", user_id="eva")
    export = eva.admin.export_user_data()
    whose = {(each["tenantId"], each["appId"], each["userId"]) for each in export["conversations"] + export["atoms"]}
    assert whose == {("other", "sales", "eva")}
    assert [each["ownerId"] for each in export["grants"]] == ["eva"]
    (binding,) = eva.memory.list_bindings()
    assert isinstance(binding.conversation_scope, longmind.ConversationScope)
    assert binding.conversation_scope.user_id == "eva"
    assert eva.memory.get_memory_space(shared.id) is not None
    assert empty(of(elsewhere, "ada"))


@pytest.fixture
def mirrored(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[longmind.Engine]:
    """The same, with files that mirror its events, and events in it before."""
    other = request.getfixturevalue("postgres_url" if database_url.startswith("sqlite") else "sqlite_url")
    with longmind.open(other, embedder=WordsEmbedder(), events_jsonl_dir=str(tmp_path / "log")) as engine:
        for number in range(3):
            of(engine, "bob", session_id="monday").events.record("note", f"Of somebody else, {number}.")
        yield engine


def told(events: Any) -> list[Any]:
    """What the events of a user are asked for, without whose they are."""
    places = (events, events.at("user"), events.at("org"), events.at(bucket="week"))
    return [
        *([(event.event_id, event.text, event.inputs) for event in place.recent_persisted()] for place in places),
        events.recent_chat(),
        events.latest_state("mood"),
        [event.text for event in events.state_history("mood")],
        [event.event_id for event in events.search("door", limit=5)],
        events.load_last_summary("week")["summary"],
    ]


@pytest.mark.conforms("A9.1")
def test_events_are_found_on_the_timelines_of_whom_they_were_brought_in_for(
    engine: longmind.Engine, mirrored: longmind.Engine
) -> None:
    ada = of(engine, "ada", session_id="monday")
    for number in range(3):
        ada.events.record("note", f"Door {number} was painted.", inputs_ref=[{"number": number}])
        ada.events.record_state("mood", {"number": number})
    ada.events.record_chat_user("Which door is green?")
    ada.events.distill_long_term("week")
    ada.events.at("user").record("note", "Of the user.")
    ada.events.at("org").record("note", "Of the organisation.")
    export = ada.admin.export_user_data()
    assert export["events"][0]["inputs"] == [{"number": 0}]
    root = mirrored.context(tenant_id="other", app_id="sales", user_id="root", capabilities={"admin"})
    *_, newest = mirrored.follow(wait=False)
    root.admin.import_user_data(export, "eva")
    eva = mirrored.context(tenant_id="other", app_id="sales", user_id="eva", session_id="monday")
    assert all(told(eva.events))
    assert told(eva.events) == told(ada.events)
    # Who follows the ledger hears of all of it, in its order.
    heard = [change.event_id for change in mirrored.follow(newest.cursor, wait=False) if change.user_id == "eva"]
    assert heard == [change.event_id for change in engine.follow(wait=False)]
    lines = [json.loads(line) for file in eva.events.jsonl_files() for line in file.read_text("utf-8").splitlines()]
    assert [line["event_id"] for line in lines] == [event.event_id for event in eva.events.recent_persisted()]


def test_memory_that_was_erased_and_brought_back_is_recalled_as_it_was_then(
    engine: longmind.Engine, ada: longmind.Context, root: longmind.Context, database_url: str
) -> None:
    space = live(ada)
    fact = {"category": {"name": "n", "kind": "FACT"}}
    ada.memory.add_atom(space.id, {"text": "Before: a green door.", **fact})
    export = ada.admin.export_user_data()
    ada.memory.add_atom(space.id, {"text": "After: a red door.", **fact})
    with longmind.open(database_url, embedder=WordsEmbedder()) as other:
        # Another process that has the space in memory, and hears of nothing.
        theirs = of(other, "ada").memory
        assert len(theirs.recall_by_topic(space.id, "door").hits) > 1
        root.admin.delete_user_data("ada", confirm=True)
        root.admin.import_user_data(export, "ada")
        ada.memory.add_atom(space.id, {"text": "Now: a blue door.", **fact})
        for memory in (theirs, ada.memory):
            doors = {hit.atom.text for hit in memory.recall_by_topic(space.id, "door").hits if "door" in hit.atom.text}
            assert doors == {"Before: a green door.", "Now: a blue door."}


def broken_archives(whole: bytes) -> Iterator[tuple[str, bytes]]:
    yield "cut off", whole[: len(whole) // 2]
    yield "no archive", b"PK\x03\x04 and nothing else"
    for name, change in {
        "a path that climbs out": lambda zip: zip.writestr("../../etc/passwd", "root"),
        "an absolute path": lambda zip: zip.writestr("/tmp/evil.jsonl", "x"),
        "a file twice": lambda zip: zip.writestr("atoms.jsonl", "{}\n"),
        "a bomb": lambda zip: zip.writestr("records/evil.jsonl", b"\0" * 20_000_000, zipfile.ZIP_DEFLATED),
    }.items():
        changed = io.BytesIO(whole)
        with zipfile.ZipFile(changed, "a") as zip:
            change(zip)
        yield name, changed.getvalue()
    with zipfile.ZipFile(io.BytesIO(whole)) as zip:
        files = {name: zip.read(name) for name in zip.namelist()}
    for name, content in {
        "a changed row": {**files, "records/atoms.jsonl": files["records/atoms.jsonl"].replace(b"dog", b"cow")},
        "a row less": {**files, "records/atoms.jsonl": files["records/atoms.jsonl"].split(b"\n", 1)[1]},
        "a file less": {each: text for each, text in files.items() if each != "records/atoms.jsonl"},
        "a bomb in place of a file": {**files, "records/atoms.jsonl": b"\0" * 20_000_000},
        "no manifest": {each: text for each, text in files.items() if each != "manifest.json"},
        "another manifest": {**files, "manifest.json": files["manifest.json"].replace(b'"ada"', b'"eva"')},
    }.items():
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zip:
            for each, text in content.items():
                zip.writestr(each, text)
        yield name, packed.getvalue()


def test_what_is_not_whole_or_not_ours_is_refused_and_nothing_of_it_is_kept(
    ada: longmind.Context, root: longmind.Context
) -> None:
    live(ada)
    whole = io.BytesIO()
    ada.admin.export_user_archive(whole)
    document = ada.admin.export_user_data()
    for name, archive in broken_archives(whole.getvalue()):
        with pytest.raises(longmind.InvalidInput):
            root.admin.import_user_data(io.BytesIO(archive), "eva")
        assert empty(of_root(root, "eva")), name
    changed = json.loads(json.dumps(document))
    changed["records"]["atoms"]["rows"].pop()
    text = json.dumps(document).encode()
    for broken in (changed, {}, {"format": "longmind.user"}, {**document, "version": 3}, {**document, "records": 7}):
        with pytest.raises(longmind.InvalidInput):
            root.admin.import_user_data(broken, "eva")
    for half in (text[:-5], b"[1]", b"", b'{"a": 1'):
        with pytest.raises(longmind.InvalidInput):
            root.admin.import_user_data(io.BytesIO(half), "eva")
    with pytest.raises(longmind.InvalidInput, match="cannot be read"):
        root.admin.import_user_data("/no/such/file.zip", "eva")
    assert empty(of_root(root, "eva"))


def test_an_export_of_the_version_before_is_taken(ada: longmind.Context, elsewhere: longmind.Engine) -> None:
    live(ada)
    document = ada.admin.export_user_data()
    older = {name: value for name, value in document.items() if name != "sha256"} | {"version": 1}
    admin = of(elsewhere, "root", capabilities={"admin"}).admin
    assert admin.import_user_data({**older, "sha256": hash_document(older)}, "ada")["imported"]["atoms"] > 0
    assert not empty(of(elsewhere, "ada"))


def of_root(root: longmind.Context, user_id: str) -> Any:
    """What an administrator sees of somebody, in the manner of a context."""

    class Seen:
        class admin:
            @staticmethod
            def export_user_data() -> dict[str, Any]:
                return root.admin.export_user_data(user_id)

    return Seen


def test_an_import_that_fails_at_its_end_leaves_nothing(
    engine: longmind.Engine, ada: longmind.Context, bob: longmind.Context, root: longmind.Context
) -> None:
    live(ada)
    export = ada.admin.export_user_data()
    before = bytes_of(ada)
    # The binding, among the last to come, is there under the same id: it belongs to the app.
    with pytest.raises(longmind.Conflict, match="binding"):
        root.admin.import_user_data(export, "eva")
    assert empty(of(engine, "eva"))
    assert bytes_of(ada) == before
