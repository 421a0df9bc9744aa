"""Names in a text, each with its type: people, organisations, places, things, events and agreements.

A name is a run of capitalised words. Its type comes from the words around it ("works at", "flew to"), then from the
lists of the gazetteer. At the beginning of a sentence, where any word is capitalised, only a sure name counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from longmind.language import gazetteer as known
from longmind.models.entity import EntityType

_CAPITAL = r"(?:[A-Z\u00c0-\u00de][\w&+-]*(?:['\u2019](?!s\b)\w+)*(?:\.[A-Z]\.?)*)"
_NAME = re.compile(
    rf"(?<![\w@/#'\u2019.-]){_CAPITAL}(?:(?:\s+(?:of|de|van|von|der|la|le|del|da|of the|"
    rf"for the)\s+|\s+){_CAPITAL}|\s+\d+[A-Za-z]{{0,2}}(?![\w:/%]))*"
)
# Titles in quotation marks: "The Hobbit".
_TITLE = re.compile('"([^"\n]{2,60}?)[,.!?]?"|\u201c([^\u201d\n]{2,60}?)[,.!?]?\u201d')
_ROLE = (
    r"(?:best friend|friend|wife|husband|spouse|partner|girlfriend|boyfriend|fianc\u00e9e?|"
    r"mother|mom|mum|father|dad|sister|brother|"
    r"son|daughter|grandmother|grandfather|grandma|grandpa|grandson|granddaughter|aunt|"
    r"auntie|uncle|cousin|niece|nephew|roommate|"
    r"flatmate|boss|manager|colleague|coworker|co-worker|neighbou?r|mentor|coach|teacher|"
    r"doctor|therapist|landlord|landlady|trainer|"
    r"step(?:mother|father|brother|sister|son|daughter|mom|dad)|(?:mother|father|sister|"
    r"brother|son|daughter)-in-law|ex(?:-\w+)?|"
    r"twin (?:sister|brother)|supervisor|advisor|professor|client|student|teammate|bandmate|"
    r"dentist|lawyer|agent|assistant|intern)"
)
_PET = r"(?:dog|cat|puppy|kitten|hamster|rabbit|parrot|horse|turtle|snake|goldfish|bird|pet|guinea pig|bunny|pup)"
_FULL = r"[A-Z](?:['\u2019][A-Z])?[\w-]*[a-z](?:\s[A-Z](?:['\u2019][A-Z])?[\w-]*[a-z])?"
# "User's sister Anna", "Anna's dog, named Rex".
_RELATED = re.compile(
    rf"\b(?P<whose>[A-Z][\w-]*)(?:'s|\u2019s) (?:(?!{_ROLE}\b|{_PET}\b)[a-z-]+ )?(?:(?P<role>{_ROLE})|"
    rf"(?P<pet>{_PET}))\b(?!-|'s name|\u2019s name)"
    rf"(?:(?P<comma>,)? (?:(?:named|called|is called|is named) )?(?P<name>(?!{'|'.join(('User', 'Assistant', 'I'))}"
    rf"\b){_FULL})\b)?"
)
# "User's sister's name is Anna".
_RELATED_NAME = re.compile(
    rf"\b(?P<whose>[A-Z][\w-]*)(?:'s|\u2019s) (?:(?P<role>{_ROLE})|(?P<pet>{_PET}))(?:'s|"
    rf"\u2019s) name is (?P<name>{_FULL})\b"
)
# "Anna is User's sister".
_IS_RELATED = re.compile(
    rf"\b(?P<name>{_FULL})(?:,| is| was|['\u2019]s) (?P<whose>[A-Z][\w-]*)(?:'s|\u2019s) (?:[a-z-]+ )?(?:(?P<ro"
    rf"le>{_ROLE})|(?P<pet>{_PET}))\b"
)
# "signed a lease", "User's contract with Nokia".
_AGREEMENT = re.compile(
    r"\b(?:[A-Z][\w-]*'s |the |(?:signed|renewed|made|has|terminated|cancell?ed) an? )"
    r"((?:[a-z-]+ ){0,2}(?:lease|contract|agreement|mortgage|"
    r"prenup|warranty|insurance policy|NDA|"
    r"subscription|treaty|settlement)(?: (?:with|at|for) [A-Z]\w+(?: [A-Z]\w+)*)?)\b"
)
_AGREED = re.compile(r"lease|contract|agreement|mortgage|prenup|warranty|policy|NDA|subscription|treaty|settlement")
_ONE_OF_A_KIND = frozenset(
    "wife husband spouse partner girlfriend boyfriend fianc\u00e9 fianc\u00e9e mother "
    "mom mum father dad sister brother son daughter "
    "boss landlord landlady manager roommate grandmother grandfather grandma grandpa "
    "mother-in-law father-in-law twin".split()
)
"""Roles that stand for one person where no name is given; one has many friends and colleagues."""
# The words before a name that show its type.
_PLACE_BEFORE = re.compile(
    r"\b(?:in|near|visit(?:ed|ing|s)?|trips? to|moved to|moving to|moves to|travel\w* to|"
    r"flew to|flying to|lives? in|(?:is|are|was|were|comes?|came|originally|moved|back|"
    r"returned|flew|drove|home|family|friend|hails?) from|around|across|outside|toured|"
    r"back to|drove to|vacation to|went to|going to|been to|based in|downtown|exploring|explore)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_WORK_BEFORE = re.compile(
    r"\b(?:works?|worked|working|job|interned|internship|employed|position|role|intern|"
    r"engineer|manager|offer|studies|studied|graduated)\s+"
    r"(?:\w+\s+)?(?:at|for|with|from)\s+(?:the\s+)?$|\b(?:joined|joining|company,?|startup,?|"
    r"hired by|employer,?|left)\s+$",
    re.IGNORECASE,
)
_CALLED_BEFORE = re.compile(
    r"\b(?:(?P<group>band|group|company|startup|restaurant|cafe|caf\u00e9|team|club|shop|"
    r"store|choir|charity)|book|game|movie|film|"
    r"show|song|app|podcast|series|play|album|blog|boat|car) (?:called|named) $"
)
_AT_BEFORE = re.compile(r"\bat (?:the )?$", re.IGNORECASE)
_PERSON_BEFORE = re.compile(
    r"\b(?:with|met|meet|told|asked|invited|married|dating|named|called|mr\.?|mrs\.?|"
    r"ms\.?|dr\.?|thanks to|saw|called|texted|by|author|singer|friends)\s+$",
    re.IGNORECASE,
)
_PERSON_AFTER = re.compile(
    r"\s+(?:said|says|told|thinks|loves|likes|and (?:User|I)\b|asked|wants|invited|called me|"
    r"is \d\d|was born)"
)
_THING_BEFORE = re.compile(r"(?:'s|\bmy|\ba|\ban|\bnew|\bthe|\bbought|\bold)\s+(?:\w+\s+)?$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s?$")


@dataclass(frozen=True)
class NameMention:
    """One name found in a text."""

    name: str
    type: EntityType
    other_name: str | None = None
    """A role that the text gives to the same person or thing: "User's sister"."""
    is_sure: bool = True
    """False where the type is only the likeliest one, shown neither by the sentence nor by the word."""


def find_names(text: str, people: Collection[str] = ()) -> list[NameMention]:
    """Return the names in a text; `people` are known to be persons, such as the speakers."""
    found: dict[str, NameMention] = {}
    if "'s " in text or "\u2019s " in text:
        _add_related(found, text)
    if '"' in text or "\u201c" in text:
        for title in _TITLE.finditer(text):
            name = title[1] or title[2]
            if name[0].isupper() and len(name.split()) <= 8 and not re.search(r"\b(?:I|you|me|we)\b", name):
                found.setdefault(name, NameMention(name, "OBJECT"))
    for match in _NAME.finditer(text):
        if (named := _read_name(match, text, people)) is not None and not _is_part_of_known(found, named.name):
            found[named.name] = named
    if _AGREED.search(text):
        for match in _AGREEMENT.finditer(text):
            found.setdefault(match[1], NameMention(match[1], "AGREEMENT"))
    return list(found.values())


def _is_part_of_known(found: dict[str, NameMention], name: str) -> bool:
    """Return whether a name was found before, by itself or as a part of a longer one."""
    return name in found or any(name in each.split() for each in found)


def _add_related(found: dict[str, NameMention], text: str) -> None:
    """Add persons and pets that are named by their relation: "User's sister Anna", "Rex is User's dog"."""
    for pattern in (_RELATED_NAME, _IS_RELATED, _RELATED):
        for match in pattern.finditer(text):
            role, name = match["role"], match["name"]
            if name is not None and (name.split()[0] in known.NO_NAMES or name.split()[0].lower() in known.START_WORDS):
                name = None
            role_name = f"{match['whose']}'s {role or match['pet']}"
            if match["pet"]:
                if name is not None:
                    found.setdefault(name, NameMention(name, "OBJECT", role_name))
            elif name is not None:
                other_name = role_name if role in _ONE_OF_A_KIND else None
                found.setdefault(name, NameMention(name, "PERSON", other_name))
            elif role in _ONE_OF_A_KIND and not any(each.other_name == role_name for each in found.values()):
                found.setdefault(role_name, NameMention(role_name, "PERSON"))


def _read_name(match: re.Match[str], text: str, people: Collection[str]) -> NameMention | None:
    """Return the name in a run of capitalised words, without words that only stand before or after it; None if none."""
    name = match[0].rstrip("&+-'\u2019")
    words = [word for word in _POSSESSIVE.sub("", name).split(" ") if word]
    at_start = match.start() == 0 or text[: match.start()].rstrip()[-1:] in '.!?:"\u201c('
    while words and (
        words[0] in known.NO_NAMES
        or words[0][0].isdigit()
        or (words[0].lower() in known.START_WORDS and (at_start or len(words) == 1))
    ):
        words, at_start = words[1:], False
    while "User" in words:
        words = words[words.index("User") + 1 :]
    words = [_POSSESSIVE.sub("", word) if word not in known.ORGANIZATIONS else word for word in words]
    while words and (words[-1] in known.NO_NAMES or words[-1].lower() in ("of", "the", "for", "de", "la")):
        words = words[:-1]
    if not words or (len(words) == 1 and (len(words[0]) < 2 or words[0] in known.NO_NAMES)):
        return None
    if at_start and len(words) == 2 and words[1] in people and words[0] not in known.FIRST_NAMES:
        # "Makes Anna": a verb that begins the sentence.
        words = words[1:]
    if words[0] in people and len(words) > 1 and words[1] not in known.ORGANIZATION_ENDS | known.EVENT_ENDS:
        words = words[:1] if words[1] in people or words[1].lower() in known.START_WORDS else words
    name = " ".join(words)
    type_, sure = _find_type(words, text[: match.start()], text[match.end() :], people, name)
    if not sure and at_start and len(words) == 1:
        # Any word begins with a capital there.
        return None
    return NameMention(name, type_, None, sure)


def _find_type(
    words: list[str], before: str, after: str, people: Collection[str], name: str
) -> tuple[EntityType, bool]:
    """Return the type of a name, and whether it is sure. The order of the tests is the order of their reliability."""
    first, last = words[0], words[-1]
    if name in people or first in people:
        return "PERSON", True
    if name in known.TWO_WORD_PLACES or last in known.PLACE_ENDS or (first in known.PLACE_BEGINS and len(words) > 1):
        return "PLACE", True
    if (last in known.EVENT_ENDS and len(words) > 1) or first in known.EVENTS:
        return "EVENT", True
    if last in known.ORGANIZATION_ENDS and len(words) > 1:
        return "ORGANIZATION", True
    near = before[-40:]
    if _WORK_BEFORE.search(near) and first not in known.FIRST_NAMES:
        return "ORGANIZATION", True
    if first in known.PLACES and _PLACE_BEFORE.search(near):
        return "PLACE", True
    if first in known.FIRST_NAMES and len(words) <= 3 and not any(word[0].isdigit() for word in words):
        return "PERSON", True
    if name in known.PLACES or (first in known.PLACES and len(words) == 1):
        return "PLACE", True
    if first in known.ORGANIZATIONS and not any(word[0].isdigit() for word in words[1:]):
        return "ORGANIZATION", True
    if any(word[0].isdigit() or word[-1].isdigit() for word in words):
        return "OBJECT", True
    if _PLACE_BEFORE.search(near):
        return "PLACE", True
    if (called := _CALLED_BEFORE.search(near)) is not None:
        return ("ORGANIZATION" if called["group"] else "OBJECT"), True
    if len(words) <= 3 and not name.isupper() and (_PERSON_BEFORE.search(near) or _PERSON_AFTER.match(after)):
        return "PERSON", True
    if _AT_BEFORE.search(near):
        return "ORGANIZATION", True
    if _THING_BEFORE.search(near):
        return "OBJECT", False
    return "CONCEPT", False
