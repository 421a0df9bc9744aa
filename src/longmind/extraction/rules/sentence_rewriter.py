"""Rewriting of a message's sentences in the third person: "I prefer tea" becomes "User prefers tea".

A sentence goes through these steps, each in a file of its own:
1. `language.mixed_sentences` splits what it states from what it asks, and `language.speech_acts` says what it does;
2. `omitted_words` restores what it leaves out, and `language.dates` adds the days that it means;
3. `third_person` replaces "I" and "you", and `pronouns` replaces "he" and "she" where only one person can be meant;
4. `names`, `classification`, `confidence` and `slots` describe the result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from longmind.extraction.candidate import Slot
from longmind.extraction.rules.classification import IDENTITY, STATED, SentenceClass, classify_sentence
from longmind.extraction.rules.confidence import estimate_confidence
from longmind.extraction.rules.names import NameMention, find_names
from longmind.extraction.rules.omitted_words import FullNames, restore_subject
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.slots.finder import find_slot, is_correction
from longmind.extraction.rules.speakers import SpokenMessage
from longmind.extraction.rules.third_person import QUOTED, PersonRewriter
from longmind.language.dates import DateSpan, find_dates, resolve_dates
from longmind.language.mixed_sentences import split_mixed_sentence
from longmind.language.speech_acts import SpeechAct, classify_speech_act, strip_filler

# "im" and "ive" for "I'm" and "I've".
_NO_APOSTROPHE = re.compile(r"(?<![\w'])[Ii](m|ve)(?=\s)")
# A second thing that the speaker is or has: "I live in Graz and I work at the museum".
_JOINING = re.compile(r"(?:,? and|,|;) (?=(?:I|I'm|I've|my|we|we're|our)\b)", re.IGNORECASE)
# A date that somebody set, which is the speaker's without a word about it: "The interview is on Monday".
_APPOINTMENT = re.compile(
    r"\b(?:meeting|appointment|class|interview|flight|deadline|exam|due|session|lesson|call|wedding|concert|ceremony|surgery|rehearsal|workshop)\b"
)
# Filler words that announce a correction: "Actually, …", "It turns out that …".
_CORRECTING_FILLER = re.compile(r"ctually|urn(?:s|ed) out\b")
_CONTEXT_SENTENCES = 4
"""Sentences before one that may say what it is about."""
_LEANING = re.compile(
    r"(?:it|this|that|these|those|they|them|their|he|she|his|her|there|then|so|because|"
    r"and|but|which|also|same|such|one)(?:['\u2019]\w+)?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RewrittenSentence:
    """A sentence as it is remembered, with what the rules know of it."""

    original: str
    """The sentence in the speaker's words, without filler."""
    text: str
    act: SpeechAct
    sentence_class: SentenceClass
    confidence: float
    dates: tuple[DateSpan, ...] = ()
    slot: Slot | None = None
    corrects: bool = False
    names: tuple[NameMention, ...] = ()

    @property
    def stands_alone(self) -> bool:
        """True where it can be understood without the sentences before it."""
        return _LEANING.match(self.text) is None and len(self.original.split()) > 2


