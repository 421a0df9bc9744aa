"""A recall as text for a model: facts joined by semicolons, each sanitised, suggestions apart."""

from __future__ import annotations

from collections.abc import Sequence

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE, sanitise
from longmind.models.atom import Atom
from longmind.models.recall import Recall

NOTHING_FOUND = "Nothing is remembered about that."
FACT_LIMIT = 2_000
"""Characters of one fact; a longer one is cut."""
TEXT_LIMIT = 20_000
"""Characters of all facts together; the text says how many facts did not fit."""

_DATES = {"year": 4, "season": 7, "month": 7}
_FULL_DATE = 10
_TOLD_BY = {"assistant": "said by the assistant", "tool": "from a tool"}


def format_recall(recall: Recall) -> str:
    """Return the facts in their order, dated on a timeline; rules and preferences follow under a notice.

    A fact that does not fit the limit is left out, so that one long fact cannot starve the others.
    """
    if not recall.hits:
        return NOTHING_FOUND
    shown, room = [], TEXT_LIMIT
    for hit in recall.hits:
        fact = _format_fact(hit.atom, dated=recall.mode == "TIMELINE")
        # Goes on after a fact that does not fit: a shorter one may.
        if len(fact) <= room:
            shown.append((hit.atom, fact))
            room -= len(fact)
    facts = [fact for atom, fact in shown if not atom.behavioral]
    suggestions = [fact for atom, fact in shown if atom.behavioral]
    return "\n".join(
        [*_join_facts(facts), *_join_facts(suggestions, SUGGESTIONS_NOTICE), *_note_missing(recall, len(shown))]
    )


def _join_facts(facts: Sequence[str], *above: str) -> list[str]:
    return [*above, "; ".join(facts)] if facts else []


def _note_missing(recall: Recall, shown: int) -> list[str]:
    """Return the line that says how many facts did not fit, if any."""
    missing = len(recall.hits) - shown
    return [f"({missing} more did not fit: ask for something narrower.)"] if missing else []


def _format_fact(atom: Atom, *, dated: bool) -> str:
    text = sanitise(atom.text)
    if len(text) > FACT_LIMIT:
        text = text[: FACT_LIMIT - 1].rstrip() + "…"
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
