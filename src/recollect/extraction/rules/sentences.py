"""Sentences of chat text: without code, markup, emoji and what was quoted from others."""

from __future__ import annotations

import re
from dataclasses import dataclass

import sentencex  # type: ignore[import-untyped]  # it ships without types

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_INLINE_FENCE = re.compile(r"```.*?```", re.DOTALL)
_CODE_IN_LINE = re.compile(r"`([^`\"\n]*\s[^`\"\n]*)`")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]*>.*$")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022\u2023\u25aa\u25cf\u2013]\s+|\(?\d{1,3}[.)]\s+|#{1,6}\s+|[a-h][.)]\s+)")
# These two begin with a set of characters, which is looked for far more quickly than what stands before them.
_MARKUP = re.compile(r"[*_`](?:(?<=\*)\*|(?<=_)_|(?<=`)|(?<!\w[*_])(?=\w)|(?<=\w[*_])(?!\w))")
_LINK = re.compile(r"!?\[([^\]\n]*)\]\((?:https?:|www\.|/)[^)\s]*\)")
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U000e0020-\U000e007f]+")
_FACE = re.compile(r"[:;=8xX<^](?<!\S.)(?:(?<=[:;=8xX])[-'^]?[)(DPpOo3/\\|*\]\[]+|(?<=<)3+|(?<=\^)_?\^)(?!\S)")
_PHOTO = re.compile(
    r"\[(?:shared|sent|attached)?\s*(photo|image|picture|video|file|gif)s?:?\s*([^\]]*)\]", re.IGNORECASE
)
_LATE_STOP = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z][a-z])")
_TELLING = re.compile(r"[^\W_]")
# Words that the segmenter takes for abbreviations, in places where they are none.
_NO_ABBREVIATION = re.compile(r"(\b(?:me|art|no|ok|reps|miss|may|id|etc|arc|btw|I)\.) (?=[A-Z])")
_LONGEST = 600
_INNER_END = re.compile(r"[.!?\u3002\uff01\uff1f]\S*\s*\S")


@dataclass(frozen=True)
class Said:
    """A message taken apart: its lines and items, and what was sent along with it."""

    paragraphs: tuple[str, ...]
    attached: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in sentences_of(paragraph))


def read(text: str) -> Said:
    attached: list[str] = []
    if "[" in text:
        text = _PHOTO.sub(lambda found: _keep(attached, found), text)
        text = _LINK.sub(r"\1", text)
    if "```" in text or "~~~" in text:
        text = _INLINE_FENCE.sub("\n", _FENCE.sub("\n", text))
    if "`" in text:
        # Words of code are nobody's own, like those of a quotation.
        text = _CODE_IN_LINE.sub(r'"\1"', text)
    if ">" in text:
        text = _QUOTED_LINE.sub("", text)
    if not text.isascii():
        text = _EMOJI.sub(" ", text)
    text = _FACE.sub("", text)
    return Said(tuple(_paragraphs(text)), tuple(attached))


def _keep(attached: list[str], found: re.Match[str]) -> str:
    attached.append(f"{found[1].lower()}: {found[2].strip()}" if found[2].strip() else found[1].lower())
    return " "


def _paragraphs(text: str) -> list[str]:
    """Lines, where a line that only continues the one before it is joined to it; items of a list stand alone."""
    paragraphs: list[str] = []
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
            paragraphs[-1] += " " + bare
        else:
            paragraphs.append(bare)
        open_line = True
    return paragraphs


def sentences_of(paragraph: str) -> list[str]:
    if len(paragraph) < 30 and not _INNER_END.search(paragraph):
        return [paragraph]
    if "." in paragraph and not ("/" in paragraph or "@" in paragraph):
        paragraph = _LATE_STOP.sub(" ", paragraph)
    pieces = _NO_ABBREVIATION.sub(r"\1\n", paragraph).split("\n") if ". " in paragraph else (paragraph,)
    segments = (part.strip() for piece in pieces for part in sentencex.segment("en", piece) if _TELLING.search(part))
    return [part for segment in segments for part in _of_length(segment)]


def _of_length(segment: str) -> list[str]:
    """What goes on and on without an end, in parts that the rules read in time."""
    parts: list[str] = []
    while len(segment) > _LONGEST:
        cut = segment.rfind(" ", 0, _LONGEST)
        cut = cut if cut > 0 else _LONGEST
        parts.append(segment[:cut])
        segment = segment[cut:].lstrip()
    return [*parts, segment] if segment else parts
