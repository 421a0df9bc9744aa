"""Handlers of the four tools, which do the work of a call with valid arguments.

Each ends with `Call.finish` in its last transaction: the answer, its audit lines and the effect are committed together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.clock import to_iso
from longmind.memory.default_space import find_tools_space
from longmind.memory.validation import validate_atom
from longmind.models.atom import Category, NewAtom
from longmind.models.recall import Recall
from longmind.models.tool import Brief, DeletedEntry, FoundEntries
from longmind.recall.request import Filters, RecallRequest, TopicOptions
from longmind.store.database import Transaction
from longmind.tools import entry_writes
from longmind.tools.deadline import Deadline
from longmind.tools.entry_views import (
    KIND_OF,
    KINDS_OF,
    to_atom_id,
    to_brief_entry,
    to_entry_id,
    to_found_entries,
    to_found_passages,
    to_provenance,
    to_stored_entry,
)
from longmind.tools.invocation import Call
from longmind.tools.memory_brief import read_entries, to_single_line
from longmind.tools.schema import Arguments, BriefArguments, DeleteArguments, SearchArguments, StoreArguments

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

FindRetriever = Callable[[], "AtomRetriever"]
"""Returns the retriever when it is needed: its libraries take long to load."""
ToolHandler = Callable[[Call, FindRetriever, Any, Deadline, bool], dict[str, Any]]
"""Takes the call, the retriever, the arguments, the deadline and whether the user has consented; returns the answer."""


def store_entry(
    call: Call, retriever: FindRetriever, arguments: StoreArguments, deadline: Deadline, confirmed: bool
) -> dict[str, Any]:
    """Store an entry, in place of another one if the arguments name it."""
    # An agent's own words count less than the user's; what the user has agreed to counts as the user's.
    new = NewAtom(
        text=arguments.content,
        category=Category(name=arguments.type, kind=KIND_OF[arguments.type]),
        tags=arguments.tags,
        origin="tool",
        trust="user" if confirmed else "assistant",
    )
    atom = validate_atom(new, call.at)
    indexing = retriever().begin_indexing([atom])
    supersedes = None if arguments.supersedes is None else to_atom_id(arguments.supersedes)

    def work(run: Transaction) -> dict[str, Any]:
        added = entry_writes.store_entry(
            run, call.scope, atom, indexing, supersedes, call.limits, call.at, confirmed=confirmed
        )
        return call.finish(run, deadline, to_stored_entry(added))

    return call.database.write(call.scope, work)


def delete_entry(
    call: Call, _: FindRetriever, arguments: DeleteArguments, deadline: Deadline, confirmed: bool
) -> dict[str, Any]:
    """Delete an entry for good."""
    atom_id = to_atom_id(arguments.id)

    def work(run: Transaction) -> dict[str, Any]:
        entry_writes.delete_entry(run, call.scope, atom_id, call.limits, call.at, confirmed=confirmed)
        return call.finish(run, deadline, DeletedEntry(deleted=True, id=to_entry_id(atom_id)))

    return call.database.write(call.scope, work)


def search_entries(
    call: Call, retriever: FindRetriever, arguments: SearchArguments, deadline: Deadline, _: bool
) -> dict[str, Any]:
    """Find entries, best first, and quotes from conversations; without a query the newest entries."""
    query = arguments.query if arguments.query and arguments.query.strip() else None
    space = call.database.read(call.scope, find_tools_space, call.scope)
    found = None if space is None else _find(call, retriever(), space.id, query, arguments)
    hits, passages = (found.hits, found.passages) if found is not None else ([], [])
    answer: dict[str, Any] = {"results": to_found_entries(hits, has_query=query is not None)}
    if passages:
        answer["passages"] = to_found_passages(passages)
    behavioral = {to_entry_id(hit.atom.id): to_provenance(hit.atom) for hit in hits if hit.atom.behavioral}
    if behavioral:
        answer |= {"notice": SUGGESTIONS_NOTICE, "provenance": behavioral}
    return call.database.write(call.scope, call.finish, deadline, FoundEntries(**answer))


def _find(call: Call, retriever: AtomRetriever, space_id: str, query: str | None, arguments: SearchArguments) -> Recall:
    correction = ("correction",)
    filters = Filters(
        now=call.at,
        kinds=None if arguments.type is None else KINDS_OF[arguments.type],
        category_names=correction if arguments.type == "correction" else None,
        except_categories=correction if arguments.type == "instruction" else (),
        tags=tuple(arguments.tags) or None,
        include_superseded=arguments.include_superseded,
    )
    if query is None:
        return retriever.list_newest(call.scope, space_id, filters, arguments.limit)
    # The limit is a promise to the model, also where the query asks for everything.
    options = TopicOptions(arguments.limit, exhaustive=False)
    return retriever.find_by_topic(call.scope, space_id, RecallRequest(filters, query), options)


def build_brief(
    call: Call, _: FindRetriever, arguments: BriefArguments, deadline: Deadline, __: bool
) -> dict[str, Any]:
    """Build the overview for the start of a session."""
    chosen, count = call.database.read_snapshot(call.scope, read_entries, call.scope, call.at)
    entries = [
        to_brief_entry(atom, to_single_line(atom.text), call.at, with_provenance=arguments.include_provenance)
        for atom in chosen
    ]
    answer: dict[str, Any] = {
        "entries": entries,
        "generated_at": to_iso(call.at),
        "entry_count": count,
        "brief_count": len(entries),
    }
    if any(entry.behavioral for entry in entries):
        answer["notice"] = SUGGESTIONS_NOTICE
    return call.database.write(call.scope, call.finish, deadline, Brief(**answer))


@dataclass(frozen=True)
class ToolKind:
    """A tool: the arguments that it takes, and its handler."""

    takes: type[Arguments]
    handle: ToolHandler


TOOLS: Mapping[str, ToolKind] = {
    "memory_store": ToolKind(StoreArguments, store_entry),
    "memory_search": ToolKind(SearchArguments, search_entries),
    "memory_brief": ToolKind(BriefArguments, build_brief),
    "memory_delete": ToolKind(DeleteArguments, delete_entry),
}
