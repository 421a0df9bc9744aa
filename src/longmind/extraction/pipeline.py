"""Extraction of a conversation into a memory space, from its new messages to the atoms that are written.

An extraction has three steps:
1. `prepare` reads the messages since the watermark, runs the extractor, with known facts where it wants them, and
   embeds what it found;
2. `plan_write` decides what becomes of each candidate, against the space as it is then;
3. the function that it returns writes the plan, in the transaction that also ends the job.

Extractors and embedders are slow, so the first two steps run outside a transaction. The third one checks that neither
the space nor the watermark has changed since; if they have, it raises `EffectConflict` and the steps are repeated.
Jobs that run at the same time thus leave what they would leave one after another. After a few conflicts the plan is
made inside the transaction, where nothing can come between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from pydantic.alias_generators import to_camel

from longmind.clock import Clock, Micros
from longmind.errors import InvalidInput, NotFound
from longmind.extraction import forgotten
from longmind.extraction.candidate import Candidate, Cost, Extractor
from longmind.extraction.candidate_validation import find_time, validate_candidates
from longmind.extraction.consolidation.job import Consolidator
from longmind.extraction.conversation_facts import ConversationFactReader
from longmind.extraction.extraction_versions import ExtractionVersions
from longmind.extraction.forgotten import ForgettableFact
from longmind.extraction.known_facts import KnownFactFinder
from longmind.extraction.patterns.job import PatternFinder
from longmind.extraction.reconcile.known_atoms import ComparableCandidate
from longmind.extraction.reconcile.plan import Plan, make_plan
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
from longmind.recall.index import storage as index_storage
from longmind.recall.index.refresh import refresh
from longmind.recall.index.segments import IndexedText
from longmind.recall.index.space_index import SpaceIndex
from longmind.recall.index.storage import IndexEntries
from longmind.recall.retriever import AtomRetriever
from longmind.scope import Scope
from longmind.store.database import Database, EffectConflict, Transaction
from longmind.store.tables import bindings, extraction_marks, spaces
from longmind.store.tables.atom_changes import AtomAddition, AtomReinforcement, apply_steps
from longmind.store.tables.atom_decisions import DecisionOrigin
from longmind.store.tables.jobs import JobPostponement
from longmind.store.triggers import extraction_requests, sleep_time
from longmind.store.triggers.extraction_requests import ExtractionOrder

Result = dict[str, Any]
Write = Callable[[Transaction], Result | JobPostponement]

_PAUSE_SECONDS = 300.0
"""Interval at which a job looks whether its binding is still paused; resuming a binding wakes its jobs at once."""

_SHARED_RESULT = frozenset({"messages", "cost", "note", "skipped"})
"""Parts of a result that a user may see of an extraction into another user's space."""


@dataclass(frozen=True)
class PreparedExtraction:
    """The candidates of one extraction, ready to be compared with what is known.

    It stays usable when the space changes before it is written: what it says about atoms of the space is only proposed.
    """

    scope: Scope
    """The user whose conversation it is."""
    order: ExtractionOrder
    source: ExtractionInput
    candidates: Sequence[ComparableCandidate] = ()
    entries: IndexEntries | None = None
    """The index entries of the candidates, in their order; None when there were no messages to read."""
    refused: Sequence[tuple[Candidate, str]] = ()
    """The candidates that were not valid, each with the reason."""
    cost: Cost = field(default_factory=Cost)
    note: str | None = None

    @property
    def home(self) -> Scope:
        """The owner of the memory that is written to."""
        return self.source.destination.home


