"""The confidence in a sentence: how sure its speaker sounds, times how much the speaker's role is trusted."""

from __future__ import annotations

import re

from longmind.models.atom import Trust

# The weakest hedge is looked for first: "I'm not sure, but probably" is not sure.
_HEDGES = (
    (
        0.4,
        re.compile(
            r"\b(?:not (?:really |quite |entirely |totally )?sure|no idea|don['\u2019]t know|"
            r"can['\u2019]t (?:remember|decide)|might|may be|could be|possibly|supposedly|allegedly|rumou?r|maybe|"
            r"perhaps|"
            r"wondering|considering|thinking (?:of|about)|basically|practically|i guess|i suppose)\b"
        ),
    ),
    (
        0.6,
        re.compile(r"\b(?:i (?:think|believe|assume|reckon)|seems?|apparently|if i (?:recall|remember)|as far as i)\b"),
    ),
    (
        0.8,
        re.compile(
            r"\b(?:probably|likely|kind of|kinda|sort of|sorta|i feel like|hopefully|roughly|"
            r"about \d|around \d|approximately)\b"
        ),
    ),
)
_BY_TRUST: dict[Trust, float] = {"user": 1.0, "app": 1.0, "assistant": 0.7, "tool": 0.7}


def find_certainty(sentence: str) -> float:
    """Return the certainty that the weakest hedge in a sentence leaves, from 0 to 1."""
    small = sentence.lower()
    for certainty, pattern in _HEDGES:
        if pattern.search(small):
            return certainty
    return 1.0


def estimate_confidence(certainty: float, trust: Trust) -> float:
    """Return the confidence in a sentence, from 0 to 1."""
    return round(certainty * _BY_TRUST[trust], 2)
