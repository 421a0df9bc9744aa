"""Atoms: the facts of a space, each at a position that it keeps for ever, and the versions that replace them.

Every function that writes first begins a change of the space, or is given one that has begun. That holds the space
until the transaction ends, so that positions and revisions of one space are taken by one transaction at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from longmind.clock import Micros, to_iso, to_micros
from longmind.errors import Conflict, InvalidInput, NotFound
from longmind.models.atom import Atom, Origin
from longmind.scope import Scope
from longmind.store.database import Row, Transaction
from longmind.store.tables import atom_decisions, atom_versions, restated_atoms, spaces
from longmind.store.tables.atom_references import check_sources, resolve_entities
from longmind.store.tables.atom_rows import (
    POSITION,
    AtomRows,
    PreparedAtom,
    Slot,
    decode_list,
    encode_list,
    prepare_rows,
    to_atom,
    to_inserted_atoms,
    to_known_row,
    to_slot,
)
from longmind.store.tables.ledger import record_change
from longmind.store.tables.spaces import SpaceChange

_BEYOND_ALL_POSITIONS = 2**62
_BEYOND_ALL_REVISIONS = 2**62 - 1
_AT_ONCE = 500
"""Atoms that one statement inserts."""


def add(
    run: Transaction,
    scope: Scope,
    space_id: str,
    atoms: Sequence[PreparedAtom],
    now: Micros,
    wait_for_change: Callable[[], SpaceChange],
    on_sent: Callable[[int], object] = lambda until: None,
) -> tuple[list[Atom], SpaceChange]:
    """Add atoms to one space, all or none.

    wait_for_change: waits for the change of the space to begin, and returns it.
    on_sent: called with the number of atoms that were sent so far, to do something else while a server inserts them.
    """
    if any(atom.source_conversation_id or atom.source_message_ids or atom.entity_ids for atom in atoms):
        # Sources and entities are looked up in a space that exists.
        wait_for_change()
    conversations = check_sources(run, atoms)
    linked = resolve_entities(run, space_id, atoms)
    record = partial(
        record_change, run, scope, "atoms.added", now, space_id=space_id, atom_ids=[atom.id for atom in atoms]
    )
    alone = len(atoms) == 1
    if alone:
        record()
    rows = prepare_rows(scope, space_id, linked, conversations)
    change = wait_for_change()
    added = _insert_rows(run, rows, change.first, now, on_sent)
    if not alone:
        # Followers of the ledger wait for every transaction that has a place in it, and many atoms take long to insert.
        record()
    return added, change


def get(run: Transaction, atom_id: str) -> Atom | None:
    """Return an atom; None when there is none in a live space of the scope."""
    row = run.one("get_atom", id=atom_id)
    return to_atom(row)[1] if row else None


def get_with_slot(run: Transaction, atom_id: str) -> tuple[Atom, Slot | None]:
    """Return an atom with its slot; raise NotFound if there is none."""
    row = run.one("get_atom", id=atom_id)
    if row is None:
        raise NotFound("atom", atom_id)
    return to_atom(row)[1], to_slot(row)


def find_position(run: Transaction, atom_id: str) -> int:
    """Return the position of an atom in its space; raise NotFound if there is none."""
    row = run.one("get_atom", id=atom_id)
    if row is None:
        raise NotFound("atom", atom_id)
    return to_atom(row)[0]


def read_every(run: Transaction) -> Iterator[Atom]:
    """Yield all atoms of a user, those of deleted spaces too. Only inside of `read_snapshot`."""
    return (to_atom(row)[1] for row in run.each("every_atom"))


def read_at(
    run: Transaction, space_id: str, positions: Sequence[int], *, unchanged_since: int | None = None
) -> dict[int, Atom]:
    """Return the atoms at some positions of a space; one that is gone is left out.

    Given a revision of the space, so is one that has changed since.
    """
    return dict(to_atom(row) for row in _read_rows(run, space_id, positions, unchanged_since))


def read_as_known(
    run: Transaction, space_id: str, ends: Mapping[int, Micros | None], known_at: Micros, *, unchanged_since: int
) -> dict[int, Atom]:
    """Return the atoms at some positions as they were known at an instant, with the ends that they had then."""
    rows = _read_rows(run, space_id, list(ends), unchanged_since)
    return dict(to_atom(to_known_row(row, ends[row[POSITION]], known_at)) for row in rows)


def read_texts_at(run: Transaction, space_id: str, positions: Sequence[int]) -> dict[int, tuple[str, list[str]]]:
    """Return the texts at some positions, each with its search context."""
    rows = run.all("atom_texts_at", space_id=space_id, positions=json.dumps(list(positions)))
    return {position: (text, decode_list(context)) for position, text, context in rows}


def read_with_slots_at(
    run: Transaction, space_id: str, positions: Sequence[int]
) -> dict[int, tuple[Atom, Slot | None]]:
    """Return the atoms at some positions of a space, each with its slot."""
    rows = _read_rows(run, space_id, positions)
    return {position: (atom, to_slot(row)) for row in rows for position, atom in [to_atom(row)]}


def list_extracted_from(run: Transaction, space_id: str, conversation_id: str) -> list[tuple[Atom, Slot | None]]:
    """Return the atoms that extraction made of a conversation, of any status and version."""
    rows = run.all("atoms_extracted_from", space_id=space_id, conversation_id=conversation_id)
    return [(to_atom(row)[1], to_slot(row)) for row in rows]


def find_outdated_messages(
    run: Transaction, space_id: str, conversation_ids: Iterable[str], at: Micros
) -> frozenset[str]:
    """Return the messages of conversations that taught a fact which had ended or been replaced at an instant.

    A fact that was merged into another one holds in its words, so its messages are not among them.
    """
    outdated: set[str] = set()
    for conversation_id in conversation_ids:
        rows = run.all("messages_of_ended_facts", space_id=space_id, conversation_id=conversation_id, at=at)
        for ended, successor in rows:
            outdated.update(set(json.loads(ended)) - set(json.loads(successor or "[]")))
    return frozenset(outdated)


def list_learned_or_confirmed(
    run: Transaction, space_id: str, conversation_id: str, since: Micros
) -> list[tuple[Atom, Slot | None]]:
    """Return the atoms that hold and that a conversation, which began at an instant, may have added or confirmed."""
    rows = run.all("atoms_learned_or_confirmed", space_id=space_id, conversation_id=conversation_id, since=since)
    return [(to_atom(row)[1], to_slot(row)) for row in rows]


def list_patterns(run: Transaction, space_id: str) -> list[tuple[Atom, Slot | None]]:
    """Return the newest version of each pattern of a space, also of those that were archived."""
    return [(to_atom(row)[1], to_slot(row)) for row in run.all("patterns_in_space", space_id=space_id)]


def list_patterns_resting_on(run: Transaction, space_id: str, atom_id: str) -> list[Atom]:
    """Return the patterns that have an atom for evidence, in all their versions."""
    return [to_atom(row)[1] for row in run.all("patterns_resting_on", space_id=space_id, event=f'%"{atom_id}"%')]


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


def list_slots(run: Transaction, space_id: str) -> list[tuple[str, str]]:
    """Return the subjects and attributes of which a space knows values."""
    return [(subject, attribute) for subject, attribute in run.all("slots_in_space", space_id=space_id)]


def list_in_slot(run: Transaction, space_id: str, subject: str, attribute: str, limit: int) -> list[Atom]:
    """Return the newest atoms that state a value of one attribute of a subject, those that have ended too."""
    rows = run.all("atoms_in_slot", space_id=space_id, subject=subject, attribute=attribute, limit=limit)
    return [to_atom(row)[1] for row in rows]


def list_from_speaker(run: Transaction, owner: Scope, space_id: str, speaker: Scope) -> list[Row]:
    """Return `(id, position, created_at, kind)` of the atoms of a shared space that rest on what a user said.

    They are in the scope of its owner and rest on conversations of another user, so no one scope sees both.
    """
    return run.all(
        "atoms_heard_from", space_id=space_id, owner=owner.id, speaker=speaker.user_id, speaker_scope=speaker.id
    )


def list_newest_first(
    run: Transaction,
    space_id: str,
    *,
    category: str | None,
    status: str | None,
    tags: Sequence[str] | None,
    metadata: Mapping[str, object] | None,
    valid_at: Micros | None,
    before: int | None,
    limit: int,
) -> list[tuple[int, Atom]]:
    """Return atoms of a space with their positions, newest first, that come before the position that was listed last.

    Each filter that is None lets every atom through.
    """
    spaces.require(run, space_id)
    rows = run.all(
        "list_atoms",
        space_id=space_id,
        category=category,
        status=status,
        tags=encode_list(tags) if tags else None,
        metadata=json.dumps(metadata) if metadata else None,
        valid_at=valid_at,
        before=_BEYOND_ALL_POSITIONS if before is None else before,
        limit=limit,
    )
    return [to_atom(row) for row in rows]


def list_newest_entries(
    run: Transaction, space_id: str, *, behavioral: bool, origin: Origin | None, now: Micros, limit: int
) -> list[tuple[int, str]]:
    """Return positions and texts of the atoms that hold now, newest first: those on behaviour, or all others.

    origin: the origin that they must have; None lets every one through.
    """
    values = {"space_id": space_id, "behavioral": int(behavioral), "origin": origin, "now": now, "limit": limit}
    rows = run.all("newest_entries", **values)
    return [(position, text) for position, text in rows]


def list_purgeable(run: Transaction, before: Micros, limit: int) -> list[tuple[Scope, str]]:
    """Return entries of the memory tools, of all users, that were superseded before an instant."""
    return [(Scope(*owner), atom_id) for *owner, atom_id in run.all("entries_to_purge", before=before, limit=limit)]


def supersede(
    run: Transaction, scope: Scope, old_id: str, new: PreparedAtom, now: Micros, change: SpaceChange | None = None
) -> tuple[Atom, SpaceChange]:
    """Close a fact where its new version begins, and link the two.

    change: the change of the space, where it has begun.

    Raise Conflict if the fact has ended or was superseded already, and InvalidInput if the new version says it was
    recorded before the old one.
    """
    old = get(run, old_id)
    if old is None:
        raise NotFound("atom", old_id)
    if new.created_at < min(now, to_micros(old.created_at)):
        # Only an instant that the caller gave: a clock that is behind that of another machine is no mistake of theirs.
        raise InvalidInput(
            f"atom.created_at {to_iso(new.created_at)} is before {old.created_at}, when {old_id!r} was recorded.",
            hint="Record a version after the one that it replaces; give the time since when it is true as valid_from.",
        )
    space_id = old.memory_space_id
    change = change or spaces.begin_change(run, space_id, now, 1)
    new = new._replace(
        created_at=max(new.created_at, to_micros(old.created_at)),
        key=restated_atoms.choose_key(run, space_id, old, new, now),
    )
    (conversation_id,) = check_sources(run, [new])
    (linked,) = resolve_entities(run, space_id, [new])
    (atom,) = insert(run, scope, space_id, [linked], [conversation_id], change.first, now, supersedes=old_id)
    closed = atom_versions.close(
        run,
        "supersede_atom",
        space_id,
        old_id,
        atom.id,
        begins=new.valid_from,
        # An atom that was recorded elsewhere first, and is added here now, replaced the old one there and then.
        recorded_at=new.created_at,
        revision=change.revision,
        now=now,
    )
    if closed is None:
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
    archive_known(run, scope, atom.memory_space_id, atom_id, revision, now)


def archive_known(run: Transaction, scope: Scope, space_id: str, atom_id: str, revision: int, now: Micros) -> None:
    """Take an atom out of recall in a change of its space that has begun; one that is archived stays as it is."""
    if run.one("archive_atom", id=atom_id, revision=revision, now=now):
        record_change(run, scope, "atom.archived", now, space_id=space_id, atom_id=atom_id)


def delete(run: Transaction, scope: Scope, atom_id: str, now: Micros) -> tuple[str, int]:
    """Remove an atom for good, and return its space and position.

    Only its id stays, so that caches learn to forget it. The versions before and after it are joined.
    """
    row = run.one("get_atom", id=atom_id)
    if row is None:
        raise NotFound("atom", atom_id)
    position, atom = to_atom(row)
    space_id = atom.memory_space_id
    revision = spaces.begin_change(run, space_id, now).revision
    run.send("delete_atom_links", atom_id=atom_id)
    atom_decisions.forget_atom(run, atom_id)
    neighbours = run.one("delete_atom", id=atom_id)
    if neighbours is None:
        raise NotFound("atom", atom_id)
    before, after = neighbours
    if before is not None and after is not None:
        joined = {"gone": atom_id, "revision": revision, "now": now}
        run.send("join_older_versions", space_id=space_id, after=after, **joined)
        run.send("join_newer_version", before=before, after=after, **joined)
    for entity_id in atom.entity_ids:
        run.send("narrow_entity", id=entity_id, valid_from=to_micros(atom.valid_from), now=now)
    run.send("insert_removal", space_id=space_id, atom_id=atom_id, position=position, revision=revision)
    record_change(run, scope, "atom.deleted", now, space_id=space_id, atom_id=atom_id)
    return space_id, position


def drop(run: Transaction, atom_id: str) -> None:
    """Remove an atom of a deleted space. No cache has to learn of it, so not even its id stays."""
    run.send("delete_atom_links", atom_id=atom_id)
    atom_decisions.forget_atom(run, atom_id)
    run.send("delete_atom", id=atom_id)


def relink(run: Transaction, atom_id: str, old_entity: str, new_entity: str, revision: int, now: Micros) -> None:
    """Link an atom to another entity in the place of one that was merged into it."""
    atom = get(run, atom_id)
    if atom is None:
        return
    ids = list(dict.fromkeys(new_entity if each == old_entity else each for each in atom.entity_ids))
    run.send("relink_atom", id=atom_id, entity_ids=encode_list(ids), revision=revision, now=now)
    run.send("link_atom", entity_id=new_entity, atom_id=atom_id)


def find_newest_version(run: Transaction, atom_id: str) -> str:
    """Return the newest version of a fact; where a later version was deleted, the last one before it."""
    newest = atom_id
    while True:
        atom = get(run, newest)
        if atom is None or atom.superseded_by is None or get(run, atom.superseded_by) is None:
            return newest
        newest = atom.superseded_by


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
    """Insert atoms at the positions from `first` on, which the caller has taken, and link them to their entities."""
    rows = prepare_rows(scope, space_id, atoms, conversation_ids, supersedes)
    return _insert_rows(run, rows, first, now, lambda until: None)


def _insert_rows(
    run: Transaction, rows: AtomRows, first: int, now: Micros, on_sent: Callable[[int], object]
) -> list[Atom]:
    atoms, columns, shared = rows
    columns["position"] = range(first, first + len(atoms))
    added: list[Atom] = []
    for start in range(0, len(atoms), _AT_ONCE):
        batch = slice(start, start + _AT_ONCE)
        part = {name: column[batch] for name, column in columns.items()}
        run.insert_each("insert_atoms", part, **shared)
        # A batch at a time, so that a server inserts while the atoms of the batch are made here.
        added += to_inserted_atoms(atoms[batch], part, shared)
        on_sent(batch.stop)
    _link_entities(run, atoms, now)
    return added


def _link_entities(run: Transaction, atoms: Sequence[PreparedAtom], now: Micros) -> None:
    seen: dict[str, list[Micros]] = {}
    for atom in atoms:
        for entity_id in atom.entity_ids:
            run.send("link_atom", entity_id=entity_id, atom_id=atom.id)
            seen.setdefault(entity_id, []).append(atom.valid_from)
    for entity_id, instants in seen.items():
        run.send("widen_entity", id=entity_id, first_seen_at=min(instants), last_seen_at=max(instants), now=now)


def _read_rows(
    run: Transaction, space_id: str, positions: Sequence[int], unchanged_since: int | None = None
) -> list[Row]:
    revision = _BEYOND_ALL_REVISIONS if unchanged_since is None else unchanged_since
    return run.all(
        "atoms_at",
        space_id=space_id,
        positions=json.dumps(list(positions)),
        revision=revision,
        # Atoms that were imported after an erasure may never have changed, and are others.
        next_epoch=spaces.find_next_epoch(revision),
    )


def _explain_closed(run: Transaction, atom_id: str, now: Micros) -> Conflict | NotFound:
    """Return the error for an atom that could not be superseded, with a hint what to do instead."""
    atom = get(run, atom_id)
    if atom is None:
        # Another transaction, which held the space until now, has deleted it.
        return NotFound("atom", atom_id)
    if atom.superseded_by is None:
        return Conflict(
            f"Atom {atom_id!r} already ended, at {atom.valid_to}.",
            hint=f"{atom_id!r} is the newest version of that fact: add what is true now as a new atom.",
        )
    newest = get(run, find_newest_version(run, atom_id))
    if newest is None or newest.id == atom_id:
        hint = "Its newer version was deleted: add what is true now as a new atom, or let an administrator restore it."
    elif newest.superseded_by is not None:
        hint = (
            f"Its newest remaining version is {newest.id!r}, and the version after it was deleted: "
            "add what is true now as a new atom, or let an administrator restore that one."
        )
    elif newest.valid_to is not None and to_micros(newest.valid_to) <= now:
        hint = f"Its newest version is {newest.id!r}, which has ended: add what is true now as a new atom."
    else:
        hint = f"Its newest version is {newest.id!r}: supersede that one."
    return Conflict(f"Atom {atom_id!r} is already superseded.", hint=hint)
