"""Amounts that a possession has at a time, as slots: "User's internet plan is 200 Mbps"."""

from __future__ import annotations

import re
from collections.abc import Callable

from longmind.extraction.rules.slots.normalisation import OWNER, WHO, normalise_phrase, stem_phrase, stem_word
from longmind.language.numbers import MONEY, NUMBER, PERIOD, TIME_UNIT

AttributeNamer = Callable[[re.Match[str], str], str]
"""A function that names the attribute of a match, given the sentences before it; empty where there is none."""

_ABOUT = r"(?:(?:about|around|almost|nearly|over|roughly|exactly|just|only|now|currently|already|a total of) )*"
_NOUNS = r"(?:[\w'-]+ ){0,3}?[\w'-]+"
_MEASURE = (
    rf"(?:{MONEY}|{NUMBER}(?: |-)?(?:[MGKmk]bps|[GMT]B|pounds?|lbs?|kilos?|kg|miles?|km|minutes?|hours?|seconds?|"
    rf"percent|"
    rf"points?|degrees|calories|grams|ounces|cups?|pages|words|weeks?|months?|days?|people|%))(?: {PERIOD})?"
)
_BECOMING = (
    r"(?:is|are|costs?|takes?|(?:has |have |just |recently )*(?:went|gone|goes|increased|decreased|dropped|risen|rose|"
    r"raised|"
    r"lowered|grown|grew|fell|fallen|jumped|climbed|crept)(?: (?:up|down|back))? to|was (?:raised|lowered|increased|"
    r"reduced|cut|changed|bumped(?: up)?) to|stands at)"
)
# "User's rent went up to $1,200".
_OWNED = re.compile(
    rf"{OWNER} (?:new |current |monthly |weekly |daily )*(?P<what>{_NOUNS}) {_BECOMING} {_ABOUT}(?P<value>{_MEASURE})"
)
# "User's credit score is 720".
_RATED = re.compile(
    rf"{OWNER} (?:new |current )?(?P<what>(?:[\w'-]+ ){{0,3}}?(?:score|rating|gpa|GPA|average|limit|rank|ranking|"
    rf"streak|goal)) "
    rf"{_BECOMING} {_ABOUT}(?P<value>{NUMBER})"
)
# "User is on a 30-day streak".
_STREAK = re.compile(
    rf"{WHO} (?:[a-z]+ ){{1,4}}?(?:an? |{OWNER} )(?P<value>{NUMBER})-(?P<unit>day|week|month) "
    rf"streak\b"
)
# "User now weighs 70 kg".
_WEIGHED = re.compile(
    rf"{WHO} (?:now |currently )*(?:weighs|weighed(?: in)?|is (?:now )?(?:down|up) to)(?: in)?(?: at)? {_ABOUT}"
    rf"(?P<value>{NUMBER} ?(?:kg|kilos|pounds|lbs))\b"
)
# "User raised User's monthly budget to $500".
_SET_TO = re.compile(
    rf"{WHO} (?:has |have |just |recently |now |also |finally )*(?:upgraded|raised|lowered|increased|decreased|"
    rf"reduced|cut|"
    rf"changed|adjusted|updated|switched|extended|bumped(?: up)?|brought|set) {OWNER} (?:monthly |weekly |daily "
    rf")*(?P<what>{_NOUNS})(?: (?:from|by) [^,.;!?]+?)? to "
    rf"{_ABOUT}(?P<value>{_MEASURE})"
)
# "User got a loan of $20,000".
_GRANTED = re.compile(
    rf"{WHO} (?:is|are|was|were|got|has been|have been|gets?|received|has|have)(?: (?:now|just|also|already))* "
    rf"(?:approved for |qualified for |offered )?an? (?P<what>(?:[\w-]+ ){{0,2}}(?:mortgage|loan|"
    rf"budget|limit|salary|scholarship|grant|allowance|down payment|advance|raise)) of (?:up to "
    rf")?{_ABOUT}(?P<value>{MONEY})"
)
# "User was pre-approved for $300,000".
_APPROVED = re.compile(
    rf"{WHO} (?:[a-z]+ ){{0,3}}?pre-?approved for (?:an? [\w ]+? of |up to )*{_ABOUT}(?P<value>{MONEY})"
)
# "User drinks 8 glasses of water per day".
_RATE = re.compile(
    rf"{WHO} (?P<doing>(?:[\w'-]+ ){{1,6}}?){_ABOUT}(?P<value>{NUMBER}) (?P<what>(?!times\b|days\b|nights\b)"
    rf"(?:[\w-]+ )?(?:[\w-]+s|hour|minute|cup|glass|mile)(?: of [\w-]+(?: [\w-]+)?)?) (?P<period>{PERIOD})\b"
)
# "User saves $200 a month".
_PUT_BY = re.compile(
    rf"{WHO} (?:[\w'-]+ ){{0,4}}?(?P<doing>sav(?:es?|ing)|earn(?:s|ing)?|mak(?:es?|ing)) {_ABOUT}(?P<value>{MONEY}) "
    rf"(?P<period>{PERIOD})\b"
)
# "User's follower count is at 1,200".
_TALLIED = re.compile(
    rf"{OWNER} (?:current |total )?(?P<what>[\w-]+) count (?:(?:is|has|just|now|currently|up|grown|gone|risen|hit|"
    rf"reached|passed|to|at|about|around|over|went) )+(?P<value>{NUMBER})"
)
# "User is at 1,200 now", of what was counted before.
_REACHED = re.compile(
    rf"(?:{WHO} (?:is|are|has|have)|\b[Ii]t(?:'s| is| has)) (?:now |currently |already |just |probably )*(?:at|close "
    rf"to|"
    rf"around|about|up to|nearly|almost|over|reached|hit|passed|grown to) (?:about |around |over |almost )*"
    rf"(?P<value>{NUMBER})(?= (?:now|already|so far|by now)\b|[,;!?]|\.(?!\d)| -|$)"
)
_HAS = (
    r"(?:(?:now|currently|already|just|finally) )*(?:has|have|contains|includes|holds|got|passed|reached|hit|is up to|"
    r"is at)"
)
# "User's collection has 40 stamps".
_HOLDING = re.compile(
    rf"{OWNER} (?P<held>{_NOUNS}) {_HAS}(?: (?:got|grown to|hit|reached|passed))? {_ABOUT}(?P<value>{NUMBER}) "
    rf"(?P<what>(?!{TIME_UNIT}\b|times\b|percent\b)(?:[\w-]+ )?(?!{TIME_UNIT}\b|times\b)(?:[\w-]*[^s\W]s|people|"
    rf"children))\b"
)
# "There are 40 books on User's list".
_THERE = re.compile(
    rf"\b[Tt]here are (?:now |currently |already )*{_ABOUT}(?P<value>{NUMBER}) (?P<what>(?:[\w-]+ )?(?:[\w-]*[^s\W]s|"
    rf"people)) "
    rf"(?:on|in) {OWNER} (?P<held>[\w -]+?)(?= (?:now|so far|already)\b|[,.;!?]|$)"
)
# Containers that are one's own collection of things.
_CONTAINER = re.compile(
    r"(?:list|collection|library|shelf|watchlist|wishlist|backlog|queue|channel|account|page|profile|garden)$"
)
# Units of many activities.
_DONE_IN_MANY_WAYS = re.compile(r"(?:hours?|minutes?|miles?|km|kilometers|kilometres)\b")


