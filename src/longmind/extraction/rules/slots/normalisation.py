"""One wording for the subjects, attributes and values of slots, so that two sentences about one thing fill one slot.

"I went to the gym" and "I've been going to the gym" have the attribute of one activity, and "the new flat in Oslo" and
"new flat, Oslo" one value. The words are stemmed with irregular verbs in mind, unlike the index terms of `words`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]  # it ships without types

from longmind.language.gazetteer import FIRST_NAMES
from longmind.language.numbers import ORDINALS, UNITS

ROLE = (
    r"(?:best friend|friend|wife|husband|spouse|partner|girlfriend|boyfriend|mother|mom|"
    r"mum|father|dad|sister|brother|son|daughter|"
    r"grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|niece|nephew|roommate|"
    r"boss|manager|colleague|neighbou?r|doctor|teacher|tutor|coach|trainer|therapist|dentist|landlord|landlady|"
    r"professor|mentor|client|student|fianc[ée]e?|grandson|granddaughter|stepmother|stepfather|assistant)"
)
_NAME = r"[A-Z][\w-]*(?: [A-Z][\w-]*)?"
# The subject of a sentence: a name, or a relation of somebody with or without a name.
WHO = (
    rf"\b(?P<who>[A-Z]\w*'s (?:\w+ )?{ROLE}(?:,? {_NAME})?|{_NAME}),?(?: and (?:others|"
    r"[A-Z]\w*(?:'s \w+)?(?: [A-Z]\w*)?))?"
)
# The owner in a possessive.
OWNER = rf"\b(?P<owner>[A-Z]\w*'s {ROLE}(?:,? {_NAME})?|[A-Z]\w*(?: [A-Z]\w*)?)'s"
_ROLE_NAME = re.compile(rf"^[A-Z]\w*'s (?:\w+ )?{ROLE},? (?P<name>{_NAME})$")
_FREE = re.compile(r"[^\w\s$%.,:@+/'-]|,(?!\d)|(?<!\w)['-]|['-](?!\w)|[.:](?!\w)")
# Words that only lead to a phrase.
_LEADING = re.compile(r"^(?:the|a|an|my|user's|about|around|on|at|to|for|from|by|his|her|their|some|own) ")
_EMPTY = frozenset(
    "the a an my user's different new other total more own of to for in on at with and "
    "some any good great amazing free best "
    "little few full whole extra additional so far it them classes class sessions lessons "
    "practice lately recently recent".split()
)
# Stems that stand for one verb.
_SAME = {
    "finish": "complet",
    "bought": "buy",
    "purchas": "buy",
    "got": "get",
    "read": "read",
    "seen": "see",
    "saw": "see",
    "went": "go",
    "gone": "go",
    "done": "do",
    "did": "do",
    "made": "make",
    "wrote": "write",
    "written": "write",
    "ran": "run",
    "taken": "take",
    "took": "take",
    "met": "meet",
    "worn": "wear",
    "wore": "wear",
    "led": "lead",
    "lead": "lead",
    "won": "win",
    "caught": "catch",
    "attend": "attend",
    "given": "give",
    "gave": "give",
    "spent": "spend",
    "brought": "bring",
    "built": "build",
    "eaten": "eat",
    "ate": "eat",
    "lost": "lose",
    "ridden": "ride",
    "rode": "ride",
    "flown": "fly",
    "flew": "fly",
    "sold": "sell",
    "held": "hold",
    "taught": "teach",
}

_stemmer = Stemmer.Stemmer("english")


@lru_cache(maxsize=8192)
def stem_word(word: str) -> str:
    """Return the stem of a word, the same for all forms of an irregular verb."""
    stemmed: str = _stemmer.stemWord(word)
    return _SAME.get(stemmed, stemmed)


def stem_phrase(phrase: str) -> str:
    """Return the stems of the content words of a phrase."""
    words = normalise_phrase(phrase).split()
    return " ".join(stem_word(word.removesuffix("'s")) for word in words if word not in _EMPTY)


def normalise_phrase(phrase: str) -> str:
    """Return a phrase in lower case, without punctuation and the words that only lead to it."""
    phrase = " ".join(_FREE.sub(" ", phrase).lower().split())
    while True:
        shorter = _LEADING.sub("", phrase)
        if shorter == phrase:
            return phrase
        phrase = shorter


def to_slot_subject(who: str, people: Collection[str]) -> str:
    """Return the subject of a slot: the name where there is one, else the role, else nothing.

    A capitalised word that is neither a speaker nor a known first name is taken for no person.
    """
    found = _ROLE_NAME.match(who)
    name = found["name"] if found else who
    first = name.split(" ")[0]
    if "'s " not in name and first != "User" and first not in people and first not in FIRST_NAMES:
        return ""
    return " ".join(name.lower().split())


def find_about_person(pattern: re.Pattern[str], text: str, people: Collection[str]) -> tuple[re.Match[str], str] | None:
    """Return the first match that is about a person, with that person, or None."""
    found = pattern.search(text)
    while found is not None:
        groups = found.groupdict()
        who = next(filter(None, (groups.get(name) for name in ("who", "owner", "has", "having"))), "User")
        if text.startswith(" and User ", found.start() + len(who)) and text.startswith(who, found.start()):
            # What two people do together is the user's fact too.
            who = "User"
        if subject := to_slot_subject(who, people):
            return found, subject
        found = pattern.search(text, found.start() + 1)
    return None


# A title, or something that belongs to somebody.
_TOPIC = re.compile(
    r'"([^"]+)"|(?:\'s|\ban?) (?!lot\b|bit\b|few\b|while\b|total\b|new personal\b|highest\b)((?:[\w-]+ ){0,3}?[\w-]+?)'
    r"(?= (?:at|in|on|and|to|for|lately|so|yesterday|today|again)\b|[,.;!?]| -|$)"
)


def find_topic(earlier: str) -> str:
    """Return the thing that some sentences spoke of last, or nothing."""
    found = _TOPIC.findall(earlier)
    return next(filter(None, found[-1])) if found else ""


def normalise_number(value: str) -> str:
    """Return a value in lower case, with an ordinal as its number: "Third" is three, "2nd" is 2."""
    value = normalise_phrase(value)
    first, _, rest = value.partition(" ")
    if first in ORDINALS:
        return " ".join((UNITS[ORDINALS.index(first)], rest)).strip()
    found = re.match(r"(\d+)(?:st|nd|rd|th)\b(.*)", value)
    return found[1] + found[2] if found else value
