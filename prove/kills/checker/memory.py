"""Atoms, entries of the memory tools and entities, as the journal promises them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from longmind import Atom
from prove.kills.checker.era import Era, times_wrong
from prove.kills.checker.observation import Mark, Observation, mark_of
from prove.kills.journal import Entry, State
from prove.kills.steps.step import SHARED

_ADDING = ("atom", "batch", "supersede", "store", "replace")


def wrong_atoms(era: Era, seen: Observation) -> Iterator[str]:
    """Check that each atom exists once with its later changes, and that no other atom exists."""
    there: dict[Mark, list[Atom]] = defaultdict(list)
    for atoms in seen.atoms.values():
        for atom in atoms:
            if atom.extraction_version is None:
                mark = mark_of(atom.text)
                if mark is None or not era.may_be_there(mark.number):
                    yield f"atom {atom.id} is of nobody: {atom.text!r}"
                else:
                    there[mark].append(atom)
    deletes = _endings(era, "delete", "forget")
    for entry in era.select(*_ADDING):
        marks = [mark for text in entry.given["texts"] if (mark := mark_of(text))]
        left = [mark for mark in marks if deletes.get(mark) is None]
        found = sum(len(there[mark]) for mark in left)
        if left:
            yield from times_wrong(entry, "what is not deleted", found, len(left))
        for mark in marks:
            yield from _wrong_deletion(mark, deletes.get(mark), len(there[mark]))
            if entry.answer:
                yield from _wrong_ids(entry, mark, there[mark])
    yield from _wrong_chains(era, seen, deletes)
    yield from _wrong_states(era, there)
    for space in seen.spaces:
        if space.atom_count != len(seen.atoms[space.id]):
            yield f"space {space.name} counts {space.atom_count} atoms and lists {len(seen.atoms[space.id])}"


def _endings(era: Era, *operations: str) -> dict[Mark, State]:
    """Return the state of each mark that some operations ended, certainly or possibly."""
    ended: dict[Mark, State] = {}
    for entry in era.select(*operations):
        mark = mark_of(entry.given["mark"])
        if mark is not None and entry.state != "refused" and ended.get(mark) != "done":
            ended[mark] = entry.state
    return ended


def _wrong_deletion(mark: Mark, deleted: State | None, found: int) -> Iterator[str]:
    if deleted == "done" and found:
        yield f"{mark} was deleted and is there"
    if deleted == "lost" and found > 1:
        yield f"{mark} is there {found} times"


def _wrong_ids(entry: Entry, mark: Mark, found: list[Atom]) -> Iterator[str]:
    answer = entry.answer or {}
    answered_ids = {id for id, _ in answer["atoms"]} if "atoms" in answer else {answer["id"]}
    for atom in found:
        # The tools name an entry by an id of another form with the same digits.
        if not any(_digits(id) == _digits(atom.id) for id in answered_ids):
            yield f"{mark} has another id than was answered"


def _digits(id: str) -> str:
    return re.sub("^[a-z]+[-_]", "", id).replace("-", "")


def _wrong_chains(era: Era, seen: Observation, deletes: dict[Mark, State]) -> Iterator[str]:
    """Check that both sides of each supersession agree: both were written, or neither."""
    by_id = {atom.id: atom for atoms in seen.atoms.values() for atom in atoms}
    superseding = {mark: entry for entry in era.select("supersede", "replace") for mark in _marks(entry)}
    for atom in by_id.values():
        old = by_id.get(atom.supersedes) if atom.supersedes else None
        if old is not None and old.superseded_by != atom.id:
            yield f"atom {atom.id} takes the place of {old.id}, which does not know of it"
        new = by_id.get(atom.superseded_by) if atom.superseded_by else None
        if new is not None and new.supersedes != atom.id:
            yield f"atom {atom.id} was superseded by {new.id}, which does not know of it"
        mark = mark_of(atom.text)
        if mark in superseding and atom.supersedes is None:
            yield f"{mark} takes the place of nothing"
        if atom.superseded_by and new is None and not _newer_was_deleted(mark, superseding, deletes):
            yield f"atom {atom.id} was superseded by {atom.superseded_by}, which is not there"
        if atom.superseded_by is None and _was_superseded(mark, superseding):
            yield f"{mark} was superseded and does not say so"


def _marks(entry: Entry) -> Iterator[Mark]:
    return (mark for text in entry.given["texts"] if (mark := mark_of(text)))


def _newer_was_deleted(mark: Mark | None, superseding: dict[Mark, Entry], deletes: dict[Mark, State]) -> bool:
    newer = [each for each, entry in superseding.items() if mark_of(entry.given["mark"]) == mark]
    return any(each in deletes for each in newer)


def _was_superseded(mark: Mark | None, superseding: dict[Mark, Entry]) -> bool:
    return any(entry.state == "done" and mark_of(entry.given["mark"]) == mark for entry in superseding.values())


def _wrong_states(era: Era, there: dict[Mark, list[Atom]]) -> Iterator[str]:
    archives = _endings(era, "archive")
    for mark, atoms in there.items():
        for atom in atoms:
            if atom.status == "ACTIVE" and archives.get(mark) == "done":
                yield f"{mark} was archived and is active"
            if atom.status == "ARCHIVED" and mark not in archives:
                yield f"{mark} is archived and nobody has done it"


def wrong_recall(era: Era, seen: Observation) -> Iterator[str]:
    """Check that recall by words finds the valid atoms, and no superseded, archived or deleted one."""
    for space in seen.spaces:
        if space.name == SHARED:
            continue  # Nobody writes to it.
        holding: dict[int, set[str]] = defaultdict(set)
        for atom in seen.atoms[space.id]:
            mark = mark_of(atom.text)
            if mark is not None and atom.status == "ACTIVE" and atom.superseded_by is None:
                holding[mark.number].add(atom.id)
        added = {entry.number for entry in era.select(*_ADDING, "message", "turn", "run", "run_served")}
        for number in sorted(added | set(holding)):
            for way, found in seen.recall_ids(space.id, number).items():
                if found != holding[number]:
                    holds = sorted(holding[number])
                    yield f"{way} in {space.name} gives {sorted(found)} for {number}, and {holds} hold"


def wrong_entities(era: Era, seen: Observation) -> Iterator[str]:
    if seen.daily is None:
        return
    names = Counter(each["canonicalName"] for each in seen.export["entities"])
    by_id = {each["id"]: each for each in seen.export["entities"]}
    for entry in era.select("entity"):
        name = f"Person {era.user}n{entry.number}"
        yield from times_wrong(entry, "the entity", names[name])
        if entry.state == "done" and seen.context.memory.find_entity_by_name(seen.daily, "PERSON", name) is None:
            yield f"entity {name!r} is not found by its name"
    for entry in era.select("merge"):
        alias = by_id.get(entry.given["ends"])
        merged = alias is not None and alias["mergedInto"] is not None
        if entry.state == "done" and not merged:
            yield f"{entry.given['alias']!r} was merged and is not"
        if merged and alias is not None:
            found = seen.context.memory.find_entity_by_name(seen.daily, "PERSON", entry.given["alias"])
            if found is None or found.id != _end(by_id, alias["id"]):
                yield f"{entry.given['alias']!r} was merged and its name leads elsewhere"


def _end(by_id: dict[str, dict[str, str]], id: str) -> str:
    while by_id[id]["mergedInto"]:
        id = by_id[id]["mergedInto"]
    return id
