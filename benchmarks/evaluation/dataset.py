"""Data sets: conversations with questions whose evidence is known, and how they are read from files.

Every reader validates the whole file first and names the file, the session and the turn of the first fault, because an
evaluation takes minutes and must not fail in the middle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.evaluation.record_fields import read_field, read_filled_list, read_instant, require_kind
from longmind.clock import system_clock
from longmind.conversations.validation import validate_time
from longmind.errors import InvalidInput
from longmind.language.calendar import month_of, year_of


@dataclass(frozen=True)
class Turn:
    """One message of a session."""

    id: str
    speaker: str
    text: str
    at: str


@dataclass(frozen=True)
class Session:
    """One conversation."""

    id: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Question:
    """A question about one history, with the evidence for its answer."""

    id: str
    corpus: str
    at: str
    category: str
    text: str
    answer: str
    gold: frozenset[str]
    """The turns that hold the answer; none if the history does not answer the question."""
    gold_sessions: frozenset[str]
    before: str | None = None
    """The session before which the question is asked; None for the end of the history."""


@dataclass(frozen=True)
class Dataset:
    """Histories with questions. A corpus is the history of one user: sessions in order of time."""

    name: str
    corpora: dict[str, tuple[Session, ...]]
    questions: tuple[Question, ...]
    unanswerable: tuple[Question, ...] = ()
    """Questions whose answer is not in the history that is asked."""

    @property
    def session_of(self) -> dict[str, str]:
        """The session of each turn, by id."""
        sessions = (session for corpus in self.corpora.values() for session in corpus)
        return {turn.id: session.id for session in sessions for turn in session.turns}

    def limit(self, corpora: int | None) -> Dataset:
        """Return a data set with only the first corpora and their questions."""
        corpora_kept = dict(list(self.corpora.items())[:corpora])
        questions, unanswerable = (
            tuple(each for each in asked if each.corpus in corpora_kept)
            for asked in (self.questions, self.unanswerable)
        )
        return Dataset(self.name, corpora_kept, questions, unanswerable)


@dataclass(frozen=True)
class Statement:
    """Something that was said at an instant."""

    at: str
    text: str
    role: str


@dataclass(frozen=True)
class Update:
    """A fact that changed, with the statements before and after."""

    question: str
    answer: str
    old: tuple[Statement, ...]
    new: tuple[Statement, ...]


@dataclass(frozen=True)
class DatedFact:
    """An event with the turns that mention it and the days on which it happened."""

    id: str
    evidence: tuple[Turn, ...]
    first: date
    last: date
    to_the_day: bool
    """True if the exact day is known, instead of a period."""


@dataclass(frozen=True)
class StatedFact:
    """A fact that a turn states, in the words of a reader."""

    turn: str
    speaker: str
    text: str


def read_datasets(folder: Path) -> list[Dataset]:
    """Read all data sets of a folder; JSON files of another shape are skipped."""
    found: dict[str, tuple[Path, Dataset]] = {}
    for path in sorted(folder.glob("*.json")):
        dataset = _read_dataset(path)
        if dataset is None:
            continue
        if dataset.name in found:
            raise InvalidInput(
                f"{found[dataset.name][0]} and {path} are both named {dataset.name!r}.",
                hint="Give each data set its own name, by which results are reported.",
            )
        found[dataset.name] = path, dataset
    return [dataset for _, dataset in found.values()]


def read_updates(folder: Path) -> list[Update]:
    """Read changed facts from the files whose name begins with `updates`."""
    updates: list[Update] = []
    for path in sorted(folder.glob("updates*.json")):
        with name_file_in_errors(path):
            updates += [_parse_update(each) for each in _read_entries(path)]
    return updates


def read_dated_facts(folder: Path) -> list[DatedFact]:
    """Read dated facts from the files whose name begins with `dates`."""
    facts: list[DatedFact] = []
    for path in sorted(folder.glob("dates*.json")):
        with name_file_in_errors(path):
            facts += [_parse_dated_fact(each) for each in _read_entries(path)]
    return facts


def read_stated_facts(folder: Path) -> list[StatedFact]:
    """Read stated facts from the files whose name begins with `facts`."""
    facts: list[StatedFact] = []
    for path in sorted(folder.glob("facts*.json")):
        with name_file_in_errors(path):
            facts += [StatedFact(each["turn"], each["speaker"], each["fact"]) for each in _read_entries(path)]
    return facts


def _read_dataset(path: Path) -> Dataset | None:
    with name_file_in_errors(path):
        data = _load_json(path)
        if not isinstance(data, dict) or not data.keys() >= {"name", "sessions", "corpora", "queries"}:
            return None
        owner = "the set"
        sessions = {id: _parse_session(id, each) for id, each in read_field(data, "sessions", dict, owner).items()}
        corpora = {
            id: _parse_corpus(id, each, sessions) for id, each in read_field(data, "corpora", dict, owner).items()
        }
        questions = tuple(_parse_answerable(each, corpora) for each in read_field(data, "queries", list, owner))
        listed = read_field(data, "unanswerable", list, owner) if "unanswerable" in data else []
        unanswerable = tuple(_parse_question(each, corpora) for each in listed)
        return Dataset(read_field(data, "name", str, owner), corpora, questions, unanswerable)


def _load_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _read_entries(path: Path) -> list[Any]:
    return require_kind(_load_json(path), list, "the file")


def _parse_session(id: str, session: dict[str, Any]) -> Session:
    owner = f"session {id!r}"
    turns = tuple(_parse_turn(each, session, "date", owner) for each in read_field(session, "turns", list, owner))
    for turn in turns:
        try:
            validate_time(turn.at, system_clock())
        except InvalidInput as error:
            raise InvalidInput(f"turn {turn.id!r} of {owner}: {error.message}") from None
    return Session(id, turns)


def _parse_turn(turn: dict[str, Any], around: dict[str, Any], dated_by: str, where: str) -> Turn:
    """Return a turn; without a date of its own it has that of the object around it."""
    id = read_field(turn, "id", str, f"a turn of {where}")
    owner = f"turn {id!r} of {where}"
    at = read_instant(turn, "date", owner) if "date" in turn else read_instant(around, dated_by, owner)
    return Turn(id, read_field(turn, "speaker", str, owner), read_field(turn, "text", str, owner), at)


def _parse_corpus(id: str, session_ids: object, sessions: dict[str, Session]) -> tuple[Session, ...]:
    owner = f"corpus {id!r}"
    listed = require_kind(session_ids, list, owner)
    unknown = [each for each in listed if each not in sessions]
    if unknown:
        raise InvalidInput(f"{owner} names session {unknown[0]!r}, which is not in the file.")
    corpus = tuple(sessions[each] for each in listed)
    if not any(session.turns for session in corpus):
        raise InvalidInput(f"{owner} holds no turns.", hint="Remove histories without turns.")
    return corpus


def _parse_answerable(query: dict[str, Any], corpora: Mapping[str, tuple[Session, ...]]) -> Question:
    question = _parse_question(query, corpora)
    owner = f"query {question.id!r}"
    gold, sessions = (frozenset(read_filled_list(query, name, owner)) for name in ("gold", "gold_sessions"))
    return replace(question, gold=gold, gold_sessions=sessions)


def _parse_question(query: dict[str, Any], corpora: Mapping[str, tuple[Session, ...]]) -> Question:
    """Return a question without its evidence."""
    id = str(read_field(query, "id", object, "a query"))
    owner = f"query {id!r}"
    corpus = read_field(query, "corpus", str, owner)
    if corpus not in corpora:
        raise InvalidInput(f"{owner} asks corpus {corpus!r}, which is not in the file.")
    before = read_field(query, "before", str, owner) if query.get("before") is not None else None
    if before is not None and all(session.id != before for session in corpora[corpus]):
        raise InvalidInput(f"{owner} is asked before session {before!r}, which is not in corpus {corpus!r}.")
    return Question(
        id,
        corpus,
        read_instant(query, "date", owner),
        read_field(query, "category", str, owner),
        read_field(query, "text", str, owner),
        str(query.get("answer", "")),
        frozenset(),
        frozenset(),
        before,
    )


def _parse_dated_fact(fact: dict[str, Any]) -> DatedFact:
    evidence = tuple(_parse_turn(each, each, "at", f"fact {fact['id']!r}") for each in fact["evidence"])
    if fact["interval"]:
        first, last = map(date.fromisoformat, fact["interval"])
        return DatedFact(fact["id"], evidence, first, last, to_the_day=False)
    numbers = [int(number) for number in fact["date"].split("-")]
    if len(numbers) == 3:
        day = date(*numbers)
        return DatedFact(fact["id"], evidence, day, day, to_the_day=True)
    days = month_of(*numbers) if len(numbers) == 2 else year_of(*numbers)
    return DatedFact(fact["id"], evidence, *days, to_the_day=False)


def _parse_update(update: dict[str, Any]) -> Update:
    question = read_field(update, "question", str, "an update")
    owner = f"update {question!r}"
    old, new = (
        tuple(_parse_statement(each, owner) for each in read_filled_list(update, version, owner))
        for version in ("old", "new")
    )
    return Update(question, str(update.get("answer", "")), old, new)


def _parse_statement(statement: dict[str, Any], where: str) -> Statement:
    owner = f"a statement of {where}"
    at = read_instant(statement, "at", owner)
    return Statement(at, read_field(statement, "text", str, owner), read_field(statement, "role", str, owner))


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Add the file to the errors that occur in this context."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", hint=error.hint) from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} is not a file of conversations with questions: {error!r}.") from error
