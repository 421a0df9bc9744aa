"""The known fact that a new one changes, where the reader saw that something changes but no slot says what.

"Chess has moved to Fridays" changes "Lwazi has chess on Wednesdays": both speak of chess, both are schedules, and the
second was said before. Each sign has a weight, and only a clear winner is taken, since a wrong one hides a true fact.
The weights were fitted on the labelled conversations of two writers, each half tested on the other: nine of ten links
above `LEAST` were right, and one of eleven changes was linked. They find what is plain and leave the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from longmind.extraction.candidate import Candidate, Slot
from longmind.extraction.slot_types import ABOUT
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.models.atom import Atom

if TYPE_CHECKING:
    from longmind.extraction.reconcile.decisions import KnownAtom

LEAST = 0.7
"""The probability from which a link is believed."""
_SAME_ATTRIBUTE, _SAME_CATEGORY, _SHARED_WORD, _SHARED_WORDS, _OTHER_SUBJECT, _RECENT = (
    1.46,
    0.62,
    2.05,
    1.64,
    -0.95,
    -2.31,
)
_SURE = 0.9
"""The probability where one known fact is about the same attribute, of which a person has one value at a time."""
_ONE_AT_A_TIME = frozenset(
    "name pronouns home hometown workplace role email phone address website relationship_status".split()
)
"""Others, such as a schedule or a measurement, have one value of each thing, and the thing is often not named."""
_START, _SAYS_CHANGE = -3.86, 1.77
_COMMON = frozenset(
    (
        "1 12 14 19 2 20 2025 2026 24 3 30 4 5 6 7 8 9 after again all alway april ask assist august back befor book "
        "brother call cant come daughter day decemb doctor doesnt dont down dr eight eighti end english euro evening "
        "everi februari first five forti four friday friend gave get give go goe gone good got half hand here hospit "
        "hundr husband januari juli june keep kid last leav left like live make march may mayb monday month more morn "
        "move name need never new night nine novemb now number octob off old one onli out over own pay peopl place "
        "pleas put run said say school second septemb shift sinc sister six small sold start stay stop sunday take "
        "team ten thing thirti three thursday till time train tuesday twenti two until up use user want way wednesday "
        "week went wife work write year"
    ).split()
)
"""Stems that many facts share, so that sharing one says nothing."""


def find_changed(candidate: Candidate, known: Sequence[KnownAtom]) -> tuple[KnownAtom, float] | None:
    """Return the atom that a candidate most likely changes with the probability, or None if none is likely enough.

    known: atoms that may be changed, the oldest first.
    """
    if candidate.change == "none" or not known:
        return None
    sharing = [each for each in known if _shares_attribute(candidate.slot, each.slot)]
    if candidate.change != "ends" and len(sharing) == 1:
        return sharing[0], _SURE
    scores = [_score(candidate, each.atom, each.slot, place / len(known)) for place, each in enumerate(known)]
    highest = max(0.0, *scores)
    total = math.exp(-highest) + sum(math.exp(score - highest) for score in scores)
    best = max(range(len(known)), key=lambda place: scores[place])
    probability = math.exp(scores[best] - highest) / total
    return (known[best], probability) if probability >= LEAST else None


def _shares_attribute(new: Slot | None, old: Slot | None) -> bool:
    """Return whether two facts are about an attribute of which a person has one value at a time."""
    if new is None or old is None or new.subject != old.subject or new.value == old.value:
        return False
    return find_topic(new) == find_topic(old) and find_topic(new) in _ONE_AT_A_TIME


def _score(candidate: Candidate, atom: Atom, slot: Slot | None, recent: float) -> float:
    new, old = list_topic_words(candidate.text), list_topic_words(atom.text)
    shared = len(new & old)
    score = _START + _SAYS_CHANGE + _RECENT * recent
    score += _SAME_CATEGORY * (candidate.category_name == atom.category.name)
    score += _SHARED_WORD * (shared > 0) + _SHARED_WORDS * shared / math.sqrt(max(1, len(new)) * max(1, len(old)))
    if candidate.slot is not None and slot is not None:
        score += _SAME_ATTRIBUTE * (find_topic(candidate.slot) == find_topic(slot))
        score += _OTHER_SUBJECT * (candidate.slot.subject != slot.subject)
    return score


def find_topic(slot: Slot) -> str:
    """Return the attribute of the table that a slot is about, under its one name: rules have names of their own."""
    attribute = slot.attribute.removeprefix(ABOUT)
    if attribute.startswith(("time of ", "place of ")):
        return "schedule"
    return "favourite" if attribute.startswith("favo") else _SAME_TOPICS.get(attribute, attribute)


_SAME_TOPICS = {
    "employer": "workplace",
    "job": "role",
    "car": "vehicle",
    "phone number": "phone",
    "relationship status": "relationship_status",
    "manager": "colleague",
    "boss": "colleague",
    "weight": "measurement",
    "appointment": "schedule",
    "deadline": "schedule",
}


@lru_cache(maxsize=8192)
def list_topic_words(text: str) -> frozenset[str]:
    """Return the stems by which two facts may be about one thing; not those of a question that a short fact answers."""
    said = text.rpartition('", ')[2] if text.startswith('Asked "') else text
    return frozenset(stem_of(word) for word in words_of(said) if word not in STOP_WORDS) - _COMMON
