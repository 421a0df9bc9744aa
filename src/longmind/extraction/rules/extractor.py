"""The extractor that needs no model: rules of English, the same every time, thousands of messages a second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Candidate, Extracted, Precision, Slot, SourceMessage
from longmind.extraction.rules import classification as kinds
from longmind.extraction.rules.classification import SentenceClass
from longmind.extraction.rules.confidence import estimate_confidence
from longmind.extraction.rules.name_merger import NameMerger
from longmind.extraction.rules.names import NameMention
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.rewritten_sentence import RewrittenSentence, rewrite_sentences
from longmind.extraction.rules.sentence_groups import group_sentences
from longmind.extraction.rules.speakers import SpokenMessage, identify_speakers
from longmind.extraction.search_context import build_search_contexts
from longmind.language.chat_text import ChatText, parse_chat_text
from longmind.language.dates import DateSpan
from longmind.language.english_detection import is_english
from longmind.language.sentences import split_sentences
from longmind.language.speech_acts import SpeechAct
from longmind.models.atom import AtomKind

_BESIDE = 2
"""So many things that a message tells before a memory, and after it, are around the memory."""
_BESIDE_WORDS = 50
_LONG = 400
"""Characters beyond which an answer of an assistant is a text to keep, and not something said of somebody."""
_CHUNK = 1_000
_SHORT_ANSWER = 7
_BEGINS = frozenset(("on", "since", "duration"))
_LOWER: dict[AtomKind, AtomKind] = {"RULE": "EPISODE", "PREFERENCE": "FACT", "INTENTION": "FACT"}


@dataclass(frozen=True)
class _Draft:
    """A candidate of which the names are not settled yet."""

    speech: SpokenMessage
    place: int
    text: str
    sort: SentenceClass
    confidence: float
    spans: tuple[DateSpan, ...] = ()
    slot: Slot | None = None
    corrects: bool = False
    named: tuple[NameMention, ...] = ()


class RulesExtractor:
    """Finds what is worth remembering by rules, without a model, a key or a network."""

    @property
    def name(self) -> str:
        return "rules"

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        """Read messages in their order; there is no prompt, so all versions are the same."""
        speeches = identify_speakers(messages)
        people = frozenset(speech.speaker for speech in speeches if speech.named)
        texts = [speech.text for speech in speeches]
        focus = PronounResolver()
        drafts: list[_Draft] = []
        question = ""
        for place, speech in enumerate(speeches):
            focus.next_message()
            said = parse_chat_text(speech.text)
            drafts += _drafts(speech, place, said, question, focus, people)
            last = said.paragraphs[-1] if said.paragraphs else ""
            question = split_sentences(last)[-1] if last.endswith("?") else ""
        everybody = NameMerger(each for draft in drafts for each in draft.named)
        contexts = build_search_contexts(texts)
        return Extracted(
            [
                _candidate(draft, everybody, contexts[draft.place] + beside)
                for draft, beside in zip(drafts, _beside_each(drafts), strict=True)
                if not draft.speech.message.read_only
            ]
        )


def _beside_each(drafts: Sequence[_Draft]) -> list[tuple[str, ...]]:
    """What else the message of each draft tells: it is found by that too, also when the rest is superseded one day."""
    begins = [" ".join(draft.text.split(None, _BESIDE_WORDS)[:_BESIDE_WORDS]) for draft in drafts]
    return [_beside(drafts, begins, number) for number in range(len(drafts))]


def _beside(drafts: Sequence[_Draft], begins: Sequence[str], number: int) -> tuple[str, ...]:
    draft = drafts[number]
    if draft.sort in (kinds.ANSWER, kinds.TOOL_RESULT):
        return ()
    near = range(max(0, number - _BESIDE), min(len(drafts), number + _BESIDE + 1))
    return tuple(begins[each] for each in near if each != number and drafts[each].place == draft.place)


def _drafts(
    speech: SpokenMessage, place: int, said: ChatText, question: str, focus: PronounResolver, people: frozenset[str]
) -> list[_Draft]:
    if speech.message.role == "tool" or (not speech.named and speech.trust == "assistant" and len(speech.text) > _LONG):
        return _kept_whole(speech, place, said)
    if not is_english(speech.text):
        return _kept_verbatim(speech, place, said)
    lines = rewrite_sentences(said.sentences, speech, focus, people)
    drafts = [_draft(speech, place, part, question) for part in group_sentences(lines)]
    if said.attachments:
        drafts = _with_attached(drafts, speech, place, said.attachments)
    return drafts


def _draft(speech: SpokenMessage, place: int, lines: Sequence[RewrittenSentence], question: str) -> _Draft:
    text = _joined(lines)
    if question and sum(len(line.said.split()) for line in lines) < _SHORT_ANSWER:
        text = f'Asked "{question}", {speech.speaker} says: {text}'
    elif speech.speaker not in text:
        text = f"{speech.speaker} says: {text}"
    stated = [line for line in lines if line.act is not SpeechAct.QUESTION] or lines
    sort = max((line.sort for line in stated), key=lambda sort: sort.importance)
    if len({line.sort.kind for line in stated}) > 1 and sort.kind == "PREFERENCE":
        sort = SentenceClass(sort.category, "FACT", sort.importance)
    return _Draft(
        speech,
        place,
        text,
        sort if speech.trust == "user" else _lowered(sort, speech, text),
        min(line.confidence for line in stated if line.sort.importance == sort.importance),
        tuple(span for line in stated for span in line.spans if line.act is SpeechAct.STATEMENT),
        stated[0].slot,
        any(line.corrects for line in stated),
        tuple(each for line in lines for each in line.named),
    )


def _lowered(sort: SentenceClass, speech: SpokenMessage, text: str) -> SentenceClass:
    """What something is that the user did not say. What an assistant says of itself is no trait of anybody's."""
    of_itself = not speech.named and re.match(rf"{re.escape(speech.speaker)} (?!says: )", text)
    category = kinds.REMARK.category if of_itself else sort.category
    return SentenceClass(category, _LOWER.get(sort.kind, sort.kind), min(sort.importance, 3))


