"""How two statements stand to each other: they say the same, one changes the other, or they are different facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from longmind.language.measures import Measure
from longmind.language.statement import Statement
from longmind.language.words import stem_of

_GENERIC = frozenset(
    "time hour minut second day week month year page point dollar percent $ € £ mile km kg pound".split()
)
"""Units in which anything is counted: that they are the same tells nothing."""
_MONEY = frozenset("$ € £ dollar euro pound".split())
"""Prices of different things are alike in all but the thing."""
_NAMES = {
    "count": "number",
    "day": "day of the week",
    "clock": "time of day",
    "date": "date",
    "part": "part of the day",
}
_SAME = 0.8
_CHANGED = 0.6
_LIKELY_CHANGED = 0.4
_SIMILAR = 0.92
_TELLING = 2
"""How many telling words two statements share at the least when they are not word for word the same."""


@dataclass(frozen=True)
class Comparison:
    kind: Literal["same", "changed", "different"]
    because: str = ""
    planned: bool = False
    """Whether the clause that tells of the change tells what somebody means to do."""
    vague: bool = False
    """Whether what has changed is named by so little that it must be the only thing of its kind."""


DIFFERENT = Comparison("different")


def compare_statements(
    new: Statement, old: Statement, corrects: bool = False, similarity: float | None = None
) -> Comparison:
    """How a new statement stands to an old one, when both speak of what is so, not of what happened."""
    if not _of_one_matter(new, old) or (new.topic and old.topic and new.topic.isdisjoint(old.topic)):
        return DIFFERENT
    if states_the_same(new, old, similarity):
        return Comparison("same")
    # What else a longer text tells would be closed with what has changed, and who asks states nothing.
    if not old.is_single_sentence or old.begins_with_question or new.begins_with_question:
        return DIFFERENT
    if new.main.denied != old.main.denied:
        return _denial(new, old, corrects)
    return _other_value(new, old, corrects)


def replaces(new: Statement, old: Statement) -> bool:
    """Whether a statement names the old value beside the new one, in saying all that the old one said."""
    stated = old.topic | {measure.value for measure in old.measures if measure.kind == "day"}
    return (
        not new.rejected.isdisjoint(stated)
        and _of_one_subject(new, old)
        and bool(old.topic)
        and old.topic <= new.topic
        and (len(new.topic) > len(old.topic) or _told_values(new) > _told_values(old))
        and old.is_single_sentence
        and new.is_single_sentence
        and not (
            new.main.hedged
            or new.main.planned
            or old.main.hedged
            or old.main.denied
            or new.begins_with_question
            or old.begins_with_question
        )
    )


def states_the_same(new: Statement, old: Statement, similarity: float | None = None) -> bool:
    """Whether two statements have the same content; events must also have happened at the same time."""
    enough = _CHANGED if similarity is not None and similarity >= _SIMILAR else _SAME
    return (
        _of_one_subject(new, old)
        and new.main.denied == old.main.denied
        and new.main.hedged == old.main.hedged
        and new.is_past == old.is_past
        and new.names == old.names
        and values_of(new) == values_of(old)
        and _overlap(new.topic, old.topic) >= enough
        # Where little is said, every word counts.
        and _overlap(new.stems, old.stems) >= (0.5 if len(new.topic & old.topic) >= _TELLING else 1.0)
    )


def _of_one_subject(new: Statement, old: Statement) -> bool:
    return (new.subject or "user") == (old.subject or "user") and new.possession == old.possession


def _of_one_matter(new: Statement, old: Statement) -> bool:
    """Whether they speak of the same, in whatever order: "User's coach and User meet", "User meets User's coach"."""
    if _of_one_subject(new, old):
        return True
    if (new.subject or "user") != (old.subject or "user") or (new.possession and old.possession):
        return False
    return new.possession in old.written_words if new.possession else old.possession in new.written_words


def values_of(statement: Statement) -> set[tuple[str, str]]:
    """The values that it gives, of whatever they are."""
    return {(measure.kind, measure.value) for measure in statement.measures}


def _told_values(statement: Statement) -> set[tuple[str, str]]:
    """Those that are not only noted beside others, like the date of a day of the week."""
    return {(measure.kind, measure.value) for measure in statement.measures if not measure.is_explanation}


def _days(statement: Statement) -> set[str]:
    return {measure.value for measure in statement.measures if measure.kind == "day"}


def _overlap(new: frozenset[str], old: frozenset[str]) -> float:
    """The share of the words that both have; two statements without telling words share all of them."""
    together = len(new | old)
    return len(new & old) / together if together else 1.0


def _denial(new: Statement, old: Statement, corrects: bool) -> Comparison:
    """ "doesn't eat meat any more" ends "eats meat", and "is vegetarian again" ends "is not vegetarian"."""
    said_so = corrects or new.says_ended or old.says_ended
    if (
        new.says_no_longer
        and new.main.denied
        and new.main.topic
        and new.main.topic <= old.topic
        and not new.main.hedged
    ):
        return Comparison("changed", "It says that this is no longer so.", vague=new.main.topic < old.topic)
    overlap = _overlap(new.topic, old.topic)
    few = len(new.topic & old.topic) < _TELLING
    if (
        new.main.hedged > old.main.hedged
        or values_of(new) != values_of(old)
        or overlap < (_CHANGED if said_so else _SAME)
    ):
        return DIFFERENT
    if few and not (said_so and overlap == 1.0 and new.topic):
        return DIFFERENT
    because = "It says that this is no longer so." if new.main.denied else "It says that this is so again."
    return Comparison("changed", because, new.main.planned or new.main.hedged)


def _other_value(new: Statement, old: Statement, corrects: bool) -> Comparison:
    pair = _changed_pair(new, old)
    if pair is None or (new.names - old.names and old.names - new.names):
        return DIFFERENT
    now, before = pair
    if now.kind == "clock" and _days(new) != _days(old):
        return DIFFERENT  # one gets up later on Sundays
    (mine, wider), (theirs, wider_theirs) = new.measures[now], old.measures[before]
    # What happened with this number and then with that one has happened twice, unless somebody keeps count.
    if (
        mine.hedged != theirs.hedged
        or mine.denied != theirs.denied
        or (new.is_past and old.is_past and not new.is_current)
    ):
        return DIFFERENT
    units = now.units & before.units
    if now.kind in ("day", "clock") and new.possession is not None and new.topic - old.topic and old.topic - new.topic:
        units |= {stem_of(new.possession)}  # somebody has lessons of many kinds
    telling = now.is_frequency + bool(units - _GENERIC) - bool(units & _MONEY)
    contexts = [(mine.topic, theirs.topic), (wider, wider_theirs)]
    if now.kind == "date" or new.is_single_sentence:
        # Something of any sentence is found again in a long text, and many dates are given beside what they are of.
        contexts = [(new.topic, old.topic), *(contexts if now.kind != "date" else ())]
        if now.kind == "date" and _overlap(new.topic, old.topic) < _CHANGED:
            return DIFFERENT
    if (new.topic - units and new.topic == old.topic) or any(
        _is_about_same(topic - units, other - units, new.names & old.names, telling, corrects or new.is_current)
        for topic, other in contexts
    ):
        return Comparison("changed", f"It gives another {_NAMES[now.kind]}.", mine.planned or mine.hedged)
    return DIFFERENT


def _is_about_same(new: frozenset[str], old: frozenset[str], names: frozenset[str], telling: int, likely: bool) -> bool:
    """Whether the words around two values tell that they are values of one thing."""
    if not new or not old:
        return telling > 0 and len(new | old) <= likely
    shared = new & old
    covered = len(shared) / min(len(new), len(old))
    strength = len(shared) + len(shared & names) + telling
    return (covered >= _CHANGED and strength >= _TELLING) or (
        likely and covered >= _LIKELY_CHANGED and strength > _TELLING
    )


def _changed_pair(new: Statement, old: Statement) -> tuple[Measure, Measure] | None:
    """The one value that differs; where several do, nobody can tell which became which."""
    mine = {measure for measure in new.measures if not measure.is_explanation}
    theirs = {measure for measure in old.measures if not measure.is_explanation}
    pairs = [(now, before) for now in mine - theirs for before in theirs - mine if now.could_replace(before)]
    return pairs[0] if len(pairs) == 1 and pairs[0][0].value != pairs[0][1].value else None
