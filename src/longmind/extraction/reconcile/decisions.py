"""The decision about one candidate: add it, reinforce or replace a known fact, or skip it.

`decide` reads and writes nothing. The caller looks up the known atoms at one revision of the space, and carries the
decision out only if the space is still at that revision (see `plan`). So jobs that run at the same time leave what they
would leave one after another.

The known atoms for a candidate are those of the space that are neither archived nor deleted and
- have a slot with the same subject and attribute, closed ones too, or
- have the same `text_key`, closed ones too, or
- are named by the candidate, closed ones too, or
- are among the most similar ones that are still valid: about twenty, by words and, with an embedder, by vectors.
Their order does not matter, and an atom that several lookups find may be given several times.

The candidates of one job are decided in their order, and each must see those before it. Either every decision is
carried out before the next one is made, or the next one is given `KnownAtom.from_candidate` of what will be written,
under the id it will be written with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from longmind.clock import Micros, to_iso, to_micros
from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.reconcile.candidate_comparison import compare_candidate, text_key
from longmind.extraction.reconcile.change_links import find_changed
from longmind.extraction.reconcile.statement_comparison import Comparison, find_values
from longmind.extraction.source_trust import may_replace, may_say_kind, rank_trust
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
    """The time of the newest message that it rests on; None is its last confirmation, or else its `valid_from`."""

    @classmethod
    def from_candidate(cls, candidate: Candidate, atom_id: str, said_at: Micros) -> Self:
        """Return the atom that a candidate of the same job will become, as the later candidates see it."""
        began = said_at if candidate.valid_from is None else candidate.valid_from
        atom = Atom.from_trusted(
            # The owner and the other fields that the database fills in do not matter for a decision.
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
        """The time when the fact was last said or confirmed."""
        if self.said_at is not None:
            return self.said_at
        return to_micros(self.atom.last_confirmed_at or self.atom.valid_from)


@dataclass(frozen=True)
class Add:
    """Add the candidate, since nothing like it is known.

    With `superseded_by` it is history: a newer value is known already. It was true until `valid_to`, and is linked to
    the newer atom from the start.
    """

    action: ClassVar[Literal["add"]] = "add"
    because: str
    valid_to: Micros | None = None
    """The end of what is added, in the place of the candidate's own `valid_to`."""
    superseded_by: str | None = None
    """The newer atom. Its `supersedes` is set to the added one where it is empty; nothing else of it changes."""

    @property
    def atom_id(self) -> None:
        """No atom: every decision has this property."""
        return None


@dataclass(frozen=True)
class Reinforce:
    """Confirm a known atom: add the sources to it, and set the figures below.

    `last_confirmed_at` moves forward to the time when the candidate was said, and never back. A candidate without a new
    source leaves the figures of the atom as they are.
    """

    action: ClassVar[Literal["reinforce"]] = "reinforce"
    atom_id: str
    because: str
    confidence: float
    importance: int
    trust: Trust
    """The higher of the two: what the user repeats after the assistant is the user's from then on."""


@dataclass(frozen=True)
class Supersede:
    """Replace a known atom, which ends at `closes_at`; the two are linked both ways."""

    action: ClassVar[Literal["supersede"]] = "supersede"
    atom_id: str
    because: str
    closes_at: Micros
    """The end of the old atom: the beginning of the new one, but not before the old one began."""
    also: tuple[str, ...] = ()
    """Other atoms with the same outdated value. They end where the new one begins, with the same `superseded_by`."""


@dataclass(frozen=True)
class Skip:
    """Leave the candidate out."""

    action: ClassVar[Literal["skip"]] = "skip"
    because: str
    atom_id: str | None = None
    """The atom that kept it out, if one did."""


Decision = Add | Reinforce | Supersede | Skip

_REPETITION_SHARE = 0.5
"""The share of the remaining doubt that a sure repetition takes away."""


