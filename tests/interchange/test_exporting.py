"""Export in the notations of other products, and the way back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import longmind
from longmind import Atom, Context, Engine
from longmind.errors import InvalidInput
from longmind.interchange import EXPORT_FORMATS, apply_import, export_memory

WRITTEN = "2024-05-06T07:08:09.000000Z"


def _bob(engine: Engine) -> Context:
    return engine.context(tenant_id="acme", app_id="support", user_id="bob")


def _remember(ctx: Context) -> None:
    space = ctx.memory.open_default_space()
    peanuts = {
        "text": "Ada is allergic to peanuts.",
        "category": {"name": "health", "kind": "FACT"},
        "importance": 5,
        "created_at": WRITTEN,
        "tags": ["food", "safety"],
        "metadata": {"team": "kitchen", "n": 1},
        "trust": "user",
    }
    graz = {
        "text": "Ada lives in Graz -->\nwith  a cat <!-- and a dog -->.",
        "category": {"name": "home", "kind": "EPISODE"},
        "created_at": WRITTEN,
        "valid_from": "2020-01-01",
        "valid_to": "2024-01-01",
    }
    rule = {"text": "Never use tabs.", "category": {"name": "rule", "kind": "RULE"}, "confidence": 0.5}
    ctx.memory.add_atoms(space.id, [peanuts, graz, rule])
    old = ctx.memory.add_atom(space.id, {"text": "Ada works at Initech.", "category": {"name": "work", "kind": "FACT"}})
    ctx.memory.supersede_atom(old.id, {"text": "Ada works at Globex.", "category": {"name": "work", "kind": "FACT"}})
    talk = ctx.conversations.create_conversation("chat", title="Hello")
    ctx.conversations.append_turn(
        talk.id, user_content="Hello.", assistant={"content": "Hello, Ada.", "model": "m-1"}, created_at=WRITTEN
    )
    ctx.conversations.append_user_message(talk.id, "A secret note.", visibility="hidden")


def _export(ctx: Context, name: str) -> str:
    file = io.BytesIO()
    export_memory(ctx, file, name)
    return file.getvalue().decode()


def _facts(ctx: Context) -> dict[str, Atom]:
    space = ctx.memory.open_default_space()
    return {atom.text: atom for atom in ctx.memory.list_atoms(space.id, status=None)}


def _core(atom: Atom) -> dict[str, Any]:
    """The parts of a fact that every way back keeps."""
    fields = ("text", "category", "importance", "trust", "tags", "valid_from", "valid_to", "created_at")
    plain = {name: getattr(atom, name) for name in fields}
    own = {name: value for name, value in atom.metadata.items() if not name.startswith("import_") and name != "space"}
    return {**plain, "metadata": own}


def test_json_lines_bring_everything_back_to_another_user(engine: Engine, ctx: Context, tmp_path: Path) -> None:
    _remember(ctx)
    file = tmp_path / "ada.jsonl"
    report = export_memory(ctx, file, "jsonl")
    assert (report.facts, report.conversations) == (5, 1)
    assert file.stat().st_mode & 0o077 == 0
    bob = _bob(engine)
    apply_import(bob, file, "jsonl")
    ours, theirs = _facts(ctx), _facts(bob)
    assert theirs.keys() == ours.keys()
    for text, atom in ours.items():
        assert _core(theirs[text]) == _core(atom)
        assert theirs[text].confidence == atom.confidence
    [talk] = bob.conversations.list_conversations()
    messages = bob.conversations.get_messages(talk.id)
    assert [(each.role, each.text, each.created_at, each.model) for each in messages] == [
        ("user", "Hello.", WRITTEN, None),
        ("assistant", "Hello, Ada.", WRITTEN, "m-1"),
    ]
    assert "secret" not in file.read_text()
    # Exported once more and imported again, nothing is new.
    assert apply_import(bob, file, "jsonl").facts_new == 0


def test_markdown_is_readable_and_brings_the_facts_back(engine: Engine, ctx: Context, tmp_path: Path) -> None:
    _remember(ctx)
    text = _export(ctx, "markdown")
    assert "## health\n\n- Ada is allergic to peanuts. <!-- longmind {" in text
    assert "*(until 2024-01-01)*" in text
    file = tmp_path / "ada.md"
    file.write_text(text, encoding="utf-8")
    bob = _bob(engine)
    assert apply_import(bob, file, "markdown").facts_new == 5
    ours, theirs = _facts(ctx), _facts(bob)
    assert {name: _core(atom) for name, atom in theirs.items()} == {name: _core(atom) for name, atom in ours.items()}
    # Without the comments, as a person may hand it on, the statements are there all the same.
    plain = tmp_path / "plain.md"
    plain.write_text("## health\n\n- Ada is allergic to peanuts.\n")
    assert apply_import(bob, plain, "markdown").facts_new == 1


def test_mem0_gets_what_holds_now_and_gives_it_back(engine: Engine, ctx: Context, tmp_path: Path) -> None:
    _remember(ctx)
    document = json.loads(_export(ctx, "mem0"))
    memories = {each["memory"]: each for each in document["results"]}
    assert memories.keys() == {"Ada is allergic to peanuts.", "Never use tabs.", "Ada works at Globex."}
    peanuts = memories["Ada is allergic to peanuts."]
    assert peanuts["user_id"] == "ada"
    assert peanuts["metadata"] == {"team": "kitchen", "n": 1, "category": "health"}
    assert peanuts["categories"] == ["food", "safety"]
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps(document))
    bob = _bob(engine)
    assert apply_import(bob, file, "mem0").facts_new == 3
    back = _facts(bob)["Ada is allergic to peanuts."]
    assert (back.created_at, back.category.name) == (WRITTEN, "health")


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_an_empty_memory_is_exported_as_a_file_that_can_be_read(engine: Engine, name: str) -> None:
    text = _export(engine.context(tenant_id="acme", app_id="support", user_id="nobody"), name)
    if name == "mem0":
        assert json.loads(text) == {"results": []}
    else:
        assert "- " not in text


def test_an_export_never_replaces_a_file_and_a_failed_one_leaves_none(ctx: Context, tmp_path: Path) -> None:
    file = tmp_path / "ada.jsonl"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match="cannot be created"):
        export_memory(ctx, file, "jsonl")
    assert file.read_text() == "mine"
    with pytest.raises(InvalidInput, match="format is 'csv'"):
        export_memory(ctx, tmp_path / "a.csv", "csv")
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith("memory.db")] == ["ada.jsonl"]


def test_a_long_conversation_is_exported_whole_and_in_order(tmp_path: Path) -> None:
    with longmind.open(f"sqlite:///{tmp_path}/m.db", embedder=None) as engine:
        ctx = engine.context(tenant_id="acme", app_id="support", user_id="ada")
        given = [{"role": "user", "content": f"message {number}"} for number in range(1_234)]
        ctx.conversations.append_messages(given, namespace="chat")
        [line] = _export(ctx, "jsonl").splitlines()
        texts = [each["content"][0]["text"] for each in json.loads(line)["messages"]]
        assert texts == [f"message {number}" for number in range(1_234)]


@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_an_export_that_comes_back_to_the_same_memory_adds_nothing(ctx: Context, name: str, tmp_path: Path) -> None:
    _remember(ctx)
    file = tmp_path / "back"
    export_memory(ctx, file, name)
    before = ctx.admin.export_user_data()
    report = apply_import(ctx, file, name)
    assert (report.facts_new, report.facts_changed, report.messages_new) == (0, 0, 0)
    assert report.facts_known == (3 if name == "mem0" else 5)
    assert ctx.admin.export_user_data() == before


def test_a_fact_that_was_edited_in_the_file_supersedes_the_one_here(ctx: Context, tmp_path: Path) -> None:
    space = ctx.memory.open_default_space()
    fact = {"text": "Ada lives in Graz.", "category": {"name": "home", "kind": "FACT"}, "key": "home"}
    former = ctx.memory.add_atom(space.id, fact)
    file = tmp_path / "ada.md"
    file.write_text(_export(ctx, "markdown").replace("Graz", "Linz"))
    assert apply_import(ctx, file, "markdown").facts_changed == 1
    facts = _facts(ctx)
    assert facts["Ada lives in Graz."].superseded_by == facts["Ada lives in Linz."].id
    assert (facts["Ada lives in Linz."].supersedes, facts["Ada lives in Linz."].key) == (former.id, "home")
    assert apply_import(ctx, file, "markdown").facts_known == 1
    # What has changed here since the export counts more than an older file.
    ctx.memory.supersede_atom(facts["Ada lives in Linz."].id, {**fact, "text": "Ada lives in Bergen."})
    file.write_text(file.read_text().replace("Linz", "Wels"))
    assert apply_import(ctx, file, "markdown").facts_changed_here == 1
