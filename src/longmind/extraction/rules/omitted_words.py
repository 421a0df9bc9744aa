"""Words that a sentence of a chat leaves out, put back so that it can be understood by itself.

Two kinds are restored: the "I" of a sentence that begins with its verb ("Went to the opera"), and the full name of a
thing that the same message named before ("my Canon EOS 80D camera", then "my camera").
"""

from __future__ import annotations

import re

from longmind.language import verbs

_OMITTED = (
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
_NEVER_OMITTED = frozenset(
    "based given made used done gone called named been read put cut let set hurt cost shut split supposed compared "
    "provided needed agreed congrats red hundred indeed".split()
)
"""Past forms that begin a sentence with another meaning more often: "Based on that, …"."""
_AFTER = frozenset(
    "a an the my our some to up out back in on at with it them him her this that these those off through into for from "
    "about so really two three lots all home new another".split()
)
_THING = (
    r"(?P<thing>[a-z]{3,})(?=[,.;:!?)]|$| (?:on|in|at|to|with|for|from|of|and|or|but|so|is|was|has|had|again|lately|"
    r"now|"
    r"since|because|when|that|which|will|can)\b)"
)
"""A noun that no other noun follows: "my screen time" is not about a screen."""
_IN_FULL = re.compile(rf"\b[Mm]y (?P<name>[A-Z][\w-]*(?: [A-Z\d][\w-]*)*) {_THING}")
_IN_SHORT = re.compile(rf"\b(?P<my>[Mm]y) {_THING}")


def restore_subject(sentence: str) -> str:
    """Return the sentence with the "I" that it leaves out, or unchanged where it leaves none out."""
    rest = sentence[:1].lower() + sentence[1:]
    for subject, pattern in _OMITTED:
        if pattern.match(rest):
            return subject + rest
    found = _VERB_FIRST.match(rest)
    if found is None or found["after"] is None or found["verb"] in _NEVER_OMITTED or len(sentence.split()) < 3:
        return sentence
    after = found["after"].lower()
    continues = after in _AFTER or after.endswith("ing") or after[0].isdigit()
    return f"I {rest}" if continues and verbs.is_past_form(found["verb"], sentence) else sentence


class FullNames:
    """The full names of the things in one message, by the noun that they end with."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def restore(self, sentence: str) -> str:
        """Return the sentence with full names for the things named before, and remember those it names itself."""
        if "y " not in sentence:
            return sentence
        if self._names:
            sentence = _IN_SHORT.sub(self._to_full, sentence)
        for found in _IN_FULL.finditer(sentence):
            self._names[found["thing"]] = found["name"]
        return sentence

    def _to_full(self, found: re.Match[str]) -> str:
        name = self._names.get(found["thing"])
        return found[0] if name is None else f"{found['my']} {name} {found['thing']}"
