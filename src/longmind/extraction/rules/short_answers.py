"""Short answers read with their questions: "28 November", asked "When is the test?", is "The test is on 28 November".

Only questions whose answer makes a clear statement are known. Any other short answer says nothing by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_MOST_WORDS = 8
_PLAIN = re.compile(r"[\w+\u20ac$\u00a3][^?!;:\n]*")
_NO_ANSWER = re.compile(
    r"\b(?:i|i['\u2019]\w+|you|we|it|that|this|he|she|they|not|no|none|nothing|sure|maybe|perhaps|depends|either|"
    r"neither|"
    r"both|same|ok|okay|thanks|please|what|how|why|later|never|mind|skip)\b",
    re.IGNORECASE,
)
_YES = re.compile(r"(?:yes|yeah|yep|yup|correct|right|exactly|i am|i do|yes,? i (?:am|do))[.!]*", re.IGNORECASE)
_NO = re.compile(r"(?:no|nope|nah|i['\u2019]m not|no,? i['\u2019]m not|not at all)[.!]*", re.IGNORECASE)
_LEAD = re.compile(r"(?:(?:it|that|this)['\u2019]?s |it is |yes,? |oh,? |well,? |um+,? |on |in |at )+", re.IGNORECASE)
_ARE_YOU = re.compile(
    r"\bare you (?:an? )?(?P<what>vegan|vegetarian|pescatarian|married|single|divorced|engaged|retired|diabetic|"
    r"left-handed|pregnant|allergic to [\w ]+|from [A-Z][\w ]+)\?$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z\u00c0-\u024f].*")
_DAY = re.compile(r".*(?:\d|\b(?:to(?:day|morrow)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b).*", re.IGNORECASE)
_TEMPLATES: tuple[tuple[re.Pattern[str], re.Pattern[str], Callable[[re.Match[str], str], str]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), form, write)
    for pattern, form, write in (
        (
            r"\b(?:what(?:['\u2019]s| is| are)|and) (?:the name of )?your (?P<what>(?:favou?rite (?:[\w'-]+ "
            r"){0,2}[\w'-]+|"
            r"(?:first |last |full |preferred |nick)?name|pronouns|birthday|(?:e-?mail|shipping |home |postal )?"
            r"(?:address|e-?mail)|(?:phone |mobile )?number|job|role|job title|position|budget|goal|diet|"
            r"native language|"
            r"time ?zone|height|weight|shoe size|nationality|hometown|(?:dog|cat|wife|husband|son|daughter|sister|"
            r"brother|partner|boss|company)(?:['\u2019]s name)?))\?$",
            _PLAIN,
            lambda found, answer: f"My {found['what']} is {answer}.",
        ),
        (
            r"\bwhere do you live\b|\bwhere are you (?:based|living)\b|\b(?:what|which) (?:city|town|"
            r"country) (?:are you|do "
            r"you live)\b",
            _NAME,
            lambda found, answer: f"I live in {answer}.",
        ),
        (r"\bwhere are you (?:originally )?from\b", _NAME, lambda found, answer: f"I'm from {answer}."),
        (
            r"\bhow old are you\b",
            re.compile(r"\d{1,3}(?: years old)?"),
            lambda found, answer: f"I'm {answer.split()[0]} years old.",
        ),
        (r"\bwhere do you work\b|\bwho do you work for\b", _NAME, lambda found, answer: f"I work at {answer}."),
        (
            r"\bwhat do you do (?:for (?:a living|work))|\bwhat(?:['\u2019]s| is) your (?:job|profession|occupation)\b",
            _PLAIN,
            lambda found, answer: f"I work as {answer if answer[:2] in ('a ', 'an') else 'a ' + answer}.",
        ),
        (
            r"\b(?:any|have) (?:food )?allergies\b|\bare you allergic to anything\b|\bwhat are you allergic to\b",
            _PLAIN,
            lambda found, answer: f"I'm allergic to {answer}.",
        ),
        (
            r"\bwhen(?:['\u2019]s| is) (?P<whose>the|your) (?P<what>(?:[\w'-]+ ){0,3}[\w'-]+)\?$",
            _DAY,
            lambda found, answer: (
                f"{'The' if found['whose'].lower() == 'the' else 'My'} {found['what']} is on {answer}."
            ),
        ),
    )
)


def write_answer(question: str, answer: str) -> str | None:
    """Return what a short answer states together with its question, in its speaker's words; None if nothing."""
    words = " ".join(answer.split())
    if not question or not words or len(words.split()) > _MOST_WORDS:
        return None
    asked = _ARE_YOU.search(question)
    if asked is not None:
        what = asked["what"]
        return f"I'm {what}." if _YES.fullmatch(words) else f"I'm not {what}." if _NO.fullmatch(words) else None
    value = _LEAD.sub("", words, count=1).rstrip(" .!,")
    if _PLAIN.fullmatch(value) is None or _NO_ANSWER.search(value):
        return None
    for pattern, form, write in _TEMPLATES:
        if (found := pattern.search(question)) is not None:
            return write(found, value) if form.fullmatch(value) else None
    return None
