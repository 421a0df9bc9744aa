"""The extractor that needs no model: rules of English, with the same result every time, thousands of messages a second.

It is cautious. Every message is found word for word as a passage, so a fact only has to be right. For each message of
a user, or of a speaker with a name: leave out what is not their own, read the sentences that clearly state something,
rewrite them in the third person, and give each its kind, dates, slot and names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Candidate, Extracted, Precision, SourceMessage
from longmind.extraction.rules.name_merger import NameMerger
from longmind.extraction.rules.own_words import find_own_words
from longmind.extraction.rules.pronouns import PronounResolver
from longmind.extraction.rules.sentence_rewriter import MessageRewriter, RewrittenSentence
from longmind.extraction.rules.short_answers import write_answer
from longmind.extraction.rules.speakers import SpokenMessage, identify_speakers
from longmind.extraction.search_context import build_search_contexts
from longmind.language.chat_text import parse_chat_text
from longmind.language.english_detection import is_english
from longmind.language.sentences import split_sentences
from longmind.models.atom import AtomKind

_DATES_OF_TRUTH = frozenset(("on", "since", "duration"))
"""Relations of a date that say when a fact began to be true."""
_LOWERED_KIND: dict[AtomKind, AtomKind] = {"RULE": "EPISODE", "PREFERENCE": "FACT", "INTENTION": "FACT"}
_LOWERED_IMPORTANCE = 3
_QUESTION_CHARACTERS = 400
"""Characters at the end of a message in which the question that it ends with is looked for."""


# In a role play, what a user says is their character's.
_PLAY_BEGINS = re.compile(
    r"\brole-?play\b|\bpretend (?:i['\u2019]?m|i am|to be|you)\b|\bin character\b|\blet['\u2019]?s play an? \w+ game\b|"
    r"\bplay the interviewer\b",
    re.IGNORECASE,
)
_PLAY_ENDS = re.compile(
    r"\bout of character\b|\b(?:stop|end|enough|quit|exit|no more|done)\b.{0,40}\b(?:play|pretend|game|character|role)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _CandidateDraft:
    """A candidate before the names of all messages are merged."""

    message: SpokenMessage
    place: int
    """The index of its message."""
    sentence: RewrittenSentence


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
        drafts = list(_draft_messages(spoken))
        merger = NameMerger(name for draft in drafts for name in draft.sentence.names)
        contexts = build_search_contexts([message.text for message in spoken])
        return Extracted(
            [
                _to_candidate(draft, merger, contexts[draft.place])
                for draft in drafts
                if not draft.message.source.read_only
            ]
        )


def _draft_messages(spoken: Sequence[SpokenMessage]) -> Iterator[_CandidateDraft]:
    """Yield what each message states. What an assistant or a tool says is only the question to a short answer."""
    people = frozenset(message.speaker for message in spoken if message.is_named)
    pronouns = PronounResolver()
    question = ""
    is_playing = False
    for place, message in enumerate(spoken):
        pronouns.start_message()
        if message.source.role == "user":
            is_playing = _PLAY_BEGINS.search(message.text) is not None or (
                is_playing and _PLAY_ENDS.search(message.text) is None
            )
        if (message.source.role == "user" or message.is_named) and not is_playing and is_english(message.text):
            own = find_own_words(message.text)
            stated = write_answer(question, message.text)
            sentences = parse_chat_text(own.text).sentences if stated is None else (stated,)
            for sentence in MessageRewriter(message, own, pronouns, people).rewrite(sentences):
                yield _CandidateDraft(message, place, sentence)
        question = _find_question(message.text)


def _find_question(text: str) -> str:
    """Return the question that a message ends with, or nothing."""
    end = text.rstrip()[-_QUESTION_CHARACTERS:]
    return split_sentences(end.splitlines()[-1].strip())[-1] if end.endswith("?") else ""


def _to_candidate(draft: _CandidateDraft, merger: NameMerger, context: tuple[str, ...]) -> Candidate:
    """Return the candidate of a draft, with its names merged with those of all messages.

    What somebody other than the user says is no rule, preference or intention.
    """
    source, sentence, found = draft.message.source, draft.sentence, draft.sentence.sentence_class
    is_users = draft.message.trust == "user"
    valid_from, precision = _find_beginning(draft)
    return Candidate(
        text=sentence.text,
        category_name=found.category,
        kind=found.kind if is_users else _LOWERED_KIND.get(found.kind, found.kind),
        trust=draft.message.trust,
        source_message_ids=(source.id,),
        importance=found.importance if is_users else min(found.importance, _LOWERED_IMPORTANCE),
        confidence=sentence.confidence,
        valid_from=valid_from,
        precision=precision,
        mentions=tuple({mention.name: mention for mention in map(merger.to_mention, sentence.names)}.values()),
        speaker=draft.message.speaker if draft.message.is_named else source.role,
        search_context=context,
        slot=sentence.slot,
        corrects=sentence.corrects,
    )


def _find_beginning(draft: _CandidateDraft) -> tuple[Micros | None, Precision]:
    """Return when a fact happened or began to be true, as far as its dates say.

    A plan is true from when it was made, not from the day it is for; so is anything that lies in the future.
    """
    if draft.sentence.sentence_class.kind == "INTENTION":
        return None, "instant"
    for span in draft.sentence.dates:
        if span.relation not in _DATES_OF_TRUTH:
            continue
        began = to_micros(datetime.combine(span.first, span.at or time(), UTC))
        if began <= draft.message.source.said_at:
            return began, span.precision
    return None, "instant"
