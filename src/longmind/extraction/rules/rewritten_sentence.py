"""A sentence as it is remembered: rewritten, with what it is and what it says of whom and when."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from longmind.extraction.candidate import Slot
from longmind.extraction.rules import classification as kinds
from longmind.extraction.rules.classification import SentenceClass
from longmind.extraction.rules.confidence import estimate_confidence
from longmind.extraction.rules.names import NameMention, find_names
from longmind.extraction.rules.omitted_words import FullNames, restore_subject
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.slots.finder import find_slot, is_correction
from longmind.extraction.rules.speakers import SpokenMessage
from longmind.extraction.rules.third_person import QUOTED, PersonRewriter
from longmind.language.dates import DateSpan, find_dates, resolved
from longmind.language.mixed_sentences import split_mixed_sentence
from longmind.language.speech_acts import SpeechAct, classify_speech_act, strip_filler

_NO_APOSTROPHE = re.compile(r"(?<![\w'])[Ii](m|ve)(?=\s)")
_JOINING = re.compile(r"(?:,? and|,|;) (?=(?:I|I'm|I've|my|we|we're|our)\b)", re.IGNORECASE)
"""Where a sentence goes on with something else that the speaker is or has."""
_SET = re.compile(
    r"\b(?:meeting|appointment|class|interview|flight|deadline|exam|due|session|lesson|call|wedding|concert|ceremony|surgery|rehearsal|workshop)\b"
)
_TOLD_ANEW = re.compile(r"ctually|urn(?:s|ed) out\b")
_BEFORE = 4
"""Sentences before one that may say what it is about."""
_LEANING = re.compile(
    r"(?:it|this|that|these|those|they|them|their|he|she|his|her|there|then|so|because|"
    r"and|but|which|also|same|such|one)(?:['\u2019]\w+)?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RewrittenSentence:
    said: str
    """In the speaker's words."""
    text: str
    act: SpeechAct
    sort: SentenceClass
    confidence: float
    spans: tuple[DateSpan, ...] = ()
    slot: Slot | None = None
    corrects: bool = False
    named: tuple[NameMention, ...] = ()

    @property
    def stands_alone(self) -> bool:
        """Whether it can be understood without what was said before it."""
        return _LEANING.match(self.text) is None and len(self.said.split()) > 2


def rewrite_sentences(
    sentences: tuple[str, ...], speech: SpokenMessage, focus: PronounResolver, people: frozenset[str]
) -> list[RewrittenSentence]:
    """Everything a message says beyond courtesy, in its order."""
    persons = PersonRewriter(speech.speaker, speech.addressee)
    lines: list[RewrittenSentence] = []
    told: set[str] = set()
    belongings = FullNames()
    for sentence in (clause for each in sentences for clause in split_mixed_sentence(belongings.restore(each))):
        said = _NO_APOSTROPHE.sub(r"I'\1", strip_filler(sentence))
        act = classify_speech_act(said)
        if act is SpeechAct.SMALL_TALK:
            continue
        persons = persons.with_company(said)
        earlier = " ".join(line.said if line.act is SpeechAct.QUESTION else line.text for line in lines[-_BEFORE:])
        read = partial(_line, act=act, speech=speech, persons=persons, focus=focus, people=people, earlier=earlier)
        for each in _told_apart(read(said), read):
            if each.text not in told:
                told.add(each.text)
                lines.append(
                    each
                    if said == sentence
                    else replace(each, corrects=each.corrects or _TOLD_ANEW.search(sentence) is not None)
                )
    return lines


def _told_apart(line: RewrittenSentence, read: Callable[[str], RewrittenSentence]) -> list[RewrittenSentence]:
    """A sentence that tells two facts of which each may change one day, as two; any other as it is."""
    parts = _JOINING.split(line.said) if line.slot is not None else []
    if len(parts) < 2:
        return [line]
    lines = [read(part) for part in parts]
    about = {(each.slot.subject, each.slot.attribute) for each in lines if each.slot is not None}
    return lines if len(about) == len(parts) else [line]


def _line(
    said: str,
    act: SpeechAct,
    speech: SpokenMessage,
    persons: PersonRewriter,
    focus: PronounResolver,
    people: frozenset[str],
    earlier: str,
) -> RewrittenSentence:
    spans = tuple(find_dates(said, speech.message.said_at))
    own = QUOTED.sub('""', said) if '"' in said or "\u201c" in said or "'" in said else said
    sort = kinds.classify_sentence(own, act, trusted=speech.trust == "user", to_a_person=speech.named)
    confidence = estimate_confidence(own, act, speech.trust)
    if act is SpeechAct.QUESTION:
        whom = f" {speech.addressee}" if speech.named else ""
        text = f'{speech.speaker} asks{whom}: "{resolved(said, spans)}"'
        named = tuple(find_names(said, people))
        focus.saw(named, people)
        return RewrittenSentence(said, text, act, sort, confidence, spans, named=named)
    whole = restore_subject(said)
    dated = resolved(whole, find_dates(whole, speech.message.said_at)) if spans else whole
    text = focus.resolved(persons.rewritten(whole, hypothetical=act is SpeechAct.HYPOTHETICAL))
    written = text
    if dated != whole:
        written = focus.resolved(persons.rewritten(dated, hypothetical=act is SpeechAct.HYPOTHETICAL))
    named = tuple(find_names(text, people))
    focus.saw(named, people)
    slot = None
    if (act is SpeechAct.STATEMENT or sort.kind == "RULE") and _is_of_somebody(text, speech.speaker, named):
        slot = find_slot(text, earlier, people)
    if slot is not None and sort.kind == "EPISODE" and not slot.attribute.startswith("newest "):
        # It goes on being true.
        sort = kinds.IDENTITY if slot.attribute == "name" else kinds.STATED
    return RewrittenSentence(said, _closed(written), act, sort, confidence, spans, slot, is_correction(said), named)


def _is_of_somebody(text: str, speaker: str, named: tuple[NameMention, ...]) -> bool:
    """Whether it can be somebody's fact; a date that is set is the speaker's without a word about it."""
    return speaker in text or any(each.type == "PERSON" for each in named) or _SET.search(text) is not None


def _closed(text: str) -> str:
    return text[:1].upper() + text[1:] if text[-1:] in '.!?:\u2026"\u201d)' else text[:1].upper() + text[1:] + "."
