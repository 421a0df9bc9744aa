"""What is known that a candidate may be compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from longmind.clock import Micros
from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.candidate_validation import validate_slot
from longmind.extraction.reconcile.aliases import PersonAliases
from longmind.extraction.reconcile.decisions import KnownAtom
from longmind.extraction.rules.slots.finder import find_slot
from longmind.models.atom import Atom
from longmind.recall.index.atom_columns import FOREVER
from longmind.recall.index.space_index import SpaceIndex
from longmind.store.database import Transaction
from longmind.store.tables import atoms, messages

Vector = NDArray[np.float32]

_MOST_SIMILAR = 20
_MOST_IN_A_SLOT = 50
_ALL_WORDS = 0.999
"""The overlap of two texts that have the same words, with room for rounding."""


@dataclass(frozen=True)
class ComparableCandidate:
    """A candidate with what it is compared by."""

    candidate: Candidate
    said_at: Micros
    terms: tuple[int, ...]
    vector: Vector | None
    model: str | None
    """Whose vector it is; vectors of two models have nothing in common."""


def find_known_atoms(
    run: Transaction,
    space_id: str,
    index: SpaceIndex,
    ready: Sequence[ComparableCandidate],
    naming: PersonAliases,
    now: Micros,
    speaker: str | None = None,
) -> list[list[KnownAtom]]:
    """For each candidate the atoms of the space, or of one speaker in it, that it may confirm, change or repeat."""
    near = [_of_speaker(index, _near(run, space_id, index, each, naming, now), speaker) for each in ready]
    positions = sorted({position for each in near for position in each})
    if not positions:
        return [[] for _ in ready]
    found = atoms.read_with_slots_at(run, space_id, positions)
    times = messages.read_times(run, {each for atom, _ in found.values() for each in atom.source_message_ids})
    return [
        [_known(*found[position], similarity, times) for position, similarity in each.items() if position in found]
        for each in near
    ]


def find_similar_drafts(
    ready: ComparableCandidate, drafts: Iterable[tuple[ComparableCandidate, KnownAtom]], naming: PersonAliases
) -> list[KnownAtom]:
    """Of what the same job will write, what is nearest to a candidate."""
    ranked = []
    for other, draft in drafts:
        known = naming.as_named_in(ready.candidate, draft)
        similarity = _cosine(ready, other)
        nearness = max(_overlap(ready, other), similarity or 0.0)
        if _same_slot(ready.candidate.slot, known.slot):
            nearness = 1.0
        if nearness > 0:
            ranked.append((nearness, replace(known, similarity=similarity)))
    ranked.sort(key=lambda each: -each[0])
    return [known for _, known in ranked[:_MOST_SIMILAR]]


def to_known_atom(atom: Atom, slot: tuple[str, str, str] | None, similarity: float | None = None) -> KnownAtom:
    if slot is not None:
        return KnownAtom(atom, Slot(*slot), similarity)
    # In what was extracted the extractor has looked for a slot; what the app has told is read here.
    return KnownAtom(atom, _slot_in(atom.text) if atom.origin != "extraction" else None, similarity)


@lru_cache(maxsize=4096)
def _slot_in(text: str) -> Slot | None:
    return validate_slot(find_slot(text))


def _known(
    atom: Atom, slot: tuple[str, str, str] | None, similarity: float | None, times: dict[str, Micros]
) -> KnownAtom:
    said = [times[each] for each in atom.source_message_ids if each in times]
    return replace(to_known_atom(atom, slot, similarity), said_at=max(said) if said else None)


def _near(
    run: Transaction, space_id: str, index: SpaceIndex, ready: ComparableCandidate, naming: PersonAliases, now: Micros
) -> dict[int, float | None]:
    """Positions of atoms that are near a candidate, with the similarity of each where there are vectors."""
    slot = ready.candidate.slot
    found: set[int] = set()
    if slot is not None:
        for subject in naming.of(slot.subject):
            found.update(atoms.list_positions_in_slot(run, space_id, subject, slot.attribute, _MOST_IN_A_SLOT))
    if index.atoms == 0:
        return dict.fromkeys(sorted(found))
    kept = index.present.values & (index.archived_at.values == FOREVER)
    valid = kept & (index.valid_to.values > now)
    overlap = index.overlap(ready.terms)
    found |= set(np.flatnonzero(kept & (overlap >= _ALL_WORDS)).tolist())
    found |= _best(overlap, valid & (overlap > 0))
    cosine = None
    if ready.vector is not None and index.model == ready.model:
        cosine = index.similarity(ready.vector)
    if cosine is not None:
        found |= _best(cosine, valid & ~np.isnan(cosine))
    return {place: _at(cosine, place) for place in sorted(found)}


def _of_speaker(index: SpaceIndex, near: dict[int, float | None], speaker: str | None) -> dict[int, float | None]:
    if speaker is None:
        return near
    code = index.speaker_codes.get(speaker)
    return {
        place: similarity
        for place, similarity in near.items()
        if code is not None and place < index.atoms and index.speaker.values[place] == code
    }


def _best(scores: NDArray[np.floating], among: NDArray[np.bool_]) -> set[int]:
    places = np.flatnonzero(among)
    if len(places) > _MOST_SIMILAR:
        places = places[np.argpartition(-scores[places], _MOST_SIMILAR)[:_MOST_SIMILAR]]
    return set(places.tolist())


def _at(cosine: NDArray[np.floating] | None, place: int) -> float | None:
    if cosine is None or place >= len(cosine) or np.isnan(cosine[place]):
        return None
    return float(cosine[place])


def _same_slot(one: Slot | None, other: Slot | None) -> bool:
    return one is not None and other is not None and (one.subject, one.attribute) == (other.subject, other.attribute)


def _overlap(one: ComparableCandidate, other: ComparableCandidate) -> float:
    words, others = set(one.terms), set(other.terms)
    return len(words & others) / math.sqrt(len(words) * len(others) or 1)


def _cosine(one: ComparableCandidate, other: ComparableCandidate) -> float | None:
    if one.vector is None or other.vector is None:
        return None
    size = float(np.linalg.norm(one.vector) * np.linalg.norm(other.vector))
    return float(one.vector @ other.vector) / size if size else None
