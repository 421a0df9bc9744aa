"""The reader that needs no key and no network: a small trained network says what is worth remembering.

For each message of a user, or of a named speaker: leave out what is not their own (`foreign_text`), let the network
find the stretches that state something (`network`), and put each of them into words (`statement_writer`). What an
assistant or a tool says is only read to understand what answers it.

The network works on the states of the local encoder. Where that is not installed, the rules of `extraction.rules`
decide alone, more cautiously.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

import numpy as np

from longmind.clock import Micros, to_micros
from longmind.errors import ExtensionMissing, ModelMissing
from longmind.extraction.candidate import Candidate, Extracted, Extractor, Precision, Slot, SourceMessage
from longmind.extraction.reader.clauses import join_readings
from longmind.extraction.reader.foreign_text import OwnText, find_own_text
from longmind.extraction.reader.message_statement import Reading
from longmind.extraction.reader.network import EncodedPiece, load_network
from longmind.extraction.reader.plain_facts import says_enough, strip_quotation
from longmind.extraction.reader.statement_writer import StatementWriter
from longmind.extraction.rules.name_merger import NameMerger
from longmind.extraction.rules.names import NameMention, find_names
from longmind.extraction.rules.slots.finder import find_slot
from longmind.extraction.rules.speakers import SpokenMessage, identify_speakers
from longmind.extraction.search_context import build_search_contexts
from longmind.extraction.slot_types import ABOUT, SLOT_TYPES
from longmind.language.dates import find_dates
from longmind.language.english_detection import is_english
from longmind.models.atom import BEHAVIORAL_KINDS
from longmind.providers.local.text_encoder import TextEncoder
from longmind.recall.message_pieces import split_message

LEAST_CONFIDENCE = 0.5
"""The probability from which a stretch becomes a fact."""
_LEAST_IMPORTANCE = 3
_MOST_PER_PIECE = 12
_DATES_OF_TRUTH = frozenset(("on", "since", "duration"))
_CERTAINTY_OF_HEDGED = 0.6
_CERTAIN = {
    "name": "name",
    "home": "home",
    "workplace": "employer",
    "role": "job",
    "email": "email",
    "phone": "phone number",
    "age": "age",
    "relationship_status": "relationship status",
    "address": "address",
    "pronouns": "pronouns",
}
"""Attributes of which a person has one value at a time, each with the name under which the rules find it in a text."""

# What somebody wants of the assistant now, not of their life: "I'm looking for tips", but not "looking for a job".
_REQUEST = re.compile(
    r"(?:(?:and|so|but|now|also|well|ok|hi|hey|hello|thanks)[,.!]? )*(?:i(?:'m| am|m) (?:(?:just|also|currently|now|"
    r"still|actually) )*(?:looking for (?!an? (?:new |bigger |smaller )?(?:job|flat|apartment|house|home|room|place))|"
    r"trying to (?:find|figure out|decide)|wondering|curious (?:about|if|whether)|interested in (?:learning|knowing|"
    r"hearing))|i (?:was|am) wondering|i(?:'d| would) (?:like|love) (?:to (?:know|hear|learn more)|some|any|your)|"
    r"i need (?:some |your |a bit of )?(?:help|advice|tips|suggestions|ideas)|(?:can|could|would|will|do|did|have) "
    r"you\b|(?:what|how|which|why|where|when|who)\b.*\?$|(?:tell|give|show|help) me\b)",
    re.IGNORECASE,
)


class LocalReader:
    """Reads conversations with the network, or with rules where its encoder is missing. Threads may share it."""

    def __init__(self, encoder: TextEncoder | None, rules: Extractor) -> None:
        self._encoder = encoder
        self._rules = rules

    @property
    def name(self) -> str:
        """The name under which the extractor is chosen in the settings."""
        return "local"

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        """Read messages in their order. All versions are the same, since there is no prompt."""
        if self._encoder is None:
            return self._rules.extract(messages, version)
        try:
            self._encoder.load()
        except (ModelMissing, ExtensionMissing) as error:
            return Extracted(self._rules.extract(messages, version).candidates, note=f"Read by rules alone: {error}")
        return Extracted(_ConversationReader(self._encoder, messages).read())


@dataclass(frozen=True)
class _Draft:
    """A fact before the names of all messages are merged."""

    message: SpokenMessage
    place: int
    text: str
    reading: Reading
    names: tuple[NameMention, ...]


class _ConversationReader:
    """The messages of one extraction."""

    def __init__(self, encoder: TextEncoder, messages: Sequence[SourceMessage]) -> None:
        self._encoder = encoder
        self._network = load_network()
        self._spoken = identify_speakers(messages)
        self._people = frozenset(message.speaker for message in self._spoken if message.is_named)

    def read(self) -> list[Candidate]:
        """Return what is worth remembering of all messages."""
        drafts: list[_Draft] = []
        before = ""
        for place, message in enumerate(self._spoken):
            if self._is_read(message):
                drafts += self._read_message(message, place, before)
            before = message.text
        merger = NameMerger(name for draft in drafts for name in draft.names)
        contexts = build_search_contexts([message.text for message in self._spoken])
        return [
            _to_candidate(draft, merger, contexts[draft.place])
            for draft in drafts
            if not draft.message.source.read_only
        ]

    def _is_read(self, message: SpokenMessage) -> bool:
        """Return whether a message can state facts: a user's, or that of a speaker with a name, in English."""
        if message.source.role == "tool" or (message.source.role == "assistant" and not message.is_named):
            return False
        return is_english(message.text) or len(message.text.split()) < 4

    def _read_message(self, message: SpokenMessage, place: int, before: str) -> list[_Draft]:
        text = message.text
        own = find_own_text(text)
        writer = StatementWriter(text, message.speaker, message.addressee, message.source.said_at, before, own)
        drafts = []
        told: set[str] = set()
        for reading in join_readings(self._find_readings(text, before, own), text):
            if not _is_worth_it(reading, own, message):
                continue
            fact = writer.write(reading)
            if fact in told or not says_enough(fact, reading, text):
                continue
            told.add(fact)
            # The quotation marks of a quoted fact are no title.
            names = tuple(find_names(strip_quotation(fact), self._people))
            drafts.append(_Draft(message, place, fact, reading, names))
        return drafts

    def _find_readings(self, text: str, before: str, own: OwnText) -> list[Reading]:
        readings: list[Reading] = []
        pieces = split_message(before)[-1:]
        context = self._encode(before[slice(*pieces[0])]) if pieces else None
        for start, end in split_message(text):
            piece = self._encode(text[start:end])
            readings += [each.shift(start) for each in self._network.read(piece, context)[:_MOST_PER_PIECE]]
            context = piece
        return [each for each in readings if not own.is_foreign(each.begins, each.ends)]

    def _encode(self, text: str) -> EncodedPiece:
        encoded = self._encoder.encode(text)
        return EncodedPiece(np.asarray(encoded.states, np.float32), encoded.offsets, text)


