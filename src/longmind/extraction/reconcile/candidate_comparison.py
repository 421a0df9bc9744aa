"""How a candidate stands to an atom: by their slots, by when they happened, and by what their texts state."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Candidate, Precision, Slot
from longmind.extraction.reconcile.ending_match import match_ending
from longmind.extraction.reconcile.statement_comparison import (
    DIFFERENT,
    Comparison,
    compare_statements,
    replaces,
    states_the_same,
    values_of,
)
from longmind.language.measures import NUMBER_WORDS
from longmind.language.statement import Clause, Statement, parse_statement
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.models.atom import Atom, AtomKind

_SAME = Comparison("same")
_DAY = 24 * 3600 * 1_000_000
_WITHIN: dict[Precision, Micros] = {
    "instant": _DAY,
    "day": _DAY,
    "week": 7 * _DAY,
    "month": 31 * _DAY,
    "season": 92 * _DAY,
    "year": 366 * _DAY,
}
"""How far apart two tellings of one event may date it."""
_LOOSE = re.compile(r"(?<!\w)[\"'“”„«».,;:!?…]+|[\"'“”„«».,;:!?…]+(?!\w)")


@lru_cache(maxsize=8192)
def text_key(text: str) -> str:
    """A text without its case, spacing and loose punctuation: equal for texts that differ in nothing else."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").replace("\u2018", "'")
    return " ".join(_LOOSE.sub(" ", folded).split()) or folded


def compare_candidate(
    candidate: Candidate, atom: Atom, slot: Slot | None, similarity: float | None, said_at: Micros
) -> Comparison:
    """How a candidate stands to an atom, whoever said them and whichever is newer."""
    same_text = text_key(candidate.text) == text_key(atom.text)
    if candidate.slot is not None and slot is not None and _same_place(candidate.slot, slot):
        return _SAME if same_text else _by_slot(candidate, atom, slot)
    new, old = parse_statement(candidate.text), parse_statement(atom.text)
    if not same_text and not _is_event(atom.category.kind, old) and replaces(new, old):
        return Comparison("changed", "It says what has taken its place.")
    if not same_text and (over := match_ending(new, candidate.text, old, atom.text)):
        return Comparison("changed", "It says that this is over.", vague=over == "perhaps")
    if (_is_event(candidate.kind, new) and not new.reports_change) or _is_event(atom.category.kind, old):
        told_again = same_text or (candidate.kind == atom.category.kind and states_the_same(new, old, similarity))
        return _SAME if told_again and _same_time(candidate, atom, said_at) else DIFFERENT
    if same_text:
        return _SAME
    relation = compare_statements(_without_agent(candidate.text) or new, old, candidate.corrects, similarity)
    if relation.kind == "same":
        return relation if _is_plan(candidate.kind, new) == _is_plan(atom.category.kind, old) else DIFFERENT
    means_to = candidate.kind == "INTENTION" and relation.planned
    return DIFFERENT if means_to and not _is_plan(atom.category.kind, old) else relation


def _without_agent(text: str) -> Statement | None:
    """What somebody else has done to what is the user's: "User's doctor raised User's dose to 40 mg"."""
    found = _CHANGED_BY.match(text)
    return None if found is None else parse_statement(found["what"])


_CHANGED_BY = re.compile(
    r"(?!User (?:and|has|just)\b)[A-Z][^.,;]*? (?:raised|increased|lowered|reduced|cut|dropped|upped|bumped|changed|"
    r"moved)(?: up| down)? (?P<what>User's [^.,;]+ (?:up |down )?to .+)"
)


def _is_event(kind: AtomKind, statement: Statement) -> bool:
    """Whether it happened; "has been to Rome three times" is so, whatever kind it was given."""
    return kind == "EPISODE" and statement.is_event


def _is_plan(kind: AtomKind, statement: Statement) -> bool:
    """To mean to do something is not to do it."""
    return kind == "INTENTION" and (statement.main.planned or statement.main.hedged)


