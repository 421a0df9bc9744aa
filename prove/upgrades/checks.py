"""Checks that this version finds everything in an old database, and continues with it.

Each function returns its problems in words; an empty list means that there are none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import longmind
from longmind.audit.verification import verify
from longmind.language.words import terms_of
from longmind.store.triggers.passage_requests import FIRST_KIND
from prove.upgrades.sample_data import (
    APP,
    AUDIT_KEY,
    EVENT_TOPIC,
    TENANT,
    WAITING_FACT,
    SampleEmbedder,
    look,
    person,
)

Manifest = dict[str, Any]
Problems = list[str]


def open_now(url: str) -> longmind.Engine:
    return longmind.open(url, embedder=SampleEmbedder(), audit_key=AUDIT_KEY)


def find_lost(engine: longmind.Engine, manifest: Manifest) -> Problems:
    """Return what the old version reported about every user, and this one does not."""
    problems: Problems = []
    for user, before in manifest["users"].items():
        ctx = _session(engine, user)
        now = look(ctx)
        if "export" in before:
            now["export"] = _select_lasting(ctx.admin.export_user_data())
            before = {**before, "export": _select_lasting(before["export"])}
            now["export"]["records"] = _drop_new_columns(now["export"]["records"], before["export"]["records"])
        problems += [f"{user}: {each}" for each in differences(_drop_chance(before), _drop_chance(now), "")]
    admin = person(engine, "root", capabilities={"admin"}).admin
    for receipt in manifest.get("receipts", ()):
        if not admin.verify_receipt(receipt):
            problems.append(f"the receipt {receipt['id']} does not hold")
    return problems + [f"audit: {each}" for each in verify(engine._database, AUDIT_KEY).problems]


def _select_lasting(export: Manifest) -> Manifest:
    """Leave out of an export what looking at the data adds, its audit and the job for passages, and format marks."""
    lasting = {name: value for name, value in export.items() if name not in ("audit", "format", "sha256", "version")}
    lasting["jobs"] = [job for job in lasting["jobs"] if not job["kind"].startswith(FIRST_KIND)]
    records = {name: rows for name, rows in lasting["records"].items() if not name.startswith("tool_audit")}
    jobs, kind = records["jobs"], records["jobs"]["columns"].index("kind")
    records["jobs"] = {**jobs, "rows": [row for row in jobs["rows"] if not row[kind].startswith(FIRST_KIND)]}
    return {**lasting, "records": records}


def _drop_new_columns(records: Manifest, before: Manifest) -> Manifest:
    """Leave out of exported rows the columns that the old version did not have."""
    kept = dict(records)
    for name in records.keys() & before.keys():
        columns = before[name]["columns"]
        places = [records[name]["columns"].index(each) for each in columns]
        rows = [[row[place] for place in places] for row in records[name]["rows"]]
        kept[name] = {**records[name], "columns": columns, "rows": rows}
    return kept


def _drop_chance(seen: Manifest) -> Manifest:
    """Leave out the results that a search has only by the chance likenesses of the sample embedder.

    Versions weigh likeness in other ways, so they differ there: in which hit comes first where none has all words of
    the topic, and in which events are found that have none of them. All hits together are still compared.
    """
    seen = dict(seen)
    if "found_events" in seen:
        topic = set(terms_of(EVENT_TOPIC))
        seen["found_events"] = [text for text in seen["found_events"] if topic & set(terms_of(text))]
    if "spaces" in seen:
        seen["spaces"] = [_drop_chance_hits(space) for space in seen["spaces"]]
    return seen


def _drop_chance_hits(space: Manifest) -> Manifest:
    by_topic = {
        topic: {**hits, "best": [text for text in hits["best"] if set(terms_of(topic)) <= set(terms_of(text))]}
        for topic, hits in space["by_topic"].items()
    }
    return {**space, "by_topic": by_topic}


def differences(before: Any, now: Any, where: str) -> Iterator[str]:
    """Yield where `now` lacks something of `before`; it may have more fields, but no more items."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before:
            if name in now:
                yield from differences(before[name], now[name], f"{where}.{name}")
            else:
                yield f"{where}.{name} is gone"
    elif isinstance(before, list) and isinstance(now, list | tuple) and len(before) == len(now):
        for index, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from differences(old, new, f"{where}[{index}]")
    elif before != now:
        yield f"{where} was {before!r} and is {now!r}"