def _name_amount(found: re.Match[str], _: str) -> str:
    """Return the thing that has the amount."""
    return normalise_phrase(found["what"])


def _name_held(found: re.Match[str], _: str) -> str:
    """Return the count of things in a place; what is in somebody's list or collection is simply theirs."""
    held = "" if _CONTAINER.search(found["held"]) else stem_phrase(found["held"])
    return f"count of {stem_phrase(found['what'])} {held}"


def _name_rate(found: re.Match[str], _: str) -> str:
    """Return the attribute of a rate; hours and miles are distinguished by what is done in them."""
    what = stem_phrase(found["what"])
    if _DONE_IN_MANY_WAYS.search(found["what"]) and " of " not in found["what"]:
        what += " " + " ".join(stem_phrase(found["doing"]).split()[-2:])
    return f"{what} per {found['period'].split()[-1]}"


def _name_counted_before(_: re.Match[str], earlier: str) -> str:
    """Return the count that the sentences before spoke of, for a sentence such as "It's at 12 now"."""
    named = _COUNTED.findall(earlier)
    return f"count of {stem_word(next(filter(None, named[-1])))}" if named else ""


_COUNTED = re.compile(r"\b([\w-]+) count\b|\bnumber of ([\w-]+)\b")

AMOUNTS: tuple[tuple[re.Pattern[str], AttributeNamer], ...] = (
    (_SET_TO, _name_amount),
    (_OWNED, _name_amount),
    (_RATED, _name_amount),
    (_STREAK, lambda *_: "streak"),
    (_WEIGHED, lambda *_: "weight"),
    (_APPROVED, lambda *_: "pre-approved amount"),
    (_GRANTED, _name_amount),
    (_TALLIED, lambda found, _: f"count of {stem_phrase(found['what'])}"),
    (_HOLDING, _name_held),
    (_THERE, _name_held),
    (_RATE, _name_rate),
    (_PUT_BY, lambda found, _: f"amount {stem_word(found['doing'])} per {found['period'].split()[-1]}"),
    (_REACHED, _name_counted_before),
)
