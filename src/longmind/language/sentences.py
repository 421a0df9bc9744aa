"""Sentences of chat text: without code, markup, emoji and what was quoted from others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import sentencex  # type: ignore[import-untyped]  # it ships without types

from longmind.language.emoji import without_emoji

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_INLINE_FENCE = re.compile(r"```.*?```", re.DOTALL)
_CODE_IN_LINE = re.compile(r"`([^`\n]+)`")
_TYPED_APOSTROPHE = re.compile(r"(?<=\w)`(?=\w)")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]*>.*$")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022\u2023\u25aa\u25cf\u2013]\s+|\(?\d{1,3}[.)]\s+|#{1,6}\s+|[a-h][.)]\s+)")
# These two begin with a set of characters, which is looked for far more quickly than what stands before them.
_MARKUP = re.compile(r"[*_`](?:(?<=\*)\*|(?<=_)_|(?<=`)|(?<!\w[*_])(?=\w)|(?<=\w[*_])(?!\w))")
# An opening bracket ends what both look for: else a text of nothing but those would be read to its end from each.
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\((?:https?:|www\.|/)[^)\s\[]*\)")
_FACE = re.compile(r"[:;=8xX<^](?<!\S.)(?:(?<=[:;=8xX])[-'^]?[)(DPpOo3/\\|*\]\[]+|(?<=<)3+|(?<=\^)_?\^)(?!\S)")
_PHOTO = re.compile(
    r"\[(?:shared|sent|attached)?\s*(photo|image|picture|video|file|gif)s?:?\s*+([^\[\]]*)\]", re.IGNORECASE
)
_LATE_STOP = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z][a-z])")
_TELLING = re.compile(r"[^\W_]")
# Words that the segmenter takes for abbreviations, in places where they are none.
_NO_ABBREVIATION = re.compile(r"(\b(?:me|art|no|ok|reps|miss|may|id|etc|arc|btw|I)\.) (?=[A-Z])")
# Abbreviations that the segmenter does not know, with the numbers that follow them.
_CUT_SHORT = re.compile(r"\b(?:mk|vol|approx|ver|ext|pt|op|ch)\.$", re.IGNORECASE)
_COUNTS = re.compile(r"[$\u20ac\u00a3]?\d|[IVX]+\b")
_LONGEST = 600
_LONGEST_HEADING = 80
_LONGEST_ITEM = 80
_LONGEST_LIST = 400
_SENTENCE = re.compile(r"\b(?:I|I['\u2019]\w+|[Mm]y|[Ww]e|[Oo]ur|you|[Yy]our)\b|[.!?]\s+\S|[?:]$")
_INNER_END = re.compile(r"[.!?\u3002\uff01\uff1f]\S*\s*\S")


@dataclass(frozen=True)
class Said:
    """A message taken apart: its lines and items, and what was sent along with it."""

    paragraphs: tuple[str, ...]
    attached: tuple[str, ...]
    items: frozenset[int] = frozenset()
    """Which of the paragraphs are items of a list."""

    @property
    def sentences(self) -> tuple[str, ...]:
        whole = self._with_headings() if self.items else self.paragraphs
        return tuple(sentence for paragraph in whole for sentence in sentences_of(paragraph))

    def _with_headings(self) -> list[str]:
        """The paragraphs, where short items are told with the heading above them, which says what they are."""
        whole: list[str] = []
        headed = False
        for place, paragraph in enumerate(self.paragraphs):
            if headed and place in self.items and _is_short(paragraph) and len(whole[-1]) < _LONGEST_LIST:
                whole[-1] += f"{'' if whole[-1].endswith(':') else ';'} {paragraph.rstrip(' .;,')}"
            else:
                whole.append(paragraph)
                headed = paragraph.endswith(":") and len(paragraph) < _LONGEST_HEADING
        return whole


def _is_short(item: str) -> bool:
    """Whether an item of a list needs what stands above it, and is no sentence of its own."""
    return len(item) < _LONGEST_ITEM and not _SENTENCE.search(item)


def read(text: str) -> Said:
    attached: list[str] = []
    if "[" in text:
        text = _PHOTO.sub(lambda found: _keep(attached, found), text)
        text = _LINK.sub(r"\1", text)
    if "```" in text or "~~~" in text:
        text = _INLINE_FENCE.sub("\n", _FENCE.sub("\n", text))
    if "`" in text:
        text = _TYPED_APOSTROPHE.sub("'", _CODE_IN_LINE.sub(_quoted, text))
    if ">" in text:
        text = _QUOTED_LINE.sub("", text)
    if not text.isascii():
        text = without_emoji(text)
    text = _FACE.sub("", text)
    paragraphs, items = _paragraphs(text)
    return Said(tuple(paragraphs), tuple(attached), frozenset(items))


def _keep(attached: list[str], found: re.Match[str]) -> str:
    attached.append(f"{found[1].lower()}: {found[2].strip()}" if found[2].strip() else found[1].lower())
    return " "


def _quoted(code: re.Match[str]) -> str:
    """Code of several words is nobody's own word, like a quotation."""
    several = " " in code[1] or "\t" in code[1]
    return f'"{code[1]}"' if several and '"' not in code[1] else code[0]


def _paragraphs(text: str) -> tuple[list[str], list[int]]:
    """Lines, where a line that only continues the one before it is joined to it, and which of them are items."""
    # Each as its pieces, joined at the end: to add to a text again and again copies it each time.
    paragraphs: list[list[str]] = []
    items: list[int] = []
    open_line = False
    for line in text.split("\n"):
        found = _BULLET.match(line)
        bare = " ".join((line[found.end() :] if found else line).split())
        if "*" in bare or "_" in bare or "`" in bare:
            bare = _MARKUP.sub("", bare).strip()
        if not bare or not _TELLING.search(bare):
            open_line = False
            continue
        if open_line and found is None and bare[0].islower():
            paragraphs[-1].append(bare)
        else:
            if found is not None:
                items.append(len(paragraphs))
            paragraphs.append([bare])
        open_line = True
    return [" ".join(pieces) for pieces in paragraphs], items


def sentences_of(paragraph: str) -> list[str]:
    if len(paragraph) < 30 and not _INNER_END.search(paragraph):
        return [paragraph]
    if "." in paragraph and not ("/" in paragraph or "@" in paragraph):
        paragraph = _LATE_STOP.sub(" ", paragraph)
    pieces = _NO_ABBREVIATION.sub(r"\1\n", paragraph).split("\n") if ". " in paragraph else (paragraph,)
    segments = [part.strip() for piece in pieces for part in sentencex.segment("en", piece) if _TELLING.search(part)]
    return [part for segment in _rejoined(segments) for part in _of_length(segment)]


def _rejoined(segments: list[str]) -> Iterator[str]:
    """The segments, where one that was cut after an abbreviation goes on with the next."""
    held = ""
    for segment in segments:
        if held and not _COUNTS.match(segment):
            yield held
            held = ""
        held = f"{held} {segment}" if held else segment
        if not _CUT_SHORT.search(held):
            yield held
            held = ""
    if held:
        yield held


def _of_length(segment: str) -> list[str]:
    """What goes on and on without an end, in parts that the rules read in time."""
    parts: list[str] = []
    while len(segment) > _LONGEST:
        cut = segment.rfind(" ", 0, _LONGEST)
        cut = cut if cut > 0 else _LONGEST
        parts.append(segment[:cut])
        segment = segment[cut:].lstrip()
    return [*parts, segment] if segment else parts
