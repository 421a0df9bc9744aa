"""The steps that extraction has decided on, carried out as one change of a space.

Extraction compares candidates with the atoms of a space outside of any transaction. What it decides arrives here as
steps, in the transaction that has verified that the space did not change since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from longmind.clock import Micros, to_micros
from longmind.models.entity import EntityType
from longmind.scope import Scope
from longmind.store.database import Transaction
from longmind.store.tables import atom_versions, atoms, entities
from longmind.store.tables.atom_rows import PreparedAtom
from longmind.store.tables.ledger import record_change
from longmind.store.tables.spaces import SpaceChange

EntityMention = tuple[str, EntityType, tuple[str, ...]]
"""A name, the type of what it names, and its other names."""


@dataclass(frozen=True)
class AtomAddition:
    """An atom to add, under the id it has, and the atoms that it replaces."""

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


@dataclass(frozen=True)
class AtomRetirement:
    """An atom that a newer version of the extractor's instructions no longer finds."""

    atom_id: str


LearningStep = AtomAddition | AtomReinforcement | AtomRetirement


def apply_steps(
    run: Transaction, scope: Scope, space_id: str, change: SpaceChange, steps: Sequence[LearningStep], now: Micros
) -> None:
    """Carry the steps out in their order. The change has taken a position for each addition."""
    position = change.first
    added: list[str] = []
    for step in steps:
        match step:
            case AtomAddition():
                added.append(_add(run, scope, space_id, step, position, change.revision, now))
                position += 1
            case AtomReinforcement():
                _reinforce(run, scope, space_id, step, change.revision, now)
            case AtomRetirement(atom_id):
                atoms.archive_known(run, scope, space_id, atom_id, change.revision, now)
    if added:
        record_change(run, scope, "atoms.added", now, space_id=space_id, atom_ids=added)


def _add(
    run: Transaction, scope: Scope, space_id: str, step: AtomAddition, position: int, revision: int, now: Micros
) -> str:
    entity_ids = _find_or_make_entities(run, scope, space_id, step.mentions, revision, now)
    new = step.atom._replace(entity_ids=tuple(dict.fromkeys((*step.atom.entity_ids, *entity_ids))))
    before = step.supersedes[0] if step.supersedes else None
    conversation_id = new.source_conversation_id
    (atom,) = atoms.insert(run, scope, space_id, [new], [conversation_id], position, now, supersedes=before)
    for old_id in step.supersedes:
        _close(run, scope, space_id, old_id, atom.id, new.valid_from, revision, now)
    if step.superseded_by is not None:
        _link_before(run, scope, space_id, new, step.superseded_by, revision, now)
    return atom.id


def _link_before(
    run: Transaction, scope: Scope, space_id: str, old: PreparedAtom, newer_id: str, revision: int, now: Micros
) -> None:
    """Make an atom that was just added the version before a newer one, which may be deleted by now."""
    newer = atoms.get(run, newer_id)
    own_end = old.valid_from if old.valid_to is None else old.valid_to
    begins = own_end if newer is None else to_micros(newer.valid_from)
    _close(run, scope, space_id, old.id, newer_id, begins, revision, now)
    run.send("name_predecessor", id=newer_id, supersedes=old.id, revision=revision, now=now)
    if newer is not None and newer.valid_to == newer.valid_from:
        # The newer one was cut by a version after it that begins earlier still; that one cuts this one too.
        atom_versions.settle_ends(run, space_id, newer_id, revision, now)


def _close(
    run: Transaction, scope: Scope, space_id: str, old_id: str, new_id: str, begins: Micros, revision: int, now: Micros
) -> None:
    if atom_versions.close(
        run,
        "supersede_known",
        space_id,
        old_id,
        new_id,
        begins=begins,
        recorded_at=now,
        revision=revision,
        now=now,
    ):
        record_change(run, scope, "atom.superseded", now, space_id=space_id, atom_id=old_id, superseded_by=new_id)


def _reinforce(
    run: Transaction, scope: Scope, space_id: str, step: AtomReinforcement, revision: int, now: Micros
) -> None:
    known = atoms.get(run, step.atom_id)
    if known is None:
        return
    mentioned = _find_or_make_entities(run, scope, space_id, step.mentions, revision, now)
    entity_ids = list(dict.fromkeys((*known.entity_ids, *mentioned)))
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
