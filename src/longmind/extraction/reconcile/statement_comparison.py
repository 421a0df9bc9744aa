"""Comparison of two statements: they say the same, one changes the other, or they are different facts.

Statements change each other in three ways: one denies what the other states ("doesn't eat meat any more"), one gives
another value of one thing ("runs 12 km" for "runs 10 km"), or one names the old value beside the new one ("moved from
Lisbon to Oslo"). A wrong change hides a true fact, which is worse than two facts side by side, so the thresholds
below ask for much agreement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longmind.language.measures import Measure
from longmind.language.statement import Statement
from longmind.language.words import stem_of

_GENERIC = frozenset(
    "time hour minut second day week month year page point dollar percent $ € £ mile km kg pound".split()
)
"""Units of any count: that two counts share one says nothing."""
_MONEY = frozenset("$ € £ dollar euro pound".split())
"""Units of prices, which are alike for all things."""
_KIND_NAMES = {
    "count": "number",
    "day": "day of the week",
    "clock": "time of day",
    "date": "date",
    "part": "part of the day",
}
_SAME = 0.8
"""The share of topic words from which two statements say the same."""
_CHANGED = 0.6
"""The share from which they are about one thing."""
_LIKELY_CHANGED = 0.4
"""A lower share, for statements whose speaker says that something changed."""
_SIMILAR = 0.92
"""The cosine from which texts are alike."""
_FEWEST_SHARED = 2
"""Content words that two statements share at least when they are not equal word for word."""


@dataclass(frozen=True)
class Comparison:
    """The relation of a new fact to a known one."""

    kind: Literal["same", "changed", "different"]
    because: str = ""
    planned: bool = False
    """True where the change is only intended."""
    vague: bool = False
    """True where the words fit several facts, so that it may apply only if a single one is known."""


DIFFERENT = Comparison("different")


def compare_statements(
    new: Statement, old: Statement, corrects: bool = False, similarity: float | None = None
) -> Comparison:
    """Compare two statements of states, not of events.

    corrects: whether the speaker says that something changed; similarity: the cosine of the two texts, if known.
    """
    if not _has_same_matter(new, old) or (new.topic and old.topic and new.topic.isdisjoint(old.topic)):
        return DIFFERENT
    if states_same(new, old, similarity):
        return Comparison("same")
    # A longer text would be closed with all else that it says, and a question states nothing.
    if not old.is_single_sentence or old.begins_with_question or new.begins_with_question:
        return DIFFERENT
    if new.main.denied != old.main.denied:
        return _compare_denial(new, old, corrects)
    return _compare_values(new, old, corrects)


def names_successor(new: Statement, old: Statement) -> bool:
    """Return whether a statement names the old value beside a new one, and says all that the old one said.

    E.g. "moved from Lisbon to Oslo" for "lives in Lisbon".
    """
    stated = old.topic | {measure.value for measure in old.measures if measure.kind == "day"}
    return (
        not new.rejected.isdisjoint(stated)
        and _has_same_subject(new, old)
        and bool(old.topic)
        and old.topic <= new.topic
        and (len(new.topic) > len(old.topic) or _find_own_values(new) > _find_own_values(old))
        and old.is_single_sentence
        and new.is_single_sentence
        and not (new.main.hedged or new.main.planned or old.main.hedged or old.main.denied)
        and not (new.begins_with_question or old.begins_with_question)
    )


def states_same(new: Statement, old: Statement, similarity: float | None = None) -> bool:
    """Return whether two statements have the same content; two events must have happened at one time as well."""
    enough = _CHANGED if similarity is not None and similarity >= _SIMILAR else _SAME
    return (
        _has_same_subject(new, old)
        and new.main.denied == old.main.denied
        and new.main.hedged == old.main.hedged
        and new.is_past == old.is_past
        and new.names == old.names
        and find_values(new) == find_values(old)
        and _overlap(new.topic, old.topic) >= enough
        # Where little is said, every word counts.
        and _overlap(new.stems, old.stems) >= (0.5 if len(new.topic & old.topic) >= _FEWEST_SHARED else 1.0)
    )


def find_values(statement: Statement) -> set[tuple[str, str]]:
    """Return the values in a statement, whatever they are values of."""
    return {(measure.kind, measure.value) for measure in statement.measures}


def _has_same_subject(new: Statement, old: Statement) -> bool:
    """Return whether two statements are about one person, or one possession of theirs."""
    return (new.subject or "user") == (old.subject or "user") and new.possession == old.possession


def _has_same_matter(new: Statement, old: Statement) -> bool:
    """Return whether two statements are about the same, in any order: "User's coach and User meet", "User meets User's
    coach"."""
    if _has_same_subject(new, old):
        return True
    if (new.subject or "user") != (old.subject or "user") or (new.possession and old.possession):
        return False
    return new.possession in old.written_words if new.possession else old.possession in new.written_words


def _find_own_values(statement: Statement) -> set[tuple[str, str]]:
    """Return the values that do not only explain others, as the date of a weekday does."""
    return {(measure.kind, measure.value) for measure in statement.measures if not measure.is_explanation}


