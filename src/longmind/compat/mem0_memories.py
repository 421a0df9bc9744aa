"""One owner's memories in mem0's form, over the facts of a Longmind user.

An id of mem0 stays the same through all versions of a memory: it is that of the oldest one. Facts that were learned
from messages have their ids and metadata from the conversation that `add` has stored.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from longmind.clock import system_clock, to_micros
from longmind.compat.mem0_validation import is_expired
from longmind.context import Context
from longmind.models.atom import Atom
from longmind.models.space import MemorySpace

PAYLOAD = "mem0"
"""The key in the metadata of a conversation under which the metadata of its memories stand."""
_PREFIX = "atom_"
_PROMOTED = ("user_id", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date")
_PAGE = 500
_MOST_VERSIONS = 10_000


def to_memory_id(atom_id: str) -> str:
    """Return the id of an atom as a UUID, which programs that use mem0 expect."""
    return str(uuid.UUID(hex=atom_id.removeprefix(_PREFIX)))


def to_atom_id(memory_id: object) -> str | None:
    """Return the id of the atom that a memory's id stands for; None if it is no UUID."""
    try:
        return f"{_PREFIX}{uuid.UUID(str(memory_id)).hex}"
    except ValueError:
        return None


class OwnedMemories:
    """The memories of one owner: a user, or an agent or a run without a user."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._conversations: dict[str, dict[str, Any]] = {}

    @cached_property
    def space(self) -> MemorySpace:
        """The space of the owner, which is created on first use."""
        return self.context.memory.open_default_space()

    def find(self, memory_id: object) -> list[Atom]:
        """Return the versions of a memory, oldest first; none if this owner has no such memory, or it was deleted."""
        atom_id = to_atom_id(memory_id)
        atom = None if atom_id is None else self.context.memory.get_atom(atom_id)
        # An atom of a shared space may be read, but is no memory of this owner.
        if atom is None or atom.user_id != self.context.scope.user_id or atom.memory_space_id != self.space.id:
            return []
        versions = [atom]
        while versions[-1].superseded_by is not None and len(versions) < _MOST_VERSIONS:
            newer = self.context.memory.get_atom(versions[-1].superseded_by)
            if newer is None:
                break
            versions.append(newer)
        return versions if versions[-1].status == "ACTIVE" else []

    def list_current(self) -> Iterator[Atom]:
        """Yield the facts that hold now, the newest first."""
        cursor = None
        while True:
            page = self.context.memory.list_atoms(self.space.id, limit=_PAGE, cursor=cursor)
            yield from (atom for atom in page if atom.superseded_by is None and not _has_ended(atom))
            cursor = page.next_cursor
            if cursor is None:
                return

    def find_root(self, atom: Atom) -> Atom:
        """Return the oldest version of a memory, which gives it its id."""
        root = atom
        for _ in range(_MOST_VERSIONS):
            older = None if root.supersedes is None else self.context.memory.get_atom(root.supersedes)
            if older is None:
                return root
            root = older
        return root

    def read_fields(self, atom: Atom) -> dict[str, Any]:
        """Return the ids and the metadata of a memory."""
        fields = {**self._read_conversation(atom.source_conversation_id), **atom.metadata}
        if "role" not in fields and atom.trust in ("user", "assistant"):
            fields.setdefault("attributed_to", atom.trust)
        return fields

    def _read_conversation(self, conversation_id: str | None) -> Mapping[str, Any]:
        """Return the metadata that `add` has stored with a conversation."""
        if conversation_id is None:
            return {}
        if conversation_id not in self._conversations:
            found = self.context.conversations.get_conversation(conversation_id)
            payload = {} if found is None else found.metadata.get(PAYLOAD)
            self._conversations[conversation_id] = payload if isinstance(payload, dict) else {}
        return self._conversations[conversation_id]

    def describe(self, atom: Atom, *, score: float | None = None, with_score: bool = True) -> dict[str, Any]:
        """Return a memory as mem0 does."""
        root, fields = self.find_root(atom), self.read_fields(atom)
        item: dict[str, Any] = {
            "id": to_memory_id(root.id),
            "memory": atom.text,
            "hash": hashlib.md5(atom.text.encode(), usedforsecurity=False).hexdigest(),
            "metadata": None,
            **({"score": score} if with_score else {}),
            "created_at": to_offset_time(root.created_at),
            "updated_at": to_offset_time(atom.created_at if atom is not root else root.updated_at),
        }
        item |= {name: fields[name] for name in _PROMOTED if name in fields}
        if more := {name: value for name, value in fields.items() if name not in _PROMOTED}:
            item["metadata"] = more
        return item

    def is_shown(self, atom: Atom, *, show_expired: bool) -> bool:
        """Return whether a memory has not expired, or is shown all the same."""
        return show_expired or not is_expired(self.read_fields(atom))


def describe_history(memory_id: str, versions: list[Atom]) -> list[dict[str, Any]]:
    """Return the changes of a memory as mem0 does."""
    changes = []
    former: str | None = None
    for atom in versions:
        changes.append(
            {
                "id": to_memory_id(atom.id),
                "memory_id": memory_id,
                "old_memory": former,
                "new_memory": atom.text,
                "event": "ADD" if former is None else "UPDATE",
                "created_at": to_offset_time(versions[0].created_at),
                "updated_at": to_offset_time(atom.created_at),
                "is_deleted": False,
                "actor_id": atom.metadata.get("actor_id"),
                "role": atom.metadata.get("role"),
            }
        )
        former = atom.text
    return changes


def to_offset_time(iso: str) -> str:
    """Return a time with the offset +00:00, as `datetime.isoformat` writes it."""
    return iso.replace("Z", "+00:00")


def _has_ended(atom: Atom) -> bool:
    """Return whether a fact holds no longer."""
    return atom.valid_to is not None and to_micros(atom.valid_to) <= system_clock()
