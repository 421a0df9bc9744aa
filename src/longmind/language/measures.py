"""Values that a sentence gives: counts, days of the week, times of day, dates and parts of the day.

Two facts that differ in one value and agree in the words around it are versions of one fact: "I run 10 km a day" and
"I run 12 km a day". The units of a count are the words after it, in stems, so that both counts are of "km".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from longmind.language.vocabulary import NOW, PRONOUNS, USER
from longmind.language.words import STOP_WORDS, stem_of

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
DAYS = {form: day for day in _WEEKDAYS for form in (day, day + "s")}
_MONTHS = "january february march april may june july august september october november december".split()
MONTHS = {form: month for month in _MONTHS for form in (month, month[:3])} | {"sept": "september"}
PARTS = {f"{part}s": part for part in ("morning", "afternoon", "evening", "night", "weekend")}
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
)
_COUNTS = [*_UNITS.split(), "eighteen", "nineteen", "twenty"]
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
NUMBER_WORDS = (
    {word: str(number) for number, word in enumerate(_COUNTS)}
    | {word: str(number) for number, word in enumerate(_ORDINALS) if number > 2}
    | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
    | {"once": "1", "twice": "2", "thrice": "3", "single": "1"}
)
_TIMES = frozenset({"once", "twice", "thrice"})
_PERIODS = frozenset("day week month year night weekend hour".split())
_SKIPPED = frozenset("a an per each every more new different free other".split())
_NO_UNIT = STOP_WORDS | NOW | USER | PRONOUNS
_ANY_UNIT = frozenset({"ones", "them"})
_SUFFIXES = ("st", "nd", "rd", "th")
_MOST_UNITS = 3

MeasureKind = Literal["count", "day", "clock", "date", "part"]


class Token(NamedTuple):
    """One word, number or time of day of a sentence, with the punctuation before it."""

    word: str
    """The word in lower case, without an ending after an apostrophe."""
    kind: Literal["word", "number", "clock"]
    is_name: bool
    """True for a capital letter that does not begin a sentence, as names have."""
    begins_sentence: bool
    """True for the first word of a sentence."""
    boundary: Literal["", "part", "sentence"]
    """The unit that begins here, by the punctuation before it; after a dash or a colon it counts as a sentence."""
    in_parentheses: bool = False
    """True within parentheses."""


@dataclass(frozen=True)
class Measure:
    """One value, comparable with another by kind, value and units; where it stands does not matter."""

    kind: MeasureKind
    value: str
    units: frozenset[str] = frozenset()
    """Stems of the things counted: the words after the number, or the one before it ("page 200")."""
    place: int = field(default=0, compare=False)
    """The index of its token."""
    is_explanation: bool = field(default=False, compare=False)
    """True for a value that only explains another: "last week (8 to 14 May)"."""

    def could_replace(self, other: Measure) -> bool:
        """Return whether the two could be values of one thing; "three ones" are three of anything."""
        if self.kind != other.kind or self.kind != "count":
            return self.kind == other.kind
        units = self.units & other.units
        return bool(units) or not (_ANY_UNIT.isdisjoint(self.units) and _ANY_UNIT.isdisjoint(other.units))

    @property
    def is_frequency(self) -> bool:
        """True for a count of times in a period: "twice a week"."""
        return "time" in self.units and not self.units.isdisjoint(_PERIODS)


def find_measures(tokens: Sequence[Token]) -> tuple[frozenset[Measure], frozenset[int]]:
    """Return the values in a sentence, and the indexes of the tokens that give them.

    Days, clocks and dates are read first, so that the 7 of "7 May" is no count.
    """
    found: set[Measure] = set()
    used: set[int] = set()
    for place, token in enumerate(tokens):
        if place in used:
            continue
        if token.kind == "clock":
            found.add(Measure("clock", _to_24_hours(token.word), place=place, is_explanation=token.in_parentheses))
            used.add(place)
        elif token.word in DAYS:
            # "last Tuesday" dates an event; it is no value that could change.
            is_explanation = token.in_parentheses or (place > 0 and tokens[place - 1].word == "last")
            found.add(Measure("day", DAYS[token.word], place=place, is_explanation=is_explanation))
            used.add(place)
        elif token.word in PARTS:
            found.add(Measure("part", PARTS[token.word], place=place, is_explanation=token.in_parentheses))
            used.add(place)
        elif token.word in MONTHS and (token.is_name or token.word not in ("may", "march", "mar")):
            places = _find_date(tokens, place)
            value = " ".join(sorted(_to_plain_value(tokens[each].word) for each in places))
            found.add(Measure("date", value, place=place, is_explanation=token.in_parentheses))
            used.update(places)
    for place, token in enumerate(tokens):
        if place not in used and (token.kind == "number" or _is_number_word(tokens, place)):
            found.add(_read_count(tokens, place))
            used.add(place)
    return frozenset(found), frozenset(used)


def _to_24_hours(text: str) -> str:
    """Return a time of day on the 24-hour clock: "7 pm" is 19:00."""
    digits = text.rstrip(" apm.")
    hour, _, minute = digits.partition(":")
    late = "p" in text and int(hour) < 12
    return f"{int(hour) + 12 * late:02}:{minute or '00'}"


def _find_date(tokens: Sequence[Token], place: int) -> list[int]:
    """Return the indexes of a month and of the day and the year next to it."""
    near = [each for each in (place - 1, place + 1, place + 2) if 0 <= each < len(tokens)]
    return [
        place,
        *(each for each in near if tokens[each].kind == "number" and _to_plain_value(tokens[each].word).isdigit()),
    ]


def _to_plain_value(number: str) -> str:
    """Return a month under its full name, or a number in digits without currency, commas and ordinal endings."""
    if number in MONTHS:
        return MONTHS[number]
    number = NUMBER_WORDS.get(number, number)
    bare = number.removesuffix(number[-2:]) if number.endswith(_SUFFIXES) and number[0].isdigit() else number
    return bare.lstrip("$€£").replace(",", "").replace("–", "-")  # noqa: RUF001  # the dash between two numbers


def _is_number_word(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a word counts something: "three cats", but not "the one who"."""
    word = tokens[place].word
    if word not in NUMBER_WORDS or tokens[place].is_name:
        return False
    if word in ("one", "single"):
        # "the one who", "one of them", "no one", "every single day" count nothing.
        after = tokens[place + 1].word if place + 1 < len(tokens) else "of"
        before = tokens[place - 1].word if place else ""
        return after not in STOP_WORDS and before not in ("the", "this", "that", "no", "any", "every", "which", "each")
    return True


def _read_count(tokens: Sequence[Token], place: int) -> Measure:
    """Return the count at a token, with the units around it."""
    word = tokens[place].word
    units = set(_find_units(tokens, place))
    if word in _TIMES:
        units.add("time")
    if word[0] in "$€£":
        units.add(word[0])
    before = tokens[place - 1] if place else None
    if before is not None and before.kind == "word" and before.word not in _NO_UNIT and not units - _PERIODS:
        units.add(stem_of(before.word))
    return Measure("count", _to_plain_value(word), frozenset(units), place, tokens[place].in_parentheses)


def _find_units(tokens: Sequence[Token], place: int) -> Iterator[str]:
    """Yield the stems of the words after a number that name what is counted, up to the end of the phrase."""
    taken = 0
    for token in tokens[place + 1 : place + 6]:
        if token.kind != "word" or token.boundary or taken == _MOST_UNITS:
            return
        if token.word in _SKIPPED:
            continue
        if token.word in _NO_UNIT:
            if token.word in _ANY_UNIT:
                yield token.word
            return
        taken += 1
        yield stem_of(token.word)
