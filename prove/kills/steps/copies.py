"""Operations on copies of users: an export is imported for another user, and that user is erased again."""

from __future__ import annotations

import json
import random
from pathlib import Path

import longmind
from harness.embedder import WordsEmbedder
from prove.kills.steps.step import Ask, Given, Known, Step, StepContext, always, plain

TEMPLATES = ("wren", "finch")
"""The users of another database whose exports exist, in two forms each."""


def copy_of(user: str) -> str:
    """Return the name of a user's copy, which does not match the pattern of tokens."""
    return f"{user}-copy"


def template(folder: Path, name: str, ending: str = "json") -> Path:
    return folder / f"{name}.{ending}"


def write_templates(folder: Path) -> None:
    """Export two users who have something of everything that can be imported repeatedly."""
    for name in TEMPLATES:
        with longmind.open("sqlite:///:memory:", embedder=WordsEmbedder(), rolling_summary_turns=2) as engine:
            context = engine.context(tenant_id="elsewhere", app_id="old", user_id=name, session_id="desk")
            _live(context, name)
            engine.work()
            template(folder, name).write_text(json.dumps(context.admin.export_user_data()))
            context.admin.export_user_archive(template(folder, name, "zip"))


def _live(context: longmind.Context, name: str) -> None:
    talks, words = context.conversations, random.Random(name)
    space = context.memory.create_memory_space("songs")
    for number in range(20):
        text = f"{name} {number} sang {words.randbytes(4).hex()}"
        context.memory.add_atom(space.id, {"text": text, "category": {"name": "said", "kind": "FACT"}})
        context.events.record("song", {"number": number}, text=text, tags=[name])
    for _ in range(3):
        talk = talks.create_conversation("songs", title=name)
        for number in range(5):
            talks.append_turn(talk.id, user_content=f"{name} asked {number}", assistant={"content": f"{name} heard"})
    talks.close_conversation(talk.id)
    written = context.blocks.update("core", f"{name} sings", None)
    context.blocks.update("core", f"{name} sings well", written.updated_at)
    context.memory.create_entity(space.id, type="PERSON", canonical_name=f"Old {name}")
    context.tools.memory_store("fact", f"{name} was stored", tags=[name])


def _plan_import(ask: Ask, known: Known, by: StepContext) -> Given:
    name = by.dice.choice(TEMPLATES)
    return {"export": name, "file": str(template(known.folder, name)), "target": copy_of(by.user)}


def _import(ask: Ask, given: Given, token: str) -> Given:
    source = json.loads(Path(given["file"]).read_text())
    return _to_counts(ask("admin.import_user_data", source=source, user_id=given["target"]))


def _plan_import_file(ask: Ask, known: Known, by: StepContext) -> Given:
    given = _plan_import(ask, known, by)
    return {**given, "file": str(template(known.folder, given["export"], "zip"))}


def _import_file(ask: Ask, given: Given, token: str) -> Given:
    return _to_counts(ask("admin.import_user_data", source=given["file"], user_id=given["target"]))


def _to_counts(report: object) -> Given:
    return {"new": sum(plain(plain(report)["imported"]).values())}


def _plan_remove(ask: Ask, known: Known, by: StepContext) -> Given:
    return {"target": copy_of(by.user)}


def _remove(ask: Ask, given: Given, token: str) -> Given:
    ask("admin.delete_user_data", user_id=given["target"], confirm=True)
    return {}


STEPS = (
    Step("import", 1.5, _plan_import, _import, always),
    Step("import_file", 1.5, _plan_import_file, _import_file, always, only="process"),
    Step("remove_copy", 0.8, _plan_remove, _remove, always),
)
