"""Times at which something takes place or is regularly done, as slots."""

from __future__ import annotations

import re

from longmind.extraction.rules.slots.normalisation import OWNER, WHO, normalise_phrase, stem_phrase
from longmind.extraction.rules.slots.slot_pattern import SOON, SlotPattern, compile_pattern

_TIME_OF = (
    r"(?:meeting|appointment|class(?:es)?|interview|flight|deadline|exam|session|lesson|"
    r"training|practice|call|checkup|rehearsal|"
    r"workshop|party|wedding|concert|ceremony|presentation|review|demo|launch|surgery|shift|lecture|test|"
    r"game|match|date|trip|visit|due date)"
)
_WHEN = (
    r"(?P<value>(?:(?:on|at|to|for|from|by|in) )?(?:(?:(?:next|this|every|the) )?(?:mon|"
    r"tues|wednes|thurs|fri|satur|sun)days?|\d{1,2}(?::\d\d)? ?(?:am|pm|a\.m\.|p\.m\.)|"
    r"\d{1,2}:\d\d|noon|midnight|tomorrow|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|"
    r"nov|dec)\w* \d{1,2}|\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:jan|feb|mar|apr|may|jun|"
    r"jul|aug|sep|oct|nov|dec)\w*|"
    r"the \d{1,2}(?:st|nd|rd|th))(?:,? (?:(?:at|from|until|to|-) )*(?:\d{1,2}(?::\d\d)?(?: ?- ?\d{1,2}(?::\d\d)"
    r"?)? ?(?:am|pm)?|noon|morning|afternoon|evening)\b)*)"
)
TOO_WIDE = frozenset(
    "time of meeting|time of appointment|time of call|time of class|time of classes|"
    "time of concert|time of trip|time of visit|time of game|time of party|time of date|time of session".split("|")
)
"""Attributes that are too wide: one has many meetings, and a new time of one changes no other."""


def _name_appointment(found: re.Match[str], _: str) -> str:
    """Return the attribute of an appointment, with the other person where there are many of its kind."""
    attribute = f"time of {normalise_phrase(found['what'])}".replace("classes", "class")
    of_many = attribute in TOO_WIDE or attribute == "time of deadline"
    return f"{attribute} with {stem_phrase(found['with'])}" if of_many and found["with"] else attribute


def _name_class(found: re.Match[str], _: str) -> str:
    """Return the attribute of an activity that a "which" clause dates."""
    what = normalise_phrase(found["what"]).replace("classes", "class")
    return f"time of {what if what.endswith('class') else stem_phrase(what)}"


def _name_activity(found: re.Match[str], _: str) -> str:
    """Return the attribute of a regular activity; going to the gym at six is the gym at six."""
    return f"time of {stem_phrase(_GOING.sub('', found['what']))}"


_GOING = re.compile(
    r"^(?:go(?:es|ing)?|heads?|heading|gets?|getting|leaves?|leaving) (?:off )?(?:to|for) (?:do )?|"
    r"^(?:has|have|having) "
)


SCHEDULES: tuple[SlotPattern, ...] = (
    # "User's interview is on Monday at 3 pm".
    compile_pattern(
        _name_appointment,
        "meeting|appointment|class|interview|flight|deadline|exam|session|lesson|training|practice|call|checkup|"
        "rehearsal|workshop|party|wedding|concert|ceremony|presentation|review|demo|launch|surgery|"
        "shift|lecture|test|game|match|date|trip|visit",
        rf"(?i:{OWNER} |\bthe |\b(?P<having>User|[A-Z]\w+) (?:(?:has|have|got|also|already|takes|attends|"
        rf"scheduled|now|(?:is|has been) (?:taking|attending)) )+(?:an? )?)(?P<what>(?:[\w'-]+ ){{0,4}}{_TIME_OF})(?: "
        rf"(?:with|"
        r"for|of) (?P<with>[\w' ]+?))?(?:,? which)?(?: (?:is|was|has been|got|will be|has|"
        r"have|are|been|now|usually|moved|rescheduled|pushed|scheduled|set|changed|back|postponed|"
        rf"due))* (?i:{_WHEN})",
    ),
    # "User's yoga class, which starts at 6 pm".
    compile_pattern(
        _name_class,
        "which",
        r"(?:\b[Tt]he|[A-Z]\w*'s) (?P<what>(?:[\w-]+ ){0,2}[\w-]+), which (?:User )?(?:(?:is|"
        r"are|usually|always|now|goes|to|has|starts|begins|normally|currently) )*(?:at|on) (?P<value>\d{1,2}(?::"
        r"\d\d)? ?(?:[ap]\.?m\b\.?)?)",
    ),
    # "The tax return is due on 7 May".
    compile_pattern(
        lambda f, _: f"time of {normalise_phrase(f['what'])}",
        "deadline|due",
        rf"(?P<what>[\w'-]+(?: [\w'-]+){{0,3}}) (?:is|are|was) (?:now )?due (?i:{_WHEN})",
    ),
    # "User usually wakes up at 6:30".
    compile_pattern(
        _name_activity,
        ":| am| pm|am |pm |am.|pm.|am,|pm,|noon|midnight",
        rf"{WHO} {SOON}(?:usually |always |normally |typically |often |likes to |tries to |"
        r"starts? )*(?P<what>(?:wak(?:es?|ing)|gets?|getting|go(?:es|ing)?|heads?|starts?|"
        rf"finish(?:es)?|leaves?|eats?|has|runs?|jogs?)(?: (?!at\b|around\b)[\w']+){{0,4}}?) (?:at|"
        rf"around|by) (?P<value>\d{{1,2}}(?::\d\d)? ?(?:[ap]\.?m\b\.?)?|noon\b|midnight\b)(?P<days> on "
        rf"\w+days?\b(?!,? (?:and )?\w+days?\b))?",
    ),
    # "User's shift starts at 8 am".
    compile_pattern(
        _name_activity,
        ":| am| pm|am |pm |am.|pm.|am,|pm,|noon|midnight",
        rf"{OWNER} (?P<what>(?:[\w'-]+ ){{0,2}}?[\w'-]+) (?:is|are|starts?|begins?)(?: now| usually| always)* at "
        rf"(?P<value>\d{{1,2}}"
        r"(?::\d\d)? ?(?:[ap]\.?m\b\.?)|\d{1,2}:\d\d|noon\b|midnight\b)(?P<days> on \w+days?\b(?!,? (?:and "
        r")?\w+days?\b))?",
    ),
)
