"""Conversations with questions whose evidence is known, as they are read from a file."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.evaluation.record_fields import field, filled, instant, of_kind
from longmind.clock import system_clock
from longmind.conversations.validation import validate_time
from longmind.errors import InvalidInput
from longmind.language.calendar import month_of, year_of


@dataclass(frozen=True)
class Turn:
    id: str
    speaker: str
    text: str
    at: str


@dataclass(frozen=True)
class Session:
    id: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Question:
    id: str
    corpus: str
    at: str
    category: str
    text: str
    answer: str
    gold: frozenset[str]
    """The turns that hold the answer."""
    gold_sessions: frozenset[str]


@dataclass(frozen=True)
class Dataset:
    """A corpus is one user's history: sessions in the order of time."""

    name: str
    corpora: dict[str, tuple[Session, ...]]
    questions: tuple[Question, ...]

    @property
    def session_of(self) -> dict[str, str]:
        sessions = (session for corpus in self.corpora.values() for session in corpus)
        return {turn.id: session.id for session in sessions for turn in session.turns}

    def first(self, corpora: int | None) -> Dataset:
        """The same with only the first so many corpora."""
        kept = dict(list(self.corpora.items())[:corpora])
        return Dataset(self.name, kept, tuple(each for each in self.questions if each.corpus in kept))


@dataclass(frozen=True)
class Statement:
    at: str
    text: str
    role: str


@dataclass(frozen=True)
class Update:
    """A fact that changed: what was said of it at first, and what was said later."""

    question: str
    answer: str
    old: tuple[Statement, ...]
    new: tuple[Statement, ...]


@dataclass(frozen=True)
class DatedFact:
    """Something that happened, what was said of it, and the days on which it was."""

    id: str
    evidence: tuple[Turn, ...]
    first: date
    last: date
    to_the_day: bool
    """Whether the very day is asked for, and not only a time within which it was."""


@dataclass(frozen=True)
class ToldFact:
    """Something that a turn tells, in a reader's words."""

    turn: str
    speaker: str
    text: str


def read_datasets(folder: Path) -> list[Dataset]:
    """The conversations with questions in a folder; files of another shape may lie beside them."""
    found: dict[str, tuple[Path, Dataset]] = {}
    for path in sorted(folder.glob("*.json")):
        dataset = _dataset(path)
        if dataset is None:
            continue
        if dataset.name in found:
            raise InvalidInput(
                f"{found[dataset.name][0]} and {path} are both named {dataset.name!r}.",
                hint="Results are told by the name of a set: give each one of its own.",
            )
        found[dataset.name] = path, dataset
    return [dataset for _, dataset in found.values()]


def read_updates(folder: Path) -> list[Update]:
    """The facts that changed, from the files whose name begins with `updates`."""
    updates: list[Update] = []
    for path in sorted(folder.glob("updates*.json")):
        with _naming(path):
            updates += [_update(each) for each in _entries(path)]
    return updates


def read_dated_facts(folder: Path) -> list[DatedFact]:
    """What happened when, from the files whose name begins with `dates`."""
    facts: list[DatedFact] = []
    for path in sorted(folder.glob("dates*.json")):
        with _naming(path):
            facts += [_dated_fact(each) for each in _entries(path)]
    return facts


def read_told_facts(folder: Path) -> list[ToldFact]:
    """What turns tell, from the files whose name begins with `facts`."""
    facts: list[ToldFact] = []
    for path in sorted(folder.glob("facts*.json")):
        with _naming(path):
            facts += [ToldFact(each["turn"], each["speaker"], each["fact"]) for each in _entries(path)]
    return facts


