"""Counts, durations, frequencies and prices as slots: "User has tried three Korean restaurants".

Only numbers that say how things stand count. "User bought three apples yesterday" happened once and is no slot.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from longmind.extraction.candidate import Slot
from longmind.extraction.rules.slots.normalisation import (
    OWNER,
    WHO,
    find_about_person,
    find_topic,
    normalise_number,
    stem_phrase,
    stem_word,
)
from longmind.extraction.rules.slots.possession_amounts import AMOUNTS, AttributeNamer
from longmind.language.numbers import NUMBER, ORDINALS, PERIOD, TIME_UNIT, has_number

_WORD = r"[\w'-]+"

# "User has been to Rome three times".
_TIMES = re.compile(
    rf"{WHO} (?:has|have)(?: been| now| already| just| only)* (?P<verb>[a-z]+)(?P<what>(?: (?!{NUMBER} times)["
    rf"\w'\"-]+){{0,10}}?),?(?: for| about| around)? "
    rf"(?P<value>{NUMBER} times|twice|once)\b(?! {PERIOD}| an?\b| per\b| before| I\b|-)"
)
# "That makes three times User has been to Rome".
_MAKING = re.compile(
    rf"\b[Tt]hat(?:'s| is| makes(?: it)?|'ll be) (?:now |already |about )*(?P<value>{NUMBER} times|twice)"
    rf"(?: now| already| so far| total)*,?(?: that)? {WHO} (?:has|have) (?P<verb>[a-z]+)(?P<what>[^,.;!?]*)"
)
# "User goes to the gym twice a week".
_FREQUENCY = re.compile(
    rf"{WHO} (?P<what>(?:{_WORD},? ){{0,9}}?)(?:which (?:is|are) )?(?P<value>(?:once|twice|"
    rf"{NUMBER} times|{NUMBER} days|{NUMBER} nights) {PERIOD}|every {NUMBER} (?:days|weeks|months)|every (?:other |"
    rf"single )?(?:day|"
    r"weekend|week|month|morning|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day))\b"
)
# "User has been learning Spanish for two years".
_DURATION = re.compile(
    rf"{WHO} (?:has|have) (?:now |already |only )?(?:been )?(?P<verb>(?!an?\b|the\b)[a-z]+) (?P<what>(?:(?!and\b|"
    rf"but\b){_WORD},? ){{0,8}}?)fo"
    rf"r (?:about |around |almost |nearly |over |more than |the past |the last )*(?P<value>{NUMBER} {TIME_UNIT}"
    r")\b"
)
# "User has spent 40 hours on the game".
_SPENT = re.compile(
    rf"{WHO} (?:has |have |already |now )*(?:spent|put in|invested|logged) (?:about |around |"
    rf"almost |nearly |over )*(?P<value>{NUMBER} (?:hours?|days?|weeks?|minutes?))(?: (?:on|"
    r"in|into|working on|for) (?P<what>[^,.;!?]+))?"
)
# "User's bike cost $500".
_PRICE = re.compile(
    rf"(?:{OWNER}|\bthe|\ban?) (?P<what>(?:{_WORD} ){{0,4}}?{_WORD}) (?:costs?|cost|is worth|"
    r"is priced at|goes for|was) (?:about |around |now )*(?P<value>[$\u20ac\u00a3]\d[\d,.]*(?:k|"
    r" million| thousand)?)"
)
# "User pays $900 for rent".
_PAID = re.compile(
    rf"{WHO} (?:now |currently )*(?P<verb>pays|earns|makes)(?: about| around)? (?P<value>[$\u20ac\u00a3]\d[\d,."
    r"]*(?:k| million| thousand)?)(?: (?:on|for|per|an?|in|each) (?P<what>[^,.;!?]+?))?(?=[,.;!?]|"
    r" and | but |$)"
)
# "User leads a team of five engineers".
_TEAM = re.compile(
    rf"{WHO} (?:now |currently |has )*(?P<verb>leads?|led|manages?|supervises?|teaches) (?:an? )?(?:team|"
    rf"group|class|staff) of (?P<value>{NUMBER}) (?P<what>{_WORD})"
)
# "User is on page 200 of Dune".
_PROGRESS = re.compile(
    rf"{WHO} (?:(?:is|was|has)(?: now| currently| just| only| already)*(?: reached| up to| gotten| made it)? (?:on|"
    r"at|to)|(?:just |now |already |has |finally )*(?:reached|finished|completed|got to|made it to|started)) "
    r"(?P<unit>page|episode|chapter|level|season|lesson|week|day|book|volume|step|"
    rf"module|stage|round) (?P<value>{NUMBER})(?: (?:of|in) (?P<what>[^,.;!?]+))?",
    re.IGNORECASE,
)
# "User is on the third season of Dark".
_NTH = re.compile(
    rf"{WHO} (?:is |now |currently |just |already |has |finally )*(?:on|in|reached|finished|started|watching|reading) "
    rf"(?:the )?(?P<value>{'|'.join(ORDINALS)}) (?P<unit>season|chapter|book|volume|episode|level) (?:of|in) "
    r"(?P<what>[^,.;!?]+)"
)
# "User finished User's second marathon".
_ORDINAL = re.compile(
    rf"{WHO} (?:has |just |now |already |recently )*(?P<verb>finished|completed|read|watched|"
    rf"attended|ran|visited|wrote|published|bought|did|made|had|hiked|climbed|baked|painted|knitted|planted|added) "
    rf"(?:{OWNER}|the) (?P<value>{'|'.join(ORDINALS[1:])}"
    rf"|\d+(?:st|nd|rd|th)) (?P<what>{_WORD}(?: of [^,.;!?]+)?)"
)
# "User has three of them".
_OF_THEM = re.compile(
    rf"{WHO} (?:has|have|owns?)(?: (?:now|already|got|collected|about|around|over))* (?P<value>{NUMBER}) of them\b"
)
# "User has read 12 of the 20 books".
_PART = re.compile(
    rf"{WHO} (?:has|have) (?:now |already |just |only )*(?P<verb>[a-z]+) (?P<value>{NUMBER}) (?:out )?of (?:the |"
    rf"{OWNER} |those |all )?(?:{NUMBER} )?(?P<what>(?:[\w'-]+ ){{0,3}}?[\w-]*[^s\W]s)\b"
)
# "User has tried three Korean restaurants".
_COUNT = re.compile(
    rf"{WHO} (?P<verbs>(?:now |currently |also |already |just )*(?:(?:has|have|had)(?: (?:now|"
    r"already|also|just|only|got|been))* (?:(?:[a-z]+ed|[a-z]+en|[a-z]+ing|"
    r"made|met|won|bought|caught|run|read|built|sold|had|led|taught|lost|got|gone|sent|"
    r"spent|put) (?:my way |up |out |in |on )?)?|owns? |is (?:now |currently )?(?:at |"
    r"close to |up to )|just (?:reached|hit|"
    r"finished|completed|passed) |reached |completed |(?:leads?|manages?|teaches|speaks|"
    r"collects|runs) ))(?:at |to |about |around |over |exactly |close to |a total of |"
    r"enough points for |[A-Z]\w*'s )*"
    rf"(?P<value>{NUMBER}) (?P<what>(?:(?!{TIME_UNIT}\b|of\b|percent\b|times\b|am\b|"
    rf"pm\b|to\b|and\b|or\b|in\b|on\b|at\b|for\b)[\w'-]+ ){{0,4}}?(?!{TIME_UNIT}\b|times\b)"
    r"(?:[\w-]*[^s\W]s|people|children|women|men|dozen \w+|dozen)\b(?: of (?:the )?[\w -]+?(?= (?:so|"
    r"and|since|in|on|this|already)\b|[,.;!?]|$))?)(?! (?:ago|old|long|before|after|later|an?|per|each|every|today|"
    r"tomorrow|tonight|yesterday|next|last|on \w+day)\b)"
)
# "User has attended four sessions of the course".
_SESSIONS = re.compile(
    rf"{WHO} (?:(?:did|has|have|just|already|also|remembers|recalls|now|only) )*(?P<verb>attend(?:ed|ing)?|"
    r"complet(?:ed|ing)|finish(?:ed|ing)|watch(?:ed|ing)|read(?:ing)?|taken|taking|took|done|did|doing|had|having|"
    rf"miss(?:ed|ing)) (?:about |only |all |around |a total of )*(?P<value>{NUMBER}) (?:more )?(?P<unit>sessions|"
    rf"classes|"
    r"lessons|meetings|episodes|chapters|lectures|modules|rounds|treatments|workshops|rehearsals|seasons|volumes)\b"
    rf"(?: (?:of|in|with|from|at) (?:the |an? |{OWNER} )?(?P<what>[^,.;!?]+?)(?= (?:so|and|since|this|already|now|last|"
    r"which|with|over|for)\b|[,.;!?]| -|$))?"
)
_HAVING = frozenset("got reached hit owns own at accumulated close up passed to".split())
_SKIPPED = frozenset(
    "has have had been is are now currently just already also recently only ever finally "
    "so far still about out in on".split()
)
_NO_ACTIVITY = _SKIPPED | frozenset(
    "goes going attends attending doing does takes taking practices to that more focused "
    "days when usually tries tries".split()
)
# The kind of a pet before its name: "User has had the dog Rex for two years".
_PET_BEFORE = re.compile(r"\b(?:dog|cat|puppy|kitten|hamster|rabbit|horse),? (?=[A-Z])")
# "three ones", "three of them", "three more": counted before.
_ONES = re.compile(r"\b(?:ones|of them|more)$")
# Plural nouns that such a count may take up.
_PLURAL = re.compile(
    r"\b(?:(?:any|some|good|great|new|more|those|these|the|many|of|my|all|different|various|"
    r"collecting|best) )+((?:[\w-]+ ){0,2}?[a-z-]+[^s\W]s)\b"
)


def find_quantity(text: str, earlier: str, people: Collection[str]) -> Slot | None:
    """Return the slot of a number in a rewritten sentence, or None.

    earlier: the sentences before it, which may name what is counted; people: names of the speakers.
    """
    if not has_number(text):
        return None
    for pattern, attribute_of in _PATTERNS:
        found = find_about_person(pattern, text, people)
        if found is not None:
            match, subject = found
            attribute = " ".join(attribute_of(match, f"{earlier} {text[: match.start('value')]}").split())
            if attribute and not attribute.endswith((" of", " in", " on")):
                return Slot(subject, attribute, normalise_number(match["value"]))
    return None


def _name_frequency(found: re.Match[str], _: str) -> str:
    """Return the attribute of a frequency, by the last two content words of the activity."""
    doing = " ".join(word.strip(",") for word in found["what"].split() if word.strip(",") not in _NO_ACTIVITY)
    return f"frequency of {' '.join(stem_phrase(doing).split()[-2:])}"


def _name_object(found: re.Match[str], earlier: str) -> str:
    """Return the object in the match, or the topic of the sentences before."""
    what = found["what"] or ""
    return stem_phrase(what) or stem_phrase(find_topic(earlier))


def _name_referent(found: re.Match[str], earlier: str) -> str:
    """Return the topic that an "it" or "them" in the match refers to, or nothing."""
    return stem_phrase(find_topic(earlier)) if re.search(r"\b(?:it|them|this|that)\b", found["what"]) else ""


def _name_count(found: re.Match[str], earlier: str) -> str:
    """Return the attribute of a count; "of them" takes the last plural noun of the sentences before."""
    verbs = [word for word in found["verbs"].split() if word not in _SKIPPED and word not in _HAVING]
    what = found["what"]
    if _ONES.search(what):
        plurals = _PLURAL.findall(earlier)
        what = plurals[-1] if plurals else what
    return f"count of {stem_phrase(what)} {stem_word(verbs[0]) if verbs else ''}"


def _name_sessions(found: re.Match[str], earlier: str) -> str:
    """Return the count of sessions of a series; without the name of the series there is no attribute."""
    series = _SERIES.findall(earlier)
    what = found["what"] or (series[-1] if series else "")
    return (
        f"count of {stem_word(found['unit'])} {stem_word(found['verb'])} {stem_phrase(what)}"
        if stem_phrase(what)
        else ""
    )


# Things that consist of many sessions.
_SERIES = re.compile(
    r"(?:'s|\bthe|\ban?) ((?:[\w'-]+ ){1,4}(?:group|course|club|program(?:me)?|workshop|series|league|class|therapy|"
    r"training|show|podcast))\b"
)


_PATTERNS: tuple[tuple[re.Pattern[str], AttributeNamer], ...] = (
    (_TEAM, lambda found, _: f"count of {stem_phrase(found['what'])} {stem_word(found['verb'])}"),
    (_PROGRESS, lambda found, earlier: f"{found['unit'].lower()} in {_name_object(found, earlier)}"),
    (_NTH, lambda found, earlier: f"{found['unit']} in {_name_object(found, earlier)}"),
    (_ORDINAL, lambda found, _: f"count of {stem_phrase(found['what'])} {stem_word(found['verb'])}"),
    (_FREQUENCY, _name_frequency),
    (_SPENT, lambda found, earlier: f"time spent on {_name_object(found, earlier)}"),
    (
        _DURATION,
        lambda found, _: f"duration of {stem_word(found['verb'])} {stem_phrase(_PET_BEFORE.sub('', found['what']))}",
    ),
    (
        _TIMES,
        lambda found, earlier: (
            f"times {stem_word(found['verb'])} {stem_phrase(found['what'])} {_name_referent(found, earlier)}"
        ),
    ),
    (
        _MAKING,
        lambda found, earlier: (
            f"times {stem_word(found['verb'])} {stem_phrase(found['what'])} {_name_referent(found, earlier)}"
        ),
    ),
    (_PRICE, lambda found, _: f"price of {stem_phrase(found['what'])}"),
    (
        _PAID,
        lambda found, _: (
            f"amount {stem_word(found['verb'])} {stem_phrase(found['what'] or '')}" if found["what"] else ""
        ),
    ),
    (_SESSIONS, _name_sessions),
    (_OF_THEM, lambda _, earlier: f"count of {stem_phrase(find_topic(earlier))}"),
    (_PART, lambda found, _: f"count of {stem_phrase(found['what'])} {stem_word(found['verb'])}"),
    (_COUNT, _name_count),
    *AMOUNTS,
)
