"""The values that a sentence gives: so many of something, a day, an hour, a date."""

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

Kind = Literal["count", "day", "clock", "date", "part"]


class Token(NamedTuple):
    word: str
    """In lower case, without what clings to an apostrophe."""
    kind: Literal["word", "number", "clock"]
    named: bool
    """Whether it is written like a name, and not only because a sentence begins with it."""
    opens: bool
    """Whether a sentence begins with it."""
    begins: Literal["", "part", "sentence"]
    """What begins here, by the punctuation before it; what follows a dash or a colon may be a sentence."""
    aside: bool = False
    """Whether it stands in parentheses."""


@dataclass(frozen=True)
class Measure:
    kind: Kind
    value: str
    units: frozenset[str] = frozenset()
    """Stems of what is counted: the words after the number, or the one before it ("page 200")."""
    place: int = field(default=0, compare=False)
    """Which of the tokens gives it."""
    aside: bool = field(default=False, compare=False)
    """Whether it only explains another: "last week (8 to 14 May)"."""

    def about_same_as(self, other: Measure) -> bool:
        """Whether the two could be values of one thing; "three ones" are three of anything."""
        if self.kind != other.kind or self.kind != "count":
            return self.kind == other.kind
        units = self.units & other.units
        return bool(units) or not (_ANY_UNIT.isdisjoint(self.units) and _ANY_UNIT.isdisjoint(other.units))

    @property
    def is_frequency(self) -> bool:
        return "time" in self.units and not self.units.isdisjoint(_PERIODS)


def find_measures(tokens: Sequence[Token]) -> tuple[frozenset[Measure], frozenset[int]]:
    """The values that are given, and the places of the tokens that give them."""
    found: set[Measure] = set()
    used: set[int] = set()
    for place, token in enumerate(tokens):
        if place in used:
            continue
        if token.kind == "clock":
            found.add(Measure("clock", _clock(token.word), place=place, aside=token.aside))
            used.add(place)
        elif token.word in DAYS:
            # "last Tuesday" is when something happened, and no value that could change.
            aside = token.aside or (place > 0 and tokens[place - 1].word == "last")
            found.add(Measure("day", DAYS[token.word], place=place, aside=aside))
            used.add(place)
        elif token.word in PARTS:
            found.add(Measure("part", PARTS[token.word], place=place, aside=token.aside))
            used.add(place)
        elif token.word in MONTHS and (token.named or token.word not in ("may", "march", "mar")):
            places = _date(tokens, place)
            value = " ".join(sorted(_plain(tokens[each].word) for each in places))
            found.add(Measure("date", value, place=place, aside=token.aside))
            used.update(places)
    for place, token in enumerate(tokens):
        if place not in used and (token.kind == "number" or _is_number_word(tokens, place)):
            found.add(_count(tokens, place))
            used.add(place)
    return frozenset(found), frozenset(used)


def _clock(text: str) -> str:
    """The time of day as on a clock of 24 hours."""
    digits = text.rstrip(" apm.")
    hour, _, minute = digits.partition(":")
    late = "p" in text and int(hour) < 12
    return f"{int(hour) + 12 * late:02}:{minute or '00'}"


def _date(tokens: Sequence[Token], place: int) -> list[int]:
    """A month with the day and the year beside it."""
    near = [each for each in (place - 1, place + 1, place + 2) if 0 <= each < len(tokens)]
    return [place, *(each for each in near if tokens[each].kind == "number" and _plain(tokens[each].word).isdigit())]


def _plain(number: str) -> str:
    """A month under its full name, and a number without what is written around it."""
    if number in MONTHS:
        return MONTHS[number]
    number = NUMBER_WORDS.get(number, number)
    bare = number.removesuffix(number[-2:]) if number.endswith(_SUFFIXES) and number[0].isdigit() else number
    return bare.lstrip("$€£").replace(",", "").replace("–", "-")  # noqa: RUF001  # the dash between two numbers


def _is_number_word(tokens: Sequence[Token], place: int) -> bool:
    word = tokens[place].word
    if word not in NUMBER_WORDS or tokens[place].named:
        return False
    if word in ("one", "single"):
        # "the one who", "one of them", "no one", "every single day" count nothing.
        after = tokens[place + 1].word if place + 1 < len(tokens) else "of"
        before = tokens[place - 1].word if place else ""
        return after not in STOP_WORDS and before not in ("the", "this", "that", "no", "any", "every", "which", "each")
    return True


def _count(tokens: Sequence[Token], place: int) -> Measure:
    word = tokens[place].word
    units = set(_following(tokens, place))
    if word in _TIMES:
        units.add("time")
    if word[0] in "$€£":
        units.add(word[0])
    before = tokens[place - 1] if place else None
    if before is not None and before.kind == "word" and before.word not in _NO_UNIT and not units - _PERIODS:
        units.add(stem_of(before.word))
    return Measure("count", _plain(word), frozenset(units), place, tokens[place].aside)


def _following(tokens: Sequence[Token], place: int) -> Iterator[str]:
    taken = 0
    for token in tokens[place + 1 : place + 6]:
        if token.kind != "word" or token.begins or taken == _MOST_UNITS:
            return
        if token.word in _SKIPPED:
            continue
        if token.word in _NO_UNIT:
            if token.word in _ANY_UNIT:
                yield token.word
            return
        taken += 1
        yield stem_of(token.word)
