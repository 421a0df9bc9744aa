"""The confidence in a sentence: how sure its speaker sounds, times how much the speaker's role is trusted."""

from __future__ import annotations

import re

from longmind.language.speech_acts import SpeechAct
from longmind.models.atom import Trust

# The weakest hedge is looked for first: "I'm not sure, but probably" is not sure.
_HEDGES = (
    (
        0.4,
        re.compile(
            r"\b(?:not (?:really |quite |entirely |totally )?sure|no idea|don['\u2019]t know|"
            r"can['\u2019]t remember|might|may be|could be|possibly|supposedly|allegedly|rumou?r)\b"
        ),
    ),
    (
        0.6,
        re.compile(
            r"\b(?:maybe|perhaps|i (?:think|guess|suppose|believe|assume|reckon)|seems?|apparently|"
            r"if i (?:recall|remember)|as far as i)\b"
        ),
    ),
    (
        0.8,
        re.compile(
            r"\b(?:probably|likely|kind of|kinda|sort of|sorta|i feel like|hopefully|roughly|"
            r"about \d|around \d|approximately|thinking (?:of|about)|considering)\b"
        ),
    ),
)
_HYPOTHETICAL_CONFIDENCE = 0.3
_BY_TRUST: dict[Trust, float] = {"user": 1.0, "app": 1.0, "assistant": 0.7, "tool": 0.7}


def _find_hedge(small: str) -> float:
    """Return the certainty that the weakest hedge in a sentence leaves."""
    for certainty, pattern in _HEDGES:
        if pattern.search(small):
            return certainty
    return 1.0


def estimate_confidence(sentence: str, act: SpeechAct, trust: Trust) -> float:
    """Return the confidence in a sentence, from 0 to 1. A question is as sure as the fact that it was asked."""
    certainty = 1.0
    if act is SpeechAct.HYPOTHETICAL:
        certainty = _HYPOTHETICAL_CONFIDENCE
    elif act is not SpeechAct.QUESTION:
        certainty = _find_hedge(sentence.lower())
    return round(certainty * _BY_TRUST[trust], 2)
