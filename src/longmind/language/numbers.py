"""Patterns for numbers, amounts and periods in a sentence, and the Roman numeral that looks like the word "I".

The patterns are pieces of larger ones: `NUMBER` matches "12", "1,200", "3-4", "2k", "twenty-one" and "a dozen", `MONEY`
"$1,200" and "£2 million", `PERIOD` "a week" and "each morning". They contain no named groups, so that a pattern may use
them more than once.
"""

from __future__ import annotations

import re

UNITS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
NUMBER = (
    rf"(?:\d[\d,.]*(?:-\d[\d,.]*)?k?|{'|'.join(UNITS)}|(?:{'|'.join(_TENS)})(?:-(?:{'|'.join(UNITS[:9])}))?|"
    r"a dozen|a hundred|a thousand|several hundred)\b"
)
TIME_UNIT = r"(?:seconds?|minutes?|hours?|days?|weeks?|weekends|months?|years?|decades?|nights?)"
PERIOD = r"(?:an?|per|each|every) (?:day|week|month|year|night|weekend|morning|way)"
MONEY = r"[$\u20ac\u00a3]\d[\d,.]*\d?(?:k\b| million| thousand)?"
_DIGIT = re.compile(r"\d")
_WORDS = frozenset((*UNITS, *_TENS, *ORDINALS, "dozen", "hundred", "twice", "once", "every"))
_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?()\"'-\u2013\u2014\u2019", " "))

# An "I" that counts what stands before it: "World War I", "Type I diabetes", "a Tiger I".
_COUNTED_NOUN = (
    r"(?:[Ww]ar|[Pp]hase|[Tt]ype|[Pp]art|[Cc]lass|[Vv]olume|[Cc]hapter|[Bb]ook|[Ll]evel|[Tt]ier|[Ss]tage|[Aa]ct|"
    r"[Ee]pisode|[Gg]rade|[Ss]chedule|[Aa]rticle|[Ss]ection|[Dd]ivision|[Ff]igure|[Tt]able|[Ss]eason|[Mm]k\.|[Mm]ark)"
)
_NAME = r"[A-Z][\w'\u2019.-]*"
_AFTER_COUNTED = re.compile(rf"(?:^|[\s(])(?:{_COUNTED_NOUN}|{_NAME} {_NAME}) $")
_AFTER_NAME = re.compile(rf"\w[^.!?]* {_NAME} $")
_SENTENCE_END = re.compile(r"\s*(?:$|[.!?;)])")
# The pronoun is followed by none of these words, nor by a word in -s other than those excepted here.
_NO_VERB = re.compile(r"\s*,|\s+(?:and|or|in|of|on|at|to|for|from|by|with|as|the|[IVX]+)\b")
_PLURAL_NOUN = re.compile(
    r"\s+(?!(?:was|always|sometimes|nowadays|besides|perhaps|thus|this|focus|afterwards|as|yes)\b)[a-z]*[^s\W]s\b"
)


def has_number(text: str) -> bool:
    """Return whether a text holds a number, in digits or in words."""
    # Looking words up in a set is far quicker than a pattern of all of them.
    return _DIGIT.search(text) is not None or not _WORDS.isdisjoint(text.lower().translate(_PUNCTUATION).split())


def is_roman_numeral(text: str, start: int, end: int) -> bool:
    """Return whether the "I" at `text[start:end]` is a numeral and not the pronoun.

    It is one after a noun that is counted ("World War I") if no verb can follow, and after another name ("Tiger I")
    only at the end of a sentence or before a plural noun.
    """
    before = text[max(0, start - 60) : start]
    if _AFTER_COUNTED.search(before):
        return any(pattern.match(text, end) for pattern in (_SENTENCE_END, _NO_VERB, _PLURAL_NOUN))
    return _AFTER_NAME.search(before) is not None and any(
        pattern.match(text, end) for pattern in (_SENTENCE_END, _PLURAL_NOUN)
    )