def decide(candidate: Candidate, known: Sequence[KnownAtom], said_at: Micros) -> Decision:
    """Decide what becomes of a candidate that was said at a time, and why.

    The reason never quotes another atom, which may be deleted one day. A candidate that both repeats and changes known
    atoms repeats them only if one of those is at least as trusted: else it replaces what it changes.
    """
    refusal = _refuse_kind(candidate)
    if refusal is not None:
        return refusal
    same: list[KnownAtom] = []
    changed: list[tuple[KnownAtom, str]] = []
    perhaps_changed: list[tuple[KnownAtom, str]] = []
    known_in_order = [
        each
        for each in sorted({each.atom.id: each for each in known}.values(), key=_order_by_age)
        if each.atom.status == "ACTIVE" and each.atom.category.kind != "PATTERN"
    ]
    for each in known_in_order:
        comparison = _read_proposal(candidate, each) or compare_candidate(
            candidate, each.atom, each.slot, each.similarity, said_at
        )
        if comparison.kind == "same" and not _has_ended(each.atom, said_at):
            same.append(each)
        elif comparison.kind == "changed":
            (perhaps_changed if comparison.vague else changed).append((each, comparison.because))
    link = find_changed(candidate, [each for each in known_in_order if _may_be_changed(candidate, each, said_at)])
    if link is not None and not same and not changed:
        changed = [(link[0], f"It says that something has changed, and this is most likely what ({link[1]:.0%}).")]
    if not changed and len(perhaps_changed) == 1:
        # "The meeting was cancelled" ends the only meeting that is known, and none of several.
        changed = perhaps_changed
    trusted = [each for each in same if rank_trust(each.atom.trust) >= rank_trust(candidate.trust)]
    if same and (trusted or not changed):
        return _reinforce(candidate, max(trusted or same, key=lambda each: rank_trust(each.atom.trust)))
    if changed:
        return _replace(candidate, changed, same, said_at)
    return Add("Nothing similar was known.")


def _may_be_changed(candidate: Candidate, known: KnownAtom, said_at: Micros) -> bool:
    """Return whether an atom holds, was said before, and has not been learned from the same message."""
    return (
        not _has_ended(known.atom, said_at)
        and known.atom.superseded_by is None
        and known.last_said < said_at
        and not set(candidate.source_message_ids) & set(known.atom.source_message_ids)
    )


def _read_proposal(candidate: Candidate, known: KnownAtom) -> Comparison | None:
    """Return what the extractor that was shown an atom makes of it; None if it says nothing that can be believed.

    A plan changes no present fact. A confirmation adds no name, number or value, since that would be lost.
    """
    if candidate.changes_atom != known.atom.id or text_key(candidate.text) == text_key(known.atom.text):
        return None
    if candidate.change != "none":
        is_intended = candidate.kind == "INTENTION" and known.atom.category.kind != "INTENTION"
        because = f"It {candidate.change} a known fact, which the extractor was shown."
        return None if is_intended else Comparison("changed", because)
    new, old = parse_statement(candidate.text), parse_statement(known.atom.text)
    has_new_value = bool(new.names - old.names or find_values(new) - find_values(old)) or (
        candidate.slot is not None and known.slot is not None and candidate.slot != known.slot
    )
    return None if has_new_value or new.main.denied != old.main.denied else Comparison("same")


def _order_by_age(known: KnownAtom) -> tuple[Micros, str]:
    """Return a sort key, so that the same decision is made in whatever order the atoms were looked up."""
    return known.last_said, known.atom.id


def _refuse_kind(candidate: Candidate) -> Skip | None:
    """Return a refusal for a kind of memory that this source may not give, or None if it may."""
    if candidate.kind == "PATTERN":
        return Skip("Only the platform makes patterns, from many episodes.")
    if not may_say_kind(candidate.trust, candidate.kind):
        return Skip(f"Only the user can state a {candidate.kind.lower()}; this comes from the {candidate.trust}.")
    return None


def _has_ended(atom: Atom, said_at: Micros) -> bool:
    """Return whether an atom was over at a time."""
    return atom.valid_to is not None and to_micros(atom.valid_to) <= said_at