def _find_days(statement: Statement) -> set[str]:
    """Return the days of the week that a statement names."""
    return {measure.value for measure in statement.measures if measure.kind == "day"}


def _overlap(new: frozenset[str], old: frozenset[str]) -> float:
    """Return the share of words that both have; two statements without content words share all of them."""
    together = len(new | old)
    return len(new & old) / together if together else 1.0


def _compare_denial(new: Statement, old: Statement, corrects: bool) -> Comparison:
    """Compare two statements of which one is denied.

    "doesn't eat meat any more" ends "eats meat", and "is vegetarian again" ends "is not vegetarian".
    """
    says_change = corrects or new.says_ended or old.says_ended
    no_longer = new.says_no_longer and new.main.denied and not new.main.hedged
    if no_longer and new.main.topic and new.main.topic <= old.topic:
        return Comparison("changed", "It says that this no longer holds.", vague=new.main.topic < old.topic)
    overlap = _overlap(new.topic, old.topic)
    shares_few = len(new.topic & old.topic) < _FEWEST_SHARED
    if (
        new.main.hedged > old.main.hedged
        or find_values(new) != find_values(old)
        or overlap < (_CHANGED if says_change else _SAME)
    ):
        return DIFFERENT
    if shares_few and not (says_change and overlap == 1.0 and new.topic):
        return DIFFERENT
    because = "It says that this no longer holds." if new.main.denied else "It says that this holds again."
    return Comparison("changed", because, new.main.planned or new.main.hedged)


def _compare_values(new: Statement, old: Statement, corrects: bool) -> Comparison:
    """Compare two statements that differ in a value, by the words around it.

    E.g. "runs 12 km every day" for "runs 10 km every day", but not "has 3 cats" for "has 2 dogs".
    """
    pair = _find_changed_pair(new, old)
    if pair is None or (new.names - old.names and old.names - new.names):
        return DIFFERENT
    now, before = pair
    if now.kind == "clock" and _find_days(new) != _find_days(old):
        # One gets up later on Sundays.
        return DIFFERENT
    (new_clause, new_wider), (old_clause, old_wider) = new.measures[now], old.measures[before]
    if new_clause.hedged != old_clause.hedged or new_clause.denied != old_clause.denied:
        return DIFFERENT
    if new.is_past and old.is_past and not new.is_current:
        # "ran 10 km" and "ran 12 km" are two runs, unless it is a count so far.
        return DIFFERENT
    units = now.units & before.units
    if now.kind in ("day", "clock") and new.possession is not None and new.topic - old.topic and old.topic - new.topic:
        # Somebody has lessons of many kinds, so the word "lesson" says nothing.
        units |= {stem_of(new.possession)}
    weight = now.is_frequency + bool(units - _GENERIC) - bool(units & _MONEY)
    contexts = [(new_clause.topic, old_clause.topic), (new_wider, old_wider)]
    if now.kind == "date" or new.is_single_sentence:
        # In a long text some word of any sentence recurs, and many dates stand in another clause than their event.
        contexts = [(new.topic, old.topic), *(contexts if now.kind != "date" else ())]
        if now.kind == "date" and _overlap(new.topic, old.topic) < _CHANGED:
            return DIFFERENT
    names = new.names & old.names
    is_likely = corrects or new.is_current
    if (new.topic - units and new.topic == old.topic) or any(
        _has_same_context(topic - units, other - units, names, weight, is_likely) for topic, other in contexts
    ):
        return Comparison(
            "changed", f"It states another {_KIND_NAMES[now.kind]}.", new_clause.planned or new_clause.hedged
        )
    return DIFFERENT


def _has_same_context(
    new: frozenset[str], old: frozenset[str], names: frozenset[str], weight: int, is_likely: bool
) -> bool:
    """Return whether the words around two values show that they are values of one thing.

    names: names that both statements have, which count twice; weight: how much the units of the values add to that;
    is_likely: whether the speaker says that something changed, so that fewer words are enough.
    """
    if not new or not old:
        return weight > 0 and len(new | old) <= is_likely
    shared = new & old
    covered = len(shared) / min(len(new), len(old))
    strength = len(shared) + len(shared & names) + weight
    return (covered >= _CHANGED and strength >= _FEWEST_SHARED) or (
        is_likely and covered >= _LIKELY_CHANGED and strength > _FEWEST_SHARED
    )


def _find_changed_pair(new: Statement, old: Statement) -> tuple[Measure, Measure] | None:
    """Return the one new value that differs, and the old one; None unless exactly one pair can belong together."""
    new_values = {measure for measure in new.measures if not measure.is_explanation}
    old_values = {measure for measure in old.measures if not measure.is_explanation}
    pairs = [
        (now, before)
        for now in new_values - old_values
        for before in old_values - new_values
        if now.could_replace(before)
    ]
    return pairs[0] if len(pairs) == 1 and pairs[0][0].value != pairs[0][1].value else None
