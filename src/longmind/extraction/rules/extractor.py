"""The extractor that needs no model: rules of English, with the same result every time, thousands of messages a second.

For each message: find its speaker, take its markup off, rewrite its sentences in the third person, group those of one
matter into a memory, and give the memory its kind, dates, slot and names. What the rules cannot read, such as another
language or the output of a tool, is kept word for word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Candidate, Extracted, Precision, Slot, SourceMessage
from longmind.extraction.rules.classification import ANSWER, REMARK, TOOL_RESULT, SentenceClass
from longmind.extraction.rules.confidence import estimate_confidence
from longmind.extraction.rules.name_merger import NameMerger
from longmind.extraction.rules.names import NameMention
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.sentence_groups import group_sentences
from longmind.extraction.rules.sentence_rewriter import MessageRewriter, RewrittenSentence
from longmind.extraction.rules.speakers import SpokenMessage, identify_speakers
from longmind.extraction.search_context import build_search_contexts
from longmind.language.chat_text import ChatText, parse_chat_text
from longmind.language.dates import DateSpan
from longmind.language.english_detection import is_english
from longmind.language.sentences import split_sentences
from longmind.language.speech_acts import SpeechAct
from longmind.models.atom import AtomKind

_NEIGHBOURS = 2
"""Memories of the same message, before and after one, by whose words it is found too."""
_NEIGHBOUR_WORDS = 50
_LONG = 400
"""Characters from which an assistant's answer is kept as a text instead of being read for facts."""
_CHUNK = 1_000
_SHORT_ANSWER = 7
"""Words below which a reply is stored with the question that it answers."""
_DATES_OF_TRUTH = frozenset(("on", "since", "duration"))
"""Relations of a date that say when a fact began to be true."""
_LOWERED_KIND: dict[AtomKind, AtomKind] = {"RULE": "EPISODE", "PREFERENCE": "FACT", "INTENTION": "FACT"}


@dataclass(frozen=True)
class _CandidateDraft:
    """A candidate before the names of all messages are merged."""

    message: SpokenMessage
    place: int
    """The index of its message."""
    text: str
    sentence_class: SentenceClass
    confidence: float
    dates: tuple[DateSpan, ...] = ()
    slot: Slot | None = None
    corrects: bool = False
    names: tuple[NameMention, ...] = ()


class RulesExtractor:
    """Finds what is worth remembering by rules, without a model, a key or a network."""

    @property
    def name(self) -> str:
        """The name under which the extractor is chosen in the settings."""
        return "rules"

    def extract(self, messages: Sequence[SourceMessage], version: str) -> Extracted:
        """Read messages in their order. All versions are the same, since there is no prompt.

        Read-only messages are read for names, persons and questions, but give no candidates.
        """
        spoken = identify_speakers(messages)
        people = frozenset(message.speaker for message in spoken if message.is_named)
        pronouns = PronounResolver()
        drafts: list[_CandidateDraft] = []
        question = ""
        for place, message in enumerate(spoken):
            pronouns.start_message()
            chat_text = parse_chat_text(message.text)
            drafts += _draft_message(message, place, chat_text, question, pronouns, people)
            last = chat_text.paragraphs[-1] if chat_text.paragraphs else ""
            question = split_sentences(last)[-1] if last.endswith("?") else ""
        merger = NameMerger(name for draft in drafts for name in draft.names)
        contexts = build_search_contexts([message.text for message in spoken])
        return Extracted(
            [
                _to_candidate(draft, merger, contexts[draft.place] + neighbours)
                for draft, neighbours in zip(drafts, _collect_neighbours(drafts), strict=True)
                if not draft.message.source.read_only
            ]
        )


def _collect_neighbours(drafts: Sequence[_CandidateDraft]) -> list[tuple[str, ...]]:
    """Return for each draft the beginnings of the drafts next to it in the same message.

    They widen the words by which it is found, also when those memories are superseded one day.
    """
    beginnings = [" ".join(draft.text.split(None, _NEIGHBOUR_WORDS)[:_NEIGHBOUR_WORDS]) for draft in drafts]
    return [_find_neighbours(drafts, beginnings, number) for number in range(len(drafts))]


