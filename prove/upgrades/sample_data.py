"""Fill a database with everything that a version of Longmind can store, and print what it reports.

Versions of every age run this file: `python sample_data.py URL PACKAGE`. It imports only that package, whose name has
changed since, and checks which services exist before it uses them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from collections.abc import Sequence
from typing import Any

TENANT, APP = "acme", "support"
TOPICS = ("Where does Ada live?", "tea or coffee", "the trams of Graz")
EVENT_TOPIC = "trams of Graz"
WAITING_FACT = "I live in Trondheim and my favourite colour is teal."
AUDIT_KEY = "a key for the audit of old databases"


class SampleEmbedder:
    """An embedder without a model: texts that share words are near each other."""

    model = "test:words"
    dimension = 32

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, query: str) -> list[float]:
        vector = [0.0] * self.dimension
        for word in re.findall(r"\w+", query.casefold()) or [query]:
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest, "big") % self.dimension] += 1.0 if digest[0] % 2 else -1.0
        return vector


def to_json(value: Any) -> Any:
    """Return a value of Longmind as JSON."""
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value.model_dump(mode="json", by_alias=False) if hasattr(value, "model_dump") else value


def open_engine(url: str, package: str) -> Any:
    version = importlib.import_module(package)

    # A version refuses settings that it does not know, and is then opened without them.
    for settings in ({"embedder": SampleEmbedder(), "audit_key": AUDIT_KEY}, {"embedder": SampleEmbedder()}, {}):
        try:
            return version.open(url, **settings)
        except (TypeError, version.InvalidInput):
            continue
    raise AssertionError("it cannot be opened")


def person(engine: Any, user: str, **more: Any) -> Any:
    return engine.context(tenant_id=TENANT, app_id=APP, user_id=user, **more)


def write(engine: Any) -> dict[str, Any]:
    """Write everything that this version can store for two users, and return what it reports."""
    written = {}
    for user in ("ada", "bob"):
        ctx = person(engine, user, session_id="session-1", group="default")
        write_conversations(ctx)
        if hasattr(ctx, "memory"):
            write_memory(ctx, user)
        if hasattr(ctx, "blocks"):
            write_blocks(ctx)
        if hasattr(ctx, "tools"):
            write_with_tools(ctx)
        if hasattr(ctx, "events"):
            write_events(ctx)
        # The last jobs, so that they wait for a worker of a later version.
        ctx.jobs.enqueue("count-words", {"text": f"three words, {user}"}, unique_key="count")
        ctx.jobs.enqueue("count-words", {"text": "later"}, run_at="2099-01-01T09:00:00Z")
        written[user] = look(ctx)
        if hasattr(getattr(ctx, "admin", None), "import_user_data"):
            written[user]["export"] = ctx.admin.export_user_data()
    return {"users": written, "keys": write_keys(engine), "receipts": write_erasure(engine)}


def write_conversations(ctx: Any) -> None:
    talks = ctx.conversations
    checkin = talks.create_conversation("daily-checkin", title="Monday: ünïcödé 🗂", metadata={"mood": "good"})
    talks.append_turn(
        checkin.id,
        user_content="I moved to Graz last week.",
        assistant={"content": "How do you like it?", "model": "test", "usage": {"inputTokens": 9, "outputTokens": 5}},
        idempotency_key="turn-1",
        created_at="2026-03-02T09:30:00Z",
    )
    talks.append_user_message(checkin.id, "Where is the nearest tram?", created_at="2026-03-02T09:31:00.250Z")
    talks.append_assistant_turn(
        checkin.id, [{"type": "tool_use", "id": "call-1", "name": "map", "arguments": {"near": "Graz"}}]
    )
    talks.append_tool_result(checkin.id, "call-1", "Jakominiplatz", tool_name="map")
    talks.append_assistant_turn(checkin.id, "At Jakominiplatz.", stop_reason="end_turn")
    talks.append_system_message(checkin.id, "Internal note.")
    closed = talks.create_conversation("old-chat", title="Closed", session_id="session-1")
    talks.append_turn(closed.id, user_content="Goodbye.", assistant={"content": "See you."})
    talks.close_conversation(closed.id)
    talks.create_conversation("empty")
    if hasattr(talks, "refresh_rolling_summary"):
        talks.refresh_rolling_summary(checkin.id)


def write_memory(ctx: Any, user: str) -> None:
    memory = ctx.memory
    space = memory.create_memory_space("personal", metadata={"colour": "red"})
    graz = memory.create_entity(space.id, "PLACE", "Graz", description="A city", aliases=["Gratz"])
    town = memory.create_entity(space.id, "PLACE", "Graz town")
    name = user.capitalize()
    fact = {"name": "home", "kind": "FACT"}
    home = {"text": f"{name} lives in Vienna.", "category": fact, "valid_from": "2024-01-01T00:00:00Z"}
    before = memory.add_atom(space.id, home)
    memory.supersede_atom(
        before.id, {"text": f"{name} lives in Graz.", "category": fact, "entity_ids": [graz.id], "tags": ["city"]}
    )
    liking = {"name": "taste", "kind": "PREFERENCE"}
    memory.add_atoms(
        space.id,
        [
            {"text": f"{name} prefers tea to coffee.", "category": liking, "importance": 5, "confidence": 0.75},
            {"text": "Graz has trams.", "category": fact, "entity_ids": [graz.id, town.id]},
            {"text": f"{name} used to smoke.", "category": fact},
            {"text": "To be deleted.", "category": fact},
        ],
    )
    by_text = {atom.text: atom for atom in memory.list_atoms(space.id)}
    memory.archive_atom(by_text[f"{name} used to smoke."].id)
    memory.delete_atom(by_text["To be deleted."].id)
    memory.merge_entities(graz.id, town.id)
    # What is recalled is in the index from here on.
    memory.recall_by_topic(space.id, TOPICS[0])
    if hasattr(memory, "grant_space"):
        shared = memory.create_memory_space("of the team", kind="shared")
        memory.add_atom(shared.id, {"text": "The team meets on Tuesdays.", "category": fact})
        memory.grant_space(shared.id, "carol")
    if hasattr(memory, "create_binding"):
        write_binding(ctx)


def write_binding(ctx: Any) -> None:
    """Close a conversation whose facts then wait for extraction by a later version."""
    space = ctx.memory.create_memory_space("learned")
    ctx.memory.create_binding(
        {"namespace": "to-learn", "userId": ctx.scope.user_id},
        [space.id],
        {"extractionVersion": "v1", "onConversationClosed": True, "windowed": False, "windowTurns": 0},
    )
    talk = ctx.conversations.create_conversation("to-learn")
    ctx.conversations.append_turn(talk.id, user_content=WAITING_FACT, assistant={"content": "Noted."})
    ctx.conversations.close_conversation(talk.id)


def write_blocks(ctx: Any) -> None:
    first = ctx.blocks.update("core", "Lives in Vienna.", None)
    ctx.blocks.update("core", "Lives in Graz.\nLikes tea.", first.updated_at)
    ctx.blocks.set_sleep_time(False, idle_seconds=900.0)


def write_with_tools(ctx: Any) -> None:
    stored = ctx.tools.memory_store("preference", "Likes short answers.", ["style"])
    ctx.tools.memory_store("correction", "Likes short answers, without lists.", ["style"], supersedes=stored.id)
    ctx.tools.memory_delete(ctx.tools.memory_store("fact", "Was in Oslo once.").id)


def write_events(ctx: Any) -> None:
    ctx.events.record("build.done", {"ok": True, "seconds": 2.5}, ["ci"], text="The build of Graz is done.")
    ctx.events.record_chat("user", "The trams of Graz are late.")
    ctx.events.record_state("planner", {"step": 1})
    ctx.events.record_state("planner", {"step": 2})
    ctx.events.search(EVENT_TOPIC)
    if hasattr(ctx.events, "distill_long_term"):
        ctx.events.distill_long_term()


def write_keys(engine: Any) -> list[dict[str, Any]]:
    """Create keys and return them with their tokens, which are shown only once."""
    if not hasattr(engine, "keys"):
        return []
    phone = engine.keys.create(tenant_id=TENANT, app_id=APP, user_id="ada", name="phone", rate="5/minute")
    lost = engine.keys.create(tenant_id=TENANT, app_id=APP, any_user=True, name="lost")
    engine.keys.revoke(lost.id)
    return [{**to_json(key), "works": key.id == phone.id} for key in (phone, lost)]


def write_erasure(engine: Any) -> list[dict[str, Any]]:
    """Erase a third user, whose receipt has to hold in later versions."""
    ctx = person(engine, "eve")
    if not hasattr(getattr(ctx, "admin", None), "verify_receipt"):
        return []
    write_conversations(ctx)
    admin = person(engine, "root", capabilities={"admin"}).admin
    receipt: dict[str, Any] = admin.delete_user_data("eve", confirm=True)["receipt"]
    return [receipt]


def look(ctx: Any) -> dict[str, Any]:
    """Return the data of one user, as the running version reports it."""
    talks = list(ctx.conversations.list_conversations())
    seen: dict[str, Any] = {
        "conversations": to_json(talks),
        "messages": {
            talk.id: to_json(list(ctx.conversations.get_messages(talk.id, include_internal=True))) for talk in talks
        },
        "jobs": to_json(list(ctx.jobs.list_jobs())),
    }
    if hasattr(ctx, "memory"):
        seen["spaces"] = [look_at_space(ctx, space) for space in ctx.memory.list_memory_spaces()]
    if hasattr(ctx, "memory") and hasattr(ctx.memory, "list_bindings"):
        seen["bindings"] = to_json(list(ctx.memory.list_bindings()))
    if hasattr(ctx, "blocks"):
        seen["blocks"] = to_json(list(ctx.blocks.list()))
        seen["revisions"] = to_json(list(ctx.blocks.revisions("core")))
        seen["sleep_time"] = to_json(ctx.blocks.get_sleep_time())
    if hasattr(ctx, "tools"):
        seen["entries"] = sorted(each.content for each in ctx.tools.memory_search().results)
        # The search above is audited as well, and would find itself.
        lines = [line for line in ctx.tools.audit() if line.topic != "tool.invoke.memory_search"]
        seen["audited"] = [[line.topic, line.outcome, line.correlation] for line in lines]
    if hasattr(ctx, "events"):
        seen["events"] = to_json(ctx.events.recent_persisted(kinds=["build.done", "state.snapshot"]))
        seen["state"] = ctx.events.latest_state("planner", use_persistence=True)
        seen["found_events"] = sorted(event.text or "" for event in ctx.events.search(EVENT_TOPIC))
    return seen


def _to_hits(recall: Any) -> dict[str, Any]:
    """Return the best hit and all hits: versions may improve the order of the others."""
    texts = [hit.atom.text for hit in recall.hits]
    return {"best": texts[:1], "all": sorted(texts)}


def look_at_space(ctx: Any, space: Any) -> dict[str, Any]:
    memory = ctx.memory
    seen: dict[str, Any] = {
        "space": to_json(space),
        "atoms": to_json(list(memory.list_atoms(space.id, status=None))),
        "entities": to_json(list(memory.search_entities(space.id, "Graz"))),
        "by_topic": {topic: _to_hits(memory.recall_by_topic(space.id, topic)) for topic in TOPICS},
        "timeline": [hit.atom.text for hit in memory.recall_timeline(space.id).hits],
    }
    if seen["entities"]:
        seen["by_entity"] = [hit.atom.text for hit in memory.recall_by_entity(space.id, "GRATZ").hits]
    if hasattr(memory, "list_grants"):
        seen["grants"] = to_json(list(memory.list_grants(space.id)))
    return seen


if __name__ == "__main__":
    with open_engine(sys.argv[1], sys.argv[2]) as engine:
        print(json.dumps(write(engine), ensure_ascii=False, indent=1, sort_keys=True))
