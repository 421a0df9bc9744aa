"""From a conversation to memory: reads what was said since the mark, has it extracted, and writes what comes of it.

Extracting and embedding are slow, so they happen outside of a transaction; so does deciding, against the space as it
is then. The transaction that writes makes sure that neither the space nor the mark has changed since: else it writes
nothing, and all is done again. What jobs leave behind that run at once is so what they would leave one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic.alias_generators import to_camel

from longmind.clock import Clock, Micros
from longmind.errors import InvalidInput, NotFound
from longmind.extraction import forgotten as tombstones
from longmind.extraction.candidate import Candidate, Cost, Extractor
from longmind.extraction.candidate_validation import said_at, validate_candidates
from longmind.extraction.conversation_facts import ConversationFactReader
from longmind.extraction.patterns.job import PatternFinder
from longmind.extraction.reconcile.known_atoms import ComparableCandidate
from longmind.extraction.reconcile.plan import Plan, fact_of, make_plan
from longmind.extraction.source_messages import (
    Destination,
    ExtractionInput,
    find_destination,
    find_target_space,
    find_watermark,
    read_messages,
)
from longmind.language.words import terms_of
from longmind.models.binding import ExtractionPreview, PlannedAtom
from longmind.recall.index import storage as writing
from longmind.recall.index.refresh import refresh
from longmind.recall.index.segments import IndexedText
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.index.storage import IndexEntries
from longmind.recall.retriever import AtomRetriever
from longmind.scope import Scope
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.tables import bindings, extraction_marks, spaces
from longmind.store.tables.atom_changes import AtomAddition, AtomReinforcement, apply_steps
from longmind.store.tables.jobs import JobPostponement
from longmind.store.triggers import extraction_orders
from longmind.store.triggers.extraction_orders import ExtractionOrder

Result = dict[str, Any]
Write = Callable[[Transaction], Result | JobPostponement]

_PAUSE_SECONDS = 300.0
"""How often it is looked whether a binding is still paused; who resumes it wakes its jobs."""

_TOLD_OF_ELSEWHERE = frozenset({"messages", "cost", "note", "skipped"})


@dataclass(frozen=True)
class _Work:
    """What was extracted, ready to be compared with what is known."""

    order: ExtractionOrder
    reading: ExtractionInput
    ready: Sequence[ComparableCandidate]
    indexed: IndexEntries
    refused: Sequence[tuple[Candidate, str]]
    cost: Cost
    note: str | None


class Pipeline:
    def __init__(
        self,
        database: Database,
        retriever: AtomRetriever,
        extractor_of: Callable[[Scope], Extractor] | None,
        clock: Clock,
        job_attempts: int,
    ) -> None:
        self.mining = PatternFinder(database, retriever, clock)
        self.telling = ConversationFactReader(database, extractor_of)
        self._database = database
        self._retriever = retriever
        self._extractor_of = extractor_of
        self._clock = clock
        self._job_attempts = job_attempts

    def extract(
        self, scope: Scope, payload: dict[str, Any], kept: dict[str, Any], *, patient: bool = True
    ) -> Result | JobPostponement | Write:
        """Do all that one job asks for, up to the transaction that writes it, or say why there is nothing to write.

        What was extracted is kept for when the writing was overtaken and this is asked again: a model costs money.
        Without patience the deciding too happens in that transaction, where nothing can come between.
        """
        order = ExtractionOrder.from_payload(payload)
        destination = self._database.read(scope, find_destination, scope, order)
        if not isinstance(destination, Destination):
            return _not_now(destination)
        reading = self._read(scope, destination, order)
        write = self._ready_to_write(scope, order, reading, kept, patient=patient)
        return write if destination.home == scope else self._write_elsewhere(destination.home, write)

    def _ready_to_write(
        self, scope: Scope, order: ExtractionOrder, reading: ExtractionInput, kept: dict[str, Any], *, patient: bool
    ) -> Write:
        home = reading.destination.home
        if not any(not message.read_only for message in reading.messages):
            return lambda run: self._write_nothing(run, order, reading)
        before: _Work | None = kept.get("work")
        if before is not None and before.reading.begins_like(reading):
            work = replace(before, reading=reading)
        else:
            work = self._work(scope, order, reading)
        kept["work"] = work
        if not patient:
            now = self._clock()
            return lambda run: self._decide_and_write(run, home, work, now)
        plan = self._plan(work)
        return lambda run: self._write(run, home, work, plan)

    def _write_elsewhere(self, home: Scope, write: Write) -> Result | JobPostponement:
        """Write into a shared space of somebody else, in a transaction there; the job ends in one of its own.

        The mark moves in the first of the two, so that a job that dies between them finds nothing more to do. What the
        space held before is not for the user to know, with whom the result is kept.
        """
        result = self._database.write(home, write)
        if isinstance(result, JobPostponement):
            return result
        return {name: value for name, value in result.items() if name in _TOLD_OF_ELSEWHERE}

    def _read(self, scope: Scope, destination: Destination, order: ExtractionOrder) -> ExtractionInput:
        begun_at, space_id = self._database.read(destination.home, find_watermark, order)
        messages = self._database.read(scope, read_messages, order, begun_at)
        return ExtractionInput(destination, begun_at, space_id, messages)

    def preview(self, scope: Scope, order: ExtractionOrder) -> ExtractionPreview:
        """What an extraction would change. What is in a shared space of somebody else is not told by it."""
        found = self._database.read(scope, find_destination, scope, order)
        destination = found if isinstance(found, Destination) else Destination(scope)
        reading = self._read(scope, destination, order)
        compared = reading if destination.home == scope else replace(reading, space_id=None)
        work = self._work(scope, order, compared)
        plan = self._plan(work)
        told: dict[str, list[PlannedAtom]] = {"add": [], "reinforce": [], "supersede": [], "skip": []}
        for candidate, decision in plan.decisions:
            told[decision.action].append(_planned(candidate, decision.because, decision.atom_id))
        told["skip"] += [_planned(candidate, because) for candidate, because in work.refused]
        return ExtractionPreview(
            binding_id=order.binding_id,
            memory_space_id=reading.space_id,
            extraction_version=order.version,
            added=told["add"],
            reinforced=told["reinforce"],
            superseded=told["supersede"],
            skipped=told["skip"],
        )

    def _work(self, scope: Scope, order: ExtractionOrder, reading: ExtractionInput) -> _Work:
        if self._extractor_of is None:
            raise InvalidInput("There is no extractor.", hint="Open the engine with one.")
        extracted = self._extractor_of(scope).extract(reading.messages, order.version)
        checked = validate_candidates(extracted.candidates, reading.messages)
        kept = self._without_forgotten(reading, [each for each, refusal in checked if refusal is None])
        if reading.destination.speaker is not None:
            kept = [replace(candidate, speaker=reading.destination.speaker) for candidate in kept]
        refused = [(candidate, refusal) for candidate, refusal in checked if refusal is not None]
        indexed = self._retriever.index_texts([IndexedText(each.text, each.search_context) for each in kept])
        by_id = {message.id: message for message in reading.messages}
        ready = [
            ComparableCandidate(
                candidate,
                said_at(candidate, by_id),
                tuple(dict.fromkeys(terms_of(candidate.text))),
                indexed.decode_vector(place),
                indexed.model,
            )
            for place, candidate in enumerate(kept)
        ]
        return _Work(order, reading, ready, indexed, refused, extracted.cost, extracted.note)

    def _without_forgotten(self, reading: ExtractionInput, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates without sentences that were deleted before; where nothing is left, the plan skips it."""
        if reading.space_id is None:
            return candidates
        facts = [fact_of(candidate) for candidate in candidates]
        left = self._database.read(reading.destination.home, tombstones.remaining, reading.space_id, facts)
        return [
            replace(candidate, text=text) if text else candidate
            for candidate, text in zip(candidates, left, strict=True)
        ]

    def _plan(self, work: _Work) -> Plan:
        """Decide against the space as it is now."""
        home, space_id = work.reading.destination.home, work.reading.space_id
        if space_id is None:
            empty = SpaceIndex()
            empty.revision = 0
            return self._database.read(home, make_plan, "", empty, work.ready, work.order, work.reading, self._clock())
        with self._retriever.space(home, space_id) as index:
            return self._database.read(
                home, make_plan, space_id, index, work.ready, work.order, work.reading, self._clock()
            )

    def _write_nothing(self, run: Transaction, order: ExtractionOrder, reading: ExtractionInput) -> Result:
        _move_mark(run, order, reading)
        return _result(None, [], Cost(), 0)

    def _decide_and_write(self, run: Transaction, scope: Scope, work: _Work, now: Micros) -> Result | JobPostponement:
        space_id = _target(run, scope, work.order, now)
        # From here on nobody else changes the space.
        spaces.begin_change(run, space_id, now)
        index = SpaceIndex()
        refresh(run, space_id, index)
        plan = make_plan(run, space_id, index, work.ready, work.order, work.reading, now)
        return self._write(run, scope, work, plan)

    def _write(self, run: Transaction, scope: Scope, work: _Work, plan: Plan) -> Result | JobPostponement:
        state, _ = bindings.find_space(run, work.order.binding_id, work.order.space_id)
        if state != "active":
            return _not_now(state)
        now = plan.now
        space_id = _target(run, scope, work.order, now)
        additions = [step for step in plan.steps if isinstance(step, AtomAddition)]
        change = spaces.begin_change(run, space_id, now, len(additions))
        if change.revision != plan.revision + 1:
            raise EffectConflict("The space was changed while a conversation was extracted into it.")
        _move_mark(run, work.order, work.reading)
        apply_steps(run, scope, space_id, change, plan.steps, now)
        if additions:
            writing.write(run, space_id, change, work.indexed.select(plan.added))
        # What recurs is looked for where one user speaks: events of many make no habit of anybody's.
        if work.reading.destination.speaker is None and any(step.atom.kind == "EPISODE" for step in additions):
            extraction_orders.on_events(run, scope, space_id, change.first + len(additions), now, self._job_attempts)
        fresh = sum(not message.read_only for message in work.reading.messages)
        return _result(plan, work.refused, work.cost, fresh, work.note)


