"""A reading: a stretch of a message that states something worth remembering, before it is put into words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from longmind.extraction.candidate import Change
from longmind.models.atom import AtomKind


@dataclass(frozen=True)
class Reading:
    """A stretch of a message that states one fact, as the network or the rules read it."""

    begins: int
    ends: int
    """The characters of the message from which the fact is read."""
    value: tuple[int, int] | None
    """The characters of its value, such as "Vienna"; None where the value is not in one piece."""
    attribute: str
    """One of `labels.ATTRIBUTES`."""
    kind: AtomKind
    category: str
    importance: int
    confidence: float
    """The probability that it is worth remembering."""
    of_user: bool = True
    """False if it is about another person or a thing: "my sister", "the staging database"."""
    negated: bool = False
    unsure: bool = False
    """True if the speaker hedges: "I might", "probably"."""
    sure: bool = False
    """True if attribute and subject are so likely that another value may end the fact without a word about a change."""
    change: Change = "none"
    """The change that it makes to what was said before, if any."""

    def place_at(self, begins: int, ends: int) -> Reading:
        """Return the reading with other bounds."""
        return replace(self, begins=begins, ends=ends)

    def shift(self, characters: int) -> Reading:
        """Return the reading with its places moved, as those of a longer text."""
        value = None if self.value is None else (self.value[0] + characters, self.value[1] + characters)
        return replace(self, begins=self.begins + characters, ends=self.ends + characters, value=value)
