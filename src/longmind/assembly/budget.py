"""Cutting a prompt to its budget: the last section gives first, and what is left is counted as it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from longmind.assembly.sections import Piece, Section

Measure = Callable[[Sequence[Section]], tuple[str, int]]
"""Lays sections out, and counts what came of it."""
ELLIPSIS = "…"


@dataclass(frozen=True)
class FittedPrompt:
    text: str
    tokens: int
    sections: tuple[Section, ...]
    dropped: dict[str, tuple[Piece, ...]]
    """What had to go, by section, what went last first."""
    shortened: bool
    """Whether a text had to be cut short, or left out."""


def fit(sections: Sequence[Section], budget: int, measure: Measure, cost: Callable[[Piece], int]) -> FittedPrompt:
    """As much as fits. Sections come with what matters most first; a text is cut short only when all else has gone.

    Tokens of the parts do not add up to those of the whole, so the parts only tell where to begin to look.
    """
    going = [
        (place, piece)
        for place in reversed(range(len(sections)))
        if sections[place].shape != "text"
        for piece in sections[place].list_drop_order()
    ]
    text, tokens = measure(sections)
    if tokens <= budget:
        return FittedPrompt(text, tokens, tuple(sections), {}, False)
    costs = list(accumulate((cost(sections[place].pieces[piece]) for place, piece in going), initial=0))

    def kept(gone: int) -> list[Section]:
        places = going[:gone]
        return [
            each.drop_pieces([piece for place, piece in places if place == number])
            for number, each in enumerate(sections)
        ]

    gone = 0
    while tokens > budget and gone < len(going):
        gone = _count_pieces_to_drop(costs, gone, tokens - budget)
        text, tokens = measure(kept(gone))
    if tokens > budget:
        return _cut_texts(sections, kept(gone), budget, measure)
    while gone > 1:
        closer = measure(kept(gone - 1))
        if closer[1] > budget:
            break
        gone, (text, tokens) = gone - 1, closer
    return FittedPrompt(text, tokens, tuple(kept(gone)), _group_dropped(sections, going[:gone]), False)


def _count_pieces_to_drop(costs: Sequence[int], gone: int, excess: int) -> int:
    """How many pieces have to go, by their own costs, after so many have gone: one more at the least."""
    for more in range(gone + 1, len(costs)):
        if costs[more] - costs[gone] >= excess:
            return more
    return len(costs) - 1


def _cut_texts(sections: Sequence[Section], bare: list[Section], budget: int, measure: Measure) -> FittedPrompt:
    """With nothing left but texts: these are cut, the last one first, until they fit."""
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
    # Nothing at all takes no tokens, whatever a counter says of it.
    return FittedPrompt("", 0, tuple(bare), dropped, any(each.shape == "text" and each.pieces for each in sections))


def _cut_at_word(text: str, length: int) -> str:
    """The beginning of a text up to a length, without the half of a word where words are apart."""
    start = text[:length]
    if length and not text[length].isspace() and " " in start:
        start = start.rpartition(" ")[0]
    start = start.rstrip()
    return f"{start} {ELLIPSIS}" if start else ""


def _group_dropped(sections: Sequence[Section], gone: Sequence[tuple[int, int]]) -> dict[str, tuple[Piece, ...]]:
    found: dict[str, tuple[Piece, ...]] = {}
    for place, piece in gone:
        section = sections[place]
        found[section.name] = (section.pieces[piece], *found.get(section.name, ()))
    return found
