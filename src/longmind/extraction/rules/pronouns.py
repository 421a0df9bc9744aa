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
_MOST_PERSONS = 12
"""Persons of a message among whom one is looked for; among more, no pronoun is plain."""
_FEMALE_PRONOUNS = frozenset(("she", "her", "hers"))
# "her" before one of these is an object ("I met her"), and elsewhere a possessive ("her car").
_OBJECT_BEFORE = re.compile(
    r"\s*(?:[.,;:!?)]|$)|\s+(?:and|or|but|to|in|on|at|for|with|from|about|by|as|that|"
    r"when|while|because|so|if|a|an|the|is|was|very|"
    r"too|again|now|yesterday|today|tomorrow|last|every|this|out|up|off|there|here|some|"
    r"more|how|what|who|where|since|after|before)\b"
)
# Somebody whom a sentence speaks of before its pronoun: "my mom's birthday is near, she turns 70".
_NEARER = re.compile(
    r"\b(?:mother|mom|mum|father|dad|parents?|wife|husband|partner|girlfriend|boyfriend|sister|brother|son|daughter|"
    r"grand\w+|aunt|uncle|cousin|niece|nephew|friend|boss|manager|colleague|coworker|neighbou?r|teacher|doctor|coach|"
    r"landlord|landlady|roommate|client|woman|man|girl|boy|lady|guy|kid|child|baby|dog|cat|puppy|kitten|(?P<name>[A-Z][a-z]+))\b"
)


@dataclass
class PronounResolver:
    """The persons that a conversation speaks of, by name with their gender: those of this message, and those before."""

    here: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    _first_names: set[str] = field(default_factory=set)
    """First names of those whom this message names in full."""

    def start_message(self) -> None:
        """Let the next message begin; a message without persons leaves those before it within reach."""
        if self.here:
            self.before, self.here = self.here, {}
            self._first_names.clear()

    def note_persons(self, names: Iterable[NameMention], speakers: Collection[str]) -> None:
        """Remember the persons among names. Speakers are left out: they are "I" and "you" to each other, not "she"."""
        for each in names:
            first = each.name.split()[0]
            # "Anna" may be the "Anna Berg" named before, and the other way round.
            is_known = each.name in self._first_names if first == each.name else first in self.here
            if each.type == "PERSON" and each.name not in speakers and not is_known:
                self.here[each.name] = _find_gender(each)
                if first != each.name:
                    self._first_names.add(first)

    def resolve(self, sentence: str) -> str:
        """Return the sentence with names for pronouns where that is safe."""
        if not _PRONOUN.search(sentence) or " said" in sentence:
            return sentence
        # Where the sentence itself speaks of somebody nearer, a name from before would be wrong.
        nearer = next((each for each in _NEARER.finditer(sentence) if _is_person(each)), None)

        def replace_pronoun(found: re.Match[str]) -> str:
            word = found[0].lower()
            is_female = word in _FEMALE_PRONOUNS
            if nearer is not None and nearer.start() < found.start():
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
            if len(people) > _MOST_PERSONS:
                return None
            if people:
                fitting = [name for name, each in people.items() if each in (gender, "?")]
                return fitting[0] if len(fitting) == 1 else None
        return None


def _is_person(found: re.Match[str]) -> bool:
    """Return whether a word stands for a person; of words with a capital letter, only first names do."""
    return found["name"] is None or (found.start() > 0 and found["name"] in known.FIRST_NAMES)


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