def _same_place(new: Slot, old: Slot) -> bool:
    """Whether two slots are one; a thing that is named at length may be named in short the next time."""
    if new.subject != old.subject or new.attribute == old.attribute:
        return new.subject == old.subject
    head = next((head for head in _THINGS if new.attribute.startswith(head) and old.attribute.startswith(head)), None)
    if head is None:
        return False
    mine, theirs = (set(slot.attribute.removeprefix(head).split()) for slot in (new, old))
    return len(mine & theirs) >= _ENOUGH and (mine <= theirs or theirs <= mine)


_THINGS = ("place of ", "personal best in ", "times ", "time spent on ", "duration of ")
_ENOUGH = 2
"""How many words of a name tell which thing it is."""


def _by_slot(candidate: Candidate, atom: Atom, slot: Slot) -> Comparison:
    assert candidate.slot is not None
    now, before = _value_words(candidate.slot.value), _value_words(slot.value)
    new, old = parse_statement(candidate.text), parse_statement(atom.text)
    what = f"{candidate.slot.attribute} of {candidate.slot.subject}"
    if _is_plan(candidate.kind, new) and not _is_plan(atom.category.kind, old):
        return DIFFERENT
    mine, theirs = _clauses_with(candidate.slot.value, new), _clauses_with(slot.value, old)
    if now != before and (
        _less_sure(mine or [new.main], theirs or [old.main])
        or _of_other_things(mine, new.names - now, theirs, old.names - before)
    ):
        return DIFFERENT
    if now != before and candidate.slot.attribute.startswith("name of ") and _ONE_MORE.search(candidate.text):
        return DIFFERENT  # who gets a cat named Otis may have one named Milo
    exact = candidate.slot.attribute.startswith("frequency of ")
    if now == before or (now < before and not exact and not any(word.isdigit() for word in before)):
        if new.main.denied != old.main.denied:
            return Comparison("changed", f"It ends or renews the {what}.")
        if new.is_single_sentence and values_of(new) != values_of(old):
            return compare_statements(new, old, candidate.corrects)
        # A text that tells more beside it is worth keeping, and is closed with the other one when the value changes.
        return _SAME if new.topic <= old.topic | now else DIFFERENT
    if before < now and not any(word.isdigit() for word in now):
        return Comparison("changed", f"It says the {what} more exactly.")
    return Comparison("changed", f"It gives another value for the {what}.")


_ONE_MORE = re.compile(
    r"\b(?:has|have|got|adopted|bought)(?: got)?(?: also| just)? (?:an?|another|one)\b|\b(?:too|also|another)\b"
)


def _clauses_with(value: str, statement: Statement) -> list[Clause]:
    """Where a value that is a number is given."""
    words = _value_words(value)
    return [clause for measure, (clause, _) in statement.measures.items() if measure.value in words]


def _less_sure(new: Sequence[Clause], old: Sequence[Clause]) -> bool:
    return all(clause.hedged for clause in new) and not any(clause.hedged for clause in old)


def _of_other_things(
    new: Sequence[Clause], names: frozenset[str], old: Sequence[Clause], old_names: frozenset[str]
) -> bool:
    """Whether what has the value goes by other names: museums in Oslo are not those in Paris."""
    mine = names & frozenset().union(*(clause.topic for clause in new))
    theirs = old_names & frozenset().union(*(clause.topic for clause in old))
    return bool(mine and theirs) and mine.isdisjoint(theirs)


@lru_cache(maxsize=8192)
def _value_words(value: str) -> frozenset[str]:
    words = words_of(value)
    telling = [word for word in words if word not in STOP_WORDS] or words
    return frozenset(NUMBER_WORDS.get(word, stem_of(word)) for word in telling) or frozenset((value,))


def _same_time(candidate: Candidate, atom: Atom, said_at: Micros) -> bool:
    happened = said_at if candidate.valid_from is None else candidate.valid_from
    return abs(happened - to_micros(atom.valid_from)) < _WITHIN[candidate.precision]
