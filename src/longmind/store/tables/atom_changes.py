"""The steps that extraction has decided on, carried out as one change of a space.

Extraction compares candidates with the atoms of a space outside of any transaction. What it decides arrives here as
steps, in the transaction that has verified that the space did not change since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from longmind.clock import Micros, to_micros
from longmind.models.decision import DecisionAction
from longmind.models.entity import EntityType
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atom_decisions, atom_versions, atoms, entities
from longmind.store.tables.atom_decisions import (
    AtomFields,
    DecisionOrigin,
    DecisionPlace,
    FieldChanges,
    NewDecision,
    find_changes,
    take_fields,
)
from longmind.store.tables.atom_rows import PreparedAtom
from longmind.store.tables.atom_versions import MovedEnd
from longmind.store.tables.ledger import record_change
from longmind.store.tables.spaces import SpaceChange

EntityMention = tuple[str, EntityType, tuple[str, ...]]
"""A name, the type of what it names, and its other names."""


@dataclass(frozen=True)
class AtomAddition:
    """An atom to add, under the id it has, and the atoms that it replaces. The atom itself says why."""

    atom: PreparedAtom
    mentions: tuple[EntityMention, ...] = ()
    supersedes: tuple[str, ...] = ()
    """Atoms that end where this one begins; the first is the version before this one."""
    superseded_by: str | None = None
    """A newer atom that is known already: this one is history from the start."""


@dataclass(frozen=True)
class AtomReinforcement:
    """A known atom that was stated again, with its sources, confidence and importance from now on."""

    atom_id: str
    source_message_ids: tuple[str, ...]
    mentions: tuple[EntityMention, ...]
    confidence: float
    importance: int
    trust: str
    confirmed_at: Micros
    entity_ids: tuple[str, ...] = ()
    """Entities that it mentions besides, by their ids."""
    because: str = "It repeats a known fact."


@dataclass(frozen=True)
class AtomEnding:
    """A known atom that is over, and that no other atom replaces.

    Before it was known to be over, it had the end that it was recorded with, as with one that was superseded.
    """

    atom_id: str
    closes_at: Micros
    because: str = "It is over."
    source_message_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class AtomMerge:
    """A known atom that says what another known one says, which stands for both from now on.

    It ends where the other one begins, but not before it began itself.
    """

    atom_id: str
    survivor_id: str
    because: str = "Another fact says the same."


@dataclass(frozen=True)
class AtomRetirement:
    """An atom that a newer version of the extractor's instructions no longer finds."""

    atom_id: str
    because: str = "A newer version of the extraction no longer finds it."


LearningStep = AtomAddition | AtomReinforcement | AtomEnding | AtomMerge | AtomRetirement


def apply_steps(
    run: Transaction,
    scope: Scope,
    space_id: str,
    change: SpaceChange,
    steps: Sequence[LearningStep],
    now: Micros,
    origin: DecisionOrigin | None = None,
) -> None:
    """Carry the steps out in their order, and record each as a decision. The change has a position for each addition.

    origin: the extraction that has decided; additions say it themselves. A step that changes nothing is no decision.
    """
    position = change.first
    added: list[str] = []
    for ordinal, step in enumerate(steps):
        before = _read_fields(run, _list_known(step))
        moved = _carry_out(run, scope, space_id, step, position, change.revision, now)
        changes = find_changes(before, _read_fields(run, before))
        for id, former, end in moved:
            # A version may be moved more than once: it ends where the last move has put it.
            first = changes.get(id, {}).get("valid_to", (former, end))[0]
            changes.setdefault(id, {})["valid_to"] = (first, end)
        if isinstance(step, AtomAddition):
            added.append(step.atom.id)
            changes[step.atom.id] = _find_links(run, step)
            position += 1
        if isinstance(step, AtomMerge) and changes:
            # Listed with the decision, although nothing of it has changed.
            changes.setdefault(step.survivor_id, {})
        if changes:
            place = DecisionPlace(change.revision, ordinal)
            atom_decisions.record(run, space_id, place, _to_decision(step, origin or DecisionOrigin()), changes, now)
    if added:
        record_change(run, scope, "atoms.added", now, space_id=space_id, atom_ids=added)


