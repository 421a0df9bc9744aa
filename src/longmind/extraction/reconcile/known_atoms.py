"""Lookup of the atoms that a candidate may repeat or change: those in its slot, with its words, or similar to it.

An atom that the candidate names is looked up as well, if it is one of the space.
"""

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
    """The model of the vector; vectors of two models cannot be compared."""

    @property
    def begins(self) -> Micros:
        """The time when the fact began to be true: the one that it names, or else when it was said."""
        return self.said_at if self.candidate.valid_from is None else self.candidate.valid_from


def find_known_atoms(
    run: Transaction,
    space_id: str,
    index: SpaceIndex,
    candidates: Sequence[ComparableCandidate],
    aliases: PersonAliases,
    now: Micros,
    speaker: str | None = None,
) -> list[list[KnownAtom]]:
    """Return for each candidate the atoms of the space that it may confirm, change or repeat.

    index: the search index of the space, as of this transaction; speaker: in a shared space, the only speaker whose
    atoms are compared.
    """
    near = [_keep_speaker(index, _find_near(run, space_id, index, each, aliases, now), speaker) for each in candidates]
    positions = sorted({position for each in near for position in each})
    if not positions:
        return [[] for _ in candidates]
    found = atoms.read_with_slots_at(run, space_id, positions)
    times = messages.read_times(run, {each for atom, _ in found.values() for each in atom.source_message_ids})
    return [
        [
            _add_time(to_known_atom(*found[position], similarity), times)
            for position, similarity in each.items()
            if position in found
        ]
        for each in near
    ]


def find_similar_drafts(
    candidate: ComparableCandidate,
    drafts: Iterable[tuple[ComparableCandidate, KnownAtom]],
    aliases: PersonAliases,
) -> list[KnownAtom]:
    """Return the atoms that the same job will write and that are nearest to a candidate."""
    ranked = []
    for other, draft in drafts:
        known = aliases.rename_like(candidate.candidate, draft)
        similarity = _cosine(candidate, other)
        nearness = max(_word_overlap(candidate, other), similarity or 0.0)
        if _has_same_slot(candidate.candidate.slot, known.slot):
            nearness = 1.0
        if nearness > 0:
            ranked.append((nearness, replace(known, similarity=similarity)))
    ranked.sort(key=lambda each: -each[0])
    return [known for _, known in ranked[:_MOST_SIMILAR]]


def to_known_atom(atom: Atom, slot: tuple[str, str, str] | None, similarity: float | None = None) -> KnownAtom:
    """Return an atom with its slot, ready to be compared."""
    if slot is not None:
        return KnownAtom(atom, Slot(*slot), similarity)
    # The extractor has looked for a slot in what it extracted; what the app added is read here.
    return KnownAtom(atom, _find_slot(atom.text) if atom.origin != "extraction" else None, similarity)


@lru_cache(maxsize=4096)
def _find_slot(text: str) -> Slot | None:
    """Return the slot in a text, if it has one, in the form in which slots are compared."""
    return validate_slot(find_slot(text))


def _add_time(known: KnownAtom, times: dict[str, Micros]) -> KnownAtom:
    """Return a known atom with the time of the newest message that it rests on."""
    source_times = [times[each] for each in known.atom.source_message_ids if each in times]
    return replace(known, said_at=max(source_times) if source_times else None)


def _find_near(
    run: Transaction,
    space_id: str,
    index: SpaceIndex,
    candidate: ComparableCandidate,
    aliases: PersonAliases,
    now: Micros,
) -> dict[int, float | None]:
    """Return the positions of the atoms near a candidate, with the cosine of each where there are vectors."""
    slot = candidate.candidate.slot
    found: set[int] = set()
    if slot is not None:
        for subject in aliases.find_names(slot.subject):
            found.update(atoms.list_positions_in_slot(run, space_id, subject, slot.attribute, _MOST_IN_A_SLOT))
    if index.atoms == 0:
        return dict.fromkeys(sorted(found))
    if candidate.candidate.changes_atom is not None:
        found |= set(np.flatnonzero(index.ids.values == candidate.candidate.changes_atom.encode()).tolist())
    is_live = index.present.values & (index.archived_at.values == FOREVER)
    is_valid = is_live & (index.valid_to.values > now)
    overlap = index.overlap(candidate.terms)
    # An atom with the same words is compared even if it is over: the same may be so again.
    found |= set(np.flatnonzero(is_live & (overlap >= _ALL_WORDS)).tolist())
    found |= _select_best(overlap, is_valid & (overlap > 0))
    cosine = None
    if candidate.vector is not None and index.model == candidate.model:
        cosine = index.similarity(candidate.vector)
    if cosine is not None:
        found |= _select_best(cosine, is_valid & ~np.isnan(cosine))
    return {position: _cosine_at(cosine, position) for position in sorted(found)}


def _keep_speaker(index: SpaceIndex, near: dict[int, float | None], speaker: str | None) -> dict[int, float | None]:
    """Return only the atoms of one speaker, or all if there is none to tell apart."""
    if speaker is None:
        return near
    code = index.speaker_codes.get(speaker)
    return {
        position: similarity
        for position, similarity in near.items()
        if code is not None and position < index.atoms and index.speaker.values[position] == code
    }


def _select_best(scores: NDArray[np.floating], among: NDArray[np.bool_]) -> set[int]:
    """Return the positions with the best scores, at most `_MOST_SIMILAR`."""
    positions = np.flatnonzero(among)
    if len(positions) > _MOST_SIMILAR:
        positions = positions[np.argpartition(-scores[positions], _MOST_SIMILAR)[:_MOST_SIMILAR]]
    return set(positions.tolist())


def _cosine_at(cosine: NDArray[np.floating] | None, position: int) -> float | None:
    """Return the cosine of one atom, or None where it has no vector."""
    if cosine is None or position >= len(cosine) or np.isnan(cosine[position]):
        return None
    return float(cosine[position])


def _has_same_slot(one: Slot | None, other: Slot | None) -> bool:
    """Return whether two slots have one subject and attribute."""
    return one is not None and other is not None and (one.subject, one.attribute) == (other.subject, other.attribute)


def _word_overlap(one: ComparableCandidate, other: ComparableCandidate) -> float:
    """Return the share of terms that two candidates have in common, as the index computes it."""
    terms, others = set(one.terms), set(other.terms)
    return len(terms & others) / math.sqrt(len(terms) * len(others) or 1)


def _cosine(one: ComparableCandidate, other: ComparableCandidate) -> float | None:
    """Return the cosine of the vectors of two candidates, or None without vectors."""
    if one.vector is None or other.vector is None:
        return None
    size = float(np.linalg.norm(one.vector) * np.linalg.norm(other.vector))
    return float(one.vector @ other.vector) / size if size else None
