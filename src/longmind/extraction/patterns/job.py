"""Looks for what recurs among the events of a space, and keeps it as patterns.

To mine and to embed takes long, so it happens outside of a transaction. What becomes of each find is decided once more
in the transaction that writes it, where nobody else changes the space: mining twice at once leaves what once leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from longmind.clock import Clock, Micros
from longmind.errors import StoreBusy
from longmind.extraction import forgotten as tombstones
from longmind.extraction.forgotten import Fact
from longmind.extraction.patterns.detection import CATEGORY, Pattern, mine, settle
from longmind.extraction.reconcile.decisions import Add, Skip, Supersede
from longmind.extraction.reconcile.known_atoms import to_known_atom
from longmind.ids import new_id
from longmind.models.atom import Atom
from longmind.recall.index import storage as writing
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
"""Events that are looked at: those that happened last."""
_ROUNDS = 6

Result = dict[str, Any]


class PatternFinder:
    def __init__(self, database: Database, retriever: AtomRetriever, clock: Clock) -> None:
        self._database = database
        self._retriever = retriever
        self._clock = clock

    def find_now(self, scope: Scope, space_id: str) -> list[Atom]:
        """Write the patterns of a space that are new or have changed, and give them."""
        for _ in range(_ROUNDS):
            try:
                result = self._database.write(scope, self.mine(scope, space_id))
            except EffectConflict:
                continue
            found = self._database.read(scope, _atoms, result["added"])
            return [atom for atom in found if atom is not None]
        raise StoreBusy("The events of the space changed each time that patterns were looked for among them.")

    def mine(self, scope: Scope, space_id: str) -> Callable[[Transaction], Result]:
        """Find patterns; what is given back writes those that are new or have changed, or is overtaken."""
        with self._retriever.space(scope, space_id) as index:
            places = _newest_events(index)
        episodes = self._database.read(scope, atoms.read_at, space_id, places)
        wanted = self._database.read(scope, _wanted, space_id, mine(list(episodes.values())))
        patterns = [pattern for _, pattern, _ in wanted]
        indexed = self._retriever.index_texts([IndexedText(pattern.text, ()) for pattern in patterns])
        evidence = {each for pattern in patterns for each in pattern.episode_ids}
        rests_on = {position: atom for position, atom in episodes.items() if atom.id in evidence}
        return lambda run: self._write(run, scope, space_id, patterns, indexed, rests_on)

    def _write(
        self,
        run: Transaction,
        scope: Scope,
        space_id: str,
        patterns: Sequence[Pattern],
        indexed: IndexEntries,
        rests_on: Mapping[int, Atom],
    ) -> Result:
        if not patterns:
            return {"added": [], "superseded": []}
        now = self._clock()
        # From here on nobody else changes the space.
        spaces.begin_change(run, space_id, now)
        if atoms.read_at(run, space_id, list(rests_on)) != rests_on:
            raise EffectConflict("An event was changed or deleted while patterns were looked for.")
        wanted = _wanted(run, space_id, patterns)
        additions = [_addition(pattern, decision, now) for _, pattern, decision in wanted]
        if additions:
            change = spaces.begin_change(run, space_id, now, len(additions))
            apply_steps(run, scope, space_id, change, additions, now)
            writing.write(run, space_id, change, indexed.select([place for place, _, _ in wanted]))
        return {
            "added": [step.atom.id for step in additions],
            "superseded": [
                {"atomId": old_id, "supersededBy": step.atom.id} for step in additions for old_id in step.supersedes
            ],
        }


def _newest_events(index: SpaceIndex) -> list[int]:
    counts = index.present.values & (index.archived_at.values == FOREVER) & (index.superseded_at.values == FOREVER)
    places = np.flatnonzero(counts & (index.kind.values == KINDS.index("EPISODE")))
    newest = np.argsort(index.valid_from.values[places], kind="stable")[-MOST_EPISODES:]
    return [int(place) for place in places[newest]]


def _wanted(run: Transaction, space_id: str, patterns: Sequence[Pattern]) -> list[tuple[int, Pattern, Add | Supersede]]:
    """The patterns that are to be written, each with its place in the list and with what it replaces."""
    forgotten = tombstones.buried(run, space_id, [_fact(pattern) for pattern in patterns])
    known = {atom.id: to_known_atom(atom, slot) for atom, slot in atoms.list_patterns(run, space_id)}
    wanted: list[tuple[int, Pattern, Add | Supersede]] = []
    for place, pattern in enumerate(patterns):
        if place in forgotten:
            continue
        decision = settle(pattern, list(known.values()))
        # A pattern that is known is one of those that were found, and not another one as well.
        before = None if decision.atom_id is None else known.pop(decision.atom_id)
        put_away = before is not None and before.atom.status != "ACTIVE"
        if not isinstance(decision, Skip) and not put_away:
            wanted.append((place, pattern, decision))
    return wanted


def _addition(pattern: Pattern, decision: Add | Supersede, now: Micros) -> AtomAddition:
    subject, attribute, value = _slot(pattern)
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
        # It is found in many.
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


def _slot(pattern: Pattern) -> Slot:
    return pattern.slot.subject, pattern.slot.attribute, pattern.slot.value


def _fact(pattern: Pattern) -> Fact:
    return Fact(pattern.text, _slot(pattern), pattern.source_message_ids)


def _atoms(run: Transaction, ids: Sequence[str]) -> list[Atom | None]:
    return [atoms.get(run, each) for each in ids]
