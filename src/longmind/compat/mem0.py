"""A face with the methods, arguments and answers of mem0 2.x, over Longmind.

    from longmind.compat.mem0 import Memory

    memory = Memory()
    memory.add("I am allergic to peanuts.", user_id="ada")
    memory.search("what can't I eat?", filters={"user_id": "ada"})

Each `user_id` is a Longmind user of its own, in the app `mem0`; an agent or a run without a user is one as well. So
nobody's memories are found for another, whatever filters say. `docs/how-to/from-mem0.md` lists the differences.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from longmind.compat.mem0_additions import keep_raw, keep_steps, learn, list_turns
from longmind.compat.mem0_config import read_config
from longmind.compat.mem0_filters import ENTITY_IDS, is_match
from longmind.compat.mem0_memories import OwnedMemories, describe_history, to_atom_id, to_memory_id
from longmind.compat.mem0_validation import (
    Mem0ValidationError,
    drop_identity,
    validate_expiration,
    validate_filters,
    validate_ids,
    validate_messages,
    validate_query,
    validate_search,
    validate_some_ids,
)
from longmind.engine import Engine, open
from longmind.models.atom import Atom
from longmind.models.recall import Hit
from longmind.settings import load_caller

P = ParamSpec("P")
T = TypeVar("T")

APP = "mem0"
"""The app whose users the owners of memories are, unless another is chosen."""
PROCEDURAL = "procedural_memory"
_MOST_FOUND = 200
_MOST_CACHED = 10_000
_UNSET: Any = object()
_log = logging.getLogger("longmind.compat")


class Mem0Memory:
    """Memories of users, agents and runs. Threads may share it; close it when done, or use a `with` statement."""

    def __init__(
        self,
        config: object = None,
        *,
        engine: Engine | None = None,
        tenant_id: str | None = None,
        app_id: str = APP,
        **settings: Any,
    ) -> None:
        """Open the memory.

        config: a configuration of mem0, as a dict or an object; its language model and embedder are used.
        engine: an open engine, which stays open; else settings as `longmind.open` takes them, such as `url`.
        """
        self._owns_engine = engine is None
        self._engine = engine or open(**{**read_config(config), **settings})
        self._tenant = tenant_id or load_caller({}).tenant
        self._app = app_id
        self._owners_by_id: OrderedDict[str, str] = OrderedDict()

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open the memory with a configuration of mem0. Settings of Longmind go under the key `longmind`."""
        return cls(config_dict)

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any | None = None,
        expiration_date: Any | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Learn from messages, or with `infer=False` keep them as they are; return the memories that have changed.

        messages: a text, a message, or a list of messages with `role` and `content`.
        user_id, agent_id, run_id: whose memory it is; at least one is needed.
        expiration_date: the last day of the memory.
        """
        if timestamp is not None:
            raise ValueError("timestamp is a parameter of mem0's platform and is not supported here.")
        expires = validate_expiration(expiration_date)
        ids = validate_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        fields = {**drop_identity(metadata, {}, "add"), **ids}
        if expires is not None:
            fields["expiration_date"] = expires
        if memory_type not in (None, PROCEDURAL):
            raise Mem0ValidationError(
                f"Invalid 'memory_type'. Please pass {PROCEDURAL} to create procedural memories.",
                error_code="VALIDATION_002",
                details={"provided_type": memory_type, "valid_type": PROCEDURAL},
                suggestion=f"Use '{PROCEDURAL}' to create procedural memories.",
            )
        if prompt is not None:
            _log.warning("add(): prompt is ignored: the extractor of the engine has its own")
        turns = list_turns(validate_messages(messages))
        owned = self._open_owner(ids)
        if agent_id is not None and memory_type == PROCEDURAL:
            results = keep_steps(owned, turns, {**fields, "memory_type": PROCEDURAL})
        else:
            results = learn(owned, turns, fields) if infer else keep_raw(owned, turns, fields)
        for each in results:
            self._note_owner(each["id"], owned.context.scope.user_id)
        return {"results": results}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return a memory by its id, or None if there is none."""
        found = self._find(memory_id)
        return None if found is None else found[0].describe(found[1][-1])

    def get_all(
        self,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the memories that pass filters, the newest first. Filters name a user, an agent or a run."""
        checked = validate_filters(filters, kwargs, "get_all")
        validate_search(top_k=top_k)
        owned = self._open_owner(checked)
        results: list[dict[str, Any]] = []
        # As far as it takes to find enough: filters may pass the oldest alone.
        for atom in owned.list_current():
            if len(results) >= top_k:
                break
            if is_match(owned.read_fields(atom), checked) and owned.is_shown(atom, show_expired=show_expired):
                results.append(self._describe(owned, atom, with_score=False))
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any | None = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the memories about a query that pass filters, best first.

        threshold: the least score, from 0 to 1: the probability that the memory is about the query.
        rerank: spend more time on better results.
        """
        if reference_date is not None:
            raise ValueError("reference_date is a parameter of mem0's platform and is not supported here.")
        checked = validate_filters(filters, kwargs, "search")
        validate_search(threshold, top_k)
        asked = validate_query(query)
        owned = self._open_owner(checked)
        found = owned.context.memory.recall_by_topic(
            owned.space.id,
            asked,
            # Filters are looked at afterwards, so more is asked for than is wanted.
            limit=min(_MOST_FOUND, max(4 * top_k, 60)),
            passages=False,
            explain=explain,
            exhaustive=False,
            effort="high" if rerank else "normal",
            min_score=0.1 if threshold is None else threshold,
        )
        results: list[dict[str, Any]] = []
        for hit in found.hits:
            if len(results) >= top_k:
                break
            shown = owned.is_shown(hit.atom, show_expired=show_expired)
            if shown and is_match(owned.read_fields(hit.atom), checked):
                item = self._describe(owned, hit.atom, score=hit.score)
                results.append({**item, "score_details": _explain(hit)} if explain else item)
        return {"results": results}

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, Any]:
        """Give a memory another text, or other metadata; its former version stays in its history.

        data: a former name of `text`.
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        owned, versions = self._require(memory_id, " Please provide a valid 'memory_id'")
        newest = versions[-1]
        fields = owned.read_fields(newest)
        fields |= drop_identity(metadata, fields, "update")
        if expiration_date is not _UNSET:
            fields["expiration_date"] = validate_expiration(expiration_date)
        owned.context.memory.supersede_atom(
            newest.id,
            {
                "text": newest.text if text is None else text,
                "category": {"name": newest.category.name, "kind": newest.category.kind},
                "importance": newest.importance,
                "confidence": newest.confidence,
                "tags": newest.tags,
                "entity_ids": newest.entity_ids,
                "source_conversation_id": newest.source_conversation_id,
                "source_message_ids": newest.source_message_ids,
                "trust": newest.trust,
                "metadata": fields,
            },
        )
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Delete a memory for good, with all of its versions and its history."""
        owned, versions = self._require(memory_id, "")
        _delete_versions(owned, versions)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, Any]:
        """Delete all memories of a user, an agent or a run for good."""
        ids = validate_some_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if not ids:
            raise ValueError(
                "At least one filter is required to delete all memories. If you want to delete all memories, use the"
                " `reset()` method."
            )
        owned = self._open_owner(ids)
        # Listed before the first is deleted, since deleting moves the pages.
        for atom in [each for each in owned.list_current() if is_match(owned.read_fields(each), ids)]:
            _delete_versions(owned, owned.find(to_memory_id(owned.find_root(atom).id)))
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return the changes of a memory, oldest first; none for one that was deleted."""
        found = self._find(memory_id)
        return [] if found is None else describe_history(str(memory_id), found[1])

    def reset(self) -> None:
        """Erase everything of all users of this app for good, their conversations too."""
        _log.warning("all memories of the app %s are erased", self._app)
        for user in self._engine.list_users(tenant_id=self._tenant, app_id=self._app):
            self._context(user).admin.delete_user_data(confirm=True)
        self._owners_by_id.clear()

    def chat(self, query: str) -> None:
        """Raise NotImplementedError, like mem0."""
        raise NotImplementedError("Chat function not implemented yet.")

    def close(self) -> None:
        """Close the database, unless the engine was passed; written data stays."""
        if self._owns_engine:
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # --- owners -------------------------------------------------------------------------------------------------------

    def _open_owner(self, ids: Mapping[str, Any]) -> OwnedMemories:
        """Return the memories of the user among ids, or else of the agent or the run."""
        for name in ENTITY_IDS:
            if ids.get(name):
                # No id has a space in it, so an agent is never taken for a user.
                user = ids[name] if name == "user_id" else f"{name.removesuffix('_id')} {ids[name]}"
                return OwnedMemories(self._context(user))
        raise AssertionError("ids were checked")

    def _context(self, user: str) -> Any:
        """Return the context of an owner."""
        return self._engine.context(tenant_id=self._tenant, app_id=self._app, user_id=user)

    def _find(self, memory_id: object) -> tuple[OwnedMemories, list[Atom]] | None:
        """Return a memory and its owner. mem0 names memories by their id alone, so all owners may have to be asked."""
        if to_atom_id(memory_id) is None:
            return None
        known = self._owners_by_id.get(str(memory_id))
        if known is not None and (found := self._find_of(known, memory_id)) is not None:
            return found
        for user in self._engine.list_users(tenant_id=self._tenant, app_id=self._app):
            if (found := self._find_of(user, memory_id)) is not None:
                self._note_owner(str(memory_id), user)
                return found
        return None

    def _find_of(self, user: str, memory_id: object) -> tuple[OwnedMemories, list[Atom]] | None:
        """Return a memory if it belongs to a user."""
        owned = OwnedMemories(self._context(user))
        versions = owned.find(memory_id)
        return (owned, versions) if versions else None

    def _require(self, memory_id: object, advice: str) -> tuple[OwnedMemories, list[Atom]]:
        """Return a memory and its owner; raise ValueError, in mem0's words, if there is none."""
        found = self._find(memory_id)
        if found is None:
            raise ValueError(f"Memory with id {memory_id} not found{'.' if advice else ''}{advice}")
        return found

    def _note_owner(self, memory_id: str, user: str) -> None:
        """Remember the owner of a memory, so that its id alone finds it."""
        self._owners_by_id[memory_id] = user
        while len(self._owners_by_id) > _MOST_CACHED:
            self._owners_by_id.popitem(last=False)

    def _describe(self, owned: OwnedMemories, atom: Atom, **options: Any) -> dict[str, Any]:
        """Return a memory as mem0 does, and remember its owner."""
        item = owned.describe(atom, **options)
        self._note_owner(item["id"], owned.context.scope.user_id)
        return item


