"""What of a conversation a summary may tell: its sentences without questions and courtesies, with their dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from longmind.clock import Micros
from longmind.extraction.candidate import SourceMessage
from longmind.extraction.rules.speakers import SpokenMessage, identify_speakers
from longmind.language.calendar import MONTHS
from longmind.language.chat_text import ChatText, parse_chat_text
from longmind.language.dates import find_dates, resolved
from longmind.language.english_detection import is_english
from longmind.language.speech_acts import SpeechAct, classify_speech_act, strip_filler
from longmind.summaries.summary_line import Line

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ASKED = "?\uff1f"
_SHORT_ANSWER = 7
_MOST_QUESTIONS = 3
_DATA_LENGTH = 40
_LEAST_LETTERS = 0.6
_UNTOLD = frozenset((SpeechAct.QUESTION, SpeechAct.SMALL_TALK))
_YES_OR_NO = re.compile(r"(?:yes|yeah|yep|yup|no|nope|nah|correct|sure|of course|not yet|not really)\b", re.IGNORECASE)
_OFFER = re.compile(
    r"\b(?:I|we) (?:can |could |may )?(?:help|assist|do for you)\b|^(?:is there )?anything else\W*$", re.IGNORECASE
)
"""A question that offers help, and asks for nothing."""
_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\"\u201d)]$")


def telling_lines(messages: Sequence[SourceMessage]) -> Iterator[Line]:
    """What the messages tell, in their order."""
    question = ""
    for speech in identify_speakers(messages):
        said = parse_chat_text(speech.text)
        yield from _lines(speech, said, question)
        question = " / ".join(_asked(said))


def _asked(said: ChatText) -> list[str]:
    """The questions that a message ends with, but not from courtesy: a short answer may be one to any of them.

    They are without their marks, so that none is taken for the end of a sentence when the summary is read back.
    """
    sentences = reversed(said.sentences if said.paragraphs else ())
    asked = list(takewhile(lambda sentence: sentence.endswith(tuple(_ASKED)), sentences))[:_MOST_QUESTIONS]
    return [question.rstrip(_ASKED) for question in reversed(asked) if not _is_courtesy(question)]


def _is_courtesy(question: str) -> bool:
    return classify_speech_act(strip_filler(question)) is SpeechAct.SMALL_TALK or _OFFER.search(question) is not None


def _lines(speech: SpokenMessage, said: ChatText, question: str) -> Iterator[Line]:
    day = day_of(speech.source.said_at)
    told = list(_told(speech, said, bool(question)))
    if told and question and len(told[0].split()) < _SHORT_ANSWER:
        told[0] = f'{told[0].rstrip(".!")} (asked "{question}").'
    told += (f"Shares a {each.rstrip('.')}." for each in said.attachments)
    for text in told:
        yield Line(day, speech.speaker, text)


def _told(speech: SpokenMessage, said: ChatText, answers: bool) -> Iterator[str]:
    english = is_english(speech.text)
    for place, sentence in enumerate(said.sentences):
        if _is_data(sentence):
            continue
        if not english:
            if not sentence.endswith(tuple(_ASKED)):
                yield _closed(sentence)
            continue
        words = strip_filler(sentence)
        yes_or_no = _YES_OR_NO.match(sentence) if answers and place == 0 else None
        if classify_speech_act(words) not in _UNTOLD:
            if yes_or_no and len(sentence.split()) < _SHORT_ANSWER:
                words = sentence
            yield _closed(resolved(words, find_dates(words, speech.source.said_at)))
        elif yes_or_no:
            yield _closed(yes_or_no[0])


def _is_data(sentence: str) -> bool:
    """Whether it is for machines: a table, or the output of a tool."""
    letters = sum(character.isalpha() or character.isspace() for character in sentence)
    return len(sentence) > _DATA_LENGTH and letters < len(sentence) * _LEAST_LETTERS


def _closed(sentence: str) -> str:
    """With a capital and a full stop, so that it is found again as a sentence."""
    sentence = sentence[:1].upper() + sentence[1:]
    return sentence if _END.search(sentence) else f"{sentence}."


def day_of(said_at: Micros) -> str:
    day = _EPOCH + timedelta(microseconds=said_at)
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"
