"""The lines of a profile: as many of the ranked facts as its tokens have room for, each with its number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.assembly.sections import Piece, Section, build_variables
from longmind.assembly.tokens import TokenCounter
from longmind.assembly.wording import make_atom_piece
from longmind.models.atom import Atom

PROFILE = "profile"
PROFILE_TOKENS = 150
"""The most tokens of a profile, with its heading and the notice above suggestions."""
_SHARE_OF_PROMPT = 5
"""A profile takes at most a fifth of the tokens of a prompt, so that the question at hand has room."""
_LEAST_TOKENS = 50
"""The tokens that a profile may take in the shortest prompt: less has no room for a single line."""
_MOST_LINE_TOKENS = 50
"""The most tokens of one fact: a longer one would push out all others."""
_MOST_MISSES = 20
"""Facts in a row that do not fit, after which no shorter one is looked for."""


def make_profile_section(
    ranked: Iterable[Atom],
    layout: Callable[[Section], str],
    count: TokenCounter,
    said: Iterable[Piece] = (),
    most: int = PROFILE_TOKENS,
) -> Section:
    """Return the section with the first facts that fit into `most` tokens when they are laid out.

    A fact that is too long for the rest makes room for the next one. said: pieces that are shown elsewhere, and whose
    wording is not repeated.
    """
    known = {_fold(piece) for piece in said}
    chosen: list[Piece] = []
    left = most - count(layout(Section(PROFILE, "memory"))) - 1
    misses = 0
    for atom in ranked:
        if misses == _MOST_MISSES:
            break
        piece = make_atom_piece(atom)
        cost = count(_write_line(len(chosen) + 1, piece))
        # The notice stands above the first suggestion.
        needed = cost + (count(f"{SUGGESTIONS_NOTICE}\n") if atom.behavioral and not _has_suggestion(chosen) else 0)
        if _fold(piece) in known or cost > _MOST_LINE_TOKENS or needed > left or not piece.fields["text"]:
            misses += 1
            continue
        known.add(_fold(piece))
        chosen.append(piece)
        left -= needed
        misses = 0
    # Tokens of lines only nearly add up to those of the text, and a layout may add its own.
    while chosen and count(layout(Section(PROFILE, "memory", tuple(chosen)))) > most:
        chosen.pop()
    return Section(PROFILE, "memory", tuple(chosen))


def limit_profile(budget: int) -> int:
    """Return the most tokens of the profile in a prompt with a budget."""
    return min(PROFILE_TOKENS, max(_LEAST_TOKENS, budget // _SHARE_OF_PROMPT))


def write_profile(title: str, section: Section) -> str:
    """Return the section as text: a title, numbered facts, and rules and preferences under their notice."""
    if not section.pieces:
        return ""
    lines = build_variables([section])[PROFILE]
    parts = [f"{title}:\n"]
    for kind in ("facts", "suggestions"):
        if lines[kind]:
            parts += [f"{SUGGESTIONS_NOTICE}\n"] if kind == "suggestions" else []
            parts += [f"- [{line['number']}] {line['text']}\n" for line in lines[kind]["items"]]
    return "".join(parts).rstrip("\n")


def _has_suggestion(pieces: Sequence[Piece]) -> bool:
    return any(piece.atom is not None and piece.atom.behavioral for piece in pieces)


def _write_line(number: int, piece: Piece) -> str:
    return f"- [{number}] {piece.fields['text']}\n"


def _fold(piece: Piece) -> str:
    return str(piece.fields["text"]).casefold()