def _delete_versions(owned: OwnedMemories, versions: list[Atom]) -> None:
    """Delete all versions of a memory."""
    # The newest first: an older version is found as long as a newer one is there.
    for atom in reversed(versions):
        owned.context.memory.delete_atom(atom.id)


def _explain(hit: Hit) -> dict[str, Any]:
    """Return the factors of a score."""
    return {} if hit.explanation is None else hit.explanation.model_dump(by_alias=False)


def _make_awaitable(
    method: Callable[Concatenate[Mem0Memory, P], T],
) -> Callable[Concatenate[AsyncMem0Memory, P], Awaitable[T]]:
    """Return a method with the same parameters that runs in a thread."""

    @wraps(method)
    async def call(self: AsyncMem0Memory, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call  # type: ignore[return-value]  # the same parameters, but for the class of `self`


class AsyncMem0Memory:
    """The methods of `Memory`, awaitable: each runs in a thread."""

    def __init__(self, config: object = None, **options: Any) -> None:
        self.memory = Mem0Memory(config, **options)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Open the memory like `Memory.from_config`."""
        return cls(config_dict)

    add = _make_awaitable(Mem0Memory.add)
    get = _make_awaitable(Mem0Memory.get)
    # The checker takes `self` for one of the further keywords of these two.
    get_all = _make_awaitable(Mem0Memory.get_all)  # type: ignore[arg-type]
    search = _make_awaitable(Mem0Memory.search)  # type: ignore[arg-type]
    update = _make_awaitable(Mem0Memory.update)
    delete = _make_awaitable(Mem0Memory.delete)
    delete_all = _make_awaitable(Mem0Memory.delete_all)
    history = _make_awaitable(Mem0Memory.history)
    reset = _make_awaitable(Mem0Memory.reset)
    chat = _make_awaitable(Mem0Memory.chat)

    def close(self) -> None:
        """Close the database like `Memory.close`."""
        self.memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


Memory = Mem0Memory
AsyncMemory = AsyncMem0Memory
ValidationError = Mem0ValidationError
