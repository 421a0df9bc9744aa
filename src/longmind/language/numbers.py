"""Numbers as they are written in a sentence."""

from __future__ import annotations

import re

from longmind.language.normalisation import folded

_UNITS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
NUMBER = (
    rf"(?:\d[\d,.]*(?:-\d[\d,.]*)?k?|{'|'.join(_UNITS)}|(?:{'|'.join(_TENS)})(?:-(?:{'|'.join(_UNITS[:9])}))?|"
    r"a dozen|a hundred|a thousand|several hundred)\b"
)
TIME_UNIT = r"(?:seconds?|minutes?|hours?|days?|weeks?|weekends|months?|years?|decades?|nights?)"
PERIOD = r"(?:an?|per|each|every) (?:day|week|month|year|night|weekend|morning|way)"
MONEY = r"[$\u20ac\u00a3]\d[\d,.]*\d?(?:k\b| million| thousand)?"
_DIGIT = re.compile(r"\d")
_WORDS = frozenset((*_UNITS, *_TENS, *ORDINALS, "dozen", "hundred", "twice", "once", "every"))
_BETWEEN = str.maketrans(dict.fromkeys(".,;:!?()\"'-\u2013\u2014\u2019", " "))


def has_number(text: str) -> bool:
    """Whether a number is written in it, in digits or in words."""
    # Looking words up is far quicker than a pattern of all of them.
    return _DIGIT.search(text) is not None or not _WORDS.isdisjoint(text.lower().translate(_BETWEEN).split())


def plain(value: str) -> str:
    """A value in lower case, with an ordinal as the number that it is."""
    value = folded(value)
    first, _, rest = value.partition(" ")
    if first in ORDINALS:
        return " ".join((_UNITS[ORDINALS.index(first)], rest)).strip()
    found = re.match(r"(\d+)(?:st|nd|rd|th)\b(.*)", value)
    return found[1] + found[2] if found else value
