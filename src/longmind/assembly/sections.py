"""What a prompt is put together from: sections, and in each the pieces that stand there as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.models.atom import Atom
from longmind.models.message import Message

Shape = Literal["text", "lines", "memory", "turns"]


@dataclass(frozen=True)
class Piece:
    """A line, a turn, or a text, with what a template may say of it. Every text in it is harmless."""

    fields: dict[str, Any]
    atom: Atom | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Section:
    """Pieces in the order in which they are shown. When room is short, `last_to_go` is kept the longest."""

    name: str
    shape: Shape
    pieces: tuple[Piece, ...] = ()
    last_to_go: tuple[int, ...] = ()
    """The places of the pieces, what matters most first; empty when that is the order they are shown in."""

    def list_drop_order(self) -> list[int]:
        """The places of the pieces in the order in which they go."""
        return list(reversed(self.last_to_go or range(len(self.pieces))))

    def drop_pieces(self, places: Iterable[int]) -> Section:
        """The section as it is when some pieces have gone."""
        gone = set(places)
        if not gone:
            return self
        kept = [place for place in range(len(self.pieces)) if place not in gone]
        now_at = {place: number for number, place in enumerate(kept)}
        left = tuple(now_at[place] for place in self.last_to_go if place in now_at)
        return replace(self, pieces=tuple(self.pieces[place] for place in kept), last_to_go=left)

    def with_text(self, text: str) -> Section:
        """A text section that says something else, or nothing."""
        return replace(self, pieces=(Piece({"text": text}),) if text else ())

    @property
    def text(self) -> str:
        return str(self.pieces[0].fields["text"]) if self.pieces else ""


def list_atoms_in_order(sections: Sequence[Section]) -> list[Atom]:
    """The atoms of the sections as they are numbered in a prompt: in each, facts before suggestions."""
    return [
        piece.atom
        for section in sections
        if section.shape == "memory"
        for piece in sorted(section.pieces, key=_is_suggestion)
        if piece.atom is not None
    ]


def build_variables(sections: Sequence[Section]) -> dict[str, Any]:
    """What a template can show: each section by its name, False where there is nothing in it."""
    numbers = {atom.id: number for number, atom in enumerate(list_atoms_in_order(sections), 1)}
    shown: dict[str, Any] = {section.name: _build_variable(section, numbers) for section in sections}
    return {"notice": SUGGESTIONS_NOTICE, "any": any(section.pieces for section in sections), **shown}


def _build_variable(section: Section, numbers: dict[str, int]) -> dict[str, Any] | bool:
    if not section.pieces:
        return False
    if section.shape == "text":
        return section.pieces[0].fields
    if section.shape == "turns":
        return {"items": [piece.fields for piece in section.pieces]}
    if section.shape == "lines":
        by_title = groupby((piece.fields for piece in section.pieces), key=itemgetter("title"))
        return {"groups": [{"title": title, "items": list(lines)} for title, lines in by_title]}
    facts: list[dict[str, Any]] = []
    suggestions: list[dict[str, Any]] = []
    for piece in section.pieces:
        fields = piece.fields
        number = numbers[piece.atom.id] if piece.atom is not None else 0
        line = {"line": f"[{number}] {fields['text']} ({fields['about']})", "number": str(number), **fields}
        (suggestions if _is_suggestion(piece) else facts).append(line)
    return {
        "facts": {"items": facts} if facts else False,
        "suggestions": {"items": suggestions} if suggestions else False,
    }


def name_part(section: Section, piece: Piece) -> str:
    """Where in a section a piece is shown."""
    if section.shape != "memory":
        return section.name
    return f"{section.name}.suggestions" if _is_suggestion(piece) else f"{section.name}.facts"


def _is_suggestion(piece: Piece) -> bool:
    return piece.atom is not None and piece.atom.behavioral