def _list_known(step: LearningStep) -> tuple[str, ...]:
    """Return the known atoms that a step may change."""
    if isinstance(step, AtomAddition):
        return step.supersedes if step.superseded_by is None else (*step.supersedes, step.superseded_by)
    return (step.atom_id,)


def _read_fields(run: Transaction, atom_ids: Iterable[str]) -> dict[str, AtomFields]:
    """Return the fields of atoms that decisions change, without the atoms that are gone."""
    found = [(atom_id, atoms.get(run, atom_id)) for atom_id in atom_ids]
    return {atom_id: take_fields(atom) for atom_id, atom in found if atom is not None}


def _find_links(run: Transaction, step: AtomAddition) -> FieldChanges:
    """Return the fields of an added atom that link it to others."""
    if step.superseded_by is None:
        return {"supersedes": (None, step.supersedes[0])} if step.supersedes else {}
    fields = _read_fields(run, [step.atom.id])[step.atom.id]
    return {name: (None, fields[name]) for name in ("supersedes", "superseded_by", "superseded_at") if fields[name]}


def _to_decision(step: LearningStep, origin: DecisionOrigin) -> NewDecision:
    """Return the decision that a step carries out."""
    match step:
        case AtomAddition(atom=atom):
            action: DecisionAction = "supersede" if step.supersedes else "add"
            because = atom.because or "Nothing similar was known."
            own = DecisionOrigin(atom.source_conversation_id, atom.extraction_version)
            return NewDecision(action, atom.id, because, atom.source_message_ids, own)
        case AtomReinforcement():
            return NewDecision("reinforce", step.atom_id, step.because, step.source_message_ids, origin)
        case AtomEnding():
            return NewDecision("end", step.atom_id, step.because, step.source_message_ids, origin)
        case AtomMerge():
            return NewDecision("merge", step.atom_id, step.because, (), origin)
        case AtomRetirement():
            return NewDecision("retire", step.atom_id, step.because, (), origin)
        case _:
            assert_never(step)


def _carry_out(
    run: Transaction, scope: Scope, space_id: str, step: LearningStep, position: int, revision: int, now: Micros
) -> list[MovedEnd]:
    """Carry out one step, and return the older versions whose ends have moved with it."""
    match step:
        case AtomAddition():
            return _add(run, scope, space_id, step, position, revision, now)
        case AtomReinforcement():
            _reinforce(run, scope, space_id, step, revision, now)
        case AtomEnding():
            if run.one("end_atom", id=step.atom_id, closes_at=step.closes_at, revision=revision, now=now):
                record_change(run, scope, "atom.ended", now, space_id=space_id, atom_id=step.atom_id)
        case AtomMerge():
            return _merge(run, scope, space_id, step, revision, now)
        case AtomRetirement():
            atoms.archive_known(run, scope, space_id, step.atom_id, revision, now)
        case _:
            assert_never(step)
    return []


def _add(
    run: Transaction, scope: Scope, space_id: str, step: AtomAddition, position: int, revision: int, now: Micros
) -> list[MovedEnd]:
    entity_ids = _find_or_make_entities(run, scope, space_id, step.mentions, revision, now)
    new = step.atom._replace(
        entity_ids=tuple(dict.fromkeys((*step.atom.entity_ids, *entity_ids))), key=_find_key(run, step.supersedes)
    )
    before = step.supersedes[0] if step.supersedes else None
    conversation_id = new.source_conversation_id
    (atom,) = atoms.insert(run, scope, space_id, [new], [conversation_id], position, now, supersedes=before)
    moved: list[MovedEnd] = []
    for old_id in step.supersedes:
        moved += _close(run, scope, space_id, old_id, atom.id, new.valid_from, revision, now)
    if step.superseded_by is not None:
        moved += _link_before(run, scope, space_id, new, step.superseded_by, revision, now)
    return moved


