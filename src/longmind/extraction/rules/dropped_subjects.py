"""Sentences that begin with their verb, as in chats: "Went to the opera" leaves an "I" out."""

from __future__ import annotations

import re

from longmind.language import verbs

_LEFT_OUT = (
    (
        "I'm ",
        re.compile(
            r"gonna\b|(?:looking|hoping|planning|thinking|feeling) (?:to|for|of|about|forward|like|great|good)\b"
        ),
    ),
    ("I've ", re.compile(r"been (?!ages|a while|a long|so long|too long|forever|years)")),
    (
        "I ",
        re.compile(
            r"(?:wanna|gotta|can['\u2019]t|couldn['\u2019]t|won['\u2019]t|didn['\u2019]t|haven['\u2019]t)\b"
            r"|don['\u2019]t (?:know|have|think|like|eat|want)\b"
        ),
    ),
)
_VERB_FIRST = re.compile(
    r"(?:(?:just|also|still|finally|recently|already|really|actually) )*"
    r"(?P<verb>[a-z]+)\b(?: (?P<after>[\w'\u2019$]+))?"
)
_NOT_LEFT_OUT = frozenset(
    "based given made used done gone called named been read put cut let set hurt cost shut split supposed compared "
    "provided needed agreed congrats red hundred indeed".split()
)
"""Forms of the past that begin a sentence in another way more often."""
_AFTER = frozenset(
    "a an the my our some to up out back in on at with it them him her this that these those off through into for from "
    "about so really two three lots all home new another".split()
)


def with_subject(said: str) -> str:
    """The sentence with the "I" that it leaves out, if it does."""
    rest = said[:1].lower() + said[1:]
    for subject, pattern in _LEFT_OUT:
        if pattern.match(rest):
            return subject + rest
    found = _VERB_FIRST.match(rest)
    if found is None or found["after"] is None or found["verb"] in _NOT_LEFT_OUT or len(said.split()) < 3:
        return said
    after = found["after"].lower()
    goes_on = after in _AFTER or after.endswith("ing") or after[0].isdigit()
    return f"I {rest}" if goes_on and verbs.is_past(found["verb"], said) else said
