"""Conversations with questions whose evidence is known, as they are read from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from recollect.calendar import month_of, year_of
from recollect.errors import InvalidInput


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
    return [found for path in sorted(folder.glob("*.json")) if (found := _dataset(path)) is not None]


def read_updates(folder: Path) -> list[Update]:
    """The facts that changed, from the files whose name begins with `updates`."""
    updates: list[Update] = []
    for path in sorted(folder.glob("updates*.json")):
        with _naming(path):
            updates += [_update(each) for each in _read(path)]
    return updates


def read_dated_facts(folder: Path) -> list[DatedFact]:
    """What happened when, from the files whose name begins with `dates`."""
    facts: list[DatedFact] = []
    for path in sorted(folder.glob("dates*.json")):
        with _naming(path):
            facts += [_dated_fact(each) for each in _read(path)]
    return facts


def read_told_facts(folder: Path) -> list[ToldFact]:
    """What turns tell, from the files whose name begins with `facts`."""
    facts: list[ToldFact] = []
    for path in sorted(folder.glob("facts*.json")):
        with _naming(path):
            facts += [ToldFact(each["turn"], each["speaker"], each["fact"]) for each in _read(path)]
    return facts


def _dataset(path: Path) -> Dataset | None:
    with _naming(path):
        data = _read(path)
        if not isinstance(data, dict) or not data.keys() >= {"name", "sessions", "corpora", "queries"}:
            return None
        sessions = {
            id: Session(id, tuple(_turn(turn, session["date"]) for turn in session["turns"]))
            for id, session in data["sessions"].items()
        }
        return Dataset(
            data["name"],
            {corpus: tuple(sessions[id] for id in ids) for corpus, ids in data["corpora"].items()},
            tuple(_question(each) for each in data["queries"]),
        )


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _turn(turn: dict[str, str], date: str) -> Turn:
    return Turn(turn["id"], turn["speaker"], turn["text"], turn.get("date", date))


def _question(query: dict[str, Any]) -> Question:
    return Question(
        query["id"],
        query["corpus"],
        query["date"],
        query["category"],
        query["text"],
        str(query.get("answer", "")),
        frozenset(query["gold"]),
        frozenset(query["gold_sessions"]),
    )


def _dated_fact(fact: dict[str, Any]) -> DatedFact:
    evidence = tuple(_turn(each, each["at"]) for each in fact["evidence"])
    if fact["interval"]:
        first, last = map(date.fromisoformat, fact["interval"])
        return DatedFact(fact["id"], evidence, first, last, to_the_day=False)
    numbers = [int(number) for number in fact["date"].split("-")]
    if len(numbers) == 3:
        day = date(*numbers)
        return DatedFact(fact["id"], evidence, day, day, to_the_day=True)
    days = month_of(*numbers) if len(numbers) == 2 else year_of(*numbers)
    return DatedFact(fact["id"], evidence, *days, to_the_day=False)


def _update(each: dict[str, Any]) -> Update:
    return Update(each["question"], str(each.get("answer", "")), _said(each["old"]), _said(each["new"]))


def _said(statements: list[dict[str, str]]) -> tuple[Statement, ...]:
    return tuple(Statement(each["at"], each["text"], each["role"]) for each in statements)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Says which file it was that could not be read."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path} is not a file of conversations with questions: {error!r}.") from error
