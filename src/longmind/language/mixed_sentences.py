"""Sentences that both state and ask something, split into a statement and a question.

"I have an hour on Monday, what should I do?" holds a fact that would be lost if the sentence passed for a question.
"""

from __future__ import annotations

import re

from longmind.language.numbers import has_number
from longmind.language.speech_acts import begins_like_question, strip_filler

_SHORTEST = 25
"""Characters below which a question has no room for a statement."""

# "I have an hour on Monday, what should I do?"
_STATED_THEN_ASKED = re.compile(
    r"(?P<stated>(?=.*\b(?:I|[Mm]y|[Ww]e)\b)[^?\"]{6,}?)(?:,? (?:and|so|but)|,| -| \u2013| \u2014|;)"
    r"(?: (?:and|so|but|speaking of which|also|by the way),?)* "
    r"(?P<asked>(?:can|could|would|will|do|does|did|is|are|have|what|how|where|which|when|why|who|should|any) "
    r"(?:you|I|we|it|there|that|this|the|my|kind|type|sort|many|much|should|are|is|do|"
    r"can|would|ideas?|tips?|suggestions?)\b[^?]*\?|(?<=, )(?:can|could|would|will|does|is|are|what|how|where|"
    r"which(?! (?:is|"
    r"are|was|has|have|I|we)\b)|why|who(?! (?:is|are|was|has)\b)|should|any) [^?]*\?)$"
)
# A quick test for what _ASKED_THEN_STATED needs.
_REASON = re.compile(r"\b(?:considering|given|seeing|now|because|since|as|when)\b")
# "Where should I go, considering I live in Graz?"
_ASKED_THEN_STATED = re.compile(
    r"(?P<asked>[^?\"]{8,}?)(?:,? (?:considering|given|seeing|now)(?: that| how)?|,? because|"
    r", (?:especially |particularly )?(?:since|as|when))"
    r" (?P<stated>(?:I|we|my|our)\b(?! (?:should|could|would|might|can|may)\b)[^?\"]{8,})\?$"
)
# "Is there parking near my class, which I go to at six?"
_WHICH_CLAUSE = re.compile(
    r"[^?\"]*?\b(?P<noun>(?:my|our) (?:[\w'-]+ ){0,4}?[\w'-]+), which (?P<stated>(?:I|we|is|are|has|have|usually)\b"
    r"[^?\"]{6,})\?$"
)
# "which I go to at six": the noun is what the verb is done to.
_WHICH_IS_OBJECT = re.compile(
    r"(?P<verb>(?:I|we)(?:['\u2019]\w+)?(?: (?:usually|always|normally|often|just|have|now|currently|am|been))* \w+"
    r"(?: (?:to|for|on|with|in|at)(?= (?:at|on|every|once|twice|for|around|from|\d)))?)(?P<rest>\b.*)$"
)
# "Remember when I moved to Graz?" is no real question: it states what it asks about.
_REMINDER = re.compile(
    r"(?:(?:you know|you remember|remember|i mean|like),? )?the ones? (?:(?:where|when|that|which|in which) )?(?:I|"
    r"we)\b|"
    r"remember (?:when|that|how) (?:I|we)\b",
    re.IGNORECASE,
)
# "I sold the car, remember that I mentioned it?"
_STATED_THEN_REMINDED = re.compile(
    r"(?P<stated>[^?]{8,}?)(?: -|;|,) remember (?:when|that|how) I (?P<reminded>[^?]{8,})\?$"
)


def split_mixed_sentence(sentence: str) -> tuple[str, ...]:
    """Return what a question states and what it asks, each as a sentence of its own, in their order.

    Any other sentence is returned as it is.
    """
    if not sentence.endswith("?") or len(sentence) < _SHORTEST:
        return (sentence,)
    if _REMINDER.match(sentence):
        return (sentence.rstrip("?") + ".",)
    if (found := _STATED_THEN_REMINDED.match(sentence)) is not None:
        return f"{found['stated']}.", f"I {found['reminded']}."
    if _REASON.search(sentence) and (found := _ASKED_THEN_STATED.match(sentence)):
        reason = found["stated"][:1].upper() + found["stated"][1:] + "."
        return *split_mixed_sentence(found["asked"] + "?"), reason
    if ", which " in sentence and (found := _WHICH_CLAUSE.match(sentence)) and has_number(found["stated"]):
        return sentence, _state_which_clause(found["noun"], found["stated"])
    found = _STATED_THEN_ASKED.match(sentence)
    if found is None or begins_like_question(strip_filler(found["stated"])):
        return (sentence,)
    return found["stated"] + ".", found["asked"]


def _state_which_clause(noun: str, clause: str) -> str:
    """Turn a clause with "which" into a sentence.

    "my class" and "I go to at six" become "I go to my class at six."
    """
    if found := _WHICH_IS_OBJECT.match(clause):
        return f"{found['verb']} {noun}{found['rest']}."
    return f"{noun[:1].upper()}{noun[1:]} {clause}."