def find_unwritable(engine: longmind.Engine, manifest: Manifest) -> Problems:
    """Return the parts that do not continue: conversations, memory, blocks, quotas and keys."""
    seen = manifest["users"]["ada"]
    ctx = _session(engine, "ada")
    checks: dict[str, Callable[[Any, Manifest], bool]] = {
        "conversations": _turns_go_on,
        "spaces": _memory_goes_on,
        "bindings": _messages_are_quoted,
        "blocks": _blocks_go_on,
        "entries": _quotas_go_on,
    }
    problems = [f"{part} do not go on" for part, goes_on in checks.items() if part in seen and not goes_on(ctx, seen)]
    return problems + ([] if _keys_go_on(engine, manifest["keys"]) else ["keys do not go on"])


def find_undone(engine: longmind.Engine, manifest: Manifest) -> Problems:
    """Return the jobs that the old version queued and this one does not finish."""
    engine.register_job("count-words", lambda run: {"words": len(run.job.payload["text"].split())})
    report = engine.work()
    problems = [] if (report.failed, report.dead, report.lost) == (0, 0, 0) else [f"the work ended with {report}"]
    for user, seen in manifest["users"].items():
        ctx = person(engine, user)
        for old in seen["jobs"]:
            job = ctx.jobs.get_job(old["id"])
            expected = "queued" if (job.due_at or "").startswith("2099") else "succeeded"
            if job.status != expected:
                problems.append(f"{user}'s {job.kind} is {job.status}: {job.error}")
        problems += [f"{user}: {text} was not learned" for text in _find_unlearned(ctx, seen)]
    return problems


def _find_unlearned(ctx: Any, seen: Manifest) -> list[str]:
    learned = [each["space"]["id"] for each in seen.get("spaces", ()) if each["space"]["name"] == "learned"]
    texts = [atom.text for space in learned for atom in ctx.memory.list_atoms(space)]
    return [word for word in ("Trondheim", "teal") if learned and not any(word in text for text in texts)]


def find_unmoved(engine: longmind.Engine, manifest: Manifest) -> Problems:
    """Export the old data, import it elsewhere, and return what is missing there."""
    admin = person(engine, "root", capabilities={"admin"})
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "ada.zip"
        admin.admin.export_user_archive(str(archive), "ada")
        with open_now(f"sqlite:///{folder}/elsewhere.db") as other:
            person(other, "root", capabilities={"admin"}).admin.import_user_data(str(archive), "ada")
            here, there = look(_session(engine, "ada")), look(_session(other, "ada"))
    # The audit belongs to the database in which it was written.
    here.pop("audited", None)
    return list(differences(here, there, "elsewhere"))


def find_unimported(engine: longmind.Engine, manifest: Manifest) -> Problems:
    """Import exports of the old version into a new database, and return what is missing there."""
    problems: Problems = []
    with tempfile.TemporaryDirectory() as folder, open_now(f"sqlite:///{folder}/imported.db") as other:
        for user, before in manifest["users"].items():
            if "export" in before:
                person(other, "root", capabilities={"admin"}).admin.import_user_data(before["export"], user)
                expected = {part: value for part, value in before.items() if part not in ("export", "audited")}
                now = look(_session(other, user))
                problems += differences(_drop_chance(expected), _drop_chance(now), f"{user}, imported")
    return problems