class MessageRewriter:
    """Rewrites the sentences of one message, each in the light of those before it.

    message: the message with its speaker and addressee.
    pronouns: the persons spoken of so far in the conversation; those that the message names are added to them.
    people: names of the speakers of the conversation.
    """

    def __init__(self, message: SpokenMessage, pronouns: PronounResolver, people: frozenset[str]) -> None:
        self._message = message
        self._pronouns = pronouns
        self._people = people
        self._persons = PersonRewriter(message.speaker, message.addressee)
        self._full_names = FullNames()
        self._context = ""

    def rewrite(self, sentences: tuple[str, ...]) -> list[RewrittenSentence]:
        """Return all that the sentences say beyond courtesy, in their order, and nothing twice."""
        rewritten: list[RewrittenSentence] = []
        texts: set[str] = set()
        for sentence in (part for each in sentences for part in split_mixed_sentence(self._full_names.restore(each))):
            original = _NO_APOSTROPHE.sub(r"I'\1", strip_filler(sentence))
            act = classify_speech_act(original)
            if act is SpeechAct.SMALL_TALK:
                continue
            self._persons = self._persons.with_company(original)
            self._context = " ".join(
                each.original if each.act is SpeechAct.QUESTION else each.text
                for each in rewritten[-_CONTEXT_SENTENCES:]
            )
            for each in self._split_by_slot(self._rewrite_one(original, act), act):
                if each.text not in texts:
                    texts.add(each.text)
                    rewritten.append(
                        each
                        if original == sentence
                        else replace(each, corrects=each.corrects or _CORRECTING_FILLER.search(sentence) is not None)
                    )
        return rewritten

    def _split_by_slot(self, whole: RewrittenSentence, act: SpeechAct) -> list[RewrittenSentence]:
        """Split a sentence that fills two slots, since each of the two facts may change by itself.

        E.g. "I live in Graz and I work at the museum". Any other sentence is returned as it is.
        """
        parts = _JOINING.split(whole.original) if whole.slot is not None else []
        if len(parts) < 2:
            return [whole]
        rewritten = [self._rewrite_one(part, act) for part in parts]
        slots = {(each.slot.subject, each.slot.attribute) for each in rewritten if each.slot is not None}
        return rewritten if len(slots) == len(parts) else [whole]

    def _rewrite_one(self, original: str, act: SpeechAct) -> RewrittenSentence:
        """Rewrite one sentence that performs the given act."""
        message = self._message
        dates = tuple(find_dates(original, message.source.said_at))
        # Words in quotation marks are another's: they say nothing about the speaker.
        own = QUOTED.sub('""', original) if '"' in original or "\u201c" in original or "'" in original else original
        sentence_class = classify_sentence(own, act, trusted=message.trust == "user", to_a_person=message.is_named)
        confidence = estimate_confidence(own, act, message.trust)
        if act is SpeechAct.QUESTION:
            text = self._quote_question(original, dates)
            names = self._find_names(original)
            return RewrittenSentence(original, text, act, sentence_class, confidence, dates, names=names)
        plain, dated = self._to_third_person(original, act, dates)
        names = self._find_names(plain)
        slot = None
        if (act is SpeechAct.STATEMENT or sentence_class.kind == "RULE") and self._is_about_somebody(plain, names):
            slot = find_slot(plain, self._context, self._people)
        if slot is not None and sentence_class.kind == "EPISODE" and not slot.attribute.startswith("newest "):
            # A slot goes on being true, so it is a fact even where the sentence reports an event: "I moved to Graz".
            sentence_class = IDENTITY if slot.attribute == "name" else STATED
        corrects = is_correction(original)
        text = _finish_sentence(dated)
        return RewrittenSentence(original, text, act, sentence_class, confidence, dates, slot, corrects, names)

    def _to_third_person(self, original: str, act: SpeechAct, dates: tuple[DateSpan, ...]) -> tuple[str, str]:
        """Return a sentence in the third person, without and with the days that its dates mean.

        Names and slots are read from the text without them, since the days are added words.
        """
        hypothetical = act is SpeechAct.HYPOTHETICAL
        whole = restore_subject(original)
        dated = resolve_dates(whole, find_dates(whole, self._message.source.said_at)) if dates else whole
        plain = self._pronouns.resolve(self._persons.rewrite(whole, hypothetical=hypothetical))
        if dated == whole:
            return plain, plain
        return plain, self._pronouns.resolve(self._persons.rewrite(dated, hypothetical=hypothetical))

    def _quote_question(self, question: str, dates: tuple[DateSpan, ...]) -> str:
        """Return a question as reported speech: 'User asks: "Is there a museum in Graz?"'."""
        addressee = f" {self._message.addressee}" if self._message.is_named else ""
        return f'{self._message.speaker} asks{addressee}: "{resolve_dates(question, dates)}"'

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


def _finish_sentence(text: str) -> str:
    """Begin a sentence with a capital letter and end it with a full stop where it has no end."""
    capitalised = text[:1].upper() + text[1:]
    return capitalised if text[-1:] in '.!?:\u2026"\u201d)' else capitalised + "."
