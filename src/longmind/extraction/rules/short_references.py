"""Things that a message names in full once and in short from then on: "my Canon EOS 80D camera", "my camera"."""

from __future__ import annotations

import re

_THING = (
    r"(?P<thing>[a-z]{3,})(?=[,.;:!?)]|$| (?:on|in|at|to|with|for|from|of|and|or|but|so|is|was|has|had|again|lately|"
    r"now|"
    r"since|because|when|that|which|will|can)\b)"
)
"""A word that no other noun follows: "my screen time" is about no screen."""
_IN_FULL = re.compile(rf"\b[Mm]y (?P<name>[A-Z][\w-]*(?: [A-Z\d][\w-]*)*) {_THING}")
_IN_SHORT = re.compile(rf"\b(?P<my>[Mm]y) {_THING}")


class Belongings:
    """The things of one message."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def in_full(self, sentence: str) -> str:
        """The sentence with the full names of what was named before."""
        if "y " not in sentence:
            return sentence
        if self._names:
            sentence = _IN_SHORT.sub(self._full, sentence)
        for found in _IN_FULL.finditer(sentence):
            self._names[found["thing"]] = found["name"]
        return sentence

    def _full(self, found: re.Match[str]) -> str:
        name = self._names.get(found["thing"])
        return found[0] if name is None else f"{found['my']} {name} {found['thing']}"