def find_unerased(engine: longmind.Engine, manifest: Manifest) -> Problems:
    """Erase a user, and return what is left of it and what the other user lost."""
    admin = person(engine, "root", capabilities={"admin"})
    kept = look(_session(engine, "bob"))
    erased = admin.admin.delete_user_data("ada", confirm=True)
    problems = [] if admin.admin.verify_receipt(erased["receipt"]) else ["the receipt does not hold"]
    messages = sum(map(len, manifest["users"]["ada"]["messages"].values()))
    if erased["deleted"]["messages"] < messages:
        problems.append(f"{erased['deleted']['messages']} of {messages} messages were erased")
    left = look(_session(engine, "ada"))
    problems += [
        f"{part} of ada are left" for part in ("conversations", "jobs", "spaces", "blocks", "events") if left[part]
    ]
    return problems + [f"bob: {each}" for each in differences(kept, look(_session(engine, "bob")), "")]


def _session(engine: longmind.Engine, user: str) -> Any:
    return person(engine, user, session_id="session-1", group="default")


def _turns_go_on(ctx: Any, seen: Manifest) -> bool:
    talk = next(each for each in seen["conversations"] if each["namespace"] == "daily-checkin")
    closed = next(each for each in seen["conversations"] if each["status"] == "closed")
    before = seen["messages"][talk["id"]]
    again = ctx.conversations.append_turn(
        talk["id"],
        user_content="I moved to Graz last week.",
        assistant={"content": "How do you like it?", "model": "test", "usage": {"inputTokens": 9, "outputTokens": 5}},
        idempotency_key="turn-1",
        created_at="2026-03-02T09:30:00Z",
    )
    added = ctx.conversations.append_user_message(talk["id"], "And it still works.")
    try:
        ctx.conversations.append_user_message(closed["id"], "Too late.")
    except longmind.ConversationClosed:
        refused = True
    else:
        refused = False
    # The same turn again is the same message, and another answer to it.
    asked, answer = again.user_message, again.assistant_message
    same = (asked.id, asked.replayed, answer.attempt) == (before[0]["id"], True, 2)
    return refused and same and bool(added.sequence == before[-1]["sequence"] + 2)


def _memory_goes_on(ctx: Any, seen: Manifest) -> bool:
    space = next(each["space"]["id"] for each in seen["spaces"] if each["space"]["name"] == "personal")
    added = ctx.memory.add_atom(space, {"text": "Ada rows on the Mur.", "category": {"name": "sport", "kind": "FACT"}})
    changed = ctx.memory.supersede_atom(
        added.id, {"text": "Ada swims in the Mur.", "category": {"name": "sport", "kind": "FACT"}}
    )
    hits = [hit.atom.id for hit in ctx.memory.recall_by_topic(space, "What does Ada do in the Mur?").hits]
    return changed.id in hits and added.id not in hits


def _messages_are_quoted(ctx: Any, seen: Manifest) -> bool:
    """Return whether a message from before there were passages is one now."""
    space = next(each["space"]["id"] for each in seen["spaces"] if each["space"]["name"] == "learned")
    return WAITING_FACT in [passage.text for passage in ctx.memory.recall_by_topic(space, WAITING_FACT).passages]


def _blocks_go_on(ctx: Any, seen: Manifest) -> bool:
    old = next(each for each in seen["blocks"] if each["block_type"] == "core")
    new = ctx.blocks.update("core", "Lives in Graz, by the Mur.", old["updated_at"])
    try:
        ctx.blocks.update("core", "Too late.", old["updated_at"])
    except longmind.BlockConflict:
        return bool(new.version == old["version"] + 1)
    return False


def _quotas_go_on(ctx: Any, seen: Manifest) -> bool:
    """Return whether quotas continue: the old version counted three stores, one supersession and one deletion."""
    before = ctx.admin.export_user_data()["quotas"]
    ctx.tools.memory_store("fact", "Plays the violin.")
    after = ctx.admin.export_user_data()["quotas"]
    counted = [(each["stores"], each["supersedes"], each["deletes"]) for each in (*before, *after)]
    return counted == [(3, 1, 1), (4, 1, 1)]


def _keys_go_on(engine: longmind.Engine, keys: list[Manifest]) -> bool:
    for key in keys:
        try:
            works = engine.keys.check(key["token"]).id == key["id"]
        except longmind.Unauthenticated:
            works = False
        if works != key["works"]:
            return False
    return len(engine.keys.list(tenant_id=TENANT, app_id=APP)) == len(keys)
