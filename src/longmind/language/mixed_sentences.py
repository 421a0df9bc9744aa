"""A sentence that tells something and asks something, as the sentences that it is."""

from __future__ import annotations

import re

from longmind.language.numbers import has_number
from longmind.language.speech_acts import begins_like_question, strip_filler

_SHORTEST = 25


def split_mixed_sentence(sentence: str) -> tuple[str, ...]:
    """What is told for the sake of a question, and the question, in their order."""
    if not sentence.endswith("?") or len(sentence) < _SHORTEST:
        return (sentence,)
    if _REMINDING.match(sentence):
        return (sentence.rstrip("?") + ".",)
    if (found := _REMINDING_LATE.match(sentence)) is not None:
        return f"{found['told']}.", f"I {found['late']}."
    if _REASON.search(sentence) and (found := _TOLD_AFTERWARDS.match(sentence)):
        return *split_mixed_sentence(found["asked"] + "?"), found["told"][:1].upper() + found["told"][1:] + "."
    if ", which " in sentence and (found := _TOLD_WITHIN.match(sentence)) and has_number(found["told"]):
        return sentence, _of_what(found["what"], found["told"])
    found = _TOLD_AND_ASKED.match(sentence)
    if found is None or begins_like_question(strip_filler(found["told"])):
        return (sentence,)
    return found["told"] + ".", found["asked"]


def _of_what(what: str, told: str) -> str:
    """What a clause with "which" tells, as a sentence: "which I go to at six" of "my class" is "I go to my class at
    six"."""
    if found := _DOING_TO_IT.match(told):
        return f"{found['doing']} {what}{found['rest']}."
    return f"{what[:1].upper()}{what[1:]} {told}."


_TOLD_AND_ASKED = re.compile(
    r"(?P<told>(?=.*\b(?:I|[Mm]y|[Ww]e)\b)[^?\"]{6,}?)(?:,? (?:and|so|but)|,| -| \u2013| \u2014|;)"
    r"(?: (?:and|so|but|speaking of which|also|by the way),?)* "
    r"(?P<asked>(?:can|could|would|will|do|does|did|is|are|have|what|how|where|which|when|why|who|should|any) "
    r"(?:you|I|we|it|there|that|this|the|my|kind|type|sort|many|much|should|are|is|do|"
    r"can|would|ideas?|tips?|suggestions?)\b[^?]*\?)$"
)
_REASON = re.compile(r"\b(?:considering|given|seeing|now|because|since|as|when)\b")
_TOLD_AFTERWARDS = re.compile(
    r"(?P<asked>[^?\"]{8,}?)(?:,? (?:considering|given|seeing|now)(?: that| how)?|,? because|"
    r", (?:especially |particularly )?(?:since|as|when))"
    r" (?P<told>(?:I|we|my|our)\b(?! (?:should|could|would|might|can|may)\b)[^?\"]{8,})\?$"
)
_TOLD_WITHIN = re.compile(
    r"[^?\"]*?\b(?P<what>(?:my|our) (?:[\w'-]+ ){0,4}?[\w'-]+), which (?P<told>(?:I|we|is|are|has|have|usually)\b"
    r"[^?\"]{6,})\?$"
)
_DOING_TO_IT = re.compile(
    r"(?P<doing>(?:I|we)(?:['\u2019]\w+)?(?: (?:usually|always|normally|often|just|have|now|currently|am|been))* \w+"
    r"(?: (?:to|for|on|with|in|at)(?= (?:at|on|every|once|twice|for|around|from|\d)))?)(?P<rest>\b.*)$"
)
_REMINDING = re.compile(
    r"(?:(?:you know|you remember|remember|i mean|like),? )?the ones? (?:(?:where|when|that|which|in which) )?(?:I|"
    r"we)\b|"
    r"remember (?:when|that|how) (?:I|we)\b",
    re.IGNORECASE,
)
_REMINDING_LATE = re.compile(r"(?P<told>[^?]{8,}?)(?: -|;|,) remember (?:when|that|how) I (?P<late>[^?]{8,})\?$")
"""Who asks whether something is remembered tells it."""
