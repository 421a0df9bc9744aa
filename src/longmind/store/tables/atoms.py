"""Units of work on atoms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

from longmind.clock import Micros, to_iso, to_micros
from longmind.errors import Conflict, InvalidInput, NotFound
from longmind.models.atom import BEHAVIORAL_KINDS, Atom, AtomKind, Category
from longmind.runtime.gc_pause import pause_collection
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables import atom_versions as versions
from longmind.store.tables import spaces
from longmind.store.tables.ledger import record_change
from longmind.store.tables.spaces import SpaceChange
from longmind.validation.text import decode_json


class PreparedAtom(NamedTuple):
    """An atom that was checked and encoded, but is not kept yet. Instants are microseconds, lists are tuples."""

    id: str
    text: str
    search_context: tuple[str, ...]
    speaker: str | None
    category_name: str
    kind: str
    importance: int
    confidence: float
    valid_from: Micros
    valid_to: Micros | None
    source_conversation_id: str | None
    source_message_ids: tuple[str, ...]
    entity_ids: tuple[str, ...]
    tags: tuple[str, ...]
    origin: str
    trust: str
    created_at: Micros
    decision: str | None = None
    because: str | None = None
    precision: str | None = None
    extraction_version: str | None = None
    evidence: tuple[str, ...] = ()
    slot_subject: str | None = None
    slot_attribute: str | None = None
    slot_value: str | None = None


Slot = tuple[str, str, str]
"""Whose, what and the value, of a fact that has one value at a time."""


def add(
    run: Transaction,
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    now: Micros,
    begun: Callable[[], SpaceChange],
    meanwhile: Callable[[int], object] = lambda until: None,
) -> tuple[list[Atom], SpaceChange]:
    """Keep atoms of one space, all or none, once the change of the space has begun.

    A server takes a while to insert many of them: meanwhile something can be done for the first so many.
    """
    if any(atom.source_conversation_id or atom.source_message_ids or atom.entity_ids for atom in atoms):
        # What they lead to is looked for in a space that is there.
        begun()
    conversations = _check_sources(run, atoms)
    linked = _resolve_entities(run, space_id, atoms)
    record = partial(
        record_change, run, scope, "atoms.added", now, space_id=space_id, atom_ids=[atom.id for atom in atoms]
    )
    alone = len(atoms) == 1
    if alone:
        record()
    ready = _prepare_rows(scope, space_id, linked, conversations)
    change = begun()
    added = _insert_rows(run, ready, change.first, now, meanwhile)
    if not alone:
        # Who follows the ledger waits for whoever has taken a place in it, and many atoms take long to insert.
        record()
    return added, change


def get(run: Transaction, atom_id: str) -> Atom | None:
    row = run.one("get_atom", id=atom_id)
    return _to_atom(row)[1] if row else None


def read_every(run: Transaction) -> Iterator[Atom]:
    """All atoms of a user, those of spaces that were put away too. Only inside of `read_snapshot`."""
    return (_to_atom(row)[1] for row in run.each("every_atom"))


def read_at(
    run: Transaction, space_id: str, positions: Sequence[int], *, unchanged_since: int | None = None
) -> dict[int, Atom]:
    """The atoms at some positions of a space; one that is gone is left out.

    Given a revision of the space, so is one that has changed since.
    """
    return dict(_to_atom(row) for row in _read_rows(run, space_id, positions, unchanged_since))


def read_as_known(
    run: Transaction, space_id: str, ends: Mapping[int, Micros | None], known_at: Micros, *, unchanged_since: int
) -> dict[int, Atom]:
    """The atoms at some positions as they were known at an instant, with the ends that they had then."""
    rows = _read_rows(run, space_id, list(ends), unchanged_since)
    return dict(_to_atom(_to_known_row(row, ends[row[_POSITION]], known_at)) for row in rows)


def read_texts_at(run: Transaction, space_id: str, positions: Sequence[int]) -> dict[int, tuple[str, list[str]]]:
    """The texts at some positions, each with what stands around it."""
    rows = run.all("atom_texts_at", space_id=space_id, positions=json.dumps(list(positions)))
    return {position: (text, _decode_list(around)) for position, text, around in rows}


def read_with_slots_at(
    run: Transaction, space_id: str, positions: Sequence[int]
) -> dict[int, tuple[Atom, Slot | None]]:
    """The same, each with its slot."""
    rows = _read_rows(run, space_id, positions)
    return {position: (atom, _to_slot(row)) for row in rows for position, atom in [_to_atom(row)]}


def _read_rows(
    run: Transaction, space_id: str, positions: Sequence[int], unchanged_since: int | None = None
) -> list[Row]:
    revision = _BEYOND_ALL_REVISIONS if unchanged_since is None else unchanged_since
    return run.all(
        "atoms_at",
        space_id=space_id,
        positions=json.dumps(list(positions)),
        revision=revision,
        # Atoms that were brought in after an erasure may never have changed, and are others.
        next_epoch=spaces.find_next_epoch(revision),
    )


def get_with_slot(run: Transaction, atom_id: str) -> tuple[Atom, Slot | None]:
    row = run.one("get_atom", id=atom_id)
    if row is None:
        raise NotFound("atom", atom_id)
    return _to_atom(row)[1], _to_slot(row)


def list_extracted_from(run: Transaction, space_id: str, conversation_id: str) -> list[tuple[Atom, Slot | None]]:
    """What extraction has made of a conversation, of any status and version."""
    rows = run.all("atoms_extracted_from", space_id=space_id, conversation_id=conversation_id)
    return [(_to_atom(row)[1], _to_slot(row)) for row in rows]


def list_learned_or_confirmed(
    run: Transaction, space_id: str, conversation_id: str, since: Micros
) -> list[tuple[Atom, Slot | None]]:
    """What holds of the atoms that a conversation which began then may have told, or confirmed when they were known."""
    rows = run.all("atoms_told_or_confirmed", space_id=space_id, conversation_id=conversation_id, since=since)
    return [(_to_atom(row)[1], _to_slot(row)) for row in rows]


def list_patterns(run: Transaction, space_id: str) -> list[tuple[Atom, Slot | None]]:
    """The newest version of each pattern of a space, also of those that were archived."""
    return [(_to_atom(row)[1], _to_slot(row)) for row in run.all("patterns_in_space", space_id=space_id)]


def list_patterns_resting_on(run: Transaction, space_id: str, atom_id: str) -> list[Atom]:
    """The patterns that have an event for evidence, in all their versions."""
    return [_to_atom(row)[1] for row in run.all("patterns_resting_on", space_id=space_id, event=f'%"{atom_id}"%')]


def put_evidence(
    run: Transaction,
    atom_id: str,
    evidence: Sequence[str],
    source_message_ids: Sequence[str],
    revision: int,
    now: Micros,
) -> None:
    """Let a pattern rest on other atoms, and on the messages that those rest on."""
    run.send(
        "put_evidence",
        id=atom_id,
        evidence=json.dumps(evidence),
        source_message_ids=json.dumps(source_message_ids),
        revision=revision,
        now=now,
    )


def list_positions_in_slot(run: Transaction, space_id: str, subject: str, attribute: str, limit: int) -> list[int]:
    """Return the positions of atoms that state a value of one attribute of a subject."""
    rows = run.all("positions_in_slot", space_id=space_id, subject=subject, attribute=attribute, limit=limit)
    return [row[0] for row in rows]


def list_heard_from(run: Transaction, owner: Scope, space_id: str, speaker: Scope) -> list[Row]:
    """Return `(id, position, created_at, kind)` of the atoms of a shared space that rest on what a user said.

    They are in the scope of its owner and rest on conversations of another user, so no one scope sees both.
    """
    return run.all(
        "atoms_heard_from", space_id=space_id, owner=owner.id, speaker=speaker.user_id, speaker_scope=speaker.id
    )


def drop(run: Transaction, atom_id: str) -> None:
    """Remove an atom of a space that was deleted: no cache has to learn of it, so no trace of it is left for them."""
    run.send("delete_atom_links", atom_id=atom_id)
    run.send("delete_atom", id=atom_id)


def find_position(run: Transaction, atom_id: str) -> int:
    row = run.one("get_atom", id=atom_id)
    if row is None:
        raise NotFound("atom", atom_id)
    return _to_atom(row)[0]


def list_newest_first(
    run: Transaction,
    space_id: str,
    *,
    category: str | None,
    status: str | None,
    valid_at: Micros | None,
    before: int | None,
    limit: int,
) -> list[tuple[int, Atom]]:
    spaces.require(run, space_id)
    rows = run.all(
        "list_atoms",
        space_id=space_id,
        category=category,
        status=status,
        valid_at=valid_at,
        before=_BEYOND_ALL_POSITIONS if before is None else before,
        limit=limit,
    )
    return [_to_atom(row) for row in rows]


def list_newest_entries(
    run: Transaction, space_id: str, *, behavioral: bool, now: Micros, limit: int
) -> list[tuple[int, str]]:
    """Positions and texts of what holds now, newest first: either what tells how to behave or all the rest."""
    rows = run.all("newest_entries", space_id=space_id, behavioral=int(behavioral), now=now, limit=limit)
    return [(position, text) for position, text in rows]


def list_purgeable(run: Transaction, before: Micros, limit: int) -> list[tuple[Scope, str]]:
    """Entries of the memory tools, of all users, that were superseded before an instant."""
    return [(Scope(*owner), atom_id) for *owner, atom_id in run.all("entries_to_purge", before=before, limit=limit)]


def supersede(run: Transaction, scope: Scope, old_id: str, new: PreparedAtom, now: Micros) -> tuple[Atom, SpaceChange]:
    """Close a fact where its new version begins, and link the two."""
    old = get(run, old_id)
    if old is None:
        raise NotFound("atom", old_id)
    if new.created_at < min(now, to_micros(old.created_at)):
        # It was given. A clock that is behind that of another machine is nobody's fault.
        raise InvalidInput(
            f"atom.created_at {to_iso(new.created_at)} is before {old.created_at}, when {old_id!r} was recorded.",
            hint="A version is recorded after the one that it replaces; since when it is true is its valid_from.",
        )
    new = new._replace(created_at=max(new.created_at, to_micros(old.created_at)))
    space_id = old.memory_space_id
    change = spaces.begin_change(run, space_id, now, 1)
    (conversation_id,) = _check_sources(run, [new])
    (linked,) = _resolve_entities(run, space_id, [new])
    (atom,) = insert(run, scope, space_id, [linked], [conversation_id], change.first, now, supersedes=old_id)
    closed = versions.close(
        run,
        "supersede_atom",
        space_id,
        old_id,
        atom.id,
        begins=new.valid_from,
        # What is brought in from elsewhere was recorded there earlier, and so was that it replaces the old.
        recorded_at=new.created_at,
        revision=change.revision,
        now=now,
    )
    if not closed:
        raise _explain_closed(run, old_id, now)
    record_change(run, scope, "atom.superseded", now, space_id=space_id, atom_id=old_id, superseded_by=atom.id)
    return atom, change


def archive(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> None:
    """Take an atom out of recall. Doing it again changes nothing."""
    atom = get(run, atom_id)
    if atom is None:
        raise NotFound("atom", atom_id)
    if atom.status == "ARCHIVED":
        return
    revision = spaces.begin_change(run, atom.memory_space_id, now).revision
    if run.one("archive_atom", id=atom_id, revision=revision, now=now):
        record_change(run, scope, "atom.archived", now, space_id=atom.memory_space_id, atom_id=atom_id)


def delete(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> tuple[str, int]:
    """Remove an atom for good: only its id stays, so that caches learn to forget it. Gives its space and position."""
    row = run.one("get_atom", id=atom_id)
    if row is None:
        raise NotFound("atom", atom_id)
    position, atom = _to_atom(row)
    space_id = atom.memory_space_id
    revision = spaces.begin_change(run, space_id, now).revision
    run.send("delete_atom_links", atom_id=atom_id)
    beside = run.one("delete_atom", id=atom_id)
    if beside is None:
        raise NotFound("atom", atom_id)
    before, after = beside
    if before is not None and after is not None:
        joined = {"gone": atom_id, "revision": revision, "now": now}
        run.send("join_older_versions", space_id=space_id, after=after, **joined)
        run.send("join_newer_version", before=before, after=after, **joined)
    for entity_id in atom.entity_ids:
        run.send("narrow_entity", id=entity_id, valid_from=to_micros(atom.valid_from), now=now)
    run.send("insert_removal", space_id=space_id, atom_id=atom_id, position=position, revision=revision)
    record_change(run, scope, "atom.deleted", now, space_id=space_id, atom_id=atom_id)
    return space_id, position


def relink(run: Transaction, atom_id: str, old_entity: str, new_entity: str, revision: int, now: Micros) -> None:
    """Let an atom speak of another entity in the place of one that was merged into it."""
    atom = get(run, atom_id)
    if atom is None:
        return
    ids = list(dict.fromkeys(new_entity if each == old_entity else each for each in atom.entity_ids))
    run.send("relink_atom", id=atom_id, entity_ids=_encode_list(ids), revision=revision, now=now)
    run.send("link_atom", entity_id=new_entity, atom_id=atom_id)


def _explain_closed(run: Transaction, atom_id: str, now: Micros) -> Conflict | NotFound:
    atom = get(run, atom_id)
    if atom is None:
        # Deleted by somebody who held the space until now.
        return NotFound("atom", atom_id)
    if atom.superseded_by is None:
        return Conflict(
            f"Atom {atom_id!r} has ended already, at {atom.valid_to}.",
            hint=f"{atom_id!r} is the newest version of that fact: add what is true now as a new atom.",
        )
    newest = get(run, find_newest_version(run, atom_id))
    if newest is None or newest.id == atom_id:
        hint = "Its newer version was deleted: add what is true now as a new atom, or let an administrator restore it."
    elif newest.superseded_by is not None:
        hint = (
            f"Its newest version that is left is {newest.id!r}, and the one after that was deleted: "
            "add what is true now as a new atom, or let an administrator restore that one."
        )
    elif newest.valid_to is not None and to_micros(newest.valid_to) <= now:
        hint = f"Its newest version is {newest.id!r}, which has ended: add what is true now as a new atom."
    else:
        hint = f"Its newest version is {newest.id!r}: supersede that one."
    return Conflict(f"Atom {atom_id!r} was superseded already.", hint=hint)


def find_newest_version(run: Transaction, atom_id: str) -> str:
    """The newest version of a fact; where a later version was deleted, the last one there was."""
    newest = atom_id
    while True:
        atom = get(run, newest)
        if atom is None or atom.superseded_by is None or get(run, atom.superseded_by) is None:
            return newest
        newest = atom.superseded_by


def _check_sources(run: Transaction, atoms: Sequence[PreparedAtom]) -> list[str | None]:
    """Refuse citations that lead nowhere in this scope; gives the conversation that each atom cites."""
    conversation_of: dict[str, str] = {}
    for message_id in dict.fromkeys(each for atom in atoms for each in atom.source_message_ids):
        row = run.one("message_conversation", event_id=message_id)
        if row is None:
            raise InvalidInput(
                f"There is no message {message_id!r} in this scope to cite.",
                hint="source_message_ids holds the ids of messages of the same user.",
            )
        conversation_of[message_id] = row[0]
    known: set[str] = set()
    cited = []
    for atom in atoms:
        conversations = {conversation_of[each] for each in atom.source_message_ids}
        conversation_id = atom.source_conversation_id
        if conversation_id is None:
            # One conversation is cited by its messages; several have no single name.
            cited.append(conversations.pop() if len(conversations) == 1 else None)
            continue
        if conversation_id not in known and run.one("conversation_status", conversation_id=conversation_id) is None:
            raise InvalidInput(f"There is no conversation {conversation_id!r} in this scope to cite.")
        known.add(conversation_id)
        if conversations - {conversation_id}:
            raise InvalidInput(f"source_message_ids has messages that are not of conversation {conversation_id!r}.")
        cited.append(conversation_id)
    return cited


def _resolve_entities(run: Transaction, space_id: str, atoms: Sequence[PreparedAtom]) -> list[PreparedAtom]:
    """The atoms with the entities that their ids stand for now; an id that leads nowhere in this space is refused."""
    stands_for: dict[str, str] = {}
    for entity_id in dict.fromkeys(each for atom in atoms for each in atom.entity_ids):
        row = run.one("get_entity", id=entity_id)
        while row is not None and row[_MERGED_INTO] is not None:
            row = run.one("get_entity", id=row[_MERGED_INTO])
        if row is None or row[1] != space_id:
            raise InvalidInput(f"There is no entity {entity_id!r} in this space to link.")
        stands_for[entity_id] = row[0]
    return [
        atom._replace(entity_ids=tuple(dict.fromkeys(stands_for[each] for each in atom.entity_ids)))
        if atom.entity_ids
        else atom
        for atom in atoms
    ]


_BEYOND_ALL_POSITIONS = 2**62
_BEYOND_ALL_REVISIONS = 2**62 - 1
_AT_ONCE = 500
_MERGED_INTO = 9
"""Which of the columns of an entity tells what it was merged into."""


def insert(
    run: Transaction,
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    conversation_ids: Sequence[str | None],
    first: int,
    now: Micros,
    supersedes: str | None = None,
) -> list[Atom]:
    """Put atoms at the positions from the first on, and let their entities know."""
    return _insert_rows(
        run, _prepare_rows(scope, space_id, atoms, conversation_ids, supersedes), first, now, lambda until: None
    )


class _AtomRows(NamedTuple):
    """Atoms to be kept, and what is written of them."""

    checked: Sequence[PreparedAtom]
    rows: dict[str, Sequence[Any]]
    same: dict[str, Any]
    """What is the same for all."""


def _prepare_rows(
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    conversation_ids: Sequence[str | None],
    supersedes: str | None = None,
) -> _AtomRows:
    """All that can be done for atoms before it is known where they go."""
    same = {
        "space_id": space_id,
        "tenant_id": scope.tenant_id,
        "app_id": scope.app_id,
        "user_id": scope.user_id,
        "supersedes": supersedes,
        "session_id": scope.session_id,
        "group": scope.group,
        "run_id": scope.run_id,
        "agent_id": scope.agent_id,
    }
    rows: dict[str, Sequence[Any]] = {
        name: [atom[place] for atom in atoms] for place, name in enumerate(PreparedAtom._fields)
    }
    for name in _EXTRACTED_COLUMNS:
        if not any(rows[name]):
            # Most atoms are not extracted, and what they all lack is not told of each.
            del rows[name]
            same[name] = None
    if "evidence" in rows:
        rows["evidence"] = [_encode_list(ids) for ids in rows["evidence"]]
    for name in ("search_context", "source_message_ids", "entity_ids", "tags"):
        # In a bulk there is often not one of them that has any.
        rows[name] = [_encode_list(members) for members in rows[name]] if any(rows[name]) else ["[]"] * len(atoms)
    rows["source_conversation_id"] = conversation_ids
    return _AtomRows(atoms, rows, same)


def _insert_rows(
    run: Transaction, ready: _AtomRows, first: int, now: Micros, meanwhile: Callable[[int], object]
) -> list[Atom]:
    rows, same = ready.rows, ready.same
    count = len(ready.checked)
    rows["position"] = range(first, first + count)
    added: list[Atom] = []
    for start in range(0, count, _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        part = {name: column[here] for name, column in rows.items()}
        run.insert_each("insert_atoms", part, **same)
        # Some at a time, so that a server inserts while these are made.
        added += _to_inserted_atoms(ready.checked[here], part, same)
        meanwhile(here.stop)
    _link_entities(run, ready.checked, now)
    return added


def _to_inserted_atoms(
    checked: Sequence[PreparedAtom], rows: Mapping[str, Sequence[Any]], same: Mapping[str, Any]
) -> list[Atom]:
    """The atoms that were checked and are in rows by now."""
    like_first = {**same, **{name: column[0] for name, column in rows.items()}, "status": "ACTIVE"}
    like_first["updated_at"] = like_first["created_at"]
    first = _to_atom(tuple([like_first.get(name) for name in _COLUMNS]))[1]
    if len(checked) == 1:
        return [first]
    with pause_collection():
        # In a bulk one mostly differs from the first in little but its id and its text.
        every = [first.__dict__.copy() for _ in checked]
        for name, values in _collect_differing(checked, rows).items():
            for fields, value in zip(every, values, strict=True):
                fields[name] = value
        return list(map(Atom.from_trusted, every))


def _collect_differing(checked: Sequence[PreparedAtom], rows: Mapping[str, Sequence[Any]]) -> dict[str, Iterable[Any]]:
    """The fields of atoms, each of all of them, in which they may differ."""
    differing = {name for name, column in rows.items() if column.count(column[0]) < len(column)}
    found: dict[str, Iterable[Any]] = {name: rows[name] for name in differing.intersection(_PLAIN_FIELDS)}
    for name in LIST_FIELDS:
        found[name] = map(list, map(attrgetter(name), checked))
    if not differing.isdisjoint(("category_name", "kind")):
        found["category"] = map(_make_category, rows["category_name"], rows["kind"])
        found["behavioral"] = [kind in BEHAVIORAL_KINDS for kind in rows["kind"]]
    if not differing.isdisjoint(("created_at", "valid_from")):
        created = found["created_at"] = found["updated_at"] = list(map(to_iso, rows["created_at"]))
        found["valid_from"] = [
            known if begins == at else to_iso(begins)
            for known, begins, at in zip(created, rows["valid_from"], rows["created_at"], strict=True)
        ]
    if "valid_to" in differing:
        found["valid_to"] = [ends if ends is None else to_iso(ends) for ends in rows["valid_to"]]
    return found


def _link_entities(run: Transaction, atoms: Sequence[PreparedAtom], now: Micros) -> None:
    seen: dict[str, list[Micros]] = {}
    for atom in atoms:
        for entity_id in atom.entity_ids:
            run.send("link_atom", entity_id=entity_id, atom_id=atom.id)
            seen.setdefault(entity_id, []).append(atom.valid_from)
    for entity_id, instants in seen.items():
        run.send("widen_entity", id=entity_id, first_seen_at=min(instants), last_seen_at=max(instants), now=now)


_encode = json.JSONEncoder(ensure_ascii=False).encode
_COLUMNS = (
    "id", "space_id", "position", "tenant_id", "app_id", "user_id", "text", "category_name", "kind", "importance",
    "confidence", "valid_from", "valid_to", "status", "source_conversation_id", "source_message_ids", "entity_ids",
    "tags", "supersedes", "superseded_by", "superseded_at", "archived_at", "last_confirmed_at", "origin", "trust",
    "session_id", "group", "run_id", "agent_id", "created_at", "updated_at", "decision", "because", "precision",
    "extraction_version", "evidence", "slot_subject", "slot_attribute", "slot_value",
)  # fmt: skip
_EXTRACTED_COLUMNS = _COLUMNS[_COLUMNS.index("decision") :]
"""What only extraction tells of an atom."""


_POSITION = _COLUMNS.index("position")
LIST_FIELDS = ("source_message_ids", "entity_ids", "tags", "evidence")
"""What the owner of an atom may change without changing another."""
_PLAIN_FIELDS = frozenset(_COLUMNS).intersection(Atom.model_fields) - {
    "valid_from",
    "valid_to",
    "created_at",
    *LIST_FIELDS,
}
"""Columns that a field has the values of."""
_RECORDED_LATER = {
    "superseded_at": ("superseded_at", "superseded_by"),
    "archived_at": ("archived_at",),
    "last_confirmed_at": ("last_confirmed_at",),
}
"""What an atom is told of later on: when, and what goes with it."""


def _to_known_row(row: Row, end: Micros | None, known_at: Micros) -> Row:
    """The row without what was recorded after an instant, and with the end that it had then."""
    known = dict(zip(_COLUMNS, row, strict=True))
    for when, what in _RECORDED_LATER.items():
        if known[when] is not None and known[when] > known_at:
            known.update(dict.fromkeys(what))
    known["valid_to"] = end
    known["status"] = "ACTIVE" if known["archived_at"] is None else "ARCHIVED"
    if known["updated_at"] > known_at:
        known["updated_at"] = max(known["created_at"], known["superseded_at"] or 0, known["archived_at"] or 0)
    return tuple(known.values())


def _to_slot(row: Row) -> Slot | None:
    subject, attribute, value = row[-3:]
    return None if subject is None else (subject, attribute, value)


def _encode_list(members: Sequence[str]) -> str:
    return _encode(members) if members else "[]"


def _to_atom(row: Row) -> tuple[int, Atom]:
    """An atom and its position, which is the business of the index and nobody else's."""
    # Taken apart by hand: recall makes some atoms in every call, and this is most of what it does for each of them.
    (
        id, space_id, position, tenant_id, app_id, user_id, text, category_name, kind, importance, confidence,
        valid_from, valid_to, status, source_conversation_id, source_message_ids, entity_ids, tags, supersedes,
        superseded_by, superseded_at, archived_at, last_confirmed_at, origin, trust, session_id, group, run_id,
        agent_id, created_at, updated_at, decision, because, precision, extraction_version, evidence, _,
        _, _,
    ) = row  # fmt: skip
    created = to_iso(created_at)
    fields = {
        "id": id,
        "memory_space_id": space_id,
        "tenant_id": tenant_id,
        "app_id": app_id,
        "user_id": user_id,
        "text": text,
        "category": _make_category(category_name, kind),
        "importance": importance,
        "confidence": confidence,
        "valid_from": created if valid_from == created_at else to_iso(valid_from),
        "valid_to": valid_to if valid_to is None else to_iso(valid_to),
        "status": status,
        "source_conversation_id": source_conversation_id,
        "source_message_ids": [] if source_message_ids == "[]" else _decode_list(source_message_ids),
        "entity_ids": [] if entity_ids == "[]" else _decode_list(entity_ids),
        "tags": [] if tags == "[]" else _decode_list(tags),
        "behavioral": kind in BEHAVIORAL_KINDS,
        "supersedes": supersedes,
        "superseded_by": superseded_by,
        "superseded_at": superseded_at if superseded_at is None else to_iso(superseded_at),
        "archived_at": archived_at if archived_at is None else to_iso(archived_at),
        "last_confirmed_at": last_confirmed_at if last_confirmed_at is None else to_iso(last_confirmed_at),
        "origin": origin,
        "trust": trust,
        "session_id": session_id,
        "group": group,
        "run_id": run_id,
        "agent_id": agent_id,
        "created_at": created,
        "updated_at": created if updated_at == created_at else to_iso(updated_at),
        "decision": decision,
        "because": because,
        "precision": precision,
        "extraction_version": extraction_version,
        "evidence": _decode_list(evidence) if evidence else [],
    }
    return position, Atom.from_trusted(fields)


def _decode_list(written: str) -> list[str]:
    return decode_json(written, list)


# A space has few categories and many atoms, and a category is never changed.
@lru_cache(maxsize=4096)
def _make_category(name: str, kind: AtomKind) -> Category:
    return Category.from_trusted({"name": name, "kind": kind})
