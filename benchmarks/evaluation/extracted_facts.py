"""The facts that the product itself learns from a data set: with these, its scores have to be right."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.evaluation.corpus_loader import LoadedHistory, find_role, prepare_turns
from benchmarks.evaluation.dataset import Dataset
from benchmarks.evaluation.scripted_clock import ScriptedClock
from longmind.engine import open
from longmind.language.speaker_labels import split_label
from longmind.memory.service import Memory
from longmind.models.atom import Atom
from longmind.providers.embedder import Embedder

_PAGE = 1000


class ExtractedFact(NamedTuple):
    """A fact that was learned from one turn or more, with what recall is given of it besides."""

    text: str
    at: str
    turns: frozenset[str]
    speaker: str
    around: tuple[str, ...]
    session: str


def extract_facts(dataset: Dataset, embedder: Embedder | None) -> list[ExtractedFact]:
    """Return what is learned from all sessions of a data set, each of which is read once.

    embedder: the one whose encoder the reader works on; without one, rules read.
    """
    sessions = list({session.id: session for each in dataset.corpora.values() for session in each}.values())
    sessions.sort(key=lambda session: session.turns[0].at)
    clock = ScriptedClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        open(f"sqlite:///{folder}/facts.db", embedder=embedder, clock=clock, durability="normal") as engine,
    ):
        context = engine.context(tenant_id="bench", app_id="facts", user_id="everybody")
        history = LoadedHistory(engine, context, clock, sessions)
        for session in sessions:
            history.append(session)
        history.finish_work()
        atoms = list(_list_atoms(context.memory, history.space_id))
    said = {
        loaded.turn.id: (split_label(loaded.text)[0] or find_role(loaded.turn, session), loaded.around, session.id)
        for session in sessions
        for loaded in prepare_turns(session)
    }
    facts = []
    for atom in atoms:
        turns = [history.turn_of[id] for id in atom.source_message_ids]
        if turns:
            facts.append(ExtractedFact(atom.text, atom.valid_from, frozenset(turns), *said[turns[0]]))
    return facts


def _list_atoms(memory: Memory, space_id: str) -> Iterator[Atom]:
    cursor = None
    while True:
        page = memory.list_atoms(space_id, limit=_PAGE, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return
