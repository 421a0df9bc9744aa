"""Words that name times, as pieces of patterns.

The pieces are compiled into the patterns of the rules once, at import. Groups have names, which the readers of the
rules rely on; a piece with groups can occur only once in a pattern.
"""

from __future__ import annotations

import re
from datetime import time

from longmind.language.calendar import MONTH_NUMBERS, MONTHS, NUMBERS, WEEKDAY_NUMBERS, WEEKDAYS


def match_any(*words: str) -> str:
    """Return a pattern for any of the words, the longest first."""
    longest_first = sorted(words, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word).replace("\\ ", " ") for word in longest_first) + ")"


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern in which a space stands for any white space, and letters match in either case.

    It matches ASCII letters only, since every match is looked up in a table of ASCII words.
    """
    # Without ASCII a long s or a Kelvin sign would match a letter, and be in none of the tables.
    return re.compile(text.replace(" ", r"\s+"), re.IGNORECASE | re.ASCII)


WEEKDAY = match_any(*WEEKDAYS)
WEEKDAY_OR_SHORT = match_any(*WEEKDAY_NUMBERS)
MONTH = match_any(*MONTHS)
MONTH_OR_SHORT = rf"(?:{MONTH}(?![a-z])|{match_any(*MONTH_NUMBERS)}(?![a-z])\.?)"
SEASON = match_any("spring", "summer", "autumn", "fall", "winter")
YEAR = r"(?:1[5-9]\d\d|20\d\d)"
UNIT = match_any("day", "week", "weekend", "fortnight", "month", "year", "decade")

_TENS = {
    word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
ORDINALS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        1,
    )
}
ORDINALS |= {f"twenty-{word}": 20 + number for word, number in list(ORDINALS.items())[:9]}
ORDINALS |= {"thirtieth": 30, "thirty-first": 31}
NTH = match_any(*ORDINALS)
DAY_NUMBER = rf"(?:(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?(?!\d)|{NTH})"

_SPELLED = rf"(?:{match_any(*_TENS)}(?:[-\s]{match_any(*list(NUMBERS)[:9])})?|{match_any(*NUMBERS)})"
_COUNT = rf"(?:\d{{1,3}}(?:\.5)?\+?|{_SPELLED}|half an?|(?:an? )?(?:couple(?: of)?|dozen|(?:good )?few)|several|an?)"
AMOUNT = (
    rf"(?P<count>{_COUNT})(?:\s*(?:-|to|or)\s*(?P<upto>\d{{1,3}}|{_SPELLED}))?(?P<half> and a half)?"
    rf"[\s-]+(?:or so )?(?P<unit>{UNIT})s?(?P<half_after> and a half)?(?: or (?:so|two))?"
    rf"(?:(?:,| and) (?P<months>\d{{1,2}}|{_SPELLED}) months?)?"
)
"""An amount of days, weeks, months or years, for `Amount.from_match`."""

_TWELVE_HOURS = r"(?:1[0-2]|0?[1-9])(?::[0-5]\d)?\s?(?:am|pm|a\.m\.|p\.m\.)(?![a-z])"
CLOCK = rf"(?:{_TWELVE_HOURS}|(?:[01]?\d|2[0-3]):[0-5]\d(?![\d:])|noon|midnight)"
PARTS_OF_DAY = {
    "morning": time(6), "noon": time(12), "midday": time(12), "lunchtime": time(12), "afternoon": time(12),
    "evening": time(18), "night": time(21),
}  # fmt: skip
"""The beginning of each part of the day."""
PART_OF_DAY = match_any(*PARTS_OF_DAY)


def to_number(word: str) -> int:
    """Return a number in digits or words up to ninety-nine, or an ordinal such as "7th" and "seventh".

    Raises `KeyError` for a word that is no number, which no pattern here lets through.
    """
    word = word.lower()
    digits = re.match(r"\d+", word)
    if digits:
        return int(digits[0])
    if word in ORDINALS:
        return ORDINALS[word]
    return sum(_TENS.get(part) or NUMBERS[part] for part in re.split(r"[-\s]+", word))
