"""Words, stems and index terms of a text, in any language.

Words of languages that put spaces between them are lower-cased and, where they are English, stemmed. Runs of Chinese,
Japanese, Thai, Lao, Burmese and Khmer have no spaces: they are cut into overlapping pairs of characters, which finds
words without a dictionary. Characters of Chinese writing, which may be words by themselves, are indexed one by one too.

A term is the CRC-32 of a stem. Stored indexes hold terms, so any change to this file that gives a text other terms
needs the indexes to be built again.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from collections.abc import Callable
from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]  # it ships without types

from longmind.runtime.fork_safety import survive_forks

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_CHARACTER = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_PIECES = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_SPACED_WORD = re.compile("[^\\W_]+(?:['\u2019][^\\W_]+)*")
_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else ord(" ") for code in range(128)).ljust(256)
"""Translation of ASCII bytes before splitting: letters in lower case, digits as they are, all else a space."""
_CLINGING = frozenset(("s", "re", "ve", "ll", "d", "m"))
"""Endings after an apostrophe that are not part of the word: "Anna's", "we'll"."""
COMBINING = re.compile(
    # The marks (Mn and Mc) of the scripts below U+2000, as ranges; asking unicodedata for each would take a second.
    "["
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3"
    "\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1"
    "\u08e3-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962-\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7"
    "\u09e2-\u09e3\u09fe-\u0a03\u0a3c-\u0a42\u0a47-\u0a4d\u0a51\u0a70-\u0a71\u0a75\u0a81-\u0a83\u0abc"
    "\u0abe-\u0acd\u0ae2-\u0ae3\u0afa-\u0b03\u0b3c\u0b3e-\u0b4d\u0b55-\u0b57\u0b62-\u0b63\u0b82\u0bbe-\u0bc2"
    "\u0bc6-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c4d\u0c55-\u0c56\u0c62-\u0c63\u0c81-\u0c83\u0cbc"
    "\u0cbe-\u0ccd\u0cd5-\u0cd6\u0ce2-\u0ce3\u0d00-\u0d03\u0d3b-\u0d3c\u0d3e-\u0d4d\u0d57\u0d62-\u0d63"
    "\u0d81-\u0d83\u0dca\u0dcf-\u0ddf\u0df2-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ecd\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f3f\u0f71-\u0f84\u0f86-\u0f87\u0f8d-\u0fbc\u0fc6"
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f"
    "\u109a-\u109d\u135d-\u135f\u1712-\u1715\u1732-\u1734\u1752-\u1753\u1772-\u1773\u17b4-\u17d3\u17dd"
    "\u180b-\u180d\u180f\u1885-\u1886\u18a9\u1920-\u192b\u1930-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1abd"
    "\u1abf-\u1ace\u1b00-\u1b04\u1b34-\u1b44\u1b6b-\u1b73\u1b80-\u1b82\u1ba1-\u1bad\u1be6-\u1bf3\u1c24-\u1c37"
    "\u1cd0-\u1cd2\u1cd4-\u1ce8\u1ced\u1cf4\u1cf7-\u1cf9\u1dc0-\u1dff"
    "]+"
)
_CACHED = 65_536
_LONGEST_CACHED = 64
"""Characters. A longer piece is data rather than a word: it would fill the cache and hardly ever recurs."""

STOP_WORDS = frozenset(
    "a about also am an and any are as at be been being but by can could did do does doing done for from had has have "
    "having he her hers him his how i if in into is it its itself just me my no not of on or our ours she so some such "
    "than that the their theirs them then there these they this those to too us was we were what when where which "
    "while who whom whose why will with would you your yours".split()
)
READER_WORDS = frozenset("user assistant says said asks asked".split())
"""Words by which a fact says who spoke. Nearly every fact may have them, and they say nothing of what it is about."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in order, as they are indexed before stemming."""
    if text.isascii():
        # The same words as the pattern finds, faster. Only an apostrophe may or may not be part of a word.
        return _split_spaced(text.lower()) if "'" in text else text.encode().translate(_ASCII_WORDS).decode().split()
    text = unicodedata.normalize("NFKC", text).lower()
    if not _UNSPACED_RUN.search(text):
        return _split_spaced(text)
    found: list[str] = []
    for piece in _PIECES.findall(text):
        if _UNSPACED_RUN.match(piece):
            found += [piece[place : place + 2] for place in range(len(piece) - 1)] or [piece]
        else:
            found += _split_spaced(piece)
    return found


def _split_spaced(text: str) -> list[str]:
    """Return the words of a text whose language puts spaces between them."""
    # Combining marks are no letters to the pattern, and would cut words of Hindi or Arabic in pieces.
    found: list[str] = _SPACED_WORD.findall(text if text.isascii() else COMBINING.sub("", text))
    if "'" in text or "\u2019" in text:
        return [_strip_apostrophe(word) if "'" in word or "\u2019" in word else word for word in found]
    return found


