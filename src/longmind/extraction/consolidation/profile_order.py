"""The choice of a profile: which facts say who the user, or another entity, is.

A profile shows what is stable: facts, preferences and rules that the user or the app stated. It is a pure function of
the facts that hold, so it never outlives them, and what is forgotten is gone from it at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from longmind.models.atom import Atom, AtomKind, Trust

STABLE_KINDS: tuple[AtomKind, ...] = ("FACT", "PREFERENCE", "RULE")
"""Kinds of memory that say how things are, and not what happens once."""
TRUSTED: tuple[Trust, ...] = ("user", "app")
"""Sources that may describe a user: a document or an assistant must not."""

_ABOUT_USER = re.compile(
    r"(?:the )?user(?:'s|\u2019s)?\b(?! (?:asks|and)\b)|(?:i|i'm|i\u2019m|i've|i\u2019ve|my) ", re.IGNORECASE
)
_IDENTITY = re.compile(
    r"\b(?:name is|is called|is named|pronouns? (?:is|are)|birthday is|was born|years old|speaks|native language)\b",
    re.IGNORECASE,
)
_HEALTH = re.compile(
    r"\b(?:allerg\w+|intoleran\w+|vegan|vegetarian|pescatarian|halal|kosher|coeliac|celiac|gluten|diabet\w+|asthma\w*|"
    r"epilep\w+|pregnan\w+|medication|medicine|insulin|takes \d+ ?mg|wheelchair|deaf|blind|diet)\b",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"\b(?:lives|living|resides|is based|moved) (?:in|at|to|with)\b|'s (?:home|address) is\b", re.IGNORECASE
)
_WORK = re.compile(
    r"\b(?:works?|working|employed) (?:at|for|as|in|on)\b|'s (?:job|role|employer|profession) is\b", re.IGNORECASE
)
_FAMILY = re.compile(
    r"\b(?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc\w+|married|mother|father|mum|mom|dad|parents|sister|"
    r"brother|son|daughter|kids?|children|twins|dog|cat|pet)\b",
    re.IGNORECASE,
)
_CATEGORY_TIERS = {
    "identity": 0, "name": 0, "personal": 0, "language": 0,
    "health": 2, "allergy": 2, "diet": 2, "medication": 2,
    "home": 3, "location": 3,
    "work": 4, "job": 4,
    "family": 5, "relationship": 5, "relationships": 5, "pet": 5, "pets": 5,
}  # fmt: skip
_RULE_TIER = 1
_WORDING_TIERS = ((0, _IDENTITY), (2, _HEALTH), (3, _HOME), (4, _WORK), (5, _FAMILY))
_OTHERS_TIER = 6


def rank_for_profile(facts: Iterable[Atom], *, about_user: bool = True) -> list[Atom]:
    """Return the facts that may stand in a profile, those to show first at first.

    Who the user is comes first, then standing rules, then health and diet, home, work and family. Among equals the more
    important fact comes first, then the one that was confirmed last.

    about_user: take only facts about the user; False for those about an entity, which the caller has looked up.
    """
    stable = [atom for atom in facts if _is_stable(atom) and (not about_user or _is_about_user(atom))]
    # Sorted from the last criterion to the first: recency descends, and a sort keeps the order of equals.
    stable.sort(key=lambda atom: atom.id)
    stable.sort(key=lambda atom: atom.last_confirmed_at or atom.valid_from, reverse=True)
    stable.sort(key=lambda atom: (_find_tier(atom.category.kind, atom.category.name, atom.text), -atom.importance))
    return stable


def _is_stable(atom: Atom) -> bool:
    is_open = atom.status == "ACTIVE" and atom.superseded_by is None
    return is_open and atom.category.kind in STABLE_KINDS and atom.trust in TRUSTED


def _is_about_user(atom: Atom) -> bool:
    """Return whether a fact is about the user; a rule always is."""
    return atom.category.kind == "RULE" or _ABOUT_USER.match(atom.text) is not None


# The facts of a user are ranked for each prompt, and change seldom.
@lru_cache(maxsize=8192)
def _find_tier(kind: AtomKind, category: str, text: str) -> int:
    """Return how early a fact comes in a profile, from 0, by its kind, its words and its category."""
    if kind == "RULE":
        return _RULE_TIER
    by_wording = next((tier for tier, wording in _WORDING_TIERS if wording.search(text)), _OTHERS_TIER)
    return min(by_wording, _CATEGORY_TIERS.get(category.casefold(), _OTHERS_TIER))
