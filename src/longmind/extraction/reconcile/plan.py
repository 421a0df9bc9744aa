"""From candidates to the steps that are written: each is decided on, seeing those before it, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from longmind.clock import Micros, to_iso
from longmind.extraction import forgotten as tombstones
from longmind.extraction.candidate import Candidate
from longmind.extraction.forgotten import Fact
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
from longmind.store.tables import atoms, messages
from longmind.store.tables.atom_changes import (
    AtomAddition,
    AtomReinforcement,
    AtomRetirement,
    EntityMention,
    LearningStep,
)
from longmind.store.tables.atom_rows import PreparedAtom, Slot
from longmind.store.triggers.extraction_orders import ExtractionOrder

_SPEAKERS = {"user": "user", "assistant": "assistant"}


@dataclass
class Plan:
    revision: int
    """Of the space that it was made for: it must have no other when the steps are written."""
    now: Micros
    steps: list[LearningStep] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    """The places, among the candidates, of those that become atoms, in the order of the additions."""
    decisions: list[tuple[Candidate, Decision]] = field(default_factory=list)


def make_plan(
    run: Transaction,
    space_id: str,
    index: SpaceIndex,
    ready: Sequence[ComparableCandidate],
    order: ExtractionOrder,
    reading: ExtractionInput,
    now: Micros,
) -> Plan:
    return _Planning(run, space_id, index, order, reading, now).plan(ready)


class _Planning:
    def __init__(
        self,
        run: Transaction,
        space_id: str,
        index: SpaceIndex,
        order: ExtractionOrder,
        reading: ExtractionInput,
        now: Micros,
    ) -> None:
        self._run = run
        self._space_id = space_id
        self._index = index
        self._order = order
        self._speaker = reading.destination.speaker
        self._read_ids = {message.id for message in reading.messages}
        self._now = now
        self._plan = Plan(index.revision, now)
        self._naming = PersonAliases(run, space_id, ())
        self._drafts: list[tuple[ComparableCandidate, KnownAtom]] = []
        self._changed: dict[str, Atom] = {}
        """Atoms as they will be after the steps so far."""
        self._told: list[tuple[Atom, Slot | None]] = []
        """Of a conversation that is extracted anew: what this version has found in it before, even if it is gone."""
        self._outdated: dict[str, KnownAtom] = {}
        """What other versions have found in it, which this one replaces."""

    def plan(self, ready: Sequence[ComparableCandidate]) -> Plan:
        if self._order.is_replay:
            self._look_back()
        self._naming = PersonAliases(
            self._run, self._space_id, (each for one in ready for each in one.candidate.mentions)
        )
        known = find_known_atoms(self._run, self._space_id, self._index, ready, self._naming, self._now, self._speaker)
        forgotten = tombstones.buried(self._run, self._space_id, [fact_of(each.candidate) for each in ready])
        for place, (each, atoms_near) in enumerate(zip(ready, known, strict=True)):
            decision = (
                Skip("It was deleted or rejected.")
                if place in forgotten
                else self._told_before(each) or self._decide(each, atoms_near)
            )
            self._carry_out(place, each, decision)
        self._plan.steps += [AtomRetirement(atom_id) for atom_id in self._outdated]
        return self._plan

    def _look_back(self) -> None:
        found = atoms.list_extracted_from(self._run, self._space_id, self._order.conversation_id)
        self._told = [each for each in found if each[0].extraction_version == self._order.version]
        earlier = {
            atom.id: to_known_atom(atom, slot)
            for atom, slot in found
            if atom.extraction_version != self._order.version
            and atom.status == "ACTIVE"
            and self._is_of_this_conversation_alone(atom)
        }
        # What was replaced by something newer since is history; what an earlier version replaced itself goes with it.
        self._outdated = {
            atom_id: known
            for atom_id, known in earlier.items()
            if known.atom.superseded_by is None or known.atom.superseded_by in earlier
        }

    def _is_of_this_conversation_alone(self, atom: Atom) -> bool:
        # In a shared space of somebody else no conversation can be looked up: there, what was read now has to do.
        others = [each for each in atom.source_message_ids if each not in self._read_ids]
        conversations = {messages.find_conversation(self._run, each) for each in others}
        return conversations <= {self._order.conversation_id}

    def _told_before(self, ready: ComparableCandidate) -> Skip | None:
        """A fact that this message has given before is not learned twice, even if it was changed or put away since."""
        candidate = ready.candidate
        slot = _slot(candidate)
        for atom, known_slot in self._told:
            if not set(candidate.source_message_ids) <= set(atom.source_message_ids):
                continue
            if text_key(atom.text) == text_key(candidate.text) or (slot is not None and slot == known_slot):
                return Skip("The same message has told it before.", atom.id)
        return None

    def _decide(self, ready: ComparableCandidate, near: Sequence[KnownAtom]) -> Decision:
        drafts = find_similar_drafts(
            ready, [(other, self._as_changed(each)) for other, each in self._drafts], self._naming
        )
        known = [self._as_changed(each) for each in near if each.atom.id not in self._outdated]
        known = [self._naming.as_named_in(ready.candidate, each) for each in known] + drafts
        decision = decide(ready.candidate, known, ready.said_at)
        if isinstance(decision, Reinforce):
            told = next((each.atom for each in known if each.atom.id == decision.atom_id), None)
            if told is not None and set(ready.candidate.source_message_ids) <= set(told.source_message_ids):
                return Skip("The same message has told it before.", told.id)
        return self._replacing_outdated(ready, decision)

    def _replacing_outdated(self, ready: ComparableCandidate, decision: Decision) -> Decision:
        """What an earlier version has found in this conversation gives way to what this version finds."""
        if not self._outdated or not isinstance(decision, Add | Supersede):
            return decision
        live = [known for known in self._outdated.values() if known.atom.superseded_by is None]
        match decide(ready.candidate, live, ready.said_at):
            case Reinforce(atom_id=old_id) | Supersede(atom_id=old_id) | Skip(atom_id=str(old_id)):
                del self._outdated[old_id]
            case _:
                return decision
        if isinstance(decision, Supersede):
            return replace(decision, also=(*decision.also, old_id))
        begins = _begins(ready)
        return Supersede(old_id, f"It was extracted anew with version {self._order.version}.", closes_at=begins)

    def _as_changed(self, known: KnownAtom) -> KnownAtom:
        changed = self._changed.get(known.atom.id)
        return known if changed is None else replace(known, atom=changed)

    def _carry_out(self, place: int, ready: ComparableCandidate, decision: Decision) -> None:
        self._plan.decisions.append((ready.candidate, decision))
        match decision:
            case Add():
                step = AtomAddition(
                    self._atom(ready, decision, decision.valid_to),
                    _mentioned(ready.candidate),
                    superseded_by=decision.superseded_by,
                )
                self._draft(place, ready, step)
            case Supersede():
                replaced = (decision.atom_id, *decision.also)
                step = AtomAddition(
                    self._atom(ready, decision, None),
                    _mentioned(ready.candidate),
                    supersedes=replaced,
                )
                self._draft(place, ready, step)
                for old_id in replaced:
                    self._change(old_id, superseded_by=step.atom.id, valid_to=to_iso(decision.closes_at))
            case Reinforce():
                self._reinforce(ready, decision)
            case Skip():
                pass
            case _:
                assert_never(decision)

    def _draft(self, place: int, ready: ComparableCandidate, step: AtomAddition) -> None:
        self._plan.steps.append(step)
        self._plan.added.append(place)
        drafted = KnownAtom.from_candidate(ready.candidate, step.atom.id, ready.said_at)
        if step.superseded_by is not None:
            self._changed[step.atom.id] = drafted.atom.model_copy(update={"superseded_by": step.superseded_by})
        self._drafts.append((ready, drafted))

    def _reinforce(self, ready: ComparableCandidate, decision: Reinforce) -> None:
        candidate = ready.candidate
        self._plan.steps.append(
            AtomReinforcement(
                decision.atom_id,
                candidate.source_message_ids,
                _mentioned(candidate),
                decision.confidence,
                decision.importance,
                decision.trust,
                confirmed_at=ready.said_at,
            )
        )
        sources = [*self._atom_now(decision.atom_id).source_message_ids, *candidate.source_message_ids]
        self._change(
            decision.atom_id,
            source_message_ids=list(dict.fromkeys(sources)),
            confidence=decision.confidence,
            importance=decision.importance,
            trust=decision.trust,
        )

    def _change(self, atom_id: str, **fields: object) -> None:
        self._changed[atom_id] = self._atom_now(atom_id).model_copy(update=fields)

    def _atom_now(self, atom_id: str) -> Atom:
        changed = self._changed.get(atom_id)
        if changed is not None:
            return changed
        drafted = next((known.atom for _, known in self._drafts if known.atom.id == atom_id), None)
        return drafted or atoms.get_with_slot(self._run, atom_id)[0]

    def _atom(self, ready: ComparableCandidate, decision: Add | Supersede, valid_to: Micros | None) -> PreparedAtom:
        candidate = ready.candidate
        subject, attribute, value = _slot(candidate) or (None, None, None)
        return PreparedAtom(
            id=new_id("atom", self._now),
            text=candidate.text,
            search_context=candidate.search_context,
            speaker=candidate.speaker or _SPEAKERS.get(candidate.trust),
            category_name=candidate.category_name,
            kind=candidate.kind,
            importance=candidate.importance,
            confidence=candidate.confidence,
            valid_from=_begins(ready),
            valid_to=candidate.valid_to if valid_to is None else valid_to,
            source_conversation_id=self._order.conversation_id,
            source_message_ids=candidate.source_message_ids,
            entity_ids=(),
            tags=candidate.tags,
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


def _begins(ready: ComparableCandidate) -> Micros:
    return ready.said_at if ready.candidate.valid_from is None else ready.candidate.valid_from


def _slot(candidate: Candidate) -> Slot | None:
    slot = candidate.slot
    return None if slot is None else (slot.subject, slot.attribute, slot.value)


def fact_of(candidate: Candidate) -> Fact:
    """As much of a candidate as it is known again by, when it was forgotten."""
    return Fact(candidate.text, _slot(candidate), candidate.source_message_ids)


def _mentioned(candidate: Candidate) -> tuple[EntityMention, ...]:
    return tuple((mention.name, mention.type, mention.aliases) for mention in candidate.mentions)