def _strip_apostrophe(word: str) -> str:
    """Return a word without its apostrophe: "anna's" is anna, "don't" is dont."""
    head, _, tail = word.replace("\u2019", "'").partition("'")
    return head if tail in _CLINGING else head + tail.replace("'", "")


class _LockedStemmer:
    """The English stemmer behind a lock, since two threads must not use it at once."""

    def __init__(self) -> None:
        self.renew_after_fork()
        survive_forks(self)

    def renew_after_fork(self) -> None:
        """Replace lock and stemmer in a child process."""
        # A thread of the parent may have held the lock in the middle of a word.
        self._lock = threading.Lock()
        self._stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord

    def stem(self, word: str) -> str:
        """Stem one word."""
        with self._lock:
            return self._stem(word)


_stem = _LockedStemmer().stem
_cached_stem = lru_cache(_CACHED)(_stem)


def stem_of(word: str) -> str:
    """Return the stem that an English word in lower case shares with its other forms; other words are unchanged."""
    return _cached_stem(word) if len(word) <= _LONGEST_CACHED else _stem(word)


class WordNumbers(dict[str, int]):
    """A cache from word to number that fills itself and is cleared when it is full."""

    def __init__(self, number_of: Callable[[str], int]) -> None:
        self._number_of = number_of

    def __missing__(self, word: str) -> int:
        number = self._number_of(word)
        if len(self) >= _CACHED:
            self.clear()
        if len(word) <= _LONGEST_CACHED:
            self[word] = number
        return number


_term_of = WordNumbers(lambda word: zlib.crc32(stem_of(word).encode())).__getitem__


def terms_of(text: str) -> list[int]:
    """Return the terms of a text: equal for words with the same stem, and the same in every process.

    Stop words are left out, unless the text has no others.
    """
    return terms_among(words_of(text)) + terms_of_characters(text)


def terms_of_characters(text: str) -> list[int]:
    """Return the terms of single characters of Chinese writing, since many words have only one."""
    if text.isascii():
        return []
    runs = _UNSPACED_RUN.findall(unicodedata.normalize("NFKC", text))
    # A character that stands alone is a word already.
    return [_term_of(character) for run in runs if len(run) > 1 for character in _CHARACTER.findall(run)]


def terms_among(words: list[str]) -> list[int]:
    """Return the terms of words without the stop words, or of all where there are only stop words."""
    content_words = [word for word in words if word not in STOP_WORDS]
    return list(map(_term_of, content_words or words))


_SENTENCE = re.compile("[^.!?\u3002\uff01\uff1f\n]+[.!?\u3002\uff01\uff1f\n]*")
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f\n]")
MOST_STATED = 40
"""Words at which `count_statement_words` stops: longer texts rank alike."""


def count_statement_words(text: str) -> int:
    """Count the words outside of questions, up to `MOST_STATED`.

    Ranking uses the count: a question or a short reply is rarely what a search looks for. What a sentence states before
    it asks counts: "My flight leaves at nine, so when should I get up?" states five words.
    """
    if len(text) > 1 and not _SENTENCE_END.search(text, 0, len(text) - 1):
        # A single sentence, as most memories are: no need to split it.
        return min(_count_stated(text), MOST_STATED)
    stated = 0
    for sentence in _SENTENCE.findall(text):
        stated += _count_stated(sentence)
        if stated >= MOST_STATED:
            return MOST_STATED
    return stated


def _count_stated(sentence: str) -> int:
    """Count the words of a sentence, or those before its question."""
    if not sentence.rstrip().endswith(("?", "\uff1f")):
        return len(sentence.split())
    asks = _ASKING_CLAUSE.search(sentence)
    if asks is None or _ASKING.match(sentence):
        return 0
    stated = len(sentence[: asks.start()].split())
    return stated if stated >= _FEWEST_STATED else 0


_ASKING_WORDS = (
    "how|what|where|when|why|which|who|whose|can|could|would|should|do|does|did|is|are|was|were|will|have|has|am|any"
)
_ASKING = re.compile(rf"\W*(?:(?:and|but|so|or|ok|okay|well|hey|hi)\W+)?(?:{_ASKING_WORDS})\b", re.IGNORECASE)
_ASKING_CLAUSE = re.compile(
    rf"[,;:\u2013\u2014]\s*(?:(?:but|and|so|or|then|also)\s+)?(?:{_ASKING_WORDS})\b"
    rf"|\s(?:but|and|so)\s+(?:{_ASKING_WORDS})\s+(?:i|you|we|it|there|they|he|she|my|the|this|that|to|much|many)\b",
    re.IGNORECASE,
)
"""The beginning of a question inside of a sentence: after a comma, or after a conjunction and before its subject."""
_FEWEST_STATED = 3
