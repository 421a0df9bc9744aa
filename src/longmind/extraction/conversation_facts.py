"""Facts of a conversation for memory other than atoms, such as memory blocks: the second outlet of extraction.

If a binding has had the conversation extracted, what was learned is read back and no extractor runs again. Otherwise
the extractor runs. Either way, facts that were deleted or rejected in any space of the user are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from longmind.clock import Micros, to_micros
from longmind.errors import InvalidInput
from longmind.extraction import forgotten
from longmind.extraction.candidate import Candidate, Cost, Extractor, Slot, SourceMessage
from longmind.extraction.candidate_validation import find_time, validate_candidates
from longmind.extraction.forgotten import ForgettableFact
from longmind.extraction.source_messages import read_messages_between
from longmind.models.atom import Atom
from longmind.models.binding import ExtractionPolicy
from longmind.scope import Scope
from longmind.store.database import Database, Transaction
from longmind.store.tables import atoms, conversations, extraction_marks, spaces

_VERSION = ExtractionPolicy().extraction_version


@dataclass(frozen=True)
class ConversationFacts:
    """The facts of a part of a conversation, and what finding them cost."""

    facts: Sequence[tuple[Candidate, Micros]] = ()
    """The facts, each with the time when it was said, in the order of those times."""
    messages: int = 0
    cost: Cost = field(default_factory=Cost)
    note: str | None = None


class ConversationFactReader:
    """Reads the facts of conversations. It holds no state of its own, and threads may share it."""

    def __init__(self, database: Database, extractor_of: Callable[[Scope], Extractor] | None) -> None:
        self._database = database
        self._extractor_of = extractor_of

    def read(self, scope: Scope, conversation_id: str, after: int, until: int) -> ConversationFacts:
        """Return the facts in the messages after one sequence number of a conversation up to another.

        May run the extractor, so it must not be called in a transaction.
        """
        messages = self._database.read(scope, read_messages_between, conversation_id, after, until)
        new = sum(not message.read_only for message in messages)
        if not new:
            return ConversationFacts()
        cost, note = Cost(), None
        candidates = self._database.read(scope, _read_learned, conversation_id, until, messages)
        if candidates is None:
            if self._extractor_of is None:
                raise InvalidInput(
                    "The engine has no extractor.", hint="Open the engine with an extractor, such as extractor='rules'."
                )
            extracted = self._extractor_of(scope).extract(messages, _VERSION)
            cost, note = extracted.cost, extracted.note
            validated = validate_candidates(extracted.candidates, messages)
            candidates = [candidate for candidate, refusal in validated if refusal is None]
        by_id = {message.id: message for message in messages}
        facts = [
            (candidate, find_time(candidate, by_id))
            for candidate in self._database.read(scope, _remove_forgotten, candidates)
        ]
        return ConversationFacts(sorted(facts, key=lambda fact: fact[1]), new, cost, note)


def _read_learned(
    run: Transaction, conversation_id: str, until: int, messages: Sequence[SourceMessage]
) -> list[Candidate] | None:
    """Return the facts that extraction has learned from messages and that still hold.

    Facts that the messages only confirmed are among them, since the caller may not know them yet. Returns None when the
    messages were not extracted into any space.
    """
    conversation = conversations.get(run, conversation_id)
    if conversation is None or not extraction_marks.is_extracted(run, conversation_id, until):
        return None
    since = to_micros(conversation.created_at)
    new = {message.id for message in messages if not message.read_only}
    known = {message.id for message in messages}
    return [
        _to_candidate(atom, slot, tuple(each for each in atom.source_message_ids if each in known))
        for space in spaces.list_all(run)
        for atom, slot in atoms.list_learned_or_confirmed(run, space.id, conversation_id, since)
        if not new.isdisjoint(atom.source_message_ids)
    ]


def _to_candidate(atom: Atom, slot: tuple[str, str, str] | None, sources: tuple[str, ...]) -> Candidate:
    """Return an atom as the candidate that it was."""
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


def _remove_forgotten(run: Transaction, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without the sentences that were deleted in any space of the user."""
    left = list(candidates)
    for space in spaces.list_all(run):
        facts = [ForgettableFact.from_candidate(candidate) for candidate in left]
        texts = forgotten.remove_forgotten(run, space.id, facts)
        left = [replace(candidate, text=text) for candidate, text in zip(left, texts, strict=True) if text]
    return left
