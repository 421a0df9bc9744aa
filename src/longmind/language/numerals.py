"""Where an "I" is no person but a number: World War I, Type I diabetes, a Tiger I."""

from __future__ import annotations

import re

_COUNTED = (
    r"(?:[Ww]ar|[Pp]hase|[Tt]ype|[Pp]art|[Cc]lass|[Vv]olume|[Cc]hapter|[Bb]ook|[Ll]evel|[Tt]ier|[Ss]tage|[Aa]ct|"
    r"[Ee]pisode|[Gg]rade|[Ss]chedule|[Aa]rticle|[Ss]ection|[Dd]ivision|[Ff]igure|[Tt]able|[Ss]eason|[Mm]k\.|[Mm]ark)"
)
_NAME = r"[A-Z][\w'\u2019.-]*"
_SURELY_COUNTED = re.compile(rf"(?:^|[\s(])(?:{_COUNTED}|{_NAME} {_NAME}) $")
_NAMED = re.compile(rf"\w[^.!?]* {_NAME} $")
_END = re.compile(r"\s*(?:$|[.!?;)])")
# No "I" that speaks is followed by one of these, nor by a word in -s, but for those that are named.
_GOES_ON = re.compile(r"\s*,|\s+(?:and|or|in|of|on|at|to|for|from|by|with|as|the|[IVX]+)\b")
_THING = re.compile(
    r"\s+(?!(?:was|always|sometimes|nowadays|besides|perhaps|thus|this|focus|afterwards|as|yes)\b)[a-z]*[^s\W]s\b"
)


def is_numeral(text: str, start: int, end: int) -> bool:
    """Whether the "I" at this place counts what stands before it."""
    before = text[max(0, start - 60) : start]
    if _SURELY_COUNTED.search(before):
        return any(pattern.match(text, end) for pattern in (_END, _GOES_ON, _THING))
    return _NAMED.search(before) is not None and any(pattern.match(text, end) for pattern in (_END, _THING))
