"""Cutting a prompt to its token budget.

Sections come in the order of importance. Pieces are dropped from the last section backwards; recalled ones of
different sections compete by their relevance, and weak ones go before all else. Texts are cut only when no other piece
is left. Tokens of parts do not add up to those of the whole, so the parts only guess how many to drop, and every
candidate is rendered and counted as a whole. The result keeps as many pieces as fit, never one more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from longmind.assembly.sections import Piece, Section

Measure = Callable[[Sequence[Section]], tuple[str, int]]
"""Renders sections and counts the tokens of the text."""
ELLIPSIS = "…"


@dataclass(frozen=True)
class FittedPrompt:
    """A prompt within its budget, with the pieces that it had no room for."""

    text: str
    tokens: int
    sections: tuple[Section, ...]
    dropped: dict[str, tuple[Piece, ...]]
    """The dropped pieces by section, the last one dropped first."""
    shortened: bool
    """True if a text was cut or left out."""


def fit(sections: Sequence[Section], budget: int, measure: Measure, cost: Callable[[Piece], int]) -> FittedPrompt:
    """Return the sections with as many pieces as fit.

    measure: renders sections and counts the tokens of the result. cost: guesses the tokens of one piece.
    """
    going = _list_drop_order(sections)
    text, tokens = measure(sections)
    if tokens <= budget:
        return FittedPrompt(text, tokens, tuple(sections), {}, False)
    costs = list(accumulate((cost(sections[place].pieces[piece]) for place, piece in going), initial=0))

    def drop_first(gone: int) -> list[Section]:
        places = going[:gone]
        return [
            each.drop_pieces([piece for place, piece in places if place == number])
            for number, each in enumerate(sections)
        ]

    gone = 0
    while tokens > budget and gone < len(going):
        gone = _count_pieces_to_drop(costs, gone, tokens - budget)
        text, tokens = measure(drop_first(gone))
    if tokens > budget:
        return _cut_texts(sections, drop_first(gone), budget, measure)
    while gone > 1:
        closer = measure(drop_first(gone - 1))
        if closer[1] > budget:
            break
        gone, (text, tokens) = gone - 1, closer
    return FittedPrompt(text, tokens, tuple(drop_first(gone)), _group_dropped(sections, going[:gone]), False)


def _list_drop_order(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """Return the places of the pieces of all sections in the order in which they are dropped."""
    going: list[tuple[int, int]] = []
    recalled: list[tuple[int, int]] = []
    for place in reversed(range(len(sections))):
        section = sections[place]
        if section.shape == "text":
            continue
        places = [(place, piece) for piece in section.list_drop_order()]
        recalled += [each for each in places if section.pieces[each[1]].relevance is not None]
        going += [each for each in places if section.pieces[each[1]].relevance is None]
    recalled.sort(key=lambda each: sections[each[0]].pieces[each[1]].relevance or 0.0)
    weak = [each for each in recalled if sections[each[0]].pieces[each[1]].weak]
    # The turns stand behind all that was recalled, and go before what is surely related.
    behind = max((place for place, _ in recalled), default=len(sections))
    turns = [each for each in going if each[0] > behind]
    return [*weak, *turns, *recalled[len(weak) :], *going[len(turns) :]]


def _count_pieces_to_drop(costs: Sequence[int], gone: int, excess: int) -> int:
    """Return how many pieces to drop, by their own costs, to save `excess` tokens; at least one more than `gone`."""
    for more in range(gone + 1, len(costs)):
        if costs[more] - costs[gone] >= excess:
            return more
    return len(costs) - 1


def _cut_texts(sections: Sequence[Section], bare: list[Section], budget: int, measure: Measure) -> FittedPrompt:
    """Cut the texts, the last one first, after all other pieces were dropped; find the longest cut by bisection."""
    dropped = {each.name: each.pieces for each in sections if each.shape != "text" and each.pieces}
    for number in reversed(range(len(bare))):
        whole = bare[number].text
        if not whole:
            continue
        shortest, longest = 0, len(whole) - 1
        best: tuple[str, int] | None = None
        while shortest <= longest:
            length = (shortest + longest + 1) // 2
            bare[number] = bare[number].with_text(_cut_at_word(whole, length))
            text, tokens = measure(bare)
            if tokens <= budget:
                best, shortest = (text, length), length + 1
            else:
                longest = length - 1
        bare[number] = bare[number].with_text(_cut_at_word(whole, best[1]) if best else "")
        if best:
            text, tokens = measure(bare)
            return FittedPrompt(text, tokens, tuple(bare), dropped, True)
    # An empty prompt takes no tokens, whatever the counter says.
    return FittedPrompt("", 0, tuple(bare), dropped, any(each.shape == "text" and each.pieces for each in sections))


def _cut_at_word(text: str, length: int) -> str:
    """Return the beginning of a text up to a length, without half a word where words are separated."""
    start = text[:length]
    if length and not text[length].isspace() and " " in start:
        start = start.rpartition(" ")[0]
    start = start.rstrip()
    return f"{start} {ELLIPSIS}" if start else ""


def _group_dropped(sections: Sequence[Section], gone: Sequence[tuple[int, int]]) -> dict[str, tuple[Piece, ...]]:
    """Return the dropped pieces by section, the last one dropped first."""
    found: dict[str, tuple[Piece, ...]] = {}
    for place, piece in gone:
        section = sections[place]
        found[section.name] = (section.pieces[piece], *found.get(section.name, ()))
    return found
