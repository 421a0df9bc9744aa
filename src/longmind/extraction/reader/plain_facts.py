"""Facts that say something by themselves weeks later, and those that do not.

What the network marks and the writer puts into words can still lean on what was said around it: "It could get me there
faster". The message is found as a passage anyway, so such a fact is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from longmind.extraction.reader.message_statement import Reading
from longmind.language.speech_acts import SpeechAct, classify_speech_act, strip_filler

_QUOTED = re.compile(r'[^:"]{1,60}: "(?P<words>.*)"\.?$', re.DOTALL)
_FEWEST_WORDS = 4
# Words that stand for something named before; "there is" and "this week" do not.
_POINTING = re.compile(
    r"\b(?:it|its|it's|they|they're|them|there|those|these|that's|this|he|she|him|one|ones)\b"
    r"(?! (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|autumn|fall|is an?|are|was an?|"
    r"were)\b)",
    re.IGNORECASE,
)
_POINTING_END = re.compile(r"(?<!/)\b(?:it|that|this|them|those|these|there)(?: too)?[.!]?$", re.IGNORECASE)
_TO_ASSISTANT = re.compile(r"\byou(?:r|'re)?\b", re.IGNORECASE)
_OF_ONESELF = re.compile(r"(?:i|i'm|i've|i'll|i'd|my|me|we|we're|we've|our|im|ive)\b", re.IGNORECASE)
# A quotation that begins after one of these words was cut out of its clause; "and" and "so" may stand before one.
_INSIDE_CLAUSE = re.compile(
    r"\w (?!.)(?<!\band )(?<!\bbut )(?<!\bso )(?<!\bbecause )(?<!\bsince )(?<!\bas )(?<!\bthat )"
)
# A name or a number makes a quotation worth having even if it points at something else.
_SPECIFIC = re.compile(r"\d|(?<![.!?] )\b(?!I\b|I')[A-Z]\w")
# What somebody is busy with in this conversation: "User is stuck on the letter", "as we discussed".
_BUSY = re.compile(
    r"^\w+ (?:is|was) (?:(?:kinda|really|just|actually|currently|also|still|now) )*(?:stuck|worried|wondering|"
    r"stressed|curious|ready to|looking (?:for|into|to)\b|trying to (?!lose|quit|save|learn|eat|cut|sleep|switch))"
    r"|^\w+ (?:wants|needs|would like) to (?:update|know|see|make sure|ensure|understand|check|find)\b"
    r"|\bdiscuss(?:ed|ion)\b|\bhit you\b|\blet you know\b|\btalked about\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:always|never|don'?t|do not|please|pls|no|not|only|must|should|call me|use|stop|avoid|you|keep|from now "
    r"on)\b",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(r"(?:if|considering|especially|whether|although|unless|even though)\b", re.IGNORECASE)
_ITEM = re.compile(r"(?m)^\s*(?:[*\u2022-]|\d+[.)])\s")
_FEWEST_ITEMS = 4
_SHORTEST_DOCUMENT = 600
"""Characters of a document; a shorter list is what somebody types."""


def says_enough(fact: str, reading: Reading, message: str) -> bool:
    """Return whether a fact can be understood by itself, and is about more than this conversation."""
    if reading.kind == "RULE" and not _gives_order(message):
        return False
    if _BUSY.search(fact) or _is_of_document(reading, message):
        return False
    if classify_speech_act(strip_filler(message[reading.begins : reading.ends])) is SpeechAct.SMALL_TALK:
        return False
    if fact.startswith('Asked "'):
        return True
    quoted = _QUOTED.match(fact)
    if quoted is None:
        return reading.value is not None or _POINTING_END.search(fact) is None
    return _is_whole_quote(quoted["words"], reading, message)


def strip_quotation(fact: str) -> str:
    """Return what a quoted fact quotes, without the marks and the question; any other fact as it is."""
    quoted = _QUOTED.match(fact.rpartition('", ')[2] if fact.startswith('Asked "') else fact)
    return fact if quoted is None else quoted["words"]


def _is_whole_quote(words: str, reading: Reading, message: str) -> bool:
    """Return whether a quotation is a statement, and not a piece of one or a hint at something named before."""
    if words.rstrip().endswith("?") or _SUBORDINATE.match(words):
        return False
    is_specific = reading.value is not None or _SPECIFIC.search(words[1:]) is not None
    if not is_specific:
        is_to_assistant = reading.kind != "RULE" and _TO_ASSISTANT.search(words) is not None
        if is_to_assistant or _POINTING.search(words) or len(words.split()) < _FEWEST_WORDS:
            return False
    goes_on = _INSIDE_CLAUSE.search(message, max(0, reading.begins - 20), reading.begins) is not None
    return not goes_on or _OF_ONESELF.match(words) is not None


@lru_cache(maxsize=8)
def _has_list(message: str) -> bool:
    """Return whether a message holds a list, and is too long to be typed. All facts of a message ask for it."""
    return len(message) >= _SHORTEST_DOCUMENT and len(_ITEM.findall(message)) >= _FEWEST_ITEMS


@lru_cache(maxsize=8)
def _gives_order(message: str) -> bool:
    """Return whether a message has a word of an order."""
    return _ORDER.search(message) is not None


def _is_of_document(reading: Reading, message: str) -> bool:
    """Return whether a fact is an item of a document, such as a contract, in which nobody speaks."""
    if not _has_list(message):
        return False
    first, last = message.rfind("\n", 0, reading.begins) + 1, message.find("\n", reading.ends)
    line = message[first : last if last >= 0 else len(message)]
    return re.search(r"\b(?:i|i'm|my|me|we|our)\b", line + message[:200].split("\n")[0], re.IGNORECASE) is None
