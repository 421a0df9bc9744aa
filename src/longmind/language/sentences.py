"""Sentence boundaries of plain text, as a library finds them, with corrections for the way people write in chats.

The library knows abbreviations and decimal points. The corrections add a missing space after a stop, undo false
abbreviations ("… with me. Then …"), and keep an abbreviation with the number after it ("vol. 3").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import sentencex  # type: ignore[import-untyped]  # it ships without types

# "I went there.It was fun": the space after the stop is missing.
_MISSING_SPACE = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z][a-z])")
_LETTER = re.compile(r"[^\W_]")
# Words that the segmenter takes for abbreviations, in places where they end a sentence: "She called me. Then …".
_FALSE_ABBREVIATION = re.compile(r"(\b(?:me|art|no|ok|reps|miss|may|id|etc|arc|btw|I)\.) (?=[A-Z])")
# Abbreviations that the segmenter does not know, with the numbers that follow them: "vol. 3", "approx. $20".
_CUT_SHORT = re.compile(r"\b(?:mk|vol|approx|ver|ext|pt|op|ch)\.$", re.IGNORECASE)
_BEGINS_WITH_NUMBER = re.compile(r"[$\u20ac\u00a3]?\d|[IVX]+\b")
_INNER_END = re.compile(r"[.!?\u3002\uff01\uff1f]\S*\s*\S")
_LONGEST = 600
"""Characters of one sentence; a longer one is cut, so that the rules read it in time."""


def split_sentences(paragraph: str) -> list[str]:
    """Return the sentences of one line of text, none of them longer than the rules can read in time."""
    if len(paragraph) < 30 and not _INNER_END.search(paragraph):
        # Too short for two sentences, and the library takes longer than this test.
        return [paragraph]
    if "." in paragraph and not ("/" in paragraph or "@" in paragraph):
        paragraph = _MISSING_SPACE.sub(" ", paragraph)
    pieces = _FALSE_ABBREVIATION.sub(r"\1\n", paragraph).split("\n") if ". " in paragraph else (paragraph,)
    segments = [part.strip() for piece in pieces for part in sentencex.segment("en", piece) if has_word(part)]
    return [part for segment in _rejoin_abbreviations(segments) for part in _cut_to_length(segment)]


def has_word(text: str) -> bool:
    """Return whether a text holds a letter or a digit, and not only punctuation."""
    return _LETTER.search(text) is not None


def _rejoin_abbreviations(segments: list[str]) -> Iterator[str]:
    """Yield the segments, joining one that was cut after an abbreviation with the number that follows."""
    pending = ""
    for segment in segments:
        if pending and not _BEGINS_WITH_NUMBER.match(segment):
            yield pending
            pending = ""
        pending = f"{pending} {segment}" if pending else segment
        if not _CUT_SHORT.search(pending):
            yield pending
            pending = ""
    if pending:
        yield pending


def _cut_to_length(segment: str) -> list[str]:
    """Cut a segment without an end into parts of bounded length, between words where there are any."""
    parts: list[str] = []
    while len(segment) > _LONGEST:
        cut = segment.rfind(" ", 0, _LONGEST)
        cut = cut if cut > 0 else _LONGEST
        parts.append(segment[:cut])
        segment = segment[cut:].lstrip()
    return [*parts, segment] if segment else parts