def _is_worth_it(reading: Reading, own: OwnText, message: SpokenMessage) -> bool:
    """Return whether a reading becomes a fact."""
    text = message.text
    if reading.confidence < LEAST_CONFIDENCE or reading.importance < _LEAST_IMPORTANCE:
        return False
    if not any(each.isalnum() for each in text[reading.begins : reading.ends]):
        return False
    if own.is_foreign(reading.begins, reading.ends):
        return False
    if _REQUEST.match(text, reading.begins, reading.ends):
        return False
    # Of a message in two languages only what is said in English.
    if not is_english(text[reading.begins : reading.ends]):
        return False
    # Of a message that is mostly pasted, nothing becomes a rule; and what people ask of each other is none.
    return not (own.pasted and reading.kind in BEHAVIORAL_KINDS) and not (message.is_named and reading.kind == "RULE")


def _to_candidate(draft: _Draft, merger: NameMerger, context: tuple[str, ...]) -> Candidate:
    """Return the candidate of a draft, with its names merged with those of all messages."""
    source, reading = draft.message.source, draft.reading
    valid_from, precision = _find_beginning(draft)
    return Candidate(
        text=draft.text,
        category_name=reading.category,
        kind=reading.kind,
        trust=draft.message.trust,
        source_message_ids=(source.id,),
        importance=reading.importance,
        confidence=round(reading.confidence * (_CERTAINTY_OF_HEDGED if reading.unsure else 1.0), 3),
        valid_from=valid_from,
        precision=precision,
        mentions=tuple({mention.name: mention for mention in map(merger.to_mention, draft.names)}.values()),
        speaker=draft.message.speaker if draft.message.is_named else source.role,
        search_context=context,
        slot=_find_slot(draft),
        corrects=reading.change in ("replaces", "corrects"),
        change=reading.change,
    )


def _find_slot(draft: _Draft) -> Slot | None:
    """Return the slot that a fact fills: the one that its text shows for certain, or else the one of its reading."""
    reading = draft.reading
    found = find_slot(draft.text, "", frozenset())
    if found is not None or reading.attribute not in SLOT_TYPES:
        return found
    subject = draft.message.speaker if reading.of_user else next((name.name for name in draft.names), None)
    if subject is None:
        return None
    value = draft.message.text[slice(*reading.value)] if reading.value is not None else draft.text
    is_certain = reading.sure and reading.value is not None and reading.kind in ("FACT", "PREFERENCE")
    if is_certain and not reading.unsure and not reading.negated and reading.attribute in _CERTAIN:
        return Slot(subject, _CERTAIN[reading.attribute], value)
    return Slot(subject, f"{ABOUT}{reading.attribute}", value)


def _find_beginning(draft: _Draft) -> tuple[Micros | None, Precision]:
    """Return when a fact happened or began to be true, as far as its dates say.

    A plan is true from when it was made, not from the day it is for; so is anything that lies in the future.
    """
    said_at = draft.message.source.said_at
    if draft.reading.kind == "INTENTION":
        return None, "instant"
    words = draft.message.text[draft.reading.begins : draft.reading.ends]
    for span in find_dates(words, said_at):
        if span.relation not in _DATES_OF_TRUTH:
            continue
        began = to_micros(datetime.combine(span.first, span.at or time(), UTC))
        if began <= said_at:
            return began, span.precision
    return None, "instant"
