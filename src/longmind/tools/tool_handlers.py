"""What each tool does with a call whose arguments are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.clock import to_iso
from longmind.memory.validation import validate_atom
from longmind.models.atom import Category, NewAtom
from longmind.models.recall import Hit
from longmind.models.tool import Brief, DeletedEntry, FoundEntries
from longmind.recall.request import Filters, RecallRequest
from longmind.store.database import Transaction
from longmind.store.tables import spaces
from longmind.tools import writes as keeping
from longmind.tools.brief import gather, single_line
from longmind.tools.deadline import Deadline
from longmind.tools.entry_views import KIND_OF, KINDS_OF, atom_id, entry_id, found, in_brief, provenance, stored
from longmind.tools.invocation import Call
from longmind.tools.schema import Arguments, BriefArguments, DeleteArguments, SearchArguments, StoreArguments

if TYPE_CHECKING:
    from longmind.recall.retriever import AtomRetriever

FindRetriever = Callable[[], "AtomRetriever"]
"""Asked for when it is needed: what it computes with takes long to load."""
Handler = Callable[[Call, FindRetriever, Any, Deadline, bool], dict[str, Any]]


def store(
    call: Call, retriever: FindRetriever, asked: StoreArguments, deadline: Deadline, confirmed: bool
) -> dict[str, Any]:
    # The agent wrote it, whatever it says; what the user has agreed to counts as the user's.
    new = NewAtom(
        text=asked.content,
        category=Category(name=asked.type, kind=KIND_OF[asked.type]),
        tags=asked.tags,
        origin="tool",
        trust="user" if confirmed else "assistant",
    )
    atom = validate_atom(new, call.at)
    indexing = retriever().begin_indexing([atom])
    supersedes = None if asked.supersedes is None else atom_id(asked.supersedes)

    def work(run: Transaction) -> dict[str, Any]:
        added = keeping.store(run, call.scope, atom, indexing, supersedes, call.at, confirmed=confirmed)
        return call.settle(run, deadline, stored(added))

    return call.database.write(call.scope, work)


def delete(call: Call, _: FindRetriever, asked: DeleteArguments, deadline: Deadline, confirmed: bool) -> dict[str, Any]:
    atom = atom_id(asked.id)

    def work(run: Transaction) -> dict[str, Any]:
        keeping.delete(run, call.scope, atom, call.at, confirmed=confirmed)
        return call.settle(run, deadline, DeletedEntry(deleted=True, id=entry_id(atom)))

    return call.database.write(call.scope, work)


def search(call: Call, retriever: FindRetriever, asked: SearchArguments, deadline: Deadline, _: bool) -> dict[str, Any]:
    query = asked.query if asked.query and asked.query.strip() else None
    space_id = call.database.read(call.scope, spaces.find_id, call.group, "group")
    hits = [] if space_id is None else _hits(call, retriever(), space_id, query, asked)
    told: dict[str, Any] = {"results": found(hits, asked=query is not None)}
    behavioral = {entry_id(hit.atom.id): provenance(hit.atom) for hit in hits if hit.atom.behavioral}
    if behavioral:
        told |= {"notice": SUGGESTIONS_NOTICE, "provenance": behavioral}
    return call.database.write(call.scope, call.settle, deadline, FoundEntries(**told))


def _hits(call: Call, retriever: AtomRetriever, space_id: str, query: str | None, asked: SearchArguments) -> list[Hit]:
    correction = ("correction",)
    filters = Filters(
        now=call.at,
        kinds=None if asked.type is None else KINDS_OF[asked.type],
        category_names=correction if asked.type == "correction" else None,
        except_categories=correction if asked.type == "instruction" else (),
        tags=tuple(asked.tags) or None,
        include_superseded=asked.include_superseded,
    )
    if query is None:
        return retriever.list_newest(call.scope, space_id, filters, asked.limit).hits
    return retriever.find_by_topic(
        call.scope, space_id, RecallRequest(filters, query), asked.limit, related_only=True
    ).hits


def brief(call: Call, _: FindRetriever, asked: BriefArguments, deadline: Deadline, __: bool) -> dict[str, Any]:
    chosen, count = call.database.read_snapshot(call.scope, gather, call.group, call.at)
    shown = asked.include_provenance
    entries = [in_brief(atom, single_line(atom.text), call.at, with_provenance=shown) for atom in chosen]
    told: dict[str, Any] = {
        "entries": entries,
        "generated_at": to_iso(call.at),
        "entry_count": count,
        "brief_count": len(entries),
    }
    if any(entry.behavioral for entry in entries):
        told["notice"] = SUGGESTIONS_NOTICE
    return call.database.write(call.scope, call.settle, deadline, Brief(**told))


@dataclass(frozen=True)
class ToolKind:
    takes: type[Arguments]
    handle: Handler


TOOLS: Mapping[str, ToolKind] = {
    "memory_store": ToolKind(StoreArguments, store),
    "memory_search": ToolKind(SearchArguments, search),
    "memory_brief": ToolKind(BriefArguments, brief),
    "memory_delete": ToolKind(DeleteArguments, delete),
}
