"""The words of a chat message without its markup, code, quotations, links, emoji and attachments.

Only what the speaker says in their own words is left, one paragraph per line or list item. The patterns are written so
that a hostile message of any length is read in a time that grows with its length only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.language.sentences import has_word, split_sentences

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)")
_INLINE_FENCE = re.compile(r"```.*?```", re.DOTALL)
_CODE_IN_LINE = re.compile(r"`([^`\n]+)`")
# "I`m" is an apostrophe that was typed with the wrong key.
_TYPED_APOSTROPHE = re.compile(r"(?<=\w)`(?=\w)")
_QUOTED_LINE = re.compile(r"(?m)^[ \t]*>.*$")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022\u2023\u25aa\u25cf\u2013]\s+|\(?\d{1,3}[.)]\s+|#{1,6}\s+|[a-h][.)]\s+)")
# This one and _FACE begin with a set of characters: the engine looks for it much faster than for a lookbehind.
_MARKUP = re.compile(r"[*_`](?:(?<=\*)\*|(?<=_)_|(?<=`)|(?<!\w[*_])(?=\w)|(?<=\w[*_])(?!\w))")
# An opening bracket ends both parts: else a text of nothing but brackets would be read to its end from each of them.
LINK = re.compile(r"!?\[([^\[\]\n]*)\]\((?:https?:|www\.|/)[^)\s\[]*\)")
"""A link, with its words as the only group."""
# Emoticons such as ":-)", "<3" and "^_^".
_FACE = re.compile(r"[:;=8xX<^](?<!\S.)(?:(?<=[:;=8xX])[-'^]?[)(DPpOo3/\\|*\]\[]+|(?<=<)3+|(?<=\^)_?\^)(?!\S)")
# "[shared photo: a red bike]", as chat exports write what was sent along with a message.
_ATTACHMENT = re.compile(
    r"\[(?:shared|sent|attached)?\s*(photo|image|picture|video|file|gif)s?:?\s*+([^\[\]]*)\]", re.IGNORECASE
)
_LONGEST_HEADING = 80
_LONGEST_ITEM = 80
_LONGEST_LIST = 400
# Signs that a list item is a sentence of its own.
_SENTENCE = re.compile(r"\b(?:I|I['\u2019]\w+|[Mm]y|[Ww]e|[Oo]ur|you|[Yy]our)\b|[.!?]\s+\S|[?:]$")

_ONE_EMOJI = "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff][\ufe0f\u200d\U0001f3fb-\U0001f3ff]*"
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U000e0020-\U000e007f]+")
_EMOJI_AT_START = re.compile(rf"(?m)^[ \t]*(?:{_ONE_EMOJI})+[ \t]+(?=\S)")
# One emoji that stands before several phrases marks the items of a list on one line.
_EMOJI_AS_BULLET = re.compile(rf"({_ONE_EMOJI}) [^\n]*?[^\W_][^\n]*? ?\1 [^\n]*?[^\W_]")
# Emoji joined by "and" or a comma stand for words and stay.
_EMOJI_AS_WORDS = re.compile(rf"{_ONE_EMOJI}(?:,| and| or|, and) ?{_ONE_EMOJI}")
_EMOJI_AS_STOP = re.compile(
    rf"(?<=[^\W_])\s*(?:{_ONE_EMOJI}\s*)+(?=(?:I|We|It|My|Our|The|This|That|He|She|They|You|There)\b)"
)


@dataclass(frozen=True)
class ChatText:
    """A message taken apart: its paragraphs, and a description of what was sent along with it."""

    paragraphs: tuple[str, ...]
    attachments: tuple[str, ...]
    items: frozenset[int] = frozenset()
    """Indexes of the paragraphs that are items of a list."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of all paragraphs, with short list items joined to their heading."""
        paragraphs = self._join_headings() if self.items else self.paragraphs
        return tuple(sentence for paragraph in paragraphs for sentence in split_sentences(paragraph))

    def _join_headings(self) -> list[str]:
        """Append short items to the heading above them, which says what they are.

        E.g. "Allergies:", "- nuts" and "- eggs" become "Allergies: nuts; eggs".
        """
        joined: list[str] = []
        has_heading = False
        for place, paragraph in enumerate(self.paragraphs):
            if has_heading and place in self.items and _is_short(paragraph) and len(joined[-1]) < _LONGEST_LIST:
                joined[-1] += f"{'' if joined[-1].endswith(':') else ';'} {paragraph.rstrip(' .;,')}"
            else:
                joined.append(paragraph)
                has_heading = paragraph.endswith(":") and len(paragraph) < _LONGEST_HEADING
        return joined


