"""A recall as text for a model: facts joined by semicolons, each sanitised, suggestions apart, then quotes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE, sanitise, shorten
from longmind.assembly.wording import make_quote_piece
from longmind.models.atom import Atom
from longmind.models.recall import Hit, Passage, Recall

NOTHING_FOUND = "Nothing is remembered about that."
NOT_LINKED = "Only facts learned from conversations are linked to names; search by topic for notes and quotes."
"""Follows where a name was looked for in vain."""
PERHAPS_RELATED = "Perhaps related:"
"""Precedes weak facts, which may have nothing to do with the question."""
QUOTES_TITLE = "Said in conversations:"
FACT_LIMIT = 2_000
"""Characters of one fact or quote; a longer one is cut."""
TEXT_LIMIT = 20_000
"""Characters of all facts and quotes together; the text says how many did not fit."""

_DATES = {"year": 4, "season": 7, "month": 7}
_FULL_DATE = 10
_TOLD_BY = {"assistant": "said by the assistant", "tool": "from a tool"}


def format_recall(recall: Recall) -> str:
    """Return the facts in their order, dated on a timeline, then the quotes, and at last the weak facts.

    Rules and preferences stand under a notice. Weak quotes are left out. What does not fit the limit is left out too,
    so that one long fact cannot starve the others.
    """
    dated = recall.mode == "TIMELINE"
    known, weak = [hit for hit in recall.hits if not hit.weak], [hit for hit in recall.hits if hit.weak]
    text = _RecalledText()
    if not recall.found:
        text.lines += [NOTHING_FOUND, NOT_LINKED] if recall.mode == "BY_ENTITY" else [NOTHING_FOUND]
    text.add_facts(known, dated=dated)
    text.add_quotes([passage for passage in recall.passages if not passage.weak])
    # Last, so that they take only the room that is left by what is relevant.
    text.add_facts(weak, PERHAPS_RELATED, dated=dated)
    if text.missing:
        text.lines.append(f"({text.missing} more did not fit: ask for something narrower.)")
    return "\n".join(text.lines)


class _RecalledText:
    """The lines of a text that is being written, within its limit."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.missing = 0
        """The number of facts and quotes that did not fit."""
        self._room = TEXT_LIMIT
        self._is_notice_shown = False

    def add_facts(self, hits: Sequence[Hit], *above: str, dated: bool) -> None:
        """Add facts on one line, and suggestions on another under their notice, `above` over both."""
        facts = self._choose(_format_fact(hit.atom, dated=dated) for hit in hits if not hit.atom.behavioral)
        suggestions = self._choose(_format_fact(hit.atom, dated=dated) for hit in hits if hit.atom.behavioral)
        if facts or suggestions:
            self.lines += above
        if facts:
            self.lines.append("; ".join(facts))
        if suggestions:
            if not self._is_notice_shown:
                self.lines.append(SUGGESTIONS_NOTICE)
            self._is_notice_shown = True
            self.lines.append("; ".join(suggestions))

    def add_quotes(self, passages: Iterable[Passage]) -> None:
        """Add a line for each message of passages, with its day and speaker."""
        messages = [(passage, message) for passage in passages for message in passage.messages]
        quotes = self._choose(
            shorten(str(make_quote_piece(passage, message).fields["line"]), FACT_LIMIT) for passage, message in messages
        )
        if quotes:
            self.lines += [QUOTES_TITLE, *(f"- {quote}" for quote in quotes)]

    def _choose(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that fit. It goes on after one that does not: a shorter one may."""
        chosen = []
        for text in texts:
            if len(text) <= self._room:
                chosen.append(text)
                self._room -= len(text)
            else:
                self.missing += 1
        return chosen


def _format_fact(atom: Atom, *, dated: bool) -> str:
    text = sanitise(atom.text)
    if len(text) > FACT_LIMIT:
        text = shorten(text, FACT_LIMIT)
    elif text.endswith(".") and text.count(".") == 1:
        # Joined sentences read better without full stops; a text with abbreviations keeps them.
        text = text[:-1]
    marks = [mark for mark in (_end(atom), _TOLD_BY.get(atom.trust)) if mark]
    date = f"{atom.valid_from[: _DATES.get(atom.precision or '', _FULL_DATE)]}: " if dated else ""
    return date + " ".join([text, *(f"({mark})" for mark in marks)])


def _end(atom: Atom) -> str | None:
    ends = atom.valid_to or atom.superseded_at
    if ends is None:
        return None
    return f"{'until' if atom.superseded_by is None else 'superseded'} {ends[:_FULL_DATE]}"