class Pipeline:
    """Runs extractions. It holds no state of its own, and threads may share it."""

    def __init__(
        self,
        database: Database,
        retriever: AtomRetriever,
        extractor_of: Callable[[Scope], Extractor] | None,
        sleep_extractor_of: Callable[[Scope], Extractor] | None,
        versions: ExtractionVersions,
        clock: Clock,
        job_attempts: int,
    ) -> None:
        self.consolidator = Consolidator(database, retriever, clock)
        self.pattern_finder = PatternFinder(database, retriever, clock)
        self.fact_reader = ConversationFactReader(database, sleep_extractor_of)
        self._known_facts = KnownFactFinder(database, retriever, clock)
        self._database = database
        self._retriever = retriever
        self._extractor_of = extractor_of
        self._versions = versions
        self._clock = clock
        self._job_attempts = job_attempts

    def prepare(
        self, scope: Scope, payload: dict[str, Any], earlier: PreparedExtraction | None = None
    ) -> PreparedExtraction | Result | JobPostponement:
        """Read and extract the messages of a job, or return why there is nothing to do, or not yet.

        scope: the user whose conversation it is.
        payload: the extraction order, as the job holds it.
        earlier: what was prepared before a conflict. It is used again if the messages are the same: a model costs
            money.

        Takes as long as the extractor does. Must not be called in a transaction.
        """
        order = ExtractionOrder.from_payload(payload)
        destination = self._database.read(scope, find_destination, scope, order)
        if not isinstance(destination, Destination):
            return _defer(destination)
        source = self._read_source(scope, destination, order)
        if not source.has_new_messages:
            return PreparedExtraction(scope, order, source)
        if earlier is not None and earlier.entries is not None and earlier.source.has_same_messages(source):
            return replace(earlier, source=source)
        return self._extract(scope, order, source)

    def plan_write(
        self, prepared: PreparedExtraction, *, in_transaction: bool = False
    ) -> Write | Result | JobPostponement:
        """Decide what becomes of a prepared extraction, and return the function that writes it.

        in_transaction: make the plan in the transaction that writes it, which holds the space for as long.

        An extraction into another user's space is written here, in a transaction of that user, and its result is
        returned.
        """
        if prepared.entries is None:
            write: Write = partial(_write_nothing, prepared=prepared, now=self._clock())
        elif in_transaction:
            write = partial(self._plan_and_write, prepared=prepared, now=self._clock())
        else:
            write = partial(self._write, prepared=prepared, plan=self._plan(prepared))
        return write if prepared.home == prepared.scope else self._write_elsewhere(prepared.home, write)

    def preview(self, scope: Scope, order: ExtractionOrder) -> ExtractionPreview:
        """Return what an extraction would change, without writing it.

        The preview of an extraction into another user's space is made as if that were empty: it shows nothing of it.
        """
        found = self._database.read(scope, find_destination, scope, order)
        destination = found if isinstance(found, Destination) else Destination(scope)
        source = self._read_source(scope, destination, order)
        visible = source if destination.home == scope else replace(source, space_id=None)
        prepared = self._extract(scope, order, visible)
        plan = self._plan(prepared)
        planned: dict[str, list[PlannedAtom]] = {"add": [], "reinforce": [], "supersede": [], "skip": []}
        for candidate, decision in plan.decisions:
            planned[decision.action].append(_to_planned_atom(candidate, decision.because, decision.atom_id))
        planned["skip"] += [_to_planned_atom(candidate, because) for candidate, because in prepared.refused]
        return ExtractionPreview(
            binding_id=order.binding_id,
            memory_space_id=source.space_id,
            extraction_version=order.version,
            added=planned["add"],
            reinforced=planned["reinforce"],
            superseded=planned["supersede"],
            skipped=planned["skip"],
        )

    def _read_source(self, scope: Scope, destination: Destination, order: ExtractionOrder) -> ExtractionInput:
        """Read the watermark from the memory that is written to, and the messages from the conversation's owner."""
        watermark, space_id = self._database.read(destination.home, find_watermark, order)
        messages = self._database.read(scope, read_messages, order, watermark)
        return ExtractionInput(destination, watermark, space_id, messages)

    def _extract(self, scope: Scope, order: ExtractionOrder, source: ExtractionInput) -> PreparedExtraction:
        """Run the extractor on messages, and validate and embed its candidates."""
        if self._extractor_of is None:
            raise InvalidInput(
                "The engine has no extractor.", hint="Open the engine with an extractor, such as extractor='rules'."
            )
        # The order may come from an import, or from an engine with another extractor.
        self._versions.validate(order.version)
        extracted = self._known_facts.extract(self._extractor_of(scope), source, order.version)
        validated = validate_candidates(extracted.candidates, source.messages)
        valid = self._cut_forgotten(source, [candidate for candidate, refusal in validated if refusal is None])
        if source.destination.speaker is not None:
            valid = [replace(candidate, speaker=source.destination.speaker) for candidate in valid]
        refused = [(candidate, refusal) for candidate, refusal in validated if refusal is not None]
        entries = self._retriever.index_texts([IndexedText(each.text, each.search_context) for each in valid])
        by_id = {message.id: message for message in source.messages}
        candidates = [
            ComparableCandidate(
                candidate,
                find_time(candidate, by_id),
                tuple(dict.fromkeys(terms_of(candidate.text))),
                entries.decode_vector(place),
                entries.model,
            )
            for place, candidate in enumerate(valid)
        ]
        return PreparedExtraction(scope, order, source, candidates, entries, refused, extracted.cost, extracted.note)

    def _cut_forgotten(self, source: ExtractionInput, candidates: list[Candidate]) -> list[Candidate]:
        """Cut forgotten sentences out of candidates. One of which nothing is left stays whole: the plan skips it."""
        if source.space_id is None:
            return candidates
        facts = [ForgettableFact.from_candidate(candidate) for candidate in candidates]
        texts = self._database.read(source.destination.home, forgotten.remove_forgotten, source.space_id, facts)
        return [
            replace(candidate, text=text) if text else candidate
            for candidate, text in zip(candidates, texts, strict=True)
        ]

    def _plan(self, prepared: PreparedExtraction) -> Plan:
        """Make a plan against the space as it is now."""
        home, space_id, order, source = prepared.home, prepared.source.space_id, prepared.order, prepared.source
        candidates = prepared.candidates
        if space_id is None:
            empty = SpaceIndex()
            empty.revision = 0
            return self._database.read(home, make_plan, "", empty, candidates, order, source, self._clock())
        with self._retriever.space(home, space_id) as index:
            return self._database.read(home, make_plan, space_id, index, candidates, order, source, self._clock())

    def _write_elsewhere(self, home: Scope, write: Write) -> Result | JobPostponement:
        """Write into another user's space, in a transaction there; the job ends in a transaction of its own.

        The watermark moves in the first of the two, so that a job that dies between them finds nothing more to do. The
        result, which this user can read, leaves out what concerns the content of the space.
        """
        result = self._database.write(home, write)
        if isinstance(result, JobPostponement):
            return result
        return {name: value for name, value in result.items() if name in _SHARED_RESULT}

    def _plan_and_write(self, run: Transaction, prepared: PreparedExtraction, now: Micros) -> Result | JobPostponement:
        """Make a plan and write it in one transaction."""
        space_id = _find_or_create_space(run, prepared, now)
        # From here on no other transaction changes the space.
        spaces.begin_change(run, space_id, now)
        index = SpaceIndex()
        refresh(run, space_id, index)
        plan = make_plan(run, space_id, index, prepared.candidates, prepared.order, prepared.source, now)
        return self._write(run, prepared, plan)

    def _write(self, run: Transaction, prepared: PreparedExtraction, plan: Plan) -> Result | JobPostponement:
        """Write a plan, unless the binding was paused or deleted, or the space or the watermark has changed since."""
        order, source, home = prepared.order, prepared.source, prepared.home
        state, _ = bindings.find_space(run, order.binding_id, order.space_id)
        if state != "active":
            return _defer(state)
        now = plan.now
        space_id = _find_or_create_space(run, prepared, now)
        additions = [step for step in plan.steps if isinstance(step, AtomAddition)]
        change = spaces.begin_change(run, space_id, now, len(additions))
        if change.revision != plan.revision + 1:
            raise EffectConflict("Another writer changed the space during the extraction.")
        _move_watermark(run, prepared, now)
        origin = DecisionOrigin(order.conversation_id, order.version)
        apply_steps(run, home, space_id, change, plan.steps, now, origin)
        if additions:
            assert prepared.entries is not None
            index_storage.write(run, space_id, change, prepared.entries.select(plan.added))
        # Patterns are looked for only where one user speaks: the events of many people are nobody's habit.
        if source.destination.speaker is None and any(step.atom.kind == "EPISODE" for step in additions):
            extraction_requests.on_events(run, home, space_id, change.first + len(additions), now, self._job_attempts)
        if additions:
            extraction_requests.on_facts(run, home, space_id, now, self._job_attempts)
        return _build_result(prepared, plan)


