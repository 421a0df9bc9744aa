"""Sections of a prompt, and their pieces, each of which is shown as a whole or dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from longmind.assembly.sanitiser import SUGGESTIONS_NOTICE
from longmind.models.atom import Atom
from longmind.models.message import Message
from longmind.models.recall import QuotedMessage

Shape = Literal["text", "lines", "memory", "quotes", "turns"]


@dataclass(frozen=True)
class Piece:
    """A line, a quote, a turn or a text, with the fields that a template may show. All of its texts are sanitised."""

    fields: dict[str, Any]
    atom: Atom | None = None
    quoted: QuotedMessage | None = None
    messages: tuple[Message, ...] = ()
    weak: bool = False
    """True if it was recalled, but may have nothing to do with the question."""
    relevance: float | None = None
    """For what was recalled, the probability that it is about the question."""

    def list_message_ids(self) -> list[str]:
        """Return the ids of the messages that the piece shows."""
        return [self.quoted.id] if self.quoted is not None else [message.id for message in self.messages]


@dataclass(frozen=True)
class Section:
    """Pieces in the order of the prompt. `last_to_go` says which to keep longest if room is short."""

    name: str
    shape: Shape
    pieces: tuple[Piece, ...] = ()
    last_to_go: tuple[int, ...] = ()
    """The positions of the pieces, the most important first; empty if that is their order."""

    def list_drop_order(self) -> list[int]:
        """Return the positions of the pieces in the order in which they are dropped."""
        return list(reversed(self.last_to_go or range(len(self.pieces))))

    def drop_pieces(self, places: Iterable[int]) -> Section:
        """Return the section without the pieces at these positions."""
        gone = set(places)
        if not gone:
            return self
        kept = [place for place in range(len(self.pieces)) if place not in gone]
        now_at = {place: number for number, place in enumerate(kept)}
        left = tuple(now_at[place] for place in self.last_to_go if place in now_at)
        return replace(self, pieces=tuple(self.pieces[place] for place in kept), last_to_go=left)

    def with_text(self, text: str) -> Section:
        """Return a text section with another text; an empty one leaves no piece."""
        return replace(self, pieces=(Piece({"text": text}),) if text else ())

    @property
    def text(self) -> str:
        """The text of a text section, or an empty one."""
        return str(self.pieces[0].fields["text"]) if self.pieces else ""


def list_atoms_in_order(sections: Sequence[Section]) -> list[Atom]:
    """Return the atoms of sections as a prompt numbers them: in each section, facts before suggestions."""
    return [
        piece.atom
        for section in sections
        if section.shape == "memory"
        for piece in sorted(section.pieces, key=_is_suggestion)
        if piece.atom is not None
    ]


def build_variables(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the variables of a template: each section by its name, False if it is empty."""
    numbers = {atom.id: number for number, atom in enumerate(list_atoms_in_order(sections), 1)}
    shown: dict[str, Any] = {section.name: _build_variable(section, numbers) for section in sections}
    return {"notice": SUGGESTIONS_NOTICE, "any": any(section.pieces for section in sections), **shown}


def _build_variable(section: Section, numbers: dict[str, int]) -> dict[str, Any] | bool:
    """Return a section as a template sees it, by its shape; False if it is empty."""
    if not section.pieces:
        return False
    if section.shape == "text":
        return section.pieces[0].fields
    if section.shape == "quotes":
        by_conversation = groupby((piece.fields for piece in section.pieces), key=itemgetter("conversation"))
        return {"items": [{"messages": list(messages)} for _, messages in by_conversation]}
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
    """Return the name of the part of a section that shows a piece."""
    if section.shape != "memory":
        return section.name
    return f"{section.name}.suggestions" if _is_suggestion(piece) else f"{section.name}.facts"


def _is_suggestion(piece: Piece) -> bool:
    return piece.atom is not None and piece.atom.behavioral
