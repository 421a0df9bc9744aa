"""What a conversation tells, for who keeps it elsewhere than in a space: the second outlet of extraction.

Where a binding has had the conversation extracted, what was learned is told and no extractor is asked again. Else the
extractor is asked. Either way, what was deleted or rejected in any space of the user is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.extraction import forgotten as tombstones
from longmind.extraction.candidate import Candidate, Cost, Extractor, Slot, SourceMessage
from longmind.extraction.candidate_validation import said_at, validate_candidates
from longmind.extraction.reconcile.plan import fact_of
from longmind.extraction.source_messages import read_messages_between
from longmind.models.atom import Atom
from longmind.models.binding import ExtractionPolicy
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms, conversations, extraction_marks, spaces

_VERSION = ExtractionPolicy().extraction_version


@dataclass(frozen=True)
class ConversationFacts:
    facts: Sequence[tuple[Candidate, Micros]] = ()
    """Each with when it was said, in that order."""
    messages: int = 0
    cost: Cost = field(default_factory=Cost)
    note: str | None = None


class ConversationFactReader:
    def __init__(self, database: Database, extractor_of: Callable[[Scope], Extractor] | None) -> None:
        self._database = database
        self._extractor_of = extractor_of

    def tell(self, scope: Scope, conversation_id: str, after: int, until: int) -> ConversationFacts:
        """The facts that were told after one message of a conversation up to another."""
        messages = self._database.read(scope, read_messages_between, conversation_id, after, until)
        fresh = sum(not message.read_only for message in messages)
        if not fresh:
            return ConversationFacts()
        cost, note = Cost(), None
        candidates = self._database.read(scope, _learned, conversation_id, until, messages)
        if candidates is None:
            if self._extractor_of is None:
                raise InvalidInput("There is no extractor.", hint="Open the engine with one.")
            extracted = self._extractor_of(scope).extract(messages, _VERSION)
            cost, note = extracted.cost, extracted.note
            checked = validate_candidates(extracted.candidates, messages)
            candidates = [candidate for candidate, refusal in checked if refusal is None]
        by_id = {message.id: message for message in messages}
        facts = [
            (candidate, said_at(candidate, by_id))
            for candidate in self._database.read(scope, _without_forgotten, candidates)
        ]
        return ConversationFacts(sorted(facts, key=lambda fact: fact[1]), fresh, cost, note)


def _learned(
    run: Transaction, conversation_id: str, until: int, messages: Sequence[SourceMessage]
) -> list[Candidate] | None:
    """What extraction has made of some messages and still holds; None when they were not extracted into a space.

    What they only confirmed is among it: memory may have known it for long, and who asks now not.
    """
    conversation = conversations.get(run, conversation_id)
    if conversation is None or not extraction_marks.is_extracted(run, conversation_id, until):
        return None
    since = to_micros(conversation.created_at)
    fresh = {message.id for message in messages if not message.read_only}
    shown = {message.id for message in messages}
    return [
        _candidate(atom, slot, tuple(each for each in atom.source_message_ids if each in shown))
        for space in spaces.list_all(run)
        for atom, slot in atoms.list_learned_or_confirmed(run, space.id, conversation_id, since)
        if not fresh.isdisjoint(atom.source_message_ids)
    ]


def _candidate(atom: Atom, slot: tuple[str, str, str] | None, sources: tuple[str, ...]) -> Candidate:
    return Candidate(
        text=atom.text,
        category_name=atom.category.name,
        kind=atom.category.kind,
        trust=atom.trust,
        source_message_ids=sources,
        importance=atom.importance,
        confidence=atom.confidence,
        valid_from=to_micros(atom.valid_from),
        valid_to=None if atom.valid_to is None else to_micros(atom.valid_to),
        precision=atom.precision or "instant",
        slot=None if slot is None else Slot(*slot),
    )


def _without_forgotten(run: Transaction, candidates: Sequence[Candidate]) -> list[Candidate]:
    """What is left when sentences that were deleted in any space are taken out."""
    left = list(candidates)
    for space in spaces.list_all(run):
        texts = tombstones.remaining(run, space.id, [fact_of(candidate) for candidate in left])
        left = [replace(candidate, text=text) for candidate, text in zip(left, texts, strict=True) if text]
    return left
