"""Whom "he" and "she" mean, where only one person of those spoken of can be meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from longmind.extraction.rules.names import NameMention
from longmind.language import gazetteer as known

_FEMALE = re.compile(
    r"\b(?:sister|mother|mom|mum|wife|girlfriend|fianc\u00e9e|daughter|grandmother|grandma|"
    r"granddaughter|aunt|auntie|niece|"
    r"step(?:mother|mom|sister|daughter)|landlady|(?:mother|sister|daughter)-in-law)\b"
)
_MALE = re.compile(
    r"\b(?:brother|father|dad|husband|boyfriend|fianc\u00e9|son|grandfather|grandpa|grandson|uncle|nephew|"
    r"step(?:father|dad|brother|son)|landlord|(?:father|brother|son)-in-law)\b"
)
_PRONOUN = re.compile(r"(?<![\w'\u2019])(?:[Ss]he|[Hh]e|[Hh]ers?|[Hh]is|[Hh]im)(?![\w-])")
_FEMALE_PRONOUNS = frozenset(("she", "her", "hers"))
_NO_OWNER_AFTER = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s+(?:and|or|but|to|in|on|at|for|with|from|about|by|as|that|"
    r"when|while|because|so|if|a|an|the|is|was|very|"
    r"too|again|now|yesterday|today|tomorrow|last|every|this|out|up|off|there|here|some|"
    r"more|how|what|who|where|since|after|before)\b"
)
_NAMES = re.compile(r"[A-Z][a-z]+")


@dataclass
class PronounResolver:
    """The persons that the talk is about, as it goes on: those of this message, and those of the ones before it."""

    here: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)

    def next_message(self) -> None:
        if self.here:
            self.before, self.here = self.here, {}

    def saw(self, named: Iterable[NameMention], speakers: Collection[str]) -> None:
        """Those who speak are "I" and "you" to each other, and so nobody else's "she"."""
        for each in named:
            if (
                each.type == "PERSON"
                and each.name not in speakers
                and not any(_is_one(each.name, of) for of in self.here)
            ):
                self.here[each.name] = _gender(each)

    def resolved(self, sentence: str) -> str:
        """The sentence with names for pronouns, as far as that is safe; else as it was."""
        if not _PRONOUN.search(sentence):
            return sentence

        def name_for(found: re.Match[str]) -> str:
            word = found[0].lower()
            female = word in _FEMALE_PRONOUNS
            if set(_NAMES.findall(sentence, 1, found.start())) & known.FIRST_NAMES or " said" in sentence:
                return found[0]  # somebody nearer is named in the sentence itself
            whom = self._only("f" if female else "m")
            if whom is None:
                return found[0]
            owner = word in ("his", "hers") or (word == "her" and not _NO_OWNER_AFTER.match(sentence, found.end()))
            return f"{whom}'s" if owner else whom

        return _PRONOUN.sub(name_for, sentence)

    def _only(self, gender: str) -> str | None:
        for people in (self.here, self.before):
            if people:
                fitting = [name for name, each in people.items() if each in (gender, "?")]
                return fitting[0] if len(fitting) == 1 else None
        return None


def _is_one(name: str, other: str) -> bool:
    """Whether a person may be named once in full and once by the first name: "Anna Berg" and "Anna"."""
    return name != other and (name.split()[0] == other or other.split()[0] == name)


def _gender(person: NameMention) -> str:
    for text in filter(None, (person.also, person.name)):
        if _FEMALE.search(text):
            return "f"
        if _MALE.search(text):
            return "m"
    first = person.name.split()[0]
    if first in known.EITHER_NAMES:
        return "?"
    return "f" if first in known.FEMALE_NAMES else "m" if first in known.MALE_NAMES else "?"
