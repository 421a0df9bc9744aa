"""Whether a sentence tells what was, or what happened."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longmind.language.vocabulary import PAST, USER

_HAPPENED = re.compile(
    r"\b(?:has|have) (?:(?:just|already|also|now|finally|recently|\w+ly) )*(?!been\b|had\b|need)"
    rf"(?:[a-z]+ed|{'|'.join(sorted(PAST - {'had', 'was', 'were', 'did', 'used'}))}|gone|done|seen|taken|eaten|written|"
    r"broken|forgotten|fallen|given|chosen|driven|flown|drunk|run)\b"
    r"|\b(?:didn['\u2019]t|did not|couldn['\u2019]t|wasn['\u2019]t able)\b"
)
"""What has been done, or was not."""
_GOES_ON = re.compile(
    r"\bha(?:s|ve)\b.*\b(?:for (?:\w+ ){0,2}?(?:years?|months?|weeks?|days?|ages|long)|since)\b|\byet\b"
)


def is_past(words: Sequence[str], first: int) -> bool:
    """Whether the first verb says that it is over. It stands near the beginning, or soon after the user."""
    if first:
        near = words[first : first + 3]
    else:
        named = next((place for place, word in enumerate(words) if word in USER), None)
        near = words[:6] if named is None else words[named + 1 : named + 4]
    for place, word in enumerate(near):
        if word in _PRESENT or (place == 0 and word.endswith("s") and word not in PAST):
            return False
        if word in PAST or (word.endswith("ed") and len(word) > 4):
            return True
    return False


_PRESENT = frozenset("has have is are am been do does will".split())


def happened(text: str) -> bool:
    """Whether it tells of an event in the perfect, or of one that did not take place."""
    return _HAPPENED.search(text) is not None


def goes_on(text: str) -> bool:
    """Whether it tells what has been so for a while, or is not so yet."""
    return _GOES_ON.search(text) is not None
