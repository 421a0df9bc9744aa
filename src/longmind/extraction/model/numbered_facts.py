"""Known facts as a model is shown them: a line of JSON each, with a short number by which a decision names it."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.extraction.candidate import KnownFact
from longmind.extraction.model.transcript import encode_one_line_json

SHOWN_CHARACTERS = 300
"""Characters of a known fact that are shown; a longer text is cut, since every window pays for it."""


class NumberedFacts:
    """The known facts of one extraction by the numbers that the model is shown, `k1` first.

    The model never sees the ids of atoms, so that it can name only what it was shown.
    """

    def __init__(self, known: Sequence[KnownFact] = ()) -> None:
        self._by_number = {f"k{number}": fact for number, fact in enumerate(known, 1)}

    @property
    def lines(self) -> str:
        """The facts as lines of JSON, in which no text can end its line."""
        return "\n".join(
            encode_one_line_json({"known": number, "attribute": fact.attribute, "text": _cut(fact.text)})
            for number, fact in self._by_number.items()
        )

    def find_atom_id(self, number: str | None) -> str | None:
        """Return the id of the atom with a number, or None if no fact was shown with it."""
        fact = self._by_number.get((number or "").strip().casefold())
        return None if fact is None else fact.atom_id


def _cut(text: str) -> str:
    """Return a text as far as it is shown."""
    # Half of a surrogate pair cannot be sent.
    shown = text.encode("utf-8", "replace").decode()
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]} …"
