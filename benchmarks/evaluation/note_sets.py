"""Small spaces of notes with questions: what recall finds among a dozen facts that share few words with a question."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evaluation.confidence import Calibration, compute_auc, find_best_score
from benchmarks.evaluation.dataset import name_file_in_errors
from benchmarks.evaluation.record_fields import read_field, read_filled_list, require_kind
from benchmarks.evaluation.scoring import ALL, Memory, compute_share
from longmind.context import Context
from longmind.errors import InvalidInput
from longmind.models.atom import Category, NewAtom

NOTES = Path(__file__).parent.parent / "notes"
"""The folder of notes in this repository."""
KEYWORDS, QUESTIONS, MESSAGES = "keywords", "questions", "messages"
TOP = "top-1"
_FEW_WORDS = 4
_LONG_QUESTION = 9
_LIMIT = 10
_CATEGORY = Category(name="note", kind="FACT")


@dataclass(frozen=True)
class NoteQuery:
    """A query about the notes of a space, with the notes that answer it, which may be none."""

    text: str
    gold: frozenset[int]

    @property
    def kind(self) -> str:
        """Whether the query is a few keywords, a question, or a message that tells something too."""
        words = len(self.text.split())
        if words <= _FEW_WORDS and not self.text.endswith(("?", "!")):
            return KEYWORDS
        return QUESTIONS if words <= _LONG_QUESTION else MESSAGES


@dataclass(frozen=True)
class NoteSpace:
    """A dozen notes with queries."""

    id: str
    notes: tuple[str, ...]
    queries: tuple[NoteQuery, ...]


def read_note_spaces(path: Path) -> list[NoteSpace]:
    """Read the spaces of a file of notes."""
    with name_file_in_errors(path):
        data = require_kind(json.loads(path.read_text("utf-8")), dict, "the file")
        return [_parse_space(each) for each in read_filled_list(data, "spaces", "the file")]


def _parse_space(space: object) -> NoteSpace:
    id = read_field(space, "id", str, "a space")
    owner = f"space {id!r}"
    notes = tuple(require_kind(each, str, f"a note of {owner}") for each in read_filled_list(space, "notes", owner))
    queries = tuple(_parse_query(each, len(notes), owner) for each in read_filled_list(space, "queries", owner))
    return NoteSpace(id, notes, queries)


def _parse_query(query: object, notes: int, owner: str) -> NoteQuery:
    text = read_field(query, "text", str, f"a query of {owner}")
    gold = frozenset(read_field(query, "gold", list, f"query {text!r} of {owner}"))
    if not gold <= set(range(notes)):
        raise InvalidInput(f"'gold' of query {text!r} of {owner} names a note that is not there.")
    return NoteQuery(text, gold)


def measure_notes(context: Context, spaces: Sequence[NoteSpace]) -> dict[str, Any]:
    """Return the scores of all queries and of each kind of them."""
    groups: dict[str, _NoteScores] = defaultdict(_NoteScores)
    for space in spaces:
        space_id = context.memory.create_memory_space(space.id).id
        number_of = {
            context.memory.add_atom(space_id, NewAtom(text=note, category=_CATEGORY)).id: number
            for number, note in enumerate(space.notes)
        }
        for query in space.queries:
            hits = context.memory.recall_by_topic(space_id, query.text, limit=_LIMIT).hits
            ranked = [Memory((str(number_of[hit.atom.id]),), 0, hit.score) for hit in hits]
            for group in (ALL, query.kind):
                groups[group].add(ranked, query)
    return {"spaces": len(spaces), **{name: groups[name].summarise() for name in sorted(groups)}}


class _NoteScores:
    """The scores of some queries."""

    def __init__(self) -> None:
        self._first_right: list[bool] = []
        self._found: list[float] = []
        self._calibration = Calibration()
        self._best_known: list[float] = []
        self._best_unknown: list[float] = []

    def add(self, ranked: Sequence[Memory], query: NoteQuery) -> None:
        """Add the answer to a query."""
        best = find_best_score(ranked)
        if not query.gold:
            self._best_unknown.append(best)
            return
        gold = frozenset(map(str, query.gold))
        turns = [turn for memory in ranked for turn in memory.turns]
        self._first_right.append(turns[:1] != [] and turns[0] in gold)
        self._found.append(len(gold & set(turns[:5])) / len(gold))
        self._calibration.add(ranked, gold)
        self._best_known.append(best)

    def summarise(self) -> dict[str, Any]:
        """Return all measures."""
        auc = compute_auc(self._best_known, self._best_unknown)
        return {
            "answerable": len(self._best_known),
            "unanswerable": len(self._best_unknown),
            TOP: compute_share(self._first_right) if self._first_right else None,
            "R@5": round(sum(self._found) / len(self._found), 4) if self._found else None,
            **self._calibration.summarise(),
            "AUC": None if auc is None else round(auc, 4),
        }
