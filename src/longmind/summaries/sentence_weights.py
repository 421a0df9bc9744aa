"""The weight of a sentence: the weights of its words, and a factor for the kind of statement.

The numbers were chosen by reading summaries, not fitted: names and quantities weigh more than other words, common words
less, and a speaker's own name nearly nothing, since it stands in front of every line.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from longmind.language.speech_acts import SpeechAct, classify_speech_act
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.summaries.common_words import COMMON
from longmind.summaries.summary_line import SummaryLine

_NUMBERS = frozenset(
    map(
        stem_of,
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen half "
        "twice".split(),
    )
)
_CAPITAL = re.compile(r"(?<=[^.!?:\"\s]\s)[A-Z][\w&'\u2019-]*")
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|my|My|we|We|we're|We're|our|Our|me|us)\b")
_COMMITMENT = re.compile(
    r"\b(?:decided|agreed|promised?|will|going to|plan(?:ning|s|ned)? (?:to|on)|(?:I|we)['\u2019]ll|booked|scheduled|"
    r"ordered|signed up|must|have to|has to|need(?:s|ed)? to|deadline|due|want(?:s|ed)? to)\b",
    re.IGNORECASE,
)
# What a person says is worth more than what an assistant or a tool answers.
_BY_SPEAKER = {"Assistant": 0.6, "Tool": 0.4}
_BY_ACT = {SpeechAct.HYPOTHETICAL: 0.6, SpeechAct.REQUEST: 0.8}


def extract_terms(line: SummaryLine) -> list[str]:
    """Return the stems of the words that are no stop words, each once."""
    return list(dict.fromkeys(stem_of(word) for word in words_of(line.text) if word not in STOP_WORDS))


class WordWeights:
    """The weights of the words of one conversation."""

    def __init__(self, lines: Sequence[SummaryLine], terms: Iterable[Sequence[str]]) -> None:
        self._uses = Counter(term for each in terms for term in each)
        self._names = {
            stem_of(word) for line in lines for name in _CAPITAL.findall(line.text) for word in words_of(name)
        }
        self._speakers = {stem_of(word) for line in lines for word in words_of(line.speaker)}

    def weigh(self, term: str) -> float:
        """Return the weight of a stem; the more often it is used, the more it says about this conversation."""
        # The speaker stands before each line anyway.
        if term in self._speakers:
            return 0.1
        if any(character.isdigit() for character in term) or term in _NUMBERS:
            return 2.0
        if term in COMMON:
            return 0.25
        return (1.6 if term in self._names else 1.0) * (1 + 0.3 * math.log(self._uses[term] or 1))


def rate_line(line: SummaryLine) -> float:
    """Return the factor of a statement: less for an assistant or a tool, more for the first person and commitments."""
    worth = _BY_SPEAKER.get(line.speaker, 1.0) * _BY_ACT.get(classify_speech_act(line.text), 1.0)
    if _FIRST_PERSON.search(line.text):
        worth *= 1.2
    if _COMMITMENT.search(line.text):
        worth *= 1.2
    return worth
