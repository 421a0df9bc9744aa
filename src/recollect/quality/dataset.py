"""Conversations with questions whose evidence is known, as they are read from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    old: tuple[Statement, ...]
    new: tuple[Statement, ...]


def read_datasets(folder: Path) -> list[Dataset]:
    """The conversations with questions in a folder; files of another shape may lie beside them."""
    return [found for path in sorted(folder.glob("*.json")) if (found := _dataset(path)) is not None]


def read_updates(folder: Path) -> list[Update]:
    """The facts that changed, from the files whose name begins with `updates`."""
    updates: list[Update] = []
    for path in sorted(folder.glob("updates*.json")):
        with _naming(path):
            updates += [Update(each["question"], _said(each["old"]), _said(each["new"])) for each in _read(path)]
    return updates


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
        frozenset(query["gold"]),
        frozenset(query["gold_sessions"]),
    )


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
