"""The job that consolidates a space: it merges facts that say the same, and closes plans whose day is over.

Deciding takes long, so it happens outside a transaction. The one that writes checks that the space is as it was; if it
is not, the job decides again, and after a few rounds inside the transaction. Running the job twice at once leaves what
one run leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from longmind.clock import Clock, Micros, to_iso, to_micros
from longmind.extraction.candidate import Slot
from longmind.extraction.consolidation.endings import find_end
from longmind.extraction.consolidation.merges import ComparableFact, Merge, plan_merges
from longmind.recall.index.atom_columns import FOREVER, KINDS, NOBODY
from longmind.recall.index.refresh import refresh
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.retriever import AtomRetriever
from longmind.scope import Scope
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.tables import atoms, spaces
from longmind.store.tables.atom_changes import AtomEnding, AtomMerge, AtomReinforcement, LearningStep, apply_steps

MOST_FACTS = 2_000
"""Facts that are compared: those that were recorded last."""
_OVER = "The day that it was for is over."

Result = dict[str, Any]


@dataclass(frozen=True)
class ConsolidationPlan:
    """The decisions about the facts of a space at one of its revisions."""

    revision: int
    merges: Sequence[Merge]
    endings: Sequence[tuple[str, Micros]]
    """The facts to close, each with its end."""


class Consolidator:
    """Consolidates spaces. It holds no state of its own, and threads may share it."""

    def __init__(self, database: Database, retriever: AtomRetriever, clock: Clock) -> None:
        self._database = database
        self._retriever = retriever
        self._clock = clock

    def prepare(self, scope: Scope, space_id: str, *, in_transaction: bool = False) -> Callable[[Transaction], Result]:
        """Decide about the facts of a space, and return the function that writes the decisions.

        in_transaction: decide in the transaction that writes, which holds the space for as long.

        The function raises `EffectConflict` if the space has changed since.
        """
        if in_transaction:
            return lambda run: self._plan_and_write(run, scope, space_id)
        with self._retriever.space(scope, space_id) as index:
            revision, found = index.revision, _find_open(index)
        rows = self._database.read(scope, atoms.read_with_slots_at, space_id, list(found))
        plan = make_plan(revision, _join(found, rows), self._clock())
        return lambda run: self._write(run, scope, space_id, plan)

    def _plan_and_write(self, run: Transaction, scope: Scope, space_id: str) -> Result:
        now = self._clock()
        # From here on no other transaction changes the space.
        spaces.begin_change(run, space_id, now)
        index = SpaceIndex()
        refresh(run, space_id, index)
        found = _find_open(index)
        facts = _join(found, atoms.read_with_slots_at(run, space_id, list(found)))
        return self._write(run, scope, space_id, make_plan(index.revision, facts, now))

    def _write(self, run: Transaction, scope: Scope, space_id: str, plan: ConsolidationPlan) -> Result:
        if plan.merges or plan.endings:
            now = self._clock()
            change = spaces.begin_change(run, space_id, now)
            if change.revision != plan.revision + 1:
                raise EffectConflict("Another writer changed the space during the consolidation.")
            apply_steps(run, scope, space_id, change, list_steps(plan), now)
        return _to_result(plan)


def make_plan(revision: int, facts: Iterable[ComparableFact], now: Micros) -> ConsolidationPlan:
    """Decide about facts: close those whose day is over, and merge those of the others that say the same."""
    endings: list[tuple[str, Micros]] = []
    left: list[ComparableFact] = []
    for fact in facts:
        end = find_end(fact.atom, fact.slot, now)
        if end is None:
            left.append(fact)
        else:
            endings.append((fact.atom.id, end))
    return ConsolidationPlan(revision, plan_merges(left, now), sorted(endings))


def list_steps(plan: ConsolidationPlan) -> list[LearningStep]:
    """Return the steps of a plan: a fact that stays gets the sources of those that it replaces, before they end."""
    steps: list[LearningStep] = [AtomEnding(atom_id, end, _OVER) for atom_id, end in plan.endings]
    replaced: dict[str, list[Merge]] = {}
    for merge in plan.merges:
        replaced.setdefault(merge.survivor.atom.id, []).append(merge)
    for survivor_id, merges in replaced.items():
        all_atoms = [merges[0].survivor.atom, *(merge.replaced.atom for merge in merges)]
        steps.append(
            AtomReinforcement(
                survivor_id,
                tuple(dict.fromkeys(each for atom in all_atoms for each in atom.source_message_ids)),
                (),
                max(atom.confidence for atom in all_atoms),
                max(atom.importance for atom in all_atoms),
                merges[0].survivor.atom.trust,
                max(to_micros(atom.last_confirmed_at or atom.valid_from) for atom in all_atoms),
                tuple(dict.fromkeys(each for atom in all_atoms for each in atom.entity_ids)),
                "It takes the sources of facts that say the same.",
            )
        )
        steps += [AtomMerge(merge.replaced.atom.id, survivor_id, merge.because) for merge in merges]
    return steps


def _find_open(index: SpaceIndex) -> dict[int, tuple[str | None, Any]]:
    """Return the newest facts that are neither archived nor superseded nor over, with their speakers and vectors."""
    is_open = index.present.values & (index.archived_at.values == FOREVER) & (index.superseded_at.values == FOREVER)
    is_open &= index.kind.values != KINDS.index("PATTERN")
    positions = np.flatnonzero(is_open)
    newest = positions[np.argsort(index.created_at.values[positions], kind="stable")[-MOST_FACTS:]]
    speakers = {code: name for name, code in index.speaker_codes.items()} | {NOBODY: None}
    vectors = index.decode_vectors(newest)
    return {
        int(position): (speakers[int(index.speaker.values[position])], None if vectors is None else vectors[place])
        for place, position in enumerate(newest)
    }


def _join(
    found: dict[int, tuple[str | None, Any]], rows: dict[int, tuple[Any, tuple[str, str, str] | None]]
) -> list[ComparableFact]:
    """Return the facts that were found, as far as they are still there."""
    return [
        ComparableFact(rows[position][0], _to_slot(rows[position][1]), speaker, vector)
        for position, (speaker, vector) in found.items()
        if position in rows
    ]


def _to_slot(stored: tuple[str, str, str] | None) -> Slot | None:
    return None if stored is None else Slot(*stored)


def _to_result(plan: ConsolidationPlan) -> Result:
    """Return the decisions as the job keeps them: ids and reasons, and no text, which may have to be forgotten."""
    return {
        "superseded": [
            {"atomId": merge.replaced.atom.id, "supersededBy": merge.survivor.atom.id, "because": merge.because}
            for merge in plan.merges
        ],
        "ended": [{"atomId": atom_id, "validTo": to_iso(end), "because": _OVER} for atom_id, end in plan.endings],
    }
