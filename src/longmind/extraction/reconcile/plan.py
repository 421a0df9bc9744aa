"""The plan of one extraction: a decision for each candidate, and the steps that carry the decisions out.

Planning writes nothing. These invariants hold:

- Candidates are decided in their order, and each sees the ones before it: atoms that the plan adds are compared as
  drafts, and atoms that it changes are compared as they will be after the steps so far. One job with two messages thus
  leaves what two jobs with one message each would leave.
- A plan is made against one revision of the space. The transaction that writes it must find that revision, or discard
  the plan and make another one (`Plan.revision`).
- Each atom id in the steps belongs either to an atom of the space at that revision, or to an earlier addition of the
  same plan. `Plan.added[i]` is the index of the candidate that the i-th addition came from; index entries are written
  by it.
- A message teaches a fact once. When a conversation is replayed, a fact that the same message gave before is skipped,
  even if the atom was changed or archived since; a fact that was deleted or rejected is skipped by its tombstone.
- A decision about this conversation that was undone is not made again, by any version: a fact that was taken back is
  skipped, and a known atom is not changed again because of the same message.
- A replay with another version replaces what earlier versions found. Only atoms that rest on this conversation alone
  are replaced: one that is confirmed elsewhere stays. What the new version does not find again is retired at the end.
- In a shared space only the atoms of the same speaker are compared, so that one user cannot change what another said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from longmind.clock import Micros, to_iso
from longmind.extraction import forgotten
from longmind.extraction.candidate import Candidate
from longmind.extraction.forgotten import ForgettableFact
from longmind.extraction.reconcile.aliases import PersonAliases
from longmind.extraction.reconcile.decisions import (
    Add,
    Decision,
    KnownAtom,
    Reinforce,
    Skip,
    Supersede,
    decide,
    text_key,
)
from longmind.extraction.reconcile.known_atoms import (
    ComparableCandidate,
    find_known_atoms,
    find_similar_drafts,
    to_known_atom,
)
from longmind.extraction.source_messages import ExtractionInput
from longmind.ids import new_id
from longmind.models.atom import Atom
from longmind.recall.index.space_index import SpaceIndex
from longmind.store.database import Transaction
from longmind.store.tables import atom_decisions, atoms, messages
from longmind.store.tables.atom_changes import (
    AtomAddition,
    AtomReinforcement,
    AtomRetirement,
    EntityMention,
    LearningStep,
)
from longmind.store.tables.atom_decisions import UndoneChange
from longmind.store.tables.atom_rows import PreparedAtom, Slot
from longmind.store.triggers.extraction_requests import ExtractionOrder

_SPEAKERS = {"user": "user", "assistant": "assistant"}


@dataclass
class Plan:
    """The steps to write, and the decisions that they come from."""

    revision: int
    """The revision of the space that the plan was made for."""
    now: Micros
    steps: list[LearningStep] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    """The indexes of the candidates that become atoms, in the order of the additions."""
    decisions: list[tuple[Candidate, Decision]] = field(default_factory=list)


def make_plan(
    run: Transaction,
    space_id: str,
    index: SpaceIndex,
    candidates: Sequence[ComparableCandidate],
    order: ExtractionOrder,
    source: ExtractionInput,
    now: Micros,
) -> Plan:
    """Decide on the candidates of one extraction against a space, and return what to write.

    run: a transaction that only reads here; it may be a read or a write transaction.
    index: the search index of the space at the revision that the transaction sees.
    source: the messages that the candidates come from.
    """
    return _Planner(run, space_id, index, order, source, now).plan(candidates)


class _Planner:
    """Makes one plan, candidate by candidate."""

    def __init__(
        self,
        run: Transaction,
        space_id: str,
        index: SpaceIndex,
        order: ExtractionOrder,
        source: ExtractionInput,
        now: Micros,
    ) -> None:
        self._run = run
        self._space_id = space_id
        self._index = index
        self._order = order
        self._speaker = source.destination.speaker
        self._read_ids = {message.id for message in source.messages}
        self._now = now
        self._plan = Plan(index.revision, now)
        self._aliases = PersonAliases(run, space_id, ())
        self._drafts: list[tuple[ComparableCandidate, KnownAtom]] = []
        self._changed: dict[str, Atom] = {}
        """Atoms as they will be after the steps so far, by id."""
        self._same_version: list[tuple[Atom, Slot | None]] = []
        """In a replay: the atoms that this version has found in the conversation before, archived ones included."""
        self._other_versions: dict[str, KnownAtom] = {}
        """In a replay: the atoms of other versions that nothing has replaced yet, by id."""
        self._undone: list[UndoneChange] = []
        """In a replay: what was decided after this conversation and undone since."""
        self._taken_back: list[KnownAtom] = []
        """In a replay: the atoms that an undo has archived, as they were before."""

    def plan(self, candidates: Sequence[ComparableCandidate]) -> Plan:
        """Decide on all candidates and return the plan."""
        if self._order.is_replay:
            self._load_earlier_versions()
        mentions = (mention for each in candidates for mention in each.candidate.mentions)
        self._aliases = PersonAliases(self._run, self._space_id, mentions)
        known = find_known_atoms(
            self._run, self._space_id, self._index, candidates, self._aliases, self._now, self._speaker
        )
        facts = [ForgettableFact.from_candidate(each.candidate) for each in candidates]
        forgotten_places = forgotten.find_forgotten(self._run, self._space_id, facts)
        for place, (each, near) in enumerate(zip(candidates, known, strict=True)):
            decision = (
                Skip("It was deleted or rejected.")
                if place in forgotten_places
                else self._skip_repeated(each) or self._decide(each, near)
            )
            self._carry_out(place, each, decision)
        self._plan.steps += [AtomRetirement(atom_id) for atom_id in self._other_versions]
        return self._plan

    def _load_earlier_versions(self) -> None:
        """Load the atoms that were extracted from this conversation before, by this version and by others."""
        found = atoms.list_extracted_from(self._run, self._space_id, self._order.conversation_id)
        self._undone = atom_decisions.list_undone_from(self._run, self._space_id, self._order.conversation_id)
        added = {each.decided_atom_id for each in self._undone if each.action in ("add", "supersede")}
        self._taken_back = [
            to_known_atom(atom.model_copy(update={"status": "ACTIVE"}), slot)
            for atom, slot in found
            if atom.status == "ARCHIVED" and atom.id in added
        ]
        retired = {each.atom_id for each in self._undone if each.action == "retire"}
        self._same_version = [each for each in found if each[0].extraction_version == self._order.version]
        others = {
            atom.id: to_known_atom(atom, slot)
            for atom, slot in found
            if atom.extraction_version != self._order.version
            and atom.status == "ACTIVE"
            and atom.id not in retired
            and self._rests_on_this_conversation(atom)
        }
        # An atom that something newer has replaced is history and stays, unless the newer one is replaced here too.
        self._other_versions = {
            atom_id: known
            for atom_id, known in others.items()
            if known.atom.superseded_by is None or known.atom.superseded_by in others
        }

    def _rests_on_this_conversation(self, atom: Atom) -> bool:
        """Return whether all sources of an atom are messages of this conversation."""
        # In a shared space of another user the conversation of a message cannot be looked up. There only the messages
        # that were read now count as this conversation's.
        unread = [each for each in atom.source_message_ids if each not in self._read_ids]
        conversations = {messages.find_conversation(self._run, each) for each in unread}
        return conversations <= {self._order.conversation_id}

    def _skip_repeated(self, new: ComparableCandidate) -> Skip | None:
        """Skip a fact that this version has learned from the same message before, even if it was changed since."""
        candidate = new.candidate
        slot = _to_row_slot(candidate)
        for atom, known_slot in self._same_version:
            if not set(candidate.source_message_ids) <= set(atom.source_message_ids):
                continue
            if text_key(atom.text) == text_key(candidate.text) or (slot is not None and slot == known_slot):
                return Skip("It was learned from the same message before.", atom.id)
        return self._skip_taken_back(new)

    def _skip_taken_back(self, new: ComparableCandidate) -> Skip | None:
        """Skip a fact that was taken back after it was learned from the same message, in these words or in others."""
        candidate = new.candidate
        fact, messages_of_fact = ForgettableFact.from_candidate(candidate), set(candidate.source_message_ids)
        for known in self._taken_back:
            atom = known.atom
            if not messages_of_fact & set(atom.source_message_ids):
                continue
            slot = None if known.slot is None else (known.slot.subject, known.slot.attribute, known.slot.value)
            is_like = forgotten.is_like(fact, ForgettableFact(atom.text, slot, tuple(atom.source_message_ids)))
            if is_like or isinstance(decide(candidate, [known], new.said_at), Reinforce):
                return Skip("It was taken back.", atom.id)
        return None

    def _decide(self, new: ComparableCandidate, near: Sequence[KnownAtom]) -> Decision:
        """Decide on one candidate, given the atoms near it and the drafts of this plan."""
        drafts = [(other, self._apply_changes(each)) for other, each in self._drafts]
        known = [self._apply_changes(each) for each in near if each.atom.id not in self._other_versions]
        known = [self._aliases.rename_like(new.candidate, each) for each in known]
        known += find_similar_drafts(new, drafts, self._aliases)
        decision = self._decide_again(new, known, decide(new.candidate, known, new.said_at))
        if isinstance(decision, Reinforce):
            confirmed = next((each.atom for each in known if each.atom.id == decision.atom_id), None)
            if confirmed is not None and set(new.candidate.source_message_ids) <= set(confirmed.source_message_ids):
                return Skip("It was learned from the same message before.", confirmed.id)
        return self._replace_other_version(new, decision)

    def _decide_again(self, new: ComparableCandidate, known: Sequence[KnownAtom], decision: Decision) -> Decision:
        """Return a decision that does not change again what an undo has restored."""
        messages_of_candidate = set(new.candidate.source_message_ids)
        undone = {each.atom_id for each in self._undone if each.source_message_ids & messages_of_candidate}
        if decision.atom_id not in undone:
            return decision
        if isinstance(decision, Supersede):
            return decide(new.candidate, [each for each in known if each.atom.id not in undone], new.said_at)
        return Skip("It was undone before.", decision.atom_id)

    def _replace_other_version(self, new: ComparableCandidate, decision: Decision) -> Decision:
        """Let a new fact also replace the one that an earlier version found in its place."""
        if not self._other_versions or not isinstance(decision, Add | Supersede):
            return decision
        live = [known for known in self._other_versions.values() if known.atom.superseded_by is None]
        match decide(new.candidate, live, new.said_at):
            case Reinforce(atom_id=old_id) | Supersede(atom_id=old_id) | Skip(atom_id=str(old_id)):
                del self._other_versions[old_id]
            case _:
                return decision
        if isinstance(decision, Supersede):
            return replace(decision, also=(*decision.also, old_id))
        because = f"It was extracted again with version {self._order.version}."
        return Supersede(old_id, because, closes_at=new.begins)

    def _apply_changes(self, known: KnownAtom) -> KnownAtom:
        """Return a known atom as it will be after the steps so far."""
        changed = self._changed.get(known.atom.id)
        return known if changed is None else replace(known, atom=changed)

    def _carry_out(self, place: int, new: ComparableCandidate, decision: Decision) -> None:
        """Add the step of a decision to the plan. `place` is the index of the candidate."""
        self._plan.decisions.append((new.candidate, decision))
        match decision:
            case Add():
                step = AtomAddition(
                    self._build_atom(new, decision, decision.valid_to),
                    _to_entity_mentions(new.candidate),
                    superseded_by=decision.superseded_by,
                )
                self._add_draft(place, new, step)
            case Supersede():
                replaced = (decision.atom_id, *decision.also)
                step = AtomAddition(
                    self._build_atom(new, decision, None),
                    _to_entity_mentions(new.candidate),
                    supersedes=replaced,
                )
                self._add_draft(place, new, step)
                for old_id in replaced:
                    self._change(old_id, superseded_by=step.atom.id, valid_to=to_iso(decision.closes_at))
            case Reinforce():
                self._reinforce(new, decision)
            case Skip():
                pass
            case _:
                assert_never(decision)

    def _add_draft(self, place: int, new: ComparableCandidate, step: AtomAddition) -> None:
        """Add an atom to the plan, and to what the later candidates are compared with."""
        self._plan.steps.append(step)
        self._plan.added.append(place)
        draft = KnownAtom.from_candidate(new.candidate, step.atom.id, new.said_at)
        if step.superseded_by is not None:
            self._changed[step.atom.id] = draft.atom.model_copy(update={"superseded_by": step.superseded_by})
        self._drafts.append((new, draft))

    def _reinforce(self, new: ComparableCandidate, decision: Reinforce) -> None:
        """Add the step that confirms an atom, and remember the atom as it will be."""
        candidate = new.candidate
        self._plan.steps.append(
            AtomReinforcement(
                decision.atom_id,
                candidate.source_message_ids,
                _to_entity_mentions(candidate),
                decision.confidence,
                decision.importance,
                decision.trust,
                confirmed_at=new.said_at,
                because=decision.because,
            )
        )
        sources = [*self._find_atom(decision.atom_id).source_message_ids, *candidate.source_message_ids]
        self._change(
            decision.atom_id,
            source_message_ids=list(dict.fromkeys(sources)),
            confidence=decision.confidence,
            importance=decision.importance,
            trust=decision.trust,
        )

    def _change(self, atom_id: str, **fields: object) -> None:
        """Remember that the steps so far change fields of an atom."""
        self._changed[atom_id] = self._find_atom(atom_id).model_copy(update=fields)

    def _find_atom(self, atom_id: str) -> Atom:
        """Return an atom as it will be after the steps so far, drafts included."""
        changed = self._changed.get(atom_id)
        if changed is not None:
            return changed
        draft = next((known.atom for _, known in self._drafts if known.atom.id == atom_id), None)
        return draft or atoms.get_with_slot(self._run, atom_id)[0]

    def _build_atom(self, new: ComparableCandidate, decision: Add | Supersede, valid_to: Micros | None) -> PreparedAtom:
        """Return the row of the atom that a candidate becomes; `valid_to` goes before the candidate's own end."""
        candidate = new.candidate
        subject, attribute, value = _to_row_slot(candidate) or (None, None, None)
        return PreparedAtom(
            id=new_id("atom", self._now),
            text=candidate.text,
            search_context=candidate.search_context,
            speaker=candidate.speaker or _SPEAKERS.get(candidate.trust),
            category_name=candidate.category_name,
            kind=candidate.kind,
            importance=candidate.importance,
            confidence=candidate.confidence,
            valid_from=new.begins,
            valid_to=candidate.valid_to if valid_to is None else valid_to,
            source_conversation_id=self._order.conversation_id,
            source_message_ids=candidate.source_message_ids,
            entity_ids=(),
            tags=candidate.tags,
            metadata=self._order.metadata,
            origin="extraction",
            trust=candidate.trust,
            created_at=self._now,
            decision=decision.action,
            because=decision.because,
            precision=candidate.precision,
            extraction_version=self._order.version,
            slot_subject=subject,
            slot_attribute=attribute,
            slot_value=value,
        )


def _to_row_slot(candidate: Candidate) -> Slot | None:
    """Return the slot of a candidate as the database holds it; None if it has none."""
    slot = candidate.slot
    return None if slot is None else (slot.subject, slot.attribute, slot.value)


def _to_entity_mentions(candidate: Candidate) -> tuple[EntityMention, ...]:
    """Return the mentions of a candidate as the database takes them."""
    return tuple((mention.name, mention.type, mention.aliases) for mention in candidate.mentions)