def _joined(lines: Sequence[RewrittenSentence]) -> str:
    """The lines as one text; questions that follow each other are asked in one breath."""
    text = ""
    for line in lines:
        asking, _, asked = line.text.partition(': "')
        if line.act is SpeechAct.QUESTION and text.endswith('?"') and f"{asking}: " in text:
            text = f"{text[:-1]} {asked}"
        else:
            text += f" {line.text}" if text else line.text
    return text


def _with_attached(drafts: list[_Draft], speech: SpokenMessage, place: int, attached: tuple[str, ...]) -> list[_Draft]:
    shared = " ".join(f"{speech.speaker} shares a {each.rstrip('.')}." for each in attached)
    if not drafts:
        return [_Draft(speech, place, shared, kinds.REMARK, estimate_confidence("", SpeechAct.STATEMENT, speech.trust))]
    first = drafts[0]
    return [replace(first, text=f"{first.text} {shared}"), *drafts[1:]]


def _kept_whole(speech: SpokenMessage, place: int, said: ChatText) -> list[_Draft]:
    """A long answer, or what a tool gave, in its own words."""
    sort = kinds.TOOL_RESULT if speech.message.role == "tool" else kinds.ANSWER
    confidence = estimate_confidence("", SpeechAct.STATEMENT, speech.trust)
    return [_Draft(speech, place, f"{speech.speaker}: {chunk}", sort, confidence) for chunk in _chunks(said.paragraphs)]


def _kept_verbatim(speech: SpokenMessage, place: int, said: ChatText) -> list[_Draft]:
    """What the rules cannot read, in the speaker's words."""
    confidence = estimate_confidence("", SpeechAct.STATEMENT, speech.trust)
    return [_Draft(speech, place, chunk, kinds.REMARK, confidence) for chunk in _chunks(said.paragraphs)]


def _chunks(paragraphs: Sequence[str]) -> list[str]:
    """The paragraphs in pieces of about a size; a long one is cut between its sentences."""
    chunks: list[str] = []
    for paragraph in paragraphs:
        for part in (paragraph,) if len(paragraph) < _CHUNK else split_sentences(paragraph):
            if chunks and len(chunks[-1]) + len(part) < _CHUNK:
                chunks[-1] += " " + part
            else:
                chunks.append(part)
    return chunks


def _candidate(draft: _Draft, everybody: NameMerger, context: tuple[str, ...]) -> Candidate:
    message = draft.speech.message
    valid_from, precision = _since(draft, message.said_at)
    return Candidate(
        text=draft.text,
        category_name=draft.sort.category,
        kind=draft.sort.kind,
        trust=draft.speech.trust,
        source_message_ids=(message.id,),
        importance=draft.sort.importance,
        confidence=draft.confidence,
        valid_from=valid_from,
        precision=precision,
        mentions=tuple({mention.name: mention for mention in map(everybody.mention, draft.named)}.values()),
        speaker=draft.speech.speaker if draft.speech.named else message.role,
        search_context=context,
        slot=draft.slot,
        corrects=draft.corrects,
    )


def _since(draft: _Draft, said_at: Micros) -> tuple[Micros | None, Precision]:
    """When it happened or began, as far as it is said; what is still to come is true from when it was said."""
    if draft.sort.kind == "INTENTION":
        return None, "instant"
    for span in draft.spans:
        if span.relation not in _BEGINS:
            continue
        began = to_micros(datetime.combine(span.first, span.at or time(), UTC))
        if began <= said_at:
            return began, span.precision
    return None, "instant"
