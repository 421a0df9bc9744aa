"""Names of speakers at the beginning of what they say: "Anna: I moved to Graz"."""

from __future__ import annotations

import re

from longmind.language.gazetteer import START_WORDS

_LABEL = re.compile(
    r"\s*((?:(?:Dr|Mr|Mrs|Ms|Prof|St)\. )?[A-Z][\w'\u2019-]{0,30}(?: [A-Z][\w'\u2019.-]{0,30}){0,2}):\s+(?=\S)"
)
# Labels that are headings and no names.
_NO_NAMES = frozenset(
    "Problem Idea Issue Bug Recap Pros Cons Topic Situation Location Prompt Request Review Status Decision Deadline "
    "Budget Allergies Note Warning Edit Update Question Answer Example Summary Todo Remember Important Reminder Tip "
    "Hint Subject Dear "
    "Title Ingredients Instructions Steps Step Context Background Goal Goals Task Input Output Result Results Error "
    "Hello Hi Hey Ps Re Fwd From To Date Name Address Phone Email Monday Tuesday Wednesday Thursday Friday Saturday "
    "Sunday January February March April May June July August September October November December User Assistant "
    "Today Tomorrow Yesterday Fact Rule Preference Plan Also First Second Third Finally Option Correction".split()
)


def split_label(text: str) -> tuple[str | None, str]:
    """Return the name that a text begins with, or None, and the rest of the text."""
    found = _LABEL.match(text)
    if (
        found is None
        or (len(found[1]) > 1 and found[1].isupper())
        or any(word in _NO_NAMES or word.lower() in START_WORDS for word in found[1].split())
    ):
        return None, text
    return found[1], text[found.end() :]
