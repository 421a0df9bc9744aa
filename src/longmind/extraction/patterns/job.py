"""The job that finds patterns among the events of a space and writes them.

Finding and embedding take long, so they run outside a transaction. What becomes of each pattern is decided again in the
transaction that writes it, where nobody else changes the space: running the job twice at once leaves what one run
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from longmind.clock import Clock, Micros
from longmind.errors import StoreBusy
from longmind.extraction import forgotten
from longmind.extraction.forgotten import ForgettableFact
from longmind.extraction.patterns.detection import CATEGORY, Pattern, decide_pattern, find_patterns
from longmind.extraction.reconcile.decisions import Add, Skip, Supersede
from longmind.extraction.reconcile.known_atoms import to_known_atom
from longmind.ids import new_id
from longmind.models.atom import Atom
from longmind.recall.index import storage as index_storage
from longmind.recall.index.atom_columns import FOREVER, KINDS
from longmind.recall.index.segments import IndexedText
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.index.storage import IndexEntries
from longmind.recall.retriever import AtomRetriever
from longmind.scope import Scope
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.tables import atoms, spaces
from longmind.store.tables.atom_changes import AtomAddition, apply_steps
from longmind.store.tables.atom_rows import PreparedAtom, Slot

MOST_EPISODES = 2_000
"""Events that are looked at: the latest ones."""
_ROUNDS = 6

Result = dict[str, Any]


class PatternFinder:
    """Finds and writes patterns. It holds no state of its own, and threads may share it."""

    def __init__(self, database: Database, retriever: AtomRetriever, clock: Clock) -> None:
        self._database = database
        self._retriever = retriever
        self._clock = clock

    def find_now(self, scope: Scope, space_id: str) -> list[Atom]:
        """Write the patterns of a space that are new or have changed, and return them.

        Raises `StoreBusy` if the events change during each of several attempts.
        """
        for _ in range(_ROUNDS):
            try:
                result = self._database.write(scope, self.find(scope, space_id))
            except EffectConflict:
                continue
            found = self._database.read(scope, _read_atoms, result["added"])
            return [atom for atom in found if atom is not None]
        raise StoreBusy("The events of the space changed during every attempt to find patterns in them.")

    def find(self, scope: Scope, space_id: str) -> Callable[[Transaction], Result]:
        """Find patterns, and return the function that writes those that are new or have changed.

        That function raises `EffectConflict` if an event that a pattern rests on has changed since.
        """
        with self._retriever.space(scope, space_id) as index:
            positions = _find_newest_events(index)
        episodes = self._database.read(scope, atoms.read_at, space_id, positions)
        changes = self._database.read(scope, _select_changes, space_id, find_patterns(list(episodes.values())))
        patterns = [pattern for _, pattern, _ in changes]
        entries = self._retriever.index_texts([IndexedText(pattern.text, ()) for pattern in patterns])
        evidence_ids = {each for pattern in patterns for each in pattern.episode_ids}
        evidence = {position: atom for position, atom in episodes.items() if atom.id in evidence_ids}
        return lambda run: self._write(run, scope, space_id, patterns, entries, evidence)

    def _write(
        self,
        run: Transaction,
        scope: Scope,
        space_id: str,
        patterns: Sequence[Pattern],
        entries: IndexEntries,
        evidence: Mapping[int, Atom],
    ) -> Result:
        """Write patterns, given their index entries and the events that they rest on by position."""
        if not patterns:
            return {"added": [], "superseded": []}
        now = self._clock()
        # From here on no other transaction changes the space.
        spaces.begin_change(run, space_id, now)
        if atoms.read_at(run, space_id, list(evidence)) != evidence:
            raise EffectConflict("An event was changed or deleted during the search for patterns.")
        changes = _select_changes(run, space_id, patterns)
        additions = [_build_addition(pattern, decision, now) for _, pattern, decision in changes]
        if additions:
            change = spaces.begin_change(run, space_id, now, len(additions))
            apply_steps(run, scope, space_id, change, additions, now)
            index_storage.write(run, space_id, change, entries.select([place for place, _, _ in changes]))
        return {
            "added": [step.atom.id for step in additions],
            "superseded": [
                {"atomId": old_id, "supersededBy": step.atom.id} for step in additions for old_id in step.supersedes
            ],
        }


def _find_newest_events(index: SpaceIndex) -> list[int]:
    """Return the positions of the latest events of a space that are neither archived nor superseded."""
    is_live = index.present.values & (index.archived_at.values == FOREVER) & (index.superseded_at.values == FOREVER)
    positions = np.flatnonzero(is_live & (index.kind.values == KINDS.index("EPISODE")))
    newest = np.argsort(index.valid_from.values[positions], kind="stable")[-MOST_EPISODES:]
    return [int(position) for position in positions[newest]]


def _select_changes(
    run: Transaction, space_id: str, patterns: Sequence[Pattern]
) -> list[tuple[int, Pattern, Add | Supersede]]:
    """Return the patterns to write, each with its index in the list and its decision."""
    forgotten_places = forgotten.find_forgotten(run, space_id, [_to_fact(pattern) for pattern in patterns])
    known = {atom.id: to_known_atom(atom, slot) for atom, slot in atoms.list_patterns(run, space_id)}
    changes: list[tuple[int, Pattern, Add | Supersede]] = []
    for place, pattern in enumerate(patterns):
        if place in forgotten_places:
            continue
        decision = decide_pattern(pattern, list(known.values()))
        # A known pattern belongs to one of the patterns found, and cannot be replaced by another one as well.
        before = None if decision.atom_id is None else known.pop(decision.atom_id)
        was_archived = before is not None and before.atom.status != "ACTIVE"
        if not isinstance(decision, Skip) and not was_archived:
            changes.append((place, pattern, decision))
    return changes


def _build_addition(pattern: Pattern, decision: Add | Supersede, now: Micros) -> AtomAddition:
    """Return the step that writes a pattern."""
    subject, attribute, value = _to_row_slot(pattern)
    atom = PreparedAtom(
        id=new_id("atom", now),
        text=pattern.text,
        search_context=(),
        speaker=pattern.trust if pattern.trust in ("user", "assistant") else None,
        category_name=CATEGORY,
        kind="PATTERN",
        importance=pattern.importance,
        confidence=pattern.confidence,
        valid_from=pattern.valid_from,
        valid_to=None,
        # A pattern is found in many conversations.
        source_conversation_id=None,
        source_message_ids=pattern.source_message_ids,
        entity_ids=pattern.entity_ids,
        tags=(),
        origin="extraction",
        trust=pattern.trust,
        created_at=now,
        decision=decision.action,
        because=decision.because,
        evidence=pattern.episode_ids,
        slot_subject=subject,
        slot_attribute=attribute,
        slot_value=value,
    )
    if isinstance(decision, Supersede):
        return AtomAddition(atom, supersedes=(decision.atom_id,))
    return AtomAddition(atom)


def _to_row_slot(pattern: Pattern) -> Slot:
    return pattern.slot.subject, pattern.slot.attribute, pattern.slot.value


def _to_fact(pattern: Pattern) -> ForgettableFact:
    return ForgettableFact(pattern.text, _to_row_slot(pattern), pattern.source_message_ids)


def _read_atoms(run: Transaction, ids: Sequence[str]) -> list[Atom | None]:
    return [atoms.get(run, each) for each in ids]