def _link_before(
    run: Transaction, scope: Scope, space_id: str, old: PreparedAtom, newer_id: str, revision: int, now: Micros
) -> list[MovedEnd]:
    """Make an atom that was just added the version before a newer one, which may be deleted by now."""
    newer = atoms.get(run, newer_id)
    own_end = old.valid_from if old.valid_to is None else old.valid_to
    begins = own_end if newer is None else to_micros(newer.valid_from)
    moved = _close(run, scope, space_id, old.id, newer_id, begins, revision, now)
    run.send("name_predecessor", id=newer_id, supersedes=old.id, revision=revision, now=now)
    if newer is not None and newer.valid_to == newer.valid_from:
        # The newer one was cut by a version after it that begins earlier still; that one cuts this one too.
        moved += atom_versions.settle_ends(run, space_id, newer_id, revision, now)
    return [each for each in moved if each.id != old.id]


def _close(
    run: Transaction, scope: Scope, space_id: str, old_id: str, new_id: str, begins: Micros, revision: int, now: Micros
) -> list[MovedEnd]:
    moved = atom_versions.close(
        run,
        "supersede_known",
        space_id,
        old_id,
        new_id,
        begins=begins,
        recorded_at=now,
        revision=revision,
        now=now,
    )
    if moved is None:
        return []
    record_change(run, scope, "atom.superseded", now, space_id=space_id, atom_id=old_id, superseded_by=new_id)
    return moved


def _merge(
    run: Transaction, scope: Scope, space_id: str, step: AtomMerge, revision: int, now: Micros
) -> list[MovedEnd]:
    survivor = atoms.get(run, step.survivor_id)
    if survivor is None:
        return []
    begins = to_micros(survivor.valid_from)
    key = _find_key(run, [step.atom_id])
    if key is not None:
        run.send("put_key", id=survivor.id, key=key, revision=revision, now=now)
    return _close(run, scope, space_id, step.atom_id, survivor.id, begins, revision, now)


def _find_key(run: Transaction, replaced: Sequence[str]) -> str | None:
    """Return the key that atoms which are about to be replaced have in this order, if one of them holds one."""
    for atom_id in replaced:
        atom = atoms.get(run, atom_id)
        if atom is not None and atom.key is not None and atom.superseded_by is None and atom.status == "ACTIVE":
            return atom.key
    return None


def _reinforce(
    run: Transaction, scope: Scope, space_id: str, step: AtomReinforcement, revision: int, now: Micros
) -> None:
    known = atoms.get(run, step.atom_id)
    if known is None:
        return
    mentioned = _find_or_make_entities(run, scope, space_id, step.mentions, revision, now)
    entity_ids = list(dict.fromkeys((*known.entity_ids, *step.entity_ids, *mentioned)))
    run.send(
        "reinforce_atom",
        id=known.id,
        source_message_ids=json.dumps(list(dict.fromkeys((*known.source_message_ids, *step.source_message_ids)))),
        entity_ids=json.dumps(entity_ids),
        confidence=step.confidence,
        importance=step.importance,
        trust=step.trust,
        confirmed_at=step.confirmed_at,
        revision=revision,
        now=now,
    )
    for entity_id in entity_ids:
        run.send("link_atom", entity_id=entity_id, atom_id=known.id)
    record_change(run, scope, "atom.reinforced", now, space_id=space_id, atom_id=known.id)


def _find_or_make_entities(
    run: Transaction, scope: Scope, space_id: str, mentions: tuple[EntityMention, ...], revision: int, now: Micros
) -> list[str]:
    return [
        entities.find_or_make(run, scope, space_id, type, name, aliases, revision, now)
        for name, type, aliases in mentions
    ]
