"""Rewriting of a message's statements in the third person: "I prefer tea" becomes "User prefers tea".

A sentence goes through these steps, each in a file of its own:
1. `language.mixed_sentences` splits what it states from what it asks, and `language.speech_acts` says what it does;
2. `omitted_words` restores what it leaves out, and `language.dates` adds the days that it means;
3. `classification`, `confidence` and `clear_statements` say whether it is worth remembering;
4. `third_person` replaces "I" and "you", and `pronouns` replaces "he" and "she" where only one person can be meant;
5. `names` and `slots` describe the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from longmind.extraction.candidate import Slot
from longmind.extraction.rules.classification import (
    IDENTITY,
    STATED,
    SentenceClass,
    classify_person,
    classify_sentence,
)
from longmind.extraction.rules.clear_statements import (
    cut_aside,
    is_in_earnest,
    is_self_contained,
    is_stated,
    split_clauses,
)
from longmind.extraction.rules.confidence import estimate_confidence, find_certainty
from longmind.extraction.rules.names import NameMention, find_names
from longmind.extraction.rules.omitted_words import FullNames, restore_subject
from longmind.extraction.rules.own_words import CUT, OwnWords
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.slots.finder import find_slot, is_correction
from longmind.extraction.rules.speakers import SpokenMessage
from longmind.extraction.rules.third_person import QUOTED, PersonRewriter
from longmind.language.dates import DateSpan, find_dates, resolve_dates
from longmind.language.gazetteer import FIRST_NAMES
from longmind.language.mixed_sentences import split_mixed_sentence
from longmind.language.speech_acts import SpeechAct, classify_speech_act, strip_filler
from longmind.models.atom import BEHAVIORAL_KINDS

# "im" and "ive" for "I'm" and "I've".
_NO_APOSTROPHE = re.compile(r"(?<![\w'])[Ii](m|ve)(?=\s)")
# A second thing that the speaker is or has: "I live in Graz and I work at the museum".
_JOINING = re.compile(r"(?:,? and|,|;) (?=(?:I|I'm|I've|my|we|we're|our)\b)", re.IGNORECASE)
# A date that somebody set, which is the speaker's without a word about it: "The interview is on Monday".
_APPOINTMENT = re.compile(
    r"\b(?:meeting|appointment|class|interview|flight|deadline|exam|due|session|lesson|call|wedding|concert|ceremony|surgery|rehearsal|workshop)\b"
)
# Sentences that are clear without a word about their speaker: "The meeting moved to Thursday", "Rex died last week".
_PLAIN = re.compile(
    r"The (?:(?!their\b|other\b|same\b)[a-z]+ ){1,3}(?:is|was|has been|got|moved)\b"
    r"(?!.*\b(?:it|he|she|they|them|his|her|their|we|us|our)\b)"
    r"|(?!(?:He|She|It|They|We|One|Some|Many|Everyone|Everybody|Nobody|That|This|Who)\b)"
    r"[A-Z][a-z]+ (?:died|passed away)\b"
)
# Filler words that announce a correction: "Actually, …", "It turns out that …".
_CORRECTING_FILLER = re.compile(r"ctually|urn(?:s|ed) out\b")
_GROUP = re.compile(r"\b(?:we|us|ourselves)\b", re.IGNORECASE)
_CONTEXT_SENTENCES = 4
"""Sentences before one that may say what it is about."""
_LEAST_CERTAINTY = 0.8
_LEAST_CERTAINTY_OF_SLOT = 0.6


@dataclass(frozen=True)
class RewrittenSentence:
    """A statement as it is remembered, with what the rules know of it."""

    text: str
    sentence_class: SentenceClass
    confidence: float
    dates: tuple[DateSpan, ...] = ()
    slot: Slot | None = None
    corrects: bool = False
    names: tuple[NameMention, ...] = ()


class MessageRewriter:
    """Rewrites the statements of one message, each in the light of the sentences before it.

    message: the message with its speaker and addressee.
    own: its words, as far as they are its speaker's.
    pronouns: the persons spoken of so far in the conversation; those that the message names are added to them.
    people: names of the speakers of the conversation.
    """

    def __init__(
        self, message: SpokenMessage, own: OwnWords, pronouns: PronounResolver, people: frozenset[str]
    ) -> None:
        self._message = message
        self._own = own
        self._pronouns = pronouns
        self._people = people
        self._persons = PersonRewriter(message.speaker, message.addressee)
        self._full_names = FullNames()
        self._before: list[str] = []

    def rewrite(self, sentences: Sequence[str]) -> list[RewrittenSentence]:
        """Return what the sentences state that is worth remembering, in their order, and nothing twice."""
        rewritten: dict[str, RewrittenSentence] = {}
        for sentence in (part for each in sentences for part in split_mixed_sentence(self._full_names.restore(each))):
            original = _NO_APOSTROPHE.sub(r"I'\1", strip_filler(sentence))
            is_correcting = original != sentence and _CORRECTING_FILLER.search(sentence) is not None
            for each in self._read_sentence(original):
                rewritten.setdefault(each.text, replace(each, corrects=each.corrects or is_correcting))
            self._before = [*self._before[1 - _CONTEXT_SENTENCES :], original]
        return list(rewritten.values())

    def _read_sentence(self, original: str) -> list[RewrittenSentence]:
        """Return what one sentence states."""
        act = classify_speech_act(original)
        if CUT in original or act in (SpeechAct.QUESTION, SpeechAct.HYPOTHETICAL, SpeechAct.SMALL_TALK):
            self._find_names(self._persons.rewrite(original))
            return []
        return [read for clause in split_clauses(cut_aside(original)) for read in self._split_by_slot(clause, act)]

    def _split_by_slot(self, clause: str, act: SpeechAct) -> list[RewrittenSentence]:
        """Split a clause that fills two slots, since each of the two facts may change by itself.

        E.g. "I live in Graz and I work at the museum". Any other clause is read as it is.
        """
        whole = self._rewrite_one(clause, act)
        parts = _JOINING.split(clause) if whole is not None and whole.slot is not None else []
        if len(parts) > 1:
            rewritten = [each for each in (self._rewrite_one(part, act) for part in parts) if each is not None]
            slots = {(each.slot.subject, each.slot.attribute) for each in rewritten if each.slot is not None}
            if len(slots) == len(parts):
                return rewritten
        return [] if whole is None else [whole]

    def _rewrite_one(self, original: str, act: SpeechAct) -> RewrittenSentence | None:
        """Rewrite one clause, or return None if it states nothing that is clear and worth remembering."""
        message = self._message
        whole = restore_subject(original)
        persons = self._persons.with_company(whole)
        plain = self._own.restore(self._pronouns.resolve(persons.rewrite(whole)))
        names = self._find_names(plain)
        # Words in quotation marks are another's: they say nothing about the speaker.
        bare = QUOTED.sub('""', whole) if '"' in whole or "\u201c" in whole or "'" in whole else whole
        found = classify_sentence(bare, trusted=message.trust == "user", to_a_person=message.is_named)
        is_rule = found is not None and found.category == "instruction"
        if not is_in_earnest(bare) or not (is_rule or (act is SpeechAct.STATEMENT and self._is_stated(bare))):
            return None
        subject = _find_subject(plain, names) or message.speaker
        if found is None and subject != message.speaker:
            found = classify_person(plain, subject)
        slot = find_slot(plain, self._context, self._people) if self._is_about_somebody(plain, names) else None
        found = _weigh_slot(found, slot)
        certainty = find_certainty(bare)
        if found is None or certainty < (_LEAST_CERTAINTY if slot is None else _LEAST_CERTAINTY_OF_SLOT):
            return None
        if self._own.is_pasted and found.kind in BEHAVIORAL_KINDS:
            return None
        dates = tuple(find_dates(whole, message.source.said_at))
        # Of a speaker with a name, only a quotation names them.
        is_plain = found.category in ("plan", "event") and not message.is_named and _PLAIN.match(plain) is not None
        told = self._tell(whole, persons, dates, "" if slot is not None or is_rule or is_plain else subject)
        if told is None:
            return None
        if told.startswith(f"{message.speaker}: "):
            slot = None
        confidence = estimate_confidence(certainty, message.trust)
        return RewrittenSentence(told, found, confidence, dates, slot, is_correction(bare), names)

    def _tell(self, whole: str, persons: PersonRewriter, dates: tuple[DateSpan, ...], subject: str) -> str | None:
        """Return a statement in the third person, or as a quotation where that would be a guess, with its days.

        subject: the name that it must contain to be understood; empty for a rule, or where it fills a slot.
        """
        speaker = self._message.speaker
        dated = resolve_dates(whole, dates) if dates else whole
        told = self._pronouns.resolve(persons.rewrite(dated))
        if subject and not is_self_contained(told, speaker):
            return None
        if (_GROUP.search(whole) and persons.company is None) or subject not in told:
            quoted = self._own.restore(dated).replace('"', "'")
            return f'{speaker}: "{quoted}"'
        return self._own.restore(_finish_sentence(told))

    def _is_stated(self, bare: str) -> bool:
        """Return whether a sentence states something; "you" is plain only where it is a person with a name."""
        message = self._message
        return is_stated(bare, to_a_person=message.is_named and message.addressee in self._people)

    @property
    def _context(self) -> str:
        return " ".join(self._before)

    def _find_names(self, text: str) -> tuple[NameMention, ...]:
        """Return the names in a text, and remember the persons for pronouns that follow."""
        names = tuple(find_names(text, self._people))
        self._pronouns.note_persons(names, self._people)
        return names

    def _is_about_somebody(self, text: str, names: tuple[NameMention, ...]) -> bool:
        """Return whether a sentence can be a fact about a person."""
        return (
            self._message.speaker in text
            or any(each.type == "PERSON" for each in names)
            or _APPOINTMENT.search(text) is not None
        )


def _find_subject(text: str, names: Sequence[NameMention]) -> str | None:
    """Return the person with whose name a sentence begins, where that is a first name."""
    for each in names:
        if each.type == "PERSON" and text.startswith(each.name) and each.name.split()[0] in FIRST_NAMES:
            return each.name
    return None


def _weigh_slot(found: SentenceClass | None, slot: Slot | None) -> SentenceClass | None:
    """Return the class of a sentence that fills a slot, which goes on being true even where it reports an event.

    E.g. "I moved to Graz".
    """
    if slot is None or (found is not None and (found.kind != "EPISODE" or slot.attribute.startswith("newest "))):
        return found
    return IDENTITY if slot.attribute in ("name", "diet") else STATED


def _finish_sentence(text: str) -> str:
    """Begin a sentence with a capital letter and end it with a full stop where it has no end."""
    capitalised = text[:1].upper() + text[1:]
    return capitalised if text[-1:] in '.!?:\u2026"\u201d)' else capitalised + "."