def _find_neighbours(drafts: Sequence[_CandidateDraft], beginnings: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the neighbours of one draft. Text that was kept word for word has its context in itself."""
    draft = drafts[number]
    if draft.sentence_class in (ANSWER, TOOL_RESULT):
        return ()
    near = range(max(0, number - _NEIGHBOURS), min(len(drafts), number + _NEIGHBOURS + 1))
    return tuple(beginnings[each] for each in near if each != number and drafts[each].place == draft.place)


def _draft_message(
    message: SpokenMessage,
    place: int,
    chat_text: ChatText,
    question: str,
    pronouns: PronounResolver,
    people: frozenset[str],
) -> list[_CandidateDraft]:
    """Draft the memories of one message; `question` is the one that the message before ended with."""
    is_long_answer = not message.is_named and message.trust == "assistant" and len(message.text) > _LONG
    if message.source.role == "tool" or is_long_answer:
        return _keep_whole(message, place, chat_text)
    if not is_english(message.text):
        return _keep_verbatim(message, place, chat_text)
    sentences = MessageRewriter(message, pronouns, people).rewrite(chat_text.sentences)
    drafts = [_draft_group(message, place, group, question) for group in group_sentences(sentences)]
    if chat_text.attachments:
        drafts = _add_attachments(drafts, message, place, chat_text.attachments)
    return drafts


def _draft_group(
    message: SpokenMessage, place: int, group: Sequence[RewrittenSentence], question: str
) -> _CandidateDraft:
    """Draft the memory of a group of sentences; the most important one decides its class and its confidence."""
    text = _join_sentences(group)
    if question and sum(len(each.original.split()) for each in group) < _SHORT_ANSWER:
        # "Yes, two of them." says nothing without its question.
        text = f'Asked "{question}", {message.speaker} says: {text}'
    elif message.speaker not in text:
        text = f"{message.speaker} says: {text}"
    stated = [each for each in group if each.act is not SpeechAct.QUESTION] or group
    leading = max((each.sentence_class for each in stated), key=lambda each: each.importance)
    if len({each.sentence_class.kind for each in stated}) > 1 and leading.kind == "PREFERENCE":
        leading = SentenceClass(leading.category, "FACT", leading.importance)
    return _CandidateDraft(
        message,
        place,
        text,
        leading if message.trust == "user" else _lower_class(leading, message, text),
        min(each.confidence for each in stated if each.sentence_class.importance == leading.importance),
        tuple(span for each in stated for span in each.dates if each.act is SpeechAct.STATEMENT),
        stated[0].slot,
        any(each.corrects for each in stated),
        tuple(name for each in group for name in each.names),
    )


def _lower_class(found: SentenceClass, message: SpokenMessage, text: str) -> SentenceClass:
    """Return the class of something that the user did not say: it is no rule, preference or intention.

    What an assistant says of itself is a remark, since it is no trait of any person.
    """
    is_of_itself = not message.is_named and re.match(rf"{re.escape(message.speaker)} (?!says: )", text)
    category = REMARK.category if is_of_itself else found.category
    return SentenceClass(category, _LOWERED_KIND.get(found.kind, found.kind), min(found.importance, 3))


def _join_sentences(group: Sequence[RewrittenSentence]) -> str:
    """Join sentences to one text; questions that follow each other are quoted together."""
    text = ""
    for sentence in group:
        asking, _, asked = sentence.text.partition(': "')
        if sentence.act is SpeechAct.QUESTION and text.endswith('?"') and f"{asking}: " in text:
            text = f"{text[:-1]} {asked}"
        else:
            text += f" {sentence.text}" if text else sentence.text
    return text


def _add_attachments(
    drafts: list[_CandidateDraft], message: SpokenMessage, place: int, attachments: tuple[str, ...]
) -> list[_CandidateDraft]:
    """Mention what was sent along with a message in its first memory, or in a memory of its own."""
    shared = " ".join(f"{message.speaker} shares a {each.rstrip('.')}." for each in attachments)
    if not drafts:
        confidence = estimate_confidence("", SpeechAct.STATEMENT, message.trust)
        return [_CandidateDraft(message, place, shared, REMARK, confidence)]
    first = drafts[0]
    return [replace(first, text=f"{first.text} {shared}"), *drafts[1:]]


def _keep_whole(message: SpokenMessage, place: int, chat_text: ChatText) -> list[_CandidateDraft]:
    """Keep a long answer, or the output of a tool, in its own words and under its speaker."""
    sentence_class = TOOL_RESULT if message.source.role == "tool" else ANSWER
    confidence = estimate_confidence("", SpeechAct.STATEMENT, message.trust)
    return [
        _CandidateDraft(message, place, f"{message.speaker}: {chunk}", sentence_class, confidence)
        for chunk in _split_chunks(chat_text.paragraphs)
    ]


def _keep_verbatim(message: SpokenMessage, place: int, chat_text: ChatText) -> list[_CandidateDraft]:
    """Keep what the rules cannot read, such as another language, in the speaker's words."""
    confidence = estimate_confidence("", SpeechAct.STATEMENT, message.trust)
    return [_CandidateDraft(message, place, chunk, REMARK, confidence) for chunk in _split_chunks(chat_text.paragraphs)]


def _split_chunks(paragraphs: Sequence[str]) -> list[str]:
    """Join paragraphs to chunks of about one size; a long paragraph is cut between its sentences."""
    chunks: list[str] = []
    for paragraph in paragraphs:
        for part in (paragraph,) if len(paragraph) < _CHUNK else split_sentences(paragraph):
            if chunks and len(chunks[-1]) + len(part) < _CHUNK:
                chunks[-1] += " " + part
            else:
                chunks.append(part)
    return chunks


def _to_candidate(draft: _CandidateDraft, merger: NameMerger, context: tuple[str, ...]) -> Candidate:
    """Return the candidate of a draft, with its names merged with those of all messages."""
    source = draft.message.source
    valid_from, precision = _find_beginning(draft, source.said_at)
    return Candidate(
        text=draft.text,
        category_name=draft.sentence_class.category,
        kind=draft.sentence_class.kind,
        trust=draft.message.trust,
        source_message_ids=(source.id,),
        importance=draft.sentence_class.importance,
        confidence=draft.confidence,
        valid_from=valid_from,
        precision=precision,
        mentions=tuple({mention.name: mention for mention in map(merger.to_mention, draft.names)}.values()),
        speaker=draft.message.speaker if draft.message.is_named else source.role,
        search_context=context,
        slot=draft.slot,
        corrects=draft.corrects,
    )


def _find_beginning(draft: _CandidateDraft, said_at: Micros) -> tuple[Micros | None, Precision]:
    """Return when a fact happened or began to be true, as far as its dates say.

    A plan is true from when it was made, not from the day it is for; so is anything that lies in the future.
    """
    if draft.sentence_class.kind == "INTENTION":
        return None, "instant"
    for span in draft.dates:
        if span.relation not in _DATES_OF_TRUTH:
            continue
        began = to_micros(datetime.combine(span.first, span.at or time(), UTC))
        if began <= said_at:
            return began, span.precision
    return None, "instant"
