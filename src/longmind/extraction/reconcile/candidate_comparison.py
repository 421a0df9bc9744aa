"""Comparison of a candidate with a known atom: by their slots, by their times, and by what their texts state.

The result is "same", "changed" or "different". Two facts in one slot are compared by the slot's value; others by their
statements, in `statement_comparison`, and by what the new text says is over, in `ending_match`. Events are the same
only if they also happened at the same time, and never change each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Candidate, Precision, Slot
from longmind.extraction.reconcile.ended_facts import match_ending
from longmind.extraction.reconcile.statement_comparison import (
    DIFFERENT,
    Comparison,
    compare_statements,
    find_values,
    names_successor,
    states_same,
)
from longmind.extraction.slot_types import ABOUT
from longmind.language.measures import NUMBER_WORDS
from longmind.language.statement import Clause, Statement, parse_statement
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.models.atom import Atom, AtomKind

_SAME = Comparison("same")
_DAY = 24 * 3600 * 1_000_000
_SAME_EVENT_WITHIN: dict[Precision, Micros] = {
    "instant": _DAY,
    "day": _DAY,
    "week": 7 * _DAY,
    "month": 31 * _DAY,
    "season": 92 * _DAY,
    "year": 366 * _DAY,
}
"""The distance at which two reports may date one event."""
# Punctuation that is no part of a word.
_LOOSE = re.compile(r"(?<!\w)[\"'“”„«».,;:!?…]+|[\"'“”„«».,;:!?…]+(?!\w)")


@lru_cache(maxsize=8192)
def text_key(text: str) -> str:
    """Return a text without its case, spacing and loose punctuation: equal for texts that differ in nothing else."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").replace("\u2018", "'")
    return " ".join(_LOOSE.sub(" ", folded).split()) or folded


def compare_candidate(
    candidate: Candidate, atom: Atom, slot: Slot | None, similarity: float | None, said_at: Micros
) -> Comparison:
    """Compare a candidate with an atom, regardless of who said them and which is newer.

    slot: the slot of the atom; similarity: the cosine of the two, if both have a vector; said_at: when the candidate
    was said.
    """
    same_text = text_key(candidate.text) == text_key(atom.text)
    if candidate.slot is not None and slot is not None and _is_same_slot(candidate.slot, slot):
        return _SAME if same_text else _compare_values(candidate, atom, slot)
    new, old = parse_statement(candidate.text), parse_statement(atom.text)
    if not same_text and not _is_event(atom.category.kind, old) and names_successor(new, old):
        return Comparison("changed", "It names the replacement.")
    if not same_text and (certainty := match_ending(new, candidate.text, old, atom.text)):
        return Comparison("changed", "It says that this is over.", vague=certainty == "perhaps")
    if (_is_event(candidate.kind, new) and not new.reports_change) or _is_event(atom.category.kind, old):
        repeats = same_text or (candidate.kind == atom.category.kind and states_same(new, old, similarity))
        return _SAME if repeats and _has_same_time(candidate, atom, said_at) else DIFFERENT
    if same_text:
        return _SAME
    comparison = compare_statements(_strip_agent(candidate.text) or new, old, candidate.corrects, similarity)
    if comparison.kind == "same":
        is_plan = _is_plan(candidate.kind, new)
        return comparison if is_plan == _is_plan(atom.category.kind, old) else DIFFERENT
    # Intending to move does not change where somebody lives.
    is_intention = candidate.kind == "INTENTION" and comparison.planned
    return DIFFERENT if is_intention and not _is_plan(atom.category.kind, old) else comparison


def _strip_agent(text: str) -> Statement | None:
    """Return the statement about a thing of the user's, without the person who changed it; None for other texts.

    E.g. "User's doctor raised User's dose to 40 mg" states "User's dose to 40 mg".
    """
    found = _CHANGED_BY.match(text)
    return None if found is None else parse_statement(found["thing"])


_CHANGED_BY = re.compile(
    r"(?!User (?:and|has|just)\b)[A-Z][^.,;]*? (?:raised|increased|lowered|reduced|cut|dropped|upped|bumped|changed|"
    r"moved)(?: up| down)? (?P<thing>User's [^.,;]+ (?:up |down )?to .+)"
)


def _is_event(kind: AtomKind, statement: Statement) -> bool:
    """Return whether something happened; "has been to Rome three times" is a state, whatever its kind."""
    return kind == "EPISODE" and statement.is_event


def _is_plan(kind: AtomKind, statement: Statement) -> bool:
    """Return whether somebody intends to do something, which is not the same as doing it."""
    return kind == "INTENTION" and (statement.main.planned or statement.main.hedged)


