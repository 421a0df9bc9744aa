"""The sentences of a conversation that a summary may use: statements, with their dates resolved.

Questions and courtesies are left out. A short answer is kept together with its question, as in
`Yes (asked "Are you vegetarian").`, because alone it would say nothing.
"""

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
from longmind.language.dates import find_dates, resolve_dates
from longmind.language.english_detection import is_english
from longmind.language.speech_acts import SpeechAct, classify_speech_act, strip_filler
from longmind.summaries.summary_line import SummaryLine

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ASKED = "?\uff1f"
_SHORT_ANSWER = 7
_MOST_QUESTIONS = 3
_DATA_LENGTH = 40
_LEAST_LETTERS = 0.6
_LEFT_OUT = frozenset((SpeechAct.QUESTION, SpeechAct.SMALL_TALK))
_YES_OR_NO = re.compile(r"(?:yes|yeah|yep|yup|no|nope|nah|correct|sure|of course|not yet|not really)\b", re.IGNORECASE)
_OFFER = re.compile(
    r"\b(?:I|we) (?:can |could |may )?(?:help|assist|do for you)\b|^(?:is there )?anything else\W*$", re.IGNORECASE
)
"""A question that offers help and asks for no information."""
_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\"\u201d)]$")


def select_lines(messages: Sequence[SourceMessage]) -> Iterator[SummaryLine]:
    """Yield the usable sentences of the messages, in their order."""
    question = ""
    for speech in identify_speakers(messages):
        text = parse_chat_text(speech.text)
        yield from _read_lines(speech, text, question)
        question = " / ".join(_find_questions(text))


def _find_questions(text: ChatText) -> list[str]:
    """Return the questions at the end of a message, without courtesies: a short answer may refer to any of them.

    Question marks are removed, so that none ends a sentence when the summary is parsed again.
    """
    sentences = reversed(text.sentences if text.paragraphs else ())
    asked = list(takewhile(lambda sentence: sentence.endswith(tuple(_ASKED)), sentences))[:_MOST_QUESTIONS]
    return [question.rstrip(_ASKED) for question in reversed(asked) if not _is_courtesy(question)]


def _is_courtesy(question: str) -> bool:
    return classify_speech_act(strip_filler(question)) is SpeechAct.SMALL_TALK or _OFFER.search(question) is not None


def _read_lines(speech: SpokenMessage, text: ChatText, question: str) -> Iterator[SummaryLine]:
    day = format_day(speech.source.said_at)
    statements = list(_read_statements(speech, text, bool(question)))
    # "Yes." or "In Graz." means nothing without its question.
    if statements and question and len(statements[0].split()) < _SHORT_ANSWER:
        statements[0] = f'{statements[0].rstrip(".!")} (asked "{question}").'
    statements += (f"Shares a {each.rstrip('.')}." for each in text.attachments)
    for statement in statements:
        yield SummaryLine(day, speech.speaker, statement)


def _read_statements(speech: SpokenMessage, text: ChatText, answers: bool) -> Iterator[str]:
    english = is_english(speech.text)
    for place, sentence in enumerate(text.sentences):
        if _is_data(sentence):
            continue
        # Rules of English say nothing about other languages: their sentences are kept as they are, but for questions.
        if not english:
            if not sentence.endswith(tuple(_ASKED)):
                yield _close_sentence(sentence)
            continue
        words = strip_filler(sentence)
        yes_or_no = _YES_OR_NO.match(sentence) if answers and place == 0 else None
        if classify_speech_act(words) not in _LEFT_OUT:
            if yes_or_no and len(sentence.split()) < _SHORT_ANSWER:
                words = sentence
            yield _close_sentence(resolve_dates(words, find_dates(words, speech.source.said_at)))
        elif yes_or_no:
            yield _close_sentence(yes_or_no[0])


def _is_data(sentence: str) -> bool:
    """Return whether a sentence is made for machines, such as a table or the output of a tool."""
    # Prose is mostly letters and spaces; tables, logs and code are not.
    letters = sum(character.isalpha() or character.isspace() for character in sentence)
    return len(sentence) > _DATA_LENGTH and letters < len(sentence) * _LEAST_LETTERS


def _close_sentence(sentence: str) -> str:
    """Add a capital and a full stop, so that the summary can be split into the same sentences again."""
    sentence = sentence[:1].upper() + sentence[1:]
    return sentence if _END.search(sentence) else f"{sentence}."


def format_day(said_at: Micros) -> str:
    """Return the day of an instant in words, such as "7 May 2026"."""
    day = _EPOCH + timedelta(microseconds=said_at)
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"
