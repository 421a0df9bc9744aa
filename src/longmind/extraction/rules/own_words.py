"""The words of a message that its speaker says, prepared for rules that rewrite them.

What is not the speaker's own is cut out, and a sentence that held a part of it is marked. Addresses, paths and
identifiers get stand-ins, so that no rule takes the end of `lisa.b@proton.me` for a pronoun.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from longmind.extraction.reader.foreign_text import Stretch, find_own_text, find_verbatim
from longmind.language.chat_text import LINK

CUT = "\ue000"
"""Stands in a sentence of which a part is cut out."""
_STAND_IN = re.compile(r"Xq(\d{1,6})q")
_SENTENCE_END = re.compile(r"[.!?:)\"\u201d]\s*")
# "The us" without capitals is a country.
_COUNTRY = re.compile(r"(?<=\bthe )us\b")
# Questions that are not about their speaker. They state nothing, but say what is meant by "three ones" after them.
_BARE_QUESTIONS = re.compile(r"(?!(?s:.*)\b(?:I|[Mm]e|[Mm]y|[Ww]e|[Uu]s|[Oo]ur)\b)(?:\s*[A-Z][^.!?:\"\u201c\n]*\?)+\s*")
# The title of a book or a film in quotation marks: it is named, and not said by anybody.
_TITLE = re.compile(
    r"[\"\u201c](?:[A-Z\d][\w'\u2019-]*|(?:a|an|and|at|for|in|of|on|the|to|with))"
    r"(?: (?:[A-Z\d][\w'\u2019-]*|a|an|and|at|for|in|of|on|the|to|with)){0,9}[.,!?]?[\"\u201d]"
)


@dataclass(frozen=True)
class OwnWords:
    """A message without what is foreign, with stand-ins for what must stay letter for letter."""

    text: str
    is_pasted: bool
    """True if most of the message is not its speaker's."""
    kept: tuple[str, ...]
    """The words behind the stand-ins, in their order."""

    def restore(self, text: str) -> str:
        """Return a text with the original words in the place of their stand-ins."""
        return _STAND_IN.sub(self._to_original, text) if self.kept else text

    def _to_original(self, found: re.Match[str]) -> str:
        number = int(found[1])
        return self.kept[number] if number < len(self.kept) else found[0]


def find_own_words(text: str) -> OwnWords:
    """Cut foreign text out of a message, and put stand-ins in the place of verbatim stretches."""
    own = find_own_text(text)
    foreign = [
        each
        for each in own.foreign
        if _TITLE.fullmatch(text, *each) is None and _BARE_QUESTIONS.fullmatch(text, *each) is None
    ]
    kept: list[str] = []
    pieces: list[str] = []
    done = 0
    for low, high in foreign:
        pieces += [_put_stand_ins(text[done:low], kept), _mark_cut(text, (low, high))]
        done = max(done, high)
    pieces.append(_put_stand_ins(text[done:], kept))
    return OwnWords("".join(pieces), own.pasted, tuple(kept))


def _mark_cut(text: str, cut: Stretch) -> str:
    """Return what stands for a foreign stretch: a blank line if it is made of whole sentences, else the mark."""
    low, high = cut
    before, after = text[max(0, low - 20) : low], text[high : high + 1]
    begins = not before.strip() or before.endswith("\n") or _SENTENCE_END.search(before[-3:]) is not None
    ends = after in ("", "\n") or text[high - 1] in ".!?\n"
    return "\n\n" if begins and ends else f" {CUT} "


def _put_stand_ins(text: str, kept: list[str]) -> str:
    """Put a stand-in in the place of each verbatim stretch, which is added to those kept; of a link keep the words."""
    text = LINK.sub(r"\1", text) if "](" in text else text
    stretches = sorted([*find_verbatim(text), *(found.span() for found in _COUNTRY.finditer(text))])
    pieces: list[str] = []
    done = 0
    for low, high in stretches:
        if low < done:
            continue
        pieces += [text[done:low], f"Xq{len(kept)}q"]
        kept.append(text[low:high])
        done = high
    return "".join([*pieces, text[done:]])