def _dataset(path: Path) -> Dataset | None:
    with _naming(path):
        data = _read(path)
        if not isinstance(data, dict) or not data.keys() >= {"name", "sessions", "corpora", "queries"}:
            return None
        whole = "the set"
        sessions = {id: _session(id, each) for id, each in field(data, "sessions", dict, whole).items()}
        corpora = {id: _corpus(id, each, sessions) for id, each in field(data, "corpora", dict, whole).items()}
        questions = tuple(_question(each, corpora) for each in field(data, "queries", list, whole))
        return Dataset(field(data, "name", str, whole), corpora, questions)


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _entries(path: Path) -> list[Any]:
    return of_kind(_read(path), list, "the whole of it")


def _session(id: str, session: dict[str, Any]) -> Session:
    whose = f"session {id!r}"
    turns = tuple(_turn(each, session, "date", whose) for each in field(session, "turns", list, whose))
    for turn in turns:
        try:
            validate_time(turn.at, system_clock())
        except InvalidInput as error:
            raise InvalidInput(f"turn {turn.id!r} of {whose}: {error.message}") from None
    return Session(id, turns)


def _turn(turn: dict[str, Any], around: dict[str, Any], dated_by: str, where: str) -> Turn:
    """A turn has a date of its own, or that of what it is in."""
    id = field(turn, "id", str, f"a turn of {where}")
    whose = f"turn {id!r} of {where}"
    at = instant(turn, "date", whose) if "date" in turn else instant(around, dated_by, whose)
    return Turn(id, field(turn, "speaker", str, whose), field(turn, "text", str, whose), at)


def _corpus(id: str, session_ids: object, sessions: dict[str, Session]) -> tuple[Session, ...]:
    whose = f"corpus {id!r}"
    listed = of_kind(session_ids, list, whose)
    unknown = [each for each in listed if each not in sessions]
    if unknown:
        raise InvalidInput(f"{whose} names session {unknown[0]!r}, which is not in the file.")
    corpus = tuple(sessions[each] for each in listed)
    if not any(session.turns for session in corpus):
        raise InvalidInput(f"{whose} holds no turns.", hint="Leave a history without turns out.")
    return corpus


def _question(query: dict[str, Any], corpora: Container[str]) -> Question:
    id = str(field(query, "id", object, "a query"))
    whose = f"query {id!r}"
    corpus = field(query, "corpus", str, whose)
    if corpus not in corpora:
        raise InvalidInput(f"{whose} asks corpus {corpus!r}, which is not in the file.")
    return Question(
        id,
        corpus,
        instant(query, "date", whose),
        field(query, "category", str, whose),
        field(query, "text", str, whose),
        str(query.get("answer", "")),
        frozenset(filled(query, "gold", whose)),
        frozenset(filled(query, "gold_sessions", whose)),
    )


def _dated_fact(fact: dict[str, Any]) -> DatedFact:
    evidence = tuple(_turn(each, each, "at", f"fact {fact['id']!r}") for each in fact["evidence"])
    if fact["interval"]:
        first, last = map(date.fromisoformat, fact["interval"])
        return DatedFact(fact["id"], evidence, first, last, to_the_day=False)
    numbers = [int(number) for number in fact["date"].split("-")]
    if len(numbers) == 3:
        day = date(*numbers)
        return DatedFact(fact["id"], evidence, day, day, to_the_day=True)
    days = month_of(*numbers) if len(numbers) == 2 else year_of(*numbers)
    return DatedFact(fact["id"], evidence, *days, to_the_day=False)


def _update(update: dict[str, Any]) -> Update:
    question = field(update, "question", str, "an update")
    whose = f"update {question!r}"
    old, new = (tuple(_said(each, whose) for each in filled(update, version, whose)) for version in ("old", "new"))
    return Update(question, str(update.get("answer", "")), old, new)


def _said(statement: dict[str, Any], where: str) -> Statement:
    whose = f"what was said of {where}"
    at = instant(statement, "at", whose)
    return Statement(at, field(statement, "text", str, whose), field(statement, "role", str, whose))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Says which file it was that could not be read."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", hint=error.hint) from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} is not a file of conversations with questions: {error!r}.") from error