def _not_now(state: bindings.BindingState) -> Result | JobPostponement:
    """What is queued waits while its binding is paused; without a binding, or a space, there is nothing to wait for."""
    return (
        JobPostponement(_PAUSE_SECONDS)
        if state == "paused"
        else {"skipped": "The binding is deleted, or its space is."}
    )


def _target(run: Transaction, scope: Scope, order: ExtractionOrder, now: Micros) -> str:
    space_id = find_target_space(run, order)
    if space_id is not None:
        return space_id
    if order.space_name is None:
        raise NotFound("memory space", order.space_id)
    return spaces.create(run, scope, order.space_name, "user", "{}", now).id


def _move_mark(run: Transaction, order: ExtractionOrder, reading: ExtractionInput) -> None:
    if not extraction_marks.move(run, order.target, reading.mark, max(order.until, reading.mark)):
        raise EffectConflict("The conversation was extracted by another job at the same time.")


def _planned(candidate: Candidate, because: str, atom_id: str | None = None) -> PlannedAtom:
    return PlannedAtom(
        text=candidate.text,
        kind=candidate.kind,
        category_name=candidate.category_name,
        source_message_ids=list(candidate.source_message_ids),
        because=because,
        atom_id=atom_id,
    )


def _result(
    plan: Plan | None, refused: Sequence[tuple[Candidate, str]], cost: Cost, messages: int, note: str | None = None
) -> Result:
    """What is kept with the job: numbers and ids, never what was said, which may have to be forgotten later."""
    steps = plan.steps if plan else []
    decided = [decision for _, decision in plan.decisions] if plan else []
    additions = [step for step in steps if isinstance(step, AtomAddition)]
    counts = {name: sum(each.action == action for each in decided) for name, action in _COUNTED.items()}
    counts["skipped"] += len(refused)
    return {
        "counts": counts,
        "added": [step.atom.id for step in additions],
        "reinforced": [step.atom_id for step in steps if isinstance(step, AtomReinforcement)],
        "superseded": [
            {"atomId": old_id, "supersededBy": step.atom.id} for step in additions for old_id in step.supersedes
        ],
        "messages": messages,
        "cost": {to_camel(name): value for name, value in asdict(cost).items()},
        **({"note": note} if note else {}),
    }


_COUNTED = {"added": "add", "reinforced": "reinforce", "superseded": "supersede", "skipped": "skip"}
