"""The names of a space's entities, and the entities that a question names.

Where words have spaces between them, a name is one or more whole words. Chinese, Japanese, Thai, Lao, Burmese and Khmer
have none: a name is looked for at every character, the longest first, and the text that it covers is not searched
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from longmind.language.words import COMBINING, UNSPACED
from longmind.models.entity import fold_name
from longmind.recall.index.atom_columns import FOREVER

_CLINGING = (
    ".,;:!?()[]{}<>\"'\u2026\u2013\u2014"
    # Quotation marks, and signs that end or begin a sentence in Spanish, Greek, Armenian, Arabic and Indic scripts.
    "\u201c\u201d\u201e\u201f\u2018\u201a\u201b\u00ab\u00bb\u2039\u203a\u00bf\u00a1\u00b7\u0387\u055c\u055e\u0589"
    "\u060c\u061b\u061f\u06d4\u0964\u0965"
)
_LETTERS = f"[\\w{COMBINING.pattern.removeprefix('[').removesuffix(']+')}]+"
_PART = re.compile(f"{_LETTERS}(?:['.&+-]{_LETTERS})*[+#]*")
"""A word inside other signs, as in *this*, #this and this/that."""
_SIGNED = re.compile(r"\w[+#]+")
"""EntityNames that end with their signs: C++ is not C."""
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc", "'"))
_LONGEST_NAME = 6
"""The largest number of words of a name that can be found."""
_LONGEST_RUN = 64
"""The largest number of characters of a name that can be found in a text without spaces."""
_MOST_WORDS = 500
"""The number of words at the beginning of a question that are searched for names."""

_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_SPACE_WITHIN = re.compile(f"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")
_BORDER = re.compile(f"[{UNSPACED} {re.escape(_CLINGING)}\u2010-\u2027\u3000-\u303f]")
"""A sign next to which a word of a spaced script may stand in unspaced text."""
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30ff]")


class EntityNames:
    """An index of names. It is immutable: a space gets a new one when its names change."""

    def __init__(self, names: Iterable[tuple[str, str, int]] = ()) -> None:
        """Build the index from folded names, each with the id of its entity and the instant since when it is known."""
        self._entities: dict[str, list[tuple[str, int]]] = {}
        for name, entity_id, since in names:
            stripped = " ".join(_strip_words(name))
            if stripped:
                self._entities.setdefault(stripped, []).append((entity_id, since))
            if not stripped.isascii() and (closed := _SPACE_WITHIN.sub("", stripped)) != stripped:
                # Running text of an unspaced script has no space between the parts of a name.
                self._entities.setdefault(closed, []).append((entity_id, since))
        self._most_words = min(max((name.count(" ") + 1 for name in self._entities), default=0), _LONGEST_NAME)

    def __len__(self) -> int:
        return len(self._entities)

    def find_entities(self, query: str, known_at: int | None = None) -> list[str]:
        """Return the ids of the entities that a question names, by the names that were known at an instant."""
        words = _strip_words(fold_name(query))
        found = set(self._find_in_words(words))
        parts = self._split_parts(words)
        if parts != words:
            found.update(self._find_in_words(parts))
        text = "" if query.isascii() else " ".join(words)
        if _IS_UNSPACED.search(text):
            found.update(self._find_in_text(text))
        until = FOREVER if known_at is None else known_at
        return sorted({entity_id for name in found for entity_id, since in self._entities[name] if since <= until})

    def list_names(self, entity_ids: Iterable[str], known_at: int | None = None) -> tuple[str, ...]:
        """Return all folded names of some entities that were known at an instant."""
        until = FOREVER if known_at is None else known_at
        names = [each for entity_id in entity_ids for each in self._names.get(entity_id, ())]
        return tuple(name for name, since in names if since <= until)

    @cached_property
    def _names(self) -> dict[str, list[tuple[str, int]]]:
        """The names of each entity, made when a question names the first one."""
        names: dict[str, list[tuple[str, int]]] = {}
        for name, known in self._entities.items():
            for entity_id, since in known:
                names.setdefault(entity_id, []).append((name, since))
        return names

    def _split_parts(self, words: list[str]) -> list[str]:
        """Return words split at the signs in them, except for names that contain such signs."""
        parts: list[str] = []
        for word in words:
            for part in [word] if word.isalnum() or word in self._entities else _PART.findall(word):
                whole = part in self._entities or _SIGNED.fullmatch(part)
                parts.append(part if whole else part.rstrip("+#").removesuffix("'s"))
        return parts

    def _find_in_words(self, words: list[str]) -> Iterator[str]:
        for start in range(len(words)):
            for length in range(1, min(self._most_words, len(words) - start) + 1):
                if (name := " ".join(words[start : start + length])) in self._entities:
                    yield name

    def _find_in_text(self, text: str) -> Iterator[str]:
        at = 0
        while at < len(text):
            name = self._longest_at(text, at)
            if name is not None:
                yield name
            at += 1 if name is None else len(name)

    def _longest_at(self, text: str, at: int) -> str | None:
        for beginning in (text[at : at + 2], text[at]):
            for length in self._lengths.get(beginning, ()):
                name = text[at : at + length]
                if name in self._entities and _stands_out(text, at, at + length):
                    return name
        return None

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """The lengths of the names that begin with two characters, longest first; there are few even for many names."""
        lengths: dict[str, set[int]] = {}
        for name in self._entities:
            if len(name) <= _LONGEST_RUN:
                lengths.setdefault(name[:2], set()).add(len(name))
        return {first: sorted(each, reverse=True) for first, each in lengths.items()}


def _strip_words(folded: str) -> list[str]:
    """Return words without the signs around them, in names and in questions: "Dr Who", "at McDonald's?"."""
    words = (folded if folded.isascii() else folded.translate(_APOSTROPHES)).split()[:_MOST_WORDS]
    return [word.strip(_CLINGING).removesuffix("'s") for word in words]


def _stands_out(text: str, start: int, end: int) -> bool:
    """Return whether a name in running text is a name, and not a part of another word, as far as signs can show it.

    A single character is part of many words, and is a name only with nothing next to it. Katakana words end where other
    signs begin, as words do at spaces, and a letter is never separated from its combining marks.
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    if after and COMBINING.match(after):
        return False
    alone = len(COMBINING.sub("", text[start:end])) == 1
    return _may_meet(before, text[start], alone) and _may_meet(after, text[end - 1], alone)


def _may_meet(neighbour: str, edge: str, alone: bool) -> bool:
    """Return whether a name that ends with the character `edge` may stand next to this neighbour."""
    if not neighbour:
        return True
    if not _IS_UNSPACED.match(edge):
        return _BORDER.match(neighbour) is not None
    if alone:
        return _IS_UNSPACED.match(neighbour) is None
    return not (_KATAKANA.match(edge) and _KATAKANA.match(neighbour))
