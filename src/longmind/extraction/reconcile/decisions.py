"""What becomes of a candidate: it is added, confirms what is known, takes the place of it, or is left out.

Deciding reads and writes nothing: the caller looks up what is known and carries the decision out, both in one
transaction that holds the space, so that jobs which run at once give what they would give one after another.

KnownAtom, for a candidate, are the atoms of the space that are neither archived nor deleted and
- have a slot with the same subject and attribute, closed ones too, or
- have the same `text_key`, closed ones too, or
- are the most similar ones that are still valid: some twenty, lexically and, with an embedder, densely.
Their order does not matter, and an atom that several lookups find may be given several times.

The candidates of one job are decided in their order, and each must see those before it. Either every decision is
carried out before the next one is made, or the next one is given `KnownAtom.drafted` of what will be written, under the
id it will be written with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from longmind.clock import Micros, to_iso, to_micros
from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.reconcile.candidate_comparison import compare_candidate, text_key
from longmind.language.statement import parse_statement
from longmind.models.atom import BEHAVIORAL_KINDS, Atom, Category, Trust

__all__ = ["Add", "Decision", "KnownAtom", "Reinforce", "Skip", "Supersede", "decide", "text_key"]


@dataclass(frozen=True)
class KnownAtom:
    """An atom that a candidate is compared with."""

    atom: Atom
    slot: Slot | None = None
    similarity: float | None = None
    """The cosine of the two embeddings; None without an embedder, or where only one has a vector."""
    said_at: Micros | None = None
    """When the newest message that it rests on was said; None is its last confirmation, or else its `valid_from`."""

    @classmethod
    def from_candidate(cls, candidate: Candidate, atom_id: str, said_at: Micros) -> Self:
        """A candidate that the same job will write, as the later ones see it."""
        began = said_at if candidate.valid_from is None else candidate.valid_from
        atom = Atom.from_trusted(
            # Whose it is, and what else the database will say of it, is of no matter here.
            dict.fromkeys(Atom.model_fields)
            | {
                "id": atom_id,
                "text": candidate.text,
                "category": Category.from_trusted({"name": candidate.category_name, "kind": candidate.kind}),
                "importance": candidate.importance,
                "confidence": candidate.confidence,
                "valid_from": to_iso(began),
                "valid_to": None if candidate.valid_to is None else to_iso(candidate.valid_to),
                "status": "ACTIVE",
                "source_message_ids": list(candidate.source_message_ids),
                "entity_ids": [],
                "tags": list(candidate.tags),
                "behavioral": candidate.kind in BEHAVIORAL_KINDS,
                "origin": "extraction",
                "trust": candidate.trust,
                "created_at": to_iso(said_at),
                "updated_at": to_iso(said_at),
                "evidence": [],
            }
        )
        return cls(atom, candidate.slot, said_at=said_at)

    @property
    def last_said(self) -> Micros:
        if self.said_at is not None:
            return self.said_at
        return to_micros(self.atom.last_confirmed_at or self.atom.valid_from)


@dataclass(frozen=True)
class Add:
    """Nothing like it is known. With `superseded_by` it is history: a newer value is known already, and what is added
    was true until `valid_to` and is linked to that one from the start."""

    action: ClassVar[Literal["add"]] = "add"
    because: str
    valid_to: Micros | None = None
    """Where what is added ends, in the place of the candidate's own `valid_to`."""
    superseded_by: str | None = None
    """The newer atom. Its `supersedes` is set to the added one where it is empty; nothing else of it changes."""

    @property
    def atom_id(self) -> None:
        return None


@dataclass(frozen=True)
class Reinforce:
    """It is known: the sources are joined, the figures below are set, and `last_confirmed_at` moves forward, never
    back, to the time it was said. Where the candidate brings no new source, the figures are those of the atom."""

    action: ClassVar[Literal["reinforce"]] = "reinforce"
    atom_id: str
    because: str
    confidence: float
    importance: int
    trust: Trust
    """The higher of the two: what the user repeats after the assistant is the user's from then on."""


@dataclass(frozen=True)
class Supersede:
    """It takes the place of what is known, which ends at `closes_at`; the two are linked both ways."""

    action: ClassVar[Literal["supersede"]] = "supersede"
    atom_id: str
    because: str
    closes_at: Micros
    """Where the old one ends: where the new one begins, but not before the old one began."""
    also: tuple[str, ...] = ()
    """Other atoms that state the same outdated value. They end where the new one begins, and get the same
    `superseded_by`."""


@dataclass(frozen=True)
class Skip:
    """It is not remembered."""

    action: ClassVar[Literal["skip"]] = "skip"
    because: str
    atom_id: str | None = None
    """The atom that kept it out, if one did."""


Decision = Add | Reinforce | Supersede | Skip


_RANK: dict[Trust, int] = {"user": 2, "app": 1, "assistant": 0, "tool": 0}
_SHARE = 0.5
"""How much of the remaining doubt a sure repetition takes away."""


