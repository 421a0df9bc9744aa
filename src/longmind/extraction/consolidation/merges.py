"""Decisions about facts that say the same: which one stays, and which are replaced by it.

Two facts say the same if their texts are the same but for case, spacing and punctuation; if they give one slot the same
value; or if one has all the words of the other in their order, few more, and the same names, numbers and denials, and
their vectors, where both have one, are almost equal. Nothing is read or written here. Invariants:

- A fact is replaced by one that is at least as trusted, and never a user's by an assistant's.
- Facts of two speakers, kinds, categories or ends are never merged, nor events of two times.
- The result does not depend on the order of the facts, and merging what is left changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from longmind.clock import Micros, to_micros
from longmind.extraction.candidate import Slot
from longmind.extraction.reconcile.decisions import text_key
from longmind.extraction.reconcile.statement_comparison import find_values
from longmind.extraction.source_trust import may_replace, rank_trust
from longmind.language.statement import Statement, parse_statement
from longmind.language.vocabulary import DENIALS
from longmind.language.words import STOP_WORDS, stem_of, words_of
from longmind.models.atom import Atom

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIKE = 0.8
"""The share of content words that two wordings of one fact have in common."""
CLOSE = 0.95
"""The least cosine of two wordings of one fact."""
_MOST_OTHER_WORDS = 1
"""Content words besides the value in which two facts with one slot and value may differ: "lives in", "is based in"."""
_OWN_SPEAKERS = frozenset(("user", "assistant", "app", "tool"))
"""Speakers in a space of one user, where trust says which one it was."""


@dataclass(frozen=True)
class ComparableFact:
    """A fact with what it is compared by."""

    atom: Atom
    slot: Slot | None = None
    speaker: str | None = None
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Merge:
    """The decision to let one fact be replaced by another that says the same."""

    survivor: ComparableFact
    replaced: ComparableFact
    because: str


class _Wording(NamedTuple):
    """The words of a fact in the forms in which they are compared."""

    statement: Statement
    words: tuple[str, ...]
    """Stems of the content words and of the denials, in their order."""
    key: str


def plan_merges(facts: Iterable[ComparableFact], now: Micros) -> list[Merge]:
    """Return which facts are replaced by which others, those of the best survivor first."""
    groups: dict[Hashable, list[ComparableFact]] = defaultdict(list)
    for fact in facts:
        if _is_mergeable(fact.atom, now):
            groups[_find_group(fact)].append(fact)
    merges: list[Merge] = []
    for group in groups.values():
        if len(group) > 1:
            merges += _merge_group(sorted(group, key=_rank))
    return sorted(merges, key=lambda each: (_rank(each.survivor), _rank(each.replaced)))


def _merge_group(best_first: Sequence[ComparableFact]) -> list[Merge]:
    """Let each fact be replaced by the best one before it that says the same and stays itself."""
    merges: list[Merge] = []
    # Survivors by what facts that say the same have in common, so that a fact is compared with few others.
    by_trait: dict[Hashable, list[tuple[int, ComparableFact]]] = defaultdict(list)
    for place, fact in enumerate(best_first):
        traits = _list_traits(fact)
        near = {place: other for trait in traits for place, other in by_trait.get(trait, ())}
        for _, survivor in sorted(near.items()):
            because = explain_sameness(survivor, fact)
            if because is not None:
                merges.append(Merge(survivor, fact, because))
                break
        else:
            for trait in traits:
                by_trait[trait].append((place, fact))
    return merges


def explain_sameness(survivor: ComparableFact, other: ComparableFact) -> str | None:
    """Return why a fact may be replaced by another of its group; None if it says something else."""
    if not may_replace(survivor.atom.trust, other.atom.trust, old_is_behavioral=other.atom.behavioral):
        return None
    one, two = _read(survivor.atom.text), _read(other.atom.text)
    if one.key == two.key:
        return "It says the same in the same words."
    if survivor.atom.category.kind == "EPISODE" or _sign(one.statement) != _sign(two.statement):
        return None
    if not (one.statement.is_single_sentence and two.statement.is_single_sentence):
        return None
    if survivor.slot is not None and survivor.slot == other.slot and _differ_in_verb(one, two, survivor.slot.value):
        return f"It gives the same {survivor.slot.attribute}."
    if _has_words_of(one, two) and _is_close(survivor, other):
        return "It says the same in similar words."
    return None


def _is_mergeable(atom: Atom, now: Micros) -> bool:
    """Return whether a fact holds now. The platform itself keeps patterns from being doubled."""
    is_open = atom.status == "ACTIVE" and atom.superseded_by is None and atom.category.kind != "PATTERN"
    has_begun = to_micros(atom.valid_from) <= now
    return is_open and has_begun and (atom.valid_to is None or to_micros(atom.valid_to) > now)


def _find_group(fact: ComparableFact) -> Hashable:
    """Return what two facts must have in common to be merged, since filters of recall tell them apart by it."""
    atom = fact.atom
    speaker = None if fact.speaker in _OWN_SPEAKERS else fact.speaker
    time = (atom.valid_from, atom.precision) if atom.category.kind == "EPISODE" else None
    return speaker, atom.category.kind, atom.category.name, frozenset(atom.tags), atom.valid_to, time


def _rank(fact: ComparableFact) -> tuple[int, int, int, str, str]:
    """Return a sort key: the more trusted, the one that says more, the more important, the older one first."""
    atom = fact.atom
    return -rank_trust(atom.trust), -len(_read(atom.text).words), -atom.importance, atom.created_at, atom.id


def _list_traits(fact: ComparableFact) -> list[Hashable]:
    wording = _read(fact.atom.text)
    traits: list[Hashable] = [("words", wording.key), ("sign", _sign(wording.statement))]
    return traits


@lru_cache(maxsize=8192)
def _read(text: str) -> _Wording:
    words = tuple(stem_of(word) for word in words_of(text) if word not in STOP_WORDS or word in DENIALS)
    return _Wording(parse_statement(text), words, text_key(text))


def _sign(statement: Statement) -> Hashable:
    """Return what two statements with one meaning have in common: names, numbers, denial, and who and when."""
    main = statement.main
    return (
        statement.subject or "user",
        statement.possession,
        statement.names,
        frozenset(find_values(statement)),
        main.denied,
        main.hedged,
        main.planned,
        statement.is_past,
        statement.says_ended,
        statement.begins_with_question,
    )


def _differ_in_verb(one: _Wording, two: _Wording, value: str) -> bool:
    """Return whether two wordings differ in no more than one word besides the value of their slot."""
    of_value = {stem_of(word) for word in words_of(value)}
    first, second = set(one.words) - of_value, set(two.words) - of_value
    return max(len(first - second), len(second - first)) <= _MOST_OTHER_WORDS and _count_denials(one) == _count_denials(
        two
    )


def _has_words_of(one: _Wording, two: _Wording) -> bool:
    """Return whether one wording has all words of another in their order, and few more."""
    rest = iter(one.words)
    # Each search goes on where the last one ended: "tea, not coffee" is not "coffee, not tea".
    if not two.words or not all(word in rest for word in two.words):
        return False
    return len(two.words) / len(one.words) >= ALIKE and _count_denials(one) == _count_denials(two)


def _count_denials(wording: _Wording) -> Counter[str]:
    return Counter(word for word in wording.words if word in DENIALS)


def _is_close(one: ComparableFact, two: ComparableFact) -> bool:
    """Return whether the vectors of two facts are almost equal, or one of them has none."""
    if one.vector is None or two.vector is None:
        return True
    lengths = float((one.vector @ one.vector) * (two.vector @ two.vector)) ** 0.5
    return not lengths or float(one.vector @ two.vector) / lengths >= CLOSE
