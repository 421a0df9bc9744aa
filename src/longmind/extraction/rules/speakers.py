"""Who says a message, and to whom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from longmind.extraction.candidate import SourceMessage
from longmind.language.gazetteer import FIRST_NAMES, START_WORDS
from longmind.models.atom import Trust

_NAMED = re.compile(r"\s*([A-Z][\w'\u2019-]{0,30}(?: [A-Z][\w'\u2019.-]{0,30}){0,2}):\s+(?=\S)")
_NO_NAMES = frozenset(
    "Note Warning Edit Update Question Answer Example Summary Todo Remember Important Reminder Tip Hint Subject Dear "
    "Title Ingredients Instructions Steps Step Context Background Goal Goals Task Input Output Result Results Error "
    "Hello Hi Hey Ps Re Fwd From To Date Name Address Phone Email Monday Tuesday Wednesday Thursday Friday Saturday "
    "Sunday January February March April May June July August September October November December User Assistant "
    "Today Tomorrow Yesterday Fact Rule Preference Plan Also First Second Third Finally Option Correction".split()
)
_ROLES = {"user": "User", "assistant": "Assistant", "tool": "Tool"}


@dataclass(frozen=True)
class SpokenMessage:
    """A message with its speaker's name taken off."""

    message: SourceMessage
    speaker: str
    named: bool
    addressee: str
    text: str

    @property
    def trust(self) -> Trust:
        return self.message.role


def identify_speakers(messages: Sequence[SourceMessage]) -> list[SpokenMessage]:
    """Each message with who says it; to whom is the nearest other speaker, before or after."""
    split = [_split(message) for message in messages]
    if sum(name is not None for name, _ in split) == 1:
        split = [
            (name, text) if name is None or _is_speaker(name, text) else (None, message.text)
            for (name, text), message in zip(split, messages, strict=True)
        ]
    names = [name or _ROLES[message.role] for (name, _), message in zip(split, messages, strict=True)]
    return [
        SpokenMessage(message, names[place], name is not None, _addressee(names, place, message.role), text)
        for place, ((name, text), message) in enumerate(zip(split, messages, strict=True))
    ]


def _split(message: SourceMessage) -> tuple[str | None, str]:
    found = _NAMED.match(message.text) if message.role != "tool" else None
    if found is None or any(word in _NO_NAMES or word.lower() in START_WORDS for word in found[1].split()):
        return None, message.text
    return found[1], message.text[found.end() :]


def _is_speaker(name: str, text: str) -> bool:
    """Whether the only label among some messages names who speaks; "Allergies: nuts" has a heading."""
    return name.split()[0] in FIRST_NAMES or _OF_ONESELF.search(text) is not None


_OF_ONESELF = re.compile(r"\b(?:I|I['\u2019]\w+|[Mm]y|[Ww]e|[Yy]ou)\b")


def _addressee(names: Sequence[str], place: int, role: str) -> str:
    for distance in range(1, len(names)):
        for at in (place - distance, place + distance):
            if 0 <= at < len(names) and names[at] not in (names[place], "Tool"):
                return names[at]
    return "Assistant" if role == "user" else "User"
