"""Messages as passages are made of them: the rows that may be quoted, and the state by which caches see changes.

A message may be quoted if it is of the user, the assistant or a tool, is not hidden, and was never cited by a fact that
has been forgotten since. Its text stays in the ledger alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from longmind.scope import Scope
from longmind.store.database import Row, Transaction

REVISIONS_OF_AN_EPOCH = 2**40
"""Forgettings after an erasure or an import are counted from far beyond those before it: no cache is valid then."""


class PassageState(NamedTuple):
    """The state of a user's messages, of which every change also changes this."""

    newest: int
    """The position of the newest message; an earlier one may still be under way."""
    forgotten: int
    """The number of times that messages were forgotten."""
    stored: int
    """The number of times that words or vectors were stored."""
    bindings: int
    """The number of changes to the bindings of the app."""
    history: object = None
    """The history of the database that this is part of: see `Transaction.history`."""


def read_state(run: Transaction) -> PassageState:
    """Return the state of the user's messages as of now."""
    row = run.one("state_of_passages")
    return to_state(row or (0, 0, 0, 0), run.history)


def to_state(columns: Sequence[int], history: object) -> PassageState:
    """Return the state of which a statement has returned the columns."""
    newest, forgotten, stored, bindings = columns
    return PassageState(newest, forgotten, stored, bindings, history)


def read_rows(run: Transaction, after: int, limit: int) -> list[Row]:
    """Return the messages that may be quoted after a position of the ledger, with their contents.

    The columns are `position, sequence, conversation_id, stage, ts, turn_id, attempt, content`.
    """
    return run.all("passage_rows_after", after=after, limit=limit)


def read_columns(run: Transaction, after: int, limit: int) -> list[Row]:
    """Return the rows of `read_rows` without their contents."""
    return run.all("passage_columns_after", after=after, limit=limit)


def read_contents(run: Transaction, positions: Sequence[int]) -> list[tuple[int, str]]:
    """Return the stored contents of the messages at some positions, in their order; one that is gone is left out."""
    return [(row[0], row[1]) for row in run.all("message_contents_at", positions=json.dumps(list(positions)))]


def read_quotes(run: Transaction, positions: Iterable[int]) -> dict[int, Row]:
    """Return `(message_id, conversation_id, sequence, role, ts, content)` of messages by their positions.

    A message that is gone, or that may not be quoted any more, is left out.
    """
    rows = run.all("quotes_at", positions=json.dumps(sorted(set(positions))))
    return {row[0]: row[1:] for row in rows}


def find_namespace(run: Transaction, conversation_id: str) -> str | None:
    """Return the namespace of a conversation; None if there is no such one."""
    row = run.one("conversation_namespace", conversation_id=conversation_id)
    return None if row is None else row[0]


def read_namespaces(run: Transaction) -> dict[str, str]:
    """Return the namespaces of all conversations of the user."""
    return dict(run.all("conversation_namespaces"))


def find_positions(run: Transaction, message_ids: Iterable[str]) -> dict[str, int]:
    """Return the positions of messages by their ids; ids that lead nowhere are left out."""
    return dict(run.all("message_positions", ids=json.dumps(sorted(message_ids))))


def begin_forgetting(run: Transaction) -> None:
    """Note that messages are forgotten; until the transaction ends, no other forgets or stores any of this user."""
    run.one("raise_passage_revision", forgotten=1, stored=0)


def begin_storing(run: Transaction) -> None:
    """Note that words and vectors are stored; until the transaction ends, no other forgets or stores any."""
    run.one("raise_passage_revision", forgotten=0, stored=1)


def begin_epoch(run: Transaction) -> None:
    """Make everything that caches know of the user's messages invalid, after an erasure or an import."""
    run.send("begin_passage_epoch", size=REVISIONS_OF_AN_EPOCH)


def is_same_epoch(forgotten: int, other: int) -> bool:
    """Return whether a cache of one count of forgettings can be brought up to another one."""
    return forgotten // REVISIONS_OF_AN_EPOCH == other // REVISIONS_OF_AN_EPOCH


def insert_unquotable(run: Transaction, message_id: str) -> None:
    """Keep a message from being quoted from now on."""
    run.send("insert_unquotable", message_id=message_id)


def list_unquotable(run: Transaction) -> frozenset[str]:
    """Return the ids of all messages that may not be quoted any more."""
    return frozenset(message_id for (message_id,) in run.all("every_unquotable"))


def list_unquotable_positions(run: Transaction) -> list[int]:
    """Return the positions of all messages that may not be quoted any more."""
    return [position for (position,) in run.all("unquotable_positions")]


def list_owners(run: Transaction) -> list[Scope]:
    """Return all users who have a conversation that some binding covers."""
    return [Scope(*row) for row in run.all("owners_of_covered_conversations")]