def _defer(state: bindings.BindingState) -> Result | JobPostponement:
    """Wait while a binding is paused; skip the job when the binding or its space is gone."""
    return (
        JobPostponement(_PAUSE_SECONDS) if state == "paused" else {"skipped": "The binding or its space was deleted."}
    )


def _find_or_create_space(run: Transaction, prepared: PreparedExtraction, now: Micros) -> str:
    """Return the space to write to; a user's own space of the bound name is created when it is first needed."""
    space_id = find_target_space(run, prepared.order)
    if space_id is not None:
        return space_id
    if prepared.order.space_name is None:
        raise NotFound("memory space", prepared.order.space_id)
    return spaces.create(run, prepared.home, prepared.order.space_name, "user", "{}", now).id


def _move_watermark(run: Transaction, prepared: PreparedExtraction, now: Micros) -> None:
    """Move the watermark behind the messages that were read, unless another job has moved it."""
    order, watermark = prepared.order, prepared.source.watermark
    if not extraction_marks.move(run, order.target, watermark, max(order.until, watermark)):
        raise EffectConflict("Another job extracted the conversation at the same time.")
    sleep_time.on_extracted(run, order.conversation_id, now)


def _write_nothing(run: Transaction, prepared: PreparedExtraction, now: Micros) -> Result:
    """Move the watermark of an extraction without new messages."""
    _move_watermark(run, prepared, now)
    return _build_result(prepared, None)