def parse_chat_text(text: str) -> ChatText:
    """Take a message apart.

    Quoted lines and code blocks are dropped, since they are not the speaker's words; the text of links is kept.
    """
    attachments: list[str] = []
    if "[" in text:
        text = _ATTACHMENT.sub(lambda found: _collect_attachment(attachments, found), text)
        text = LINK.sub(r"\1", text)
    if "```" in text or "~~~" in text:
        text = _INLINE_FENCE.sub("\n", _FENCE.sub("\n", text))
    if "`" in text:
        text = _TYPED_APOSTROPHE.sub("'", _CODE_IN_LINE.sub(_quote_code, text))
    if ">" in text:
        text = _QUOTED_LINE.sub("", text)
    if not text.isascii():
        text = remove_emoji(text)
    text = _FACE.sub("", text)
    paragraphs, items = _split_paragraphs(text)
    return ChatText(tuple(paragraphs), tuple(attachments), frozenset(items))


def remove_emoji(text: str) -> str:
    """Drop emoji, except where they stand for words; one that begins a list item becomes a dash."""
    if not _EMOJI.search(text) or _EMOJI_AS_WORDS.search(text):
        return text
    bullet = _EMOJI_AS_BULLET.search(text)
    if bullet is not None:
        text = text.replace(f"{bullet[1]} ", "\n- ")
    text = _EMOJI_AS_STOP.sub(". ", _EMOJI_AT_START.sub("- ", text))
    return _EMOJI.sub(" ", text)


def _is_short(item: str) -> bool:
    """Return whether a list item needs its heading, since it is no sentence of its own."""
    return len(item) < _LONGEST_ITEM and not _SENTENCE.search(item)


def _collect_attachment(attachments: list[str], found: re.Match[str]) -> str:
    """Note an attachment with its description, and return the blank that replaces it in the text."""
    attachments.append(f"{found[1].lower()}: {found[2].strip()}" if found[2].strip() else found[1].lower())
    return " "


def _quote_code(code: re.Match[str]) -> str:
    """Put code of several words in quotation marks: like a quotation, it is not the speaker's own word."""
    has_spaces = " " in code[1] or "\t" in code[1]
    return f'"{code[1]}"' if has_spaces and '"' not in code[1] else code[0]


def _split_paragraphs(text: str) -> tuple[list[str], list[int]]:
    """Return the lines, each with the lines that continue it, and the indexes of those that are list items."""
    # Pieces are joined once at the end: appending to a string copies it each time.
    paragraphs: list[list[str]] = []
    items: list[int] = []
    can_continue = False
    for line in text.split("\n"):
        bullet = _BULLET.match(line)
        bare = " ".join((line[bullet.end() :] if bullet else line).split())
        if "*" in bare or "_" in bare or "`" in bare:
            bare = _MARKUP.sub("", bare).strip()
        if not bare or not has_word(bare):
            can_continue = False
            continue
        if can_continue and bullet is None and bare[0].islower():
            paragraphs[-1].append(bare)
        else:
            if bullet is not None:
                items.append(len(paragraphs))
            paragraphs.append([bare])
        can_continue = True
    return [" ".join(pieces) for pieces in paragraphs], items
