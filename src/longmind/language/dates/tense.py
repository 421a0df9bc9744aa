"""The direction of a date that has none of its own ("on Friday", "in May"), found in the verbs around it.

It needs no grammar: the nearest verb with a recognisable tense decides, in the clause of the date before its sentence.
Lists of irregular verbs and patterns for auxiliaries stand in for a tagger, which would load for seconds.
"""

from __future__ import annotations

import re
from typing import Literal

from longmind.language.dates.time_words import compile_pattern, match_any

Direction = Literal["past", "future"]

_DID = (
    "was were went had did saw took made met came found bought began begun became ran won lost told said gave wrote "
    "ate drank felt kept left heard held led sent spent sold taught thought built broke brought caught chose drew "
    "drove fell flew forgot grew hung hid knew laid lent lit meant paid rode rose sang sat shook shot showed slept "
    "spoke stood swam taken threw understood woke wore been gone seen done given written stuck swept tore fought "
    "dealt dug fed froze hadn't didn't wasn't weren't couldn't born snuck bit bent blew bred burnt crept dreamt fled "
    "flung forgave learnt overcame rebuilt redid"
).split()
_SAME_IN_PAST = ("got", "read", "hit", "cut", "hurt", "beat", "put", "quit")
_NO_VERBS = (
    "need indeed hundred speed feed seed weed breed bed red shed wed ted fred excited interested tired scheduled "
    "supposed planned stoked thrilled pumped prepared united advanced detailed dedicated limited related required "
    "needed married beloved sacred naked wicked talented stressed worried scared bored booked invited"
).split()
"""Words in -ed that are no verbs in the past."""
_WILL = (
    "will", "won't", "gonna", "going to", "plan to", "plans to", "planning", "planned", "scheduled", "hope to",
    "hoping", "want to", "wanna", "need to", "needs to", "have to", "has to", "gotta", "must", "should", "shall",
    "let's", "lets", "looking forward", "look forward", "excited for", "excited to", "excited about", "can't wait",
    "cant wait", "upcoming", "coming up", "expect", "expecting", "due", "deadline", "about to", "see you", "might",
    "would like", "supposed to", "booked for", "intend to", "thinking of", "thinking about", "ready for", "set for",
    "remind me", "starts", "begins", "opens", "leaves", "arrives", "been thinking", "been planning",
    "been considering", "been hoping", "been wanting", "been looking",
)  # fmt: skip
_WAS_DOING = r"\b(?:was|were) (?:just |all |so )?[a-z]+ing\b|\b(?:was|were) supposed to\b|\bused to\b"
_IS_DOING = (
    r"(?:\b(?:am|is|are)|'(?:m|re|s)) (?:(?:also|just|all|not|finally|still|actually|currently) )?"
    r"(?!being\b|doing (?:good|great|well)\b|going (?:on|well|great)\b|(?:some|any|every|no)thing\b)[a-z]{2,}ing\b"
)
_PUT_OFF = (
    r"\b(?:rescheduled|postponed|extended|delayed|deferred|slipped|bumped)(?: (?:the|my|our) [^,.;]+?| back)?"
    r" (?:to|for|until|till)(?= |$)"
    r"|\b(?:moved|pushed)(?: up| back| forward)? to(?= (?:the )?$)"
)
"""An event that was postponed to a day is still to come, but "moved to Rome in May" is past."""
_UNDERTOOK = (
    r"\b(?:decided|agreed|promised|offered|arranged|volunteered|committed|signed up"
    r"|(?:asked|told|reminded|invited)(?: (?:me|us|you|him|her|them))?)(?: not)? to(?= )"
)
"""An action that somebody decided or was asked to do lay ahead then, and mostly still does."""
_NOT_ABOUT_A_STATE = "".join(
    rf"(?<!\b{word}\s)"
    for word in ("a", "an", "the", "of", "with", "my", "your", "more", "so", "is", "are", "be", "it's")
)
_NOT_AFTER_AN_AUXILIARY = r"(?<!\bto\s)(?<!ll\s)(?<!\bcan\s)(?<!ve\s)(?<!\bhas\s)"
_CUE = compile_pattern(
    rf"(?P<past>{_WAS_DOING})|(?P<future>\b{match_any(*_WILL)}\b|'ll\b|'d like\b|{_IS_DOING}|{_PUT_OFF}|{_UNDERTOOK})"
    rf"|\b(?!{match_any(*_NO_VERBS)}\b)(?:{_NOT_ABOUT_A_STATE}[a-z]{{2,}}ed|{match_any(*_DID)}"
    rf"|{_NOT_AFTER_AN_AUXILIARY}{match_any(*_SAME_IN_PAST)})\b"
)
"""A verb with a tense; a match in neither group is in the past."""
_CLAUSE_END = compile_pattern(r"[,;:()]|\s-+\s|\b(?:and|but|so|because|then|which|that|while|when|where|since|if|as)\b")
_SENTENCE_END = re.compile(r"(?<!\b[ap]\.m)[.!?]+(?=\s+[^\sa-z\d]|\s*\Z)|\n")
_FAR = 200
"""The farthest, in characters, that a verb can be from a date."""
_GENERIC = compile_pattern(
    r"\b(?:always|usually|typically|often|generally|normally|sometimes|tends? to|best time|annual|annually"
    r"|traditionally|on average|peak|(?:every|each) (?:time|day|week|weekend|month|year|season|morning|night))\b"
)


def find_sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of the sentence around a piece of text."""
    first, last = max(0, start - _FAR), min(len(text), end + _FAR)
    # Read one character more, since only a following capital makes a full stop the end of a sentence.
    for found in _SENTENCE_END.finditer(text, first, start + 1):
        first = found.end()
    after = _SENTENCE_END.search(text, end, last)
    return min(first, start), after.start() if after else last


def is_generic(text: str, start: int, end: int) -> bool:
    """Return whether a date is about no particular time: "I usually run on Friday"."""
    first, last = find_sentence(text, start, end)
    if _GENERIC.search(text, *_find_clause(text, start, end, first, last)):
        return True
    return _GENERIC.search(text, first, last) is not None and find_direction(text, start, end) is None


def find_direction(text: str, start: int, end: int) -> Direction | None:
    """Return the direction of the nearest verb in the clause of the date, or else in its sentence; None without one."""
    first, last = find_sentence(text, start, end)
    clause_first, clause_last = _find_clause(text, start, end, first, last)
    return (
        _find_nearest(text, clause_first, start, backwards=True)
        or _find_nearest(text, end, clause_last)
        or _find_nearest(text, first, clause_first, backwards=True)
        or _find_nearest(text, clause_last, last)
    )


def _find_clause(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """Return the start and the end of the clause around a piece of text, inside of its sentence."""
    for found in _CLAUSE_END.finditer(text, first, start):
        first = found.end()
    stop = _CLAUSE_END.search(text, end, last)
    return first, stop.start() if stop else last


def _find_nearest(text: str, first: int, last: int, *, backwards: bool = False) -> Direction | None:
    """Return the direction of the first verb in a stretch of text, backwards of the last one; None without a verb."""
    cues = list(_CUE.finditer(text, first, last))
    if not cues:
        return None
    return "future" if cues[-1 if backwards else 0]["future"] else "past"