def decide(candidate: Candidate, known: Sequence[KnownAtom], said_at: Micros) -> Decision:
    """Say what becomes of a candidate that was said then, and why.

    The reason never tells what another atom states, which may be deleted one day.
    """
    refused = _refused(candidate)
    if refused is not None:
        return refused
    same: list[KnownAtom] = []
    changed: list[tuple[KnownAtom, str]] = []
    perhaps: list[tuple[KnownAtom, str]] = []
    for each in sorted({each.atom.id: each for each in known}.values(), key=_by_age):
        if each.atom.status != "ACTIVE" or each.atom.category.kind == "PATTERN":
            continue
        relation = compare_candidate(candidate, each.atom, each.slot, each.similarity, said_at)
        if relation.kind == "same" and not _ended(each.atom, said_at):
            same.append(each)
        elif relation.kind == "changed":
            (perhaps if relation.vague else changed).append((each, relation.because))
    if not changed and len(perhaps) == 1:
        changed = perhaps
    trusted = [each for each in same if _RANK[each.atom.trust] >= _RANK[candidate.trust]]
    if same and (trusted or not changed):
        return _repeated(candidate, max(trusted or same, key=lambda each: _RANK[each.atom.trust]))
    if changed:
        return _replaced(candidate, changed, same, said_at)
    return Add("Nothing like it was known.")


def _by_age(known: KnownAtom) -> tuple[Micros, str]:
    """The order of what is known, so that the same decision is made however it was looked up."""
    return known.last_said, known.atom.id


def _refused(candidate: Candidate) -> Skip | None:
    if candidate.kind == "PATTERN":
        return Skip("Patterns are found in what is remembered, not in what is said.")
    if candidate.kind in BEHAVIORAL_KINDS and candidate.trust in ("assistant", "tool"):
        return Skip(f"Only the user gives a {candidate.kind.lower()}, and this was said by the {candidate.trust}.")
    return None


def _ended(atom: Atom, said_at: Micros) -> bool:
    return atom.valid_to is not None and to_micros(atom.valid_to) <= said_at


def _repeated(candidate: Candidate, known: KnownAtom) -> Reinforce | Skip:
    atom = known.atom
    if _RANK[candidate.trust] < _RANK[atom.trust]:
        return Skip(f"The {candidate.trust} only repeats what the {atom.trust} stated.", atom.id)
    if not set(candidate.source_message_ids) - set(atom.source_message_ids):
        confidence, importance = atom.confidence, atom.importance
        because = "It was learned from the same message before."
    else:
        surest, other = sorted((atom.confidence, candidate.confidence), reverse=True)
        confidence = surest + (1 - surest) * other * _SHARE
        importance = min(max(atom.importance, candidate.importance) + 1, 5)
        because = "It says again what was known."
    higher = candidate.trust if _RANK[candidate.trust] > _RANK[atom.trust] else atom.trust
    return Reinforce(atom.id, because, confidence, importance, higher)


def _replaced(
    candidate: Candidate, changed: Sequence[tuple[KnownAtom, str]], same: Sequence[KnownAtom], said_at: Micros
) -> Decision:
    began = said_at if candidate.valid_from is None else candidate.valid_from
    if candidate.valid_to is not None and candidate.valid_to <= said_at:
        return Add("It tells of something that is over.")
    later = [each for each, _ in changed if _was_said_later(each, candidate, began, said_at)]
    if later:
        return _history(later, began, "A newer value is known already.")
    held = [(each, because) for each, because in changed if not _ended(each.atom, said_at)]
    kept = [each.atom for each, _ in held if not _may_replace(candidate, each.atom)]
    if kept:
        return Skip(f"The {candidate.trust} cannot change what the {kept[0].trust} stated.", kept[0].id)
    current = [(each, because) for each, because in held if each.atom.superseded_by is None]
    if not current:
        return _between(held, began)
    if parse_statement(candidate.text).is_past and not candidate.corrects:
        after = [each for each, _ in current if to_micros(each.atom.valid_from) > began]
        if after:
            return _history(after, began, "It tells what was so before.")
    *others, (newest, because) = current
    return Supersede(
        newest.atom.id,
        because,
        closes_at=max(began, to_micros(newest.atom.valid_from)),
        also=tuple(each.atom.id for each in (*(each for each, _ in others), *same) if each.atom.superseded_by is None),
    )


def _between(held: Sequence[tuple[KnownAtom, str]], began: Micros) -> Add:
    """What was said while an old value still held that has been replaced since, by one that is not known here."""
    for each, _ in held:
        if each.atom.superseded_by is not None and each.atom.valid_to is not None:
            ends = max(began, to_micros(each.atom.valid_to))
            return Add("A newer value is known already.", valid_to=ends, superseded_by=each.atom.superseded_by)
    return Add("What it changes had ended before.")


def _was_said_later(known: KnownAtom, candidate: Candidate, began: Micros, said_at: Micros) -> bool:
    """Whether an atom would have taken the place of the candidate, had the two been read in the order of their time."""
    if known.last_said <= said_at or _RANK[known.atom.trust] < _RANK[candidate.trust]:
        return False
    return not _ended(known.atom, said_at) or to_micros(known.atom.valid_from) > began


def _history(later: Sequence[KnownAtom], began: Micros, because: str) -> Add:
    after = min(later, key=lambda each: (each.atom.valid_from, each.atom.id)).atom
    return Add(because, valid_to=max(began, to_micros(after.valid_from)), superseded_by=after.id)


def _may_replace(candidate: Candidate, atom: Atom) -> bool:
    if candidate.trust in ("assistant", "tool"):
        return candidate.trust == atom.trust and not atom.behavioral
    return _RANK[candidate.trust] >= _RANK[atom.trust]