def _to_planned_atom(candidate: Candidate, because: str, atom_id: str | None = None) -> PlannedAtom:
    """Return a candidate as a preview shows it."""
    return PlannedAtom(
        text=candidate.text,
        kind=candidate.kind,
        category_name=candidate.category_name,
        source_message_ids=list(candidate.source_message_ids),
        because=because,
        atom_id=atom_id,
    )


def _build_result(prepared: PreparedExtraction, plan: Plan | None) -> Result:
    """Return the result to store with the job: numbers and ids, never texts, which may have to be forgotten later."""
    steps = plan.steps if plan else []
    decisions = [decision for _, decision in plan.decisions] if plan else []
    additions = [step for step in steps if isinstance(step, AtomAddition)]
    counts = {name: sum(each.action == action for each in decisions) for name, action in _COUNTED_ACTIONS.items()}
    counts["skipped"] += len(prepared.refused)
    return {
        "counts": counts,
        "added": [step.atom.id for step in additions],
        "reinforced": [step.atom_id for step in steps if isinstance(step, AtomReinforcement)],
        "superseded": [
            {"atomId": old_id, "supersededBy": step.atom.id} for step in additions for old_id in step.supersedes
        ],
        "messages": sum(not message.read_only for message in prepared.source.messages),
        "cost": {to_camel(name): value for name, value in asdict(prepared.cost).items()},
        **({"note": prepared.note} if prepared.note else {}),
    }


_COUNTED_ACTIONS = {"added": "add", "reinforced": "reinforce", "superseded": "supersede", "skipped": "skip"}
