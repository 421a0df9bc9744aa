"""The evaluation of extraction: append and close conversations, run the jobs, then examine and ask the memory."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.evaluation.corpus_loader import append_turn, prepare_turns
from benchmarks.evaluation.dataset import (
    Dataset,
    Question,
    Session,
    StatedFact,
    read_datasets,
    read_dated_facts,
    read_stated_facts,
    read_updates,
)
from benchmarks.evaluation.date_reading import measure_dates
from benchmarks.evaluation.extraction_goals import judge
from benchmarks.evaluation.recall_evaluation import EvaluationSetup
from benchmarks.evaluation.scoring import APART, Memory, Row, score_question, summarise
from benchmarks.evaluation.scripted_clock import ScriptedClock
from benchmarks.evaluation.superseded_facts import measure_superseding
from longmind.clock import to_micros
from longmind.context import Context
from longmind.engine import Engine, open
from longmind.errors import InvalidInput
from longmind.language.words import terms_of, words_of
from longmind.models.atom import Atom

LIMIT = 100
COVERAGE = "evidence turns with an atom"
ANSWERS = "answer words kept"
DUPLICATES = "duplicates"
SHARING = "facts with an atom that shares their words"


@dataclass
class _Extracted:
    """The atoms of one history."""

    space_id: str
    turn_of: dict[str, str]
    text_of: dict[str, str]
    atoms: list[Atom]
    citing: dict[str, list[Atom]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for atom in self.atoms:
            for message_id in atom.source_message_ids:
                self.citing.setdefault(self.turn_of[message_id], []).append(atom)


def measure_extraction(folder: Path, setup: EvaluationSetup, corpora: int | None = None) -> dict[str, Any]:
    """Evaluate all data sets of a folder.

    corpora: the number of histories of each set to use; None means all.
    """
    datasets = [dataset.limit(corpora) for dataset in read_datasets(folder)]
    if not datasets:
        raise InvalidInput(
            f"There are no conversations with questions in {folder}.",
            hint="Give a folder with JSON data sets.",
        )
    facts = read_stated_facts(folder)
    results: dict[str, Any] = {
        **setup.description,
        "datasets": {dataset.name: _measure(dataset, facts, setup) for dataset in datasets},
        "dates": measure_dates(read_dated_facts(folder), datasets),
    }
    updates = read_updates(folder)
    if updates:
        setup.report(f"{len(updates)} facts that changed")
        clock = ScriptedClock()
        with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, clock) as engine:
            results["updates"] = measure_superseding(engine, clock, updates)
    results["goals"] = judge(results)
    return results


def _engine(folder: str, setup: EvaluationSetup, clock: ScriptedClock) -> Engine:
    return open(f"sqlite:///{folder}/memory.db", embedder=setup.engine_embedder, clock=clock, durability="normal")


def _measure(dataset: Dataset, facts: Sequence[StatedFact], setup: EvaluationSetup) -> dict[str, Any]:
    session_of = dataset.session_of
    rows: list[Row] = []
    all_questions: list[Question] = []
    counts: Counter[str] = Counter()
    clock = ScriptedClock()
    with tempfile.TemporaryDirectory() as scratch, _engine(scratch, setup, clock) as engine:
        for number, (corpus, sessions) in enumerate(dataset.corpora.items(), 1):
            setup.report(f"{dataset.name}: {corpus} ({number} of {len(dataset.corpora)})")
            context = engine.context(tenant_id="bench", app_id="extraction", user_id=corpus)
            clock.now = None
            began = time.process_time()
            extracted = _extract(engine, context, sessions)
            counts["CPU milliseconds"] += round(1000 * (time.process_time() - began))
            questions = [question for question in dataset.questions if question.corpus == corpus]
            counts += _count(extracted, questions, facts)
            for question in questions:
                all_questions.append(question)
                clock.now = to_micros(question.at)
                # Without quotes, in whose favour some atoms would be left out.
                hits = context.memory.recall_by_topic(
                    extracted.space_id, question.text, limit=LIMIT, passages=False
                ).hits
                ranked = [_make_memory(hit.atom, extracted.turn_of, setup) for hit in hits]
                rows.append(score_question(question, ranked, session_of))
    return {**_compute_shares(counts), "recall": summarise(all_questions, rows)}


def _extract(engine: Engine, context: Context, sessions: Sequence[Session]) -> _Extracted:
    space = context.memory.create_memory_space("memory")
    context.memory.create_binding({"namespace": "history", "userId": context.scope.user_id}, [space.id])
    turn_of: dict[str, str] = {}
    text_of: dict[str, str] = {}
    for session in sessions:
        conversation = context.conversations.create_conversation("history", title=session.id)
        for loaded in prepare_turns(session):
            message = append_turn(context, conversation.id, loaded, session)
            turn_of[message.id] = loaded.turn.id
            text_of[loaded.turn.id] = loaded.text
        context.conversations.close_conversation(conversation.id)
        done = engine.work()
        if done.failed or done.dead:
            raise RuntimeError(f"Extraction of {session.id} failed: {context.jobs.list_jobs()[0].error}")
    return _Extracted(space.id, turn_of, text_of, _list_atoms(context, space.id))


def _list_atoms(context: Context, space_id: str) -> list[Atom]:
    atoms: list[Atom] = []
    cursor = None
    while True:
        page = context.memory.list_atoms(space_id, status=None, limit=10_000, cursor=cursor)
        atoms += page
        cursor = page.next_cursor
        if cursor is None:
            return atoms


def _make_memory(atom: Atom, turn_of: Mapping[str, str], setup: EvaluationSetup) -> Memory:
    return Memory(tuple(turn_of[id] for id in atom.source_message_ids), setup.tokenizer.count(atom.text))


def _count(extracted: _Extracted, questions: Sequence[Question], facts: Sequence[StatedFact]) -> Counter[str]:
    counts: Counter[str] = Counter()
    counts["messages"] = len(extracted.turn_of)
    counts["atoms"] = len(extracted.atoms)
    texts = Counter(" ".join(words_of(atom.text)) for atom in extracted.atoms if atom.superseded_by is None)
    counts["doubled"] = sum(number - 1 for number in texts.values())
    answered = [question for question in questions if question.category not in APART]
    evidence = {turn for question in answered for turn in question.gold}
    counts["evidence"] = len(evidence)
    counts["cited"] = sum(turn in extracted.citing for turn in evidence)
    for question in answered:
        said = _collect_terms(extracted.text_of[turn] for turn in question.gold)
        kept = _collect_terms(atom.text for turn in question.gold for atom in extracted.citing.get(turn, ()))
        wanted = _list_terms(question.answer)
        counts["answer words said"] += len(wanted & said)
        counts["answer words kept"] += len(wanted & said & kept)
        counts["answer words"] += len(wanted)
        counts["answer words found"] += len(wanted & kept)
    for fact in facts:
        if fact.turn in extracted.text_of:
            wanted = _list_terms(fact.text) - _list_terms(fact.speaker)
            said = wanted & _list_terms(extracted.text_of[fact.turn])
            most = max((len(said & _list_terms(atom.text)) for atom in extracted.citing.get(fact.turn, ())), default=-1)
            counts["facts"] += 1
            # Only words of the turn itself count: an atom cannot contain the others.
            counts["facts shared"] += most >= 0 and 2 * most >= len(said)
    return counts


def _collect_terms(texts: Iterable[str]) -> set[int]:
    return {word for text in texts for word in _list_terms(text)}


def _list_terms(text: str) -> set[int]:
    """Return the content words of a text, by their stems."""
    return set(terms_of(text))


def _compute_shares(counts: Counter[str]) -> dict[str, Any]:
    def share(part: str, whole: str) -> float:
        return round(counts[part] / counts[whole], 4) if counts[whole] else 0.0

    return {
        "messages": counts["messages"],
        "atoms per message": share("atoms", "messages"),
        DUPLICATES: share("doubled", "atoms"),
        "evidence turns": counts["evidence"],
        COVERAGE: share("cited", "evidence"),
        ANSWERS: share("answer words kept", "answer words said"),
        "answer words in the turns": share("answer words said", "answer words"),
        "answer words in the atoms": share("answer words found", "answer words"),
        "facts": counts["facts"],
        SHARING: share("facts shared", "facts"),
        "CPU milliseconds per message, all in": share("CPU milliseconds", "messages"),
    }
