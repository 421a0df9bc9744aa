"""Names for "he" and "she", where only one of the persons spoken of can be meant.

"My sister Anna called. She is moving to Graz." becomes "Anna is moving to Graz". Where two women were named, the
pronoun stays: a wrong name would make a false memory.
"""

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
# "her" before one of these is an object ("I met her"), and elsewhere a possessive ("her car").
_OBJECT_BEFORE = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s+(?:and|or|but|to|in|on|at|for|with|from|about|by|as|that|"
    r"when|while|because|so|if|a|an|the|is|was|very|"
    r"too|again|now|yesterday|today|tomorrow|last|every|this|out|up|off|there|here|some|"
    r"more|how|what|who|where|since|after|before)\b"
)
_NAMES = re.compile(r"[A-Z][a-z]+")


@dataclass
class PronounResolver:
    """The persons that a conversation speaks of, by name with their gender: those of this message, and those before."""

    here: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)

    def start_message(self) -> None:
        """Let the next message begin; a message without persons leaves those before it within reach."""
        if self.here:
            self.before, self.here = self.here, {}

    def note_persons(self, names: Iterable[NameMention], speakers: Collection[str]) -> None:
        """Remember the persons among names. Speakers are left out: they are "I" and "you" to each other, not "she"."""
        for each in names:
            if (
                each.type == "PERSON"
                and each.name not in speakers
                and not any(_is_same_person(each.name, other) for other in self.here)
            ):
                self.here[each.name] = _find_gender(each)

    def resolve(self, sentence: str) -> str:
        """Return the sentence with names for pronouns where that is safe."""
        if not _PRONOUN.search(sentence):
            return sentence

        def replace_pronoun(found: re.Match[str]) -> str:
            word = found[0].lower()
            is_female = word in _FEMALE_PRONOUNS
            if set(_NAMES.findall(sentence, 1, found.start())) & known.FIRST_NAMES or " said" in sentence:
                # The sentence itself names somebody nearer.
                return found[0]
            name = self._find_only_person("f" if is_female else "m")
            if name is None:
                return found[0]
            is_possessive = word in ("his", "hers") or (
                word == "her" and not _OBJECT_BEFORE.match(sentence, found.end())
            )
            return f"{name}'s" if is_possessive else name

        return _PRONOUN.sub(replace_pronoun, sentence)

    def _find_only_person(self, gender: str) -> str | None:
        """Return the one person of a gender in the nearest message that names persons, or None if there are several."""
        for people in (self.here, self.before):
            if people:
                fitting = [name for name, each in people.items() if each in (gender, "?")]
                return fitting[0] if len(fitting) == 1 else None
        return None


def _is_same_person(name: str, other: str) -> bool:
    """Return whether two names may be the full and the first name of one person: "Anna Berg" and "Anna"."""
    return name != other and (name.split()[0] == other or other.split()[0] == name)


def _find_gender(person: NameMention) -> str:
    """Return "f" or "m" by a person's role or first name, or "?" where neither shows it."""
    for text in filter(None, (person.other_name, person.name)):
        if _FEMALE.search(text):
            return "f"
        if _MALE.search(text):
            return "m"
    first = person.name.split()[0]
    if first in known.EITHER_NAMES:
        return "?"
    return "f" if first in known.FEMALE_NAMES else "m" if first in known.MALE_NAMES else "?"
