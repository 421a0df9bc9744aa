"""The speaker and the addressee of each message.

In conversations between people each message begins with its speaker's name: "Anna: I moved to Graz". The name is taken
off and used in the place of "I". Without names, the role of a message is its speaker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from longmind.extraction.candidate import SourceMessage
from longmind.language.gazetteer import FIRST_NAMES
from longmind.language.speaker_labels import split_label
from longmind.models.atom import Trust

_ROLES = {"user": "User", "assistant": "Assistant", "tool": "Tool"}


@dataclass(frozen=True)
class SpokenMessage:
    """A message with its speaker's name taken off its text."""

    source: SourceMessage
    speaker: str
    is_named: bool
    """True where the text began with the name; else the speaker is called by their role."""
    addressee: str
    text: str

    @property
    def trust(self) -> Trust:
        """The trust that the message's role deserves."""
        return self.source.role


def identify_speakers(messages: Sequence[SourceMessage]) -> list[SpokenMessage]:
    """Return each message with its speaker, and with the nearest other speaker before or after as the addressee."""
    labels = [_split_label(message) for message in messages]
    uses = Counter(name for name, _ in labels)
    is_dialogue = len(messages) > 1 and all(
        name is not None or message.role == "tool" for (name, _), message in zip(labels, messages, strict=True)
    )
    # Any other label may be a heading: "Allergies: nuts".
    labels = [
        (name, text)
        if name is not None and (is_dialogue or uses[name] > 1 or name.split()[0] in FIRST_NAMES)
        else (None, message.text)
        for (name, text), message in zip(labels, messages, strict=True)
    ]
    speakers = [name or _ROLES[message.role] for (name, _), message in zip(labels, messages, strict=True)]
    return [
        SpokenMessage(message, speakers[place], name is not None, _find_addressee(speakers, place, message.role), text)
        for place, ((name, text), message) in enumerate(zip(labels, messages, strict=True))
    ]


def _split_label(message: SourceMessage) -> tuple[str | None, str]:
    """Return the name that a message begins with, or None, and the rest of its text."""
    return (None, message.text) if message.role == "tool" else split_label(message.text)


def _find_addressee(speakers: Sequence[str], place: int, role: str) -> str:
    """Return the nearest speaker before or after a message that is neither its own speaker nor a tool."""
    for distance in range(1, len(speakers)):
        for near in (place - distance, place + distance):
            if 0 <= near < len(speakers) and speakers[near] not in (speakers[place], "Tool"):
                return speakers[near]
    return "Assistant" if role == "user" else "User"