def _reinforce(candidate: Candidate, known: KnownAtom) -> Reinforce | Skip:
    """Confirm a known atom, unless a less trusted source only repeats it."""
    atom = known.atom
    if rank_trust(candidate.trust) < rank_trust(atom.trust):
        return Skip(f"The {candidate.trust} only repeats what the {atom.trust} stated.", atom.id)
    if not set(candidate.source_message_ids) - set(atom.source_message_ids):
        confidence, importance = atom.confidence, atom.importance
        because = "It was learned from the same message before."
    else:
        surer, other = sorted((atom.confidence, candidate.confidence), reverse=True)
        confidence = surer + (1 - surer) * other * _REPETITION_SHARE
        importance = min(max(atom.importance, candidate.importance) + 1, 5)
        because = "It repeats a known fact."
    higher = candidate.trust if rank_trust(candidate.trust) > rank_trust(atom.trust) else atom.trust
    return Reinforce(atom.id, because, confidence, importance, higher)


def _replace(
    candidate: Candidate, changed: Sequence[tuple[KnownAtom, str]], same: Sequence[KnownAtom], said_at: Micros
) -> Decision:
    """Replace the newest atom that a candidate changes, or add the candidate as history.

    changed: atoms that the candidate changes, each with the reason, the oldest first.
    same: atoms that say what the candidate says, but with less trust; they are closed along with the others.
    """
    began = said_at if candidate.valid_from is None else candidate.valid_from
    if candidate.valid_to is not None and candidate.valid_to <= said_at:
        return Add("It reports something that is over.")
    # Conversations may be extracted in another order than they took place.
    later = [each for each, _ in changed if _was_said_later(each, candidate, began, said_at)]
    if later:
        return _add_as_history(later, began, "A newer value is already known.")
    held = [(each, because) for each, because in changed if not _has_ended(each.atom, said_at)]
    protected = [each.atom for each, _ in held if not _may_replace(candidate, each.atom)]
    if protected:
        return Skip(f"The {candidate.trust} cannot change what the {protected[0].trust} stated.", protected[0].id)
    current = [(each, because) for each, because in held if each.atom.superseded_by is None]
    if not current:
        return _add_between(held, began)
    if parse_statement(candidate.text).is_past and not candidate.corrects:
        # "I lived in Oslo in 2019" does not change where somebody lives since 2022.
        after = [each for each, _ in current if to_micros(each.atom.valid_from) > began]
        if after:
            return _add_as_history(after, began, "It describes an earlier state.")
    *others, (newest, because) = current
    return Supersede(
        newest.atom.id,
        because,
        closes_at=max(began, to_micros(newest.atom.valid_from)),
        also=tuple(each.atom.id for each in (*(each for each, _ in others), *same) if each.atom.superseded_by is None),
    )


def _add_between(held: Sequence[tuple[KnownAtom, str]], began: Micros) -> Add:
    """Add a candidate said while an old value still held, if another atom has replaced that value since."""
    for each, _ in held:
        if each.atom.superseded_by is not None and each.atom.valid_to is not None:
            ends = max(began, to_micros(each.atom.valid_to))
            return Add("A newer value is already known.", valid_to=ends, superseded_by=each.atom.superseded_by)
    return Add("The fact that it changes had already ended.")


def _was_said_later(known: KnownAtom, candidate: Candidate, began: Micros, said_at: Micros) -> bool:
    """Return whether an atom would have replaced the candidate, had both been read in the order of their time."""
    if known.last_said <= said_at or rank_trust(known.atom.trust) < rank_trust(candidate.trust):
        return False
    return not _has_ended(known.atom, said_at) or to_micros(known.atom.valid_from) > began


def _add_as_history(later: Sequence[KnownAtom], began: Micros, because: str) -> Add:
    """Add a candidate that ended when the first of some later atoms began."""
    successor = min(later, key=lambda each: (each.atom.valid_from, each.atom.id)).atom
    return Add(because, valid_to=max(began, to_micros(successor.valid_from)), superseded_by=successor.id)


def _may_replace(candidate: Candidate, atom: Atom) -> bool:
    """Return whether the source of a candidate is trusted enough to replace an atom."""
    return may_replace(candidate.trust, atom.trust, old_is_behavioral=atom.behavioral)
