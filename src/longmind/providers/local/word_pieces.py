"""The tokenizer of the local models: words, and the pieces of those that the vocabulary lacks.

It is the WordPiece of BERT, whose tokens the models were trained on: a text is cleaned and lowered, accents are
stripped, punctuation and Chinese characters stand alone, and a word is cut into the longest pieces from its beginning.
Each token knows the characters that it stands for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_REMOVED, _SPACE, _WORD, _ALONE = "\0", " ", "a", "!"
"""The kinds of characters. What is removed joins the characters on both sides to one word."""
_PIECES = re.compile(f"[{_WORD}{_REMOVED}]+|{_ALONE}")
_SPECIAL = re.compile(r"\[(?:UNK|SEP|PAD|CLS|MASK)\]")
_LONGEST_WORD = 100
"""Characters beyond which a word is no word, but one unknown token."""
_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class Tokens(NamedTuple):
    """The tokens of a text, or of a question and a text, with those at the beginning and the end."""

    ids: list[int]
    kinds: list[int]
    """For each token, the text of a pair that it belongs to, 0 or 1."""
    offsets: list[tuple[int, int]]
    """The characters that each token stands for; nothing for those that no text has."""


class _Normal(dict[int, str]):
    """The normal form of each character."""

    def __missing__(self, code: int) -> str:
        normal = self[code] = _normalise(chr(code))
        return normal


class _WordKinds(dict[int, str]):
    """The kind of each character."""

    def __missing__(self, code: int) -> str:
        kind = self[code] = _find_kind(code)
        return kind


def _normalise(character: str) -> str:
    """Return the characters that the model sees for one: none for a control character or an accent."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category == "Zs":
        return " "
    # A character that this version of Unicode does not know yet is kept, and so its word is unknown.
    if character == "\ufffd" or (category[0] == "C" and category != "Cn"):
        return ""
    parts = unicodedata.normalize("NFD", character)
    return "".join(part.lower() for part in parts if unicodedata.category(part) != "Mn")


def _find_kind(code: int) -> str:
    normal = _NORMAL[code]
    if not normal:
        return _REMOVED
    if normal.isspace():
        return _SPACE
    if any(first <= code <= last for first, last in _CHINESE) or _is_punctuation(normal[0]):
        return _ALONE
    return _WORD


def _is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation, or one of the signs of ASCII."""
    if character.isascii():
        return not (character.isalnum() or character.isspace())
    return unicodedata.category(character)[0] == "P"


_NORMAL = _Normal()
_KINDS = _WordKinds()


class WordPieces:
    """Cuts texts into the tokens of a vocabulary. Threads may share it.

    longest: tokens that are kept, with those at the beginning and the end; the rest of a text is not even looked at.
    """

    def __init__(self, vocabulary: Path, *, longest: int) -> None:
        tokens = vocabulary.read_text("utf-8").split("\n")
        self._ids = {token.rstrip("\r"): place for place, token in enumerate(tokens) if token}
        self._longest_piece = max(map(len, self._ids))
        self._unknown, self._start, self._end = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._longest = longest

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text."""
        ids, offsets = self._cut(text, self._longest - 2)
        return Tokens([self._start, *ids, self._end], [0] * (len(ids) + 2), [(0, 0), *offsets, (0, 0)])

    def encode_pair(self, first: str, second: str) -> Tokens:
        """Return the tokens of two texts that are read together; of the longer one more is left out."""
        room = self._longest - 3
        (ids, offsets), (others, of_others) = self._cut(first, room + 1), self._cut(second, room + 1)
        kept, kept_others = _share_room(len(ids), len(others), room)
        ids, others = ids[:kept], others[:kept_others]
        return Tokens(
            [self._start, *ids, self._end, *others, self._end],
            [0] * (len(ids) + 2) + [1] * (len(others) + 1),
            [(0, 0), *offsets[:kept], (0, 0), *of_others[:kept_others], (0, 0)],
        )

    def _cut(self, text: str, most: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the first tokens of a text and their characters, without those at its beginning and its end."""
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        for start, end, special in _split_special(text):
            if special:
                ids.append(self._ids[text[start:end]])
                offsets.append((start, end))
            else:
                self._cut_plain(text, start, end, most, ids, offsets)
            if len(ids) >= most:
                break
        return ids[:most], offsets[:most]

    def _cut_plain(
        self, text: str, start: int, end: int, most: int, ids: list[int], offsets: list[tuple[int, int]]
    ) -> None:
        """Add the tokens of a part of a text, until there are enough."""
        kinds = text[start:end].translate(_KINDS)
        for piece in _PIECES.finditer(kinds):
            first, last = start + piece.start(), start + piece.end()
            word = text[first:last].translate(_NORMAL)
            known = self._ids.get(word)
            if known is not None and _REMOVED not in piece[0]:
                ids.append(known)
                offsets.append((first, last))
            elif word:
                places = [place for place in range(first, last) for _ in _NORMAL[ord(text[place])]]
                for token, begin, until in self._cut_word(word):
                    ids.append(token)
                    offsets.append((places[begin], places[until - 1] + 1))
            if len(ids) >= most:
                return

    def _cut_word(self, word: str) -> list[tuple[int, int, int]]:
        """Return the pieces of a word, as tokens with their first character and the one after the last."""
        unknown = [(self._unknown, 0, len(word))]
        if len(word) > _LONGEST_WORD:
            return unknown
        pieces, begin = [], 0
        while begin < len(word):
            for until in range(min(len(word), begin + self._longest_piece), begin, -1):
                token = self._ids.get(word[begin:until] if begin == 0 else f"##{word[begin:until]}")
                if token is not None:
                    break
            else:
                return unknown
            pieces.append((token, begin, until))
            begin = until
        return pieces


def _split_special(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the parts of a text: where they begin and end, and whether it is the name of a special token."""
    done = 0
    for found in _SPECIAL.finditer(text):
        if found.start() > done:
            yield done, found.start(), False
        yield found.start(), found.end(), True
        done = found.end()
    if done < len(text):
        yield done, len(text), False


def _share_room(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many tokens of two texts are kept: all, or those of the shorter one, or half of the room each."""
    if first + second <= room:
        return first, second
    shorter, longer = sorted((first, second))
    longer = shorter if shorter > room else max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room // 2 + room % 2
    return (shorter, longer) if first <= second else (longer, shorter)
