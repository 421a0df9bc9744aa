"""The three ways in which `add` of mem0's face writes: learn from messages, keep them, or keep the steps of an agent.

Each returns the memories that have changed, as mem0 does.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from longmind.clock import to_micros
from longmind.compat.mem0_memories import PAYLOAD, OwnedMemories, to_memory_id
from longmind.conversations.conversation_archive import ArchivedConversation, ArchivedMessage, ConversationArchive
from longmind.errors import Conflict
from longmind.interchange.readers.chat_content import read_text
from longmind.memory.default_space import DEFAULT_NAMESPACE
from longmind.models.decision import AtomDecision
from longmind.store.triggers.extraction_requests import EXTRACT

_CATEGORY = {"name": "memory", "kind": "FACT"}
_log = logging.getLogger("longmind.compat")

Turn = dict[str, Any]
"""A message with its role, its words and perhaps the name of its speaker."""
Change = dict[str, Any]
"""A memory that has changed, as `add` returns it."""


def list_turns(messages: list[Any]) -> list[Turn]:
    """Return the messages that have a role and words; of content blocks, the texts."""
    turns = []
    for message in messages:
        if not isinstance(message, dict) or message.get("role") is None or message.get("content") is None:
            _log.warning("a message without role or content is left out")
            continue
        if text := read_text(message["content"]):
            turns.append({**message, "content": text})
    return turns


def keep_raw(owned: OwnedMemories, turns: list[Turn], fields: Mapping[str, Any]) -> list[Change]:
    """Keep messages as memories, word for word."""
    kept = [turn for turn in turns if turn["role"] != "system"]
    atoms = [
        {
            "text": turn["content"],
            "category": _CATEGORY,
            "trust": "assistant" if turn["role"] == "assistant" else "user",
            "metadata": {**fields, "role": turn["role"], **_name_actor(turn)},
        }
        for turn in kept
    ]
    return [
        {
            "id": to_memory_id(atom.id),
            "memory": atom.text,
            "event": "ADD",
            "actor_id": turn.get("name"),
            "role": turn["role"],
        }
        # A bulk, which adds what is known already as another memory: so does mem0.
        for atom, turn in zip(owned.context.memory.add_atoms(owned.space.id, atoms), kept, strict=True)
    ]


def keep_steps(owned: OwnedMemories, turns: list[Turn], fields: Mapping[str, Any]) -> list[Change]:
    """Keep the steps of an agent as one memory."""
    text = "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)
    atom = {"text": text, "category": {**_CATEGORY, "name": "procedure"}, "trust": "assistant", "metadata": fields}
    added = owned.context.memory.add_atom(owned.space.id, atom)
    return [{"id": to_memory_id(added.id), "memory": added.text, "event": "ADD"}]


def learn(owned: OwnedMemories, turns: list[Turn], fields: Mapping[str, Any]) -> list[Change]:
    """Store messages as a conversation, let it be read, and return the memories that this has changed."""
    spoken = [turn for turn in turns if turn["role"] in ("user", "assistant")]
    if not spoken:
        return []
    # Opened first: its binding leads from the conversation into it.
    space = owned.space
    written = ConversationArchive(owned.context.conversations).write(
        ArchivedConversation(
            source=f"mem0:{uuid.uuid4()}",
            messages=[
                ArchivedMessage(str(number), turn["role"], turn["content"]) for number, turn in enumerate(spoken)
            ],
            metadata={PAYLOAD: dict(fields)},
        ),
        DEFAULT_NAMESPACE,
    )
    _read_now(owned, written.conversation_id)
    decisions = _list_decisions(owned, space.id, written.conversation_id)
    changes = (_describe_decision(owned, each) for each in reversed(decisions))
    return [each for each in changes if each is not None]


def _name_actor(turn: Turn) -> dict[str, Any]:
    """Return the name of the speaker as metadata, if there is one."""
    return {"actor_id": turn["name"]} if turn.get("name") else {}


def _read_now(owned: OwnedMemories, conversation_id: str) -> None:
    """Let the conversation be read in this thread, or wait for the worker that reads it."""
    for job in owned.context.jobs.list_jobs(kind=EXTRACT):
        if job.payload.get("conversationId") != conversation_id:
            continue
        try:
            ended = owned.context.jobs.run_job(job.id)
        except Conflict:
            # The engine has no extractor: the words are stored, and another engine may learn from them.
            return
        if ended.status != "succeeded":
            _log.warning("nothing was learned yet, since extraction failed: %s", ended.error)


def _list_decisions(owned: OwnedMemories, space_id: str, conversation_id: str) -> list[AtomDecision]:
    """Return the decisions that a conversation has led to, newest first."""
    conversation = owned.context.conversations.get_conversation(conversation_id)
    assert conversation is not None  # it was just written
    found: list[AtomDecision] = []
    cursor = None
    while True:
        page = owned.context.memory.list_decisions(space_id, cursor=cursor)
        found += [each for each in page if each.source_conversation_id == conversation_id]
        cursor = page.next_cursor
        # What was decided before the conversation began is not about it.
        if cursor is None or to_micros(page[-1].decided_at) < to_micros(conversation.created_at):
            return found


def _describe_decision(owned: OwnedMemories, decision: AtomDecision) -> Change | None:
    """Return the memory that a decision has changed; None if it only repeats something known."""
    atom = owned.context.memory.get_atom(decision.atom_id)
    if atom is None:
        return None
    change = {"id": to_memory_id(owned.find_root(atom).id), "memory": atom.text}
    match decision.action:
        case "add":
            return {**change, "event": "ADD"}
        case "supersede":
            former = next(iter(decision.changed_atom_ids), None)
            known = None if former is None else owned.context.memory.get_atom(former)
            return {**change, "event": "UPDATE", "previous_memory": None if known is None else known.text}
        case "end":
            return {**change, "event": "DELETE"}
        case _:
            return None