def _is_same_slot(new: Slot, old: Slot) -> bool:
    """Return whether two slots are one; a thing named at length may be named in short the next time.

    E.g. "place of old tennis racket" and "place of tennis racket".
    """
    if new.attribute.startswith(ABOUT):
        return False
    if new.subject != old.subject or new.attribute == old.attribute:
        return new.subject == old.subject
    head = next((head for head in _HEADS if new.attribute.startswith(head) and old.attribute.startswith(head)), None)
    if head is None:
        return False
    new_words, old_words = (set(slot.attribute.removeprefix(head).split()) for slot in (new, old))
    return len(new_words & old_words) >= _ENOUGH_WORDS and (new_words <= old_words or old_words <= new_words)


_HEADS = ("place of ", "personal best in ", "times ", "time spent on ", "duration of ")
"""Beginnings of attributes that name a thing in free words."""
_ENOUGH_WORDS = 2
"""Words that identify a thing."""


def _compare_values(candidate: Candidate, atom: Atom, slot: Slot) -> Comparison:
    """Compare two facts in one slot by its value.

    A value that has more words is more exact ("Oslo, Norway" than "Oslo"), unless it holds numbers. A candidate that is
    less sure than the atom, or that speaks of things with other names, is a different fact.
    """
    assert candidate.slot is not None
    now, before = _to_value_words(candidate.slot.value), _to_value_words(slot.value)
    new, old = parse_statement(candidate.text), parse_statement(atom.text)
    subject = f"{candidate.slot.attribute} of {candidate.slot.subject}"
    if _is_plan(candidate.kind, new) and not _is_plan(atom.category.kind, old):
        return DIFFERENT
    new_clauses, old_clauses = _find_clauses(candidate.slot.value, new), _find_clauses(slot.value, old)
    if now != before and (
        _is_less_sure(new_clauses or [new.main], old_clauses or [old.main])
        or _has_other_names(new_clauses, new.names - now, old_clauses, old.names - before)
    ):
        return DIFFERENT
    if now != before and candidate.slot.attribute.startswith("name of ") and _ONE_MORE.search(candidate.text):
        # Somebody who gets a cat named Otis may have one named Milo.
        return DIFFERENT
    is_frequency = candidate.slot.attribute.startswith("frequency of ")
    if now == before or (now < before and not is_frequency and not any(word.isdigit() for word in before)):
        if new.main.denied != old.main.denied:
            return Comparison("changed", f"It ends or renews the {subject}.")
        if new.is_single_sentence and find_values(new) != find_values(old):
            return compare_statements(new, old, candidate.corrects)
        # A text that says more is worth keeping; it is closed with the other one when the value changes.
        return _SAME if new.topic <= old.topic | now else DIFFERENT
    if before < now and not any(word.isdigit() for word in now):
        return Comparison("changed", f"It states the {subject} more precisely.")
    return Comparison("changed", f"It states another value for the {subject}.")


_ONE_MORE = re.compile(
    r"\b(?:has|have|got|adopted|bought)(?: got)?(?: also| just)? (?:an?|another|one)\b|\b(?:too|also|another)\b"
)


def _find_clauses(value: str, statement: Statement) -> list[Clause]:
    """Return the clauses that give a value, if it is a number, a day or a time."""
    words = _to_value_words(value)
    return [context.clause for measure, context in statement.measures.items() if measure.value in words]


def _is_less_sure(new: Sequence[Clause], old: Sequence[Clause]) -> bool:
    """Return whether all new clauses are hedged and no old one is."""
    return all(clause.hedged for clause in new) and not any(clause.hedged for clause in old)


def _has_other_names(
    new: Sequence[Clause], new_names: frozenset[str], old: Sequence[Clause], old_names: frozenset[str]
) -> bool:
    """Return whether the things with the value have other names: museums in Oslo are not those in Paris."""
    named_now = new_names & frozenset().union(*(clause.topic for clause in new))
    named_before = old_names & frozenset().union(*(clause.topic for clause in old))
    return bool(named_now and named_before) and named_now.isdisjoint(named_before)


@lru_cache(maxsize=8192)
def _to_value_words(value: str) -> frozenset[str]:
    """Return the content words of a value in stems, with numbers in digits."""
    words = words_of(value)
    content_words = [word for word in words if word not in STOP_WORDS] or words
    return frozenset(NUMBER_WORDS.get(word, stem_of(word)) for word in content_words) or frozenset((value,))


def _has_same_time(candidate: Candidate, atom: Atom, said_at: Micros) -> bool:
    """Return whether two events may have happened at one time, given how exactly it is known."""
    happened = said_at if candidate.valid_from is None else candidate.valid_from
    return abs(happened - to_micros(atom.valid_from)) < _SAME_EVENT_WITHIN[candidate.precision]
