"""The contenders of the conversations benchmark: Longmind, and plain SQL through the same kind of driver.

The peers keep the same facts per message, in a table of their own with the same kinds of indexes, as durably: WAL with
`synchronous=FULL` on SQLite, a real fsync with `synchronous_commit=on` on PostgreSQL. An append is one transaction
that takes two sequence numbers and inserts two rows; a read decodes the JSON it finds.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol, cast

import psycopg

import longmind
from longmind.clock import system_clock
from longmind.conversations import Conversations
from longmind.providers.background_loop import BackgroundLoop
from longmind.providers.model_pool import ModelPool
from longmind.store.database import Database, Transaction
from longmind.tools.session_memory import SessionMemory

_NO_MODELS = ModelPool(BackgroundLoop(), longmind.Settings())
TAIL = 10
USER_TEXT = "I would rather meet on Tuesday mornings, but next week I am in Lisbon until Thursday evening."
ANSWER_TEXT = (
    "Noted: Tuesday mornings are best, and next week only Friday works, because you are in Lisbon until Thursday "
    "evening. Shall I propose Friday at ten?"
)
USAGE = {"inputTokens": 812, "outputTokens": 46}
ANSWER = {
    "content": ANSWER_TEXT,
    "stop_reason": "end_turn",
    "model": "example-1",
    "provider": "example",
    "usage": USAGE,
}
TENANT, APP, USER = "acme", "support", "ada"

# Repeated updates of one row in one transaction leave versions behind that slow PostgreSQL down.
_TURNS_PER_TRANSACTION = 250


class Store(Protocol):
    def create(self, count: int) -> list[str]:
        """Create conversations and return their ids."""

    def fill(self, conversation_ids: Sequence[str], turns: int) -> None:
        """Append turns to empty conversations in rotation, many in one transaction."""

    def append(self, conversation_id: str) -> object:
        """Append one turn, durably."""

    def read(self, conversation_id: str) -> Sequence[object]:
        """Return the last messages, oldest first."""

    def close(self) -> None: ...


class LongmindStore:
    """Longmind on either engine; every caller shares the one engine."""

    def __init__(self, url: str) -> None:
        self.engine = longmind.open(url)
        self._context = self.engine.context(tenant_id=TENANT, app_id=APP, user_id=USER)
        self._conversations = self._context.conversations

    def create(self, count: int) -> list[str]:
        return [self._conversations.create_conversation("benchmark").id for _ in range(count)]

    def fill(self, conversation_ids: Sequence[str], turns: int) -> None:
        def append_all(run: Transaction, batch: Sequence[str]) -> None:
            # The operation itself, told that its database is a transaction that is under way: so the rows are those
            # that single appends would have written, and only the commits are shared.
            database = cast(Database, _InOneTransaction(run))
            operations = Conversations(
                database,
                self._context.scope,
                system_clock,
                self.engine._parts.models,
                self.engine._parts.rolling,
                self._context.blocks._reader,
                SessionMemory(database, self._context.scope, system_clock),
                self._conversations._tools,
            )
            for conversation_id in batch:
                operations.append_turn(conversation_id, user_content=USER_TEXT, assistant=ANSWER)

        for _, batch in _split_into_batches(conversation_ids, turns):
            self.engine._database.write(self._context.scope, append_all, batch)

    def append(self, conversation_id: str) -> object:
        return self._conversations.append_turn(conversation_id, user_content=USER_TEXT, assistant=ANSWER)

    def read(self, conversation_id: str) -> Sequence[longmind.Message]:
        return self._conversations.get_messages(conversation_id, limit=TAIL)

    def close(self) -> None:
        self.engine.close()


class _InOneTransaction:
    def __init__(self, run: Transaction) -> None:
        self._run = run

    def write(self, scope: object, work: Callable[..., object], *args: object) -> object:
        return work(self._run, *args)


_COLUMNS = (
    "scope_id", "event_id", "tenant_id", "app_id", "user_id", "timeline_id", "ts", "kind", "stage", "tags",
    "conversation_id", "sequence", "turn_id", "attempt", "visibility", "content", "stop_reason", "model", "provider",
    "usage",
)  # fmt: skip
_SCHEMA = """
CREATE TABLE raw_conversations (
    scope_id TEXT NOT NULL, id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, app_id TEXT NOT NULL, user_id TEXT NOT NULL,
    namespace TEXT NOT NULL, status TEXT NOT NULL, metadata TEXT NOT NULL, next_sequence BIGINT NOT NULL, turn_id TEXT,
    attempt INTEGER NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE TABLE raw_events (
    position {identity}, scope_id TEXT NOT NULL, event_id TEXT NOT NULL, tenant_id TEXT NOT NULL,
    app_id TEXT NOT NULL, user_id TEXT NOT NULL, timeline_id TEXT, ts BIGINT NOT NULL, kind TEXT NOT NULL, stage TEXT,
    tags TEXT, conversation_id TEXT, sequence BIGINT, turn_id TEXT, attempt INTEGER, visibility TEXT, content TEXT,
    stop_reason TEXT, model TEXT, provider TEXT, usage TEXT
);
CREATE UNIQUE INDEX raw_events_by_id ON raw_events (event_id);
CREATE UNIQUE INDEX raw_events_in_conversation ON raw_events (conversation_id, sequence);
"""
_CREATE = "INSERT INTO raw_conversations VALUES (?, ?, ?, ?, ?, 'benchmark', 'open', '{}', 1, NULL, 1, ?, ?)"
_TAKE = (
    "UPDATE raw_conversations SET next_sequence = next_sequence + 2, turn_id = ?, updated_at = ? "
    "WHERE id = ? AND status = 'open' RETURNING next_sequence - 2"
)
_INSERT = f"INSERT INTO raw_events ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_READ = f"""
SELECT event_id, conversation_id, turn_id, sequence, stage, visibility, stop_reason, model, provider, ts, attempt,
    content, usage
FROM raw_events WHERE conversation_id = ? AND visibility = 'user' ORDER BY sequence DESC LIMIT {TAIL}
"""
_SCOPE = "a" * 24
_TIMELINE = f"org:{TENANT}|org:{TENANT}:user:{USER}"


class RawStore(ABC):
    """The statements an application would write by hand; each caller has a connection of its own."""

    begin = "BEGIN"
    mark = "?"

    def __init__(self) -> None:
        self._own = threading.local()
        self._connections: list[Any] = []
        self._turn: AbstractContextManager[object] = nullcontext()
        self._create, self._take, self._insert, self._read = (
            text.replace("?", self.mark) for text in (_CREATE, _TAKE, _INSERT, _READ)
        )

    @abstractmethod
    def connect(self) -> Any:
        """Open a connection for the calling thread."""

    def create(self, count: int) -> list[str]:
        connection, ids = self._connection(), [_make_id("conv") for _ in range(count)]
        now = system_clock()
        for each in ids:
            connection.execute(self._create, (_SCOPE, each, TENANT, APP, USER, now, now))
        return ids

    def fill(self, conversation_ids: Sequence[str], turns: int) -> None:
        cursor = self._connection().cursor()
        for first, batch in _split_into_batches(conversation_ids, turns):
            rows: list[tuple[Any, ...]] = []
            taken = []
            for number, conversation_id in enumerate(batch, first):
                turn_id, now, sequence = _make_id("turn"), system_clock(), 1 + number // len(conversation_ids) * 2
                rows += _make_rows(conversation_id, turn_id, now, sequence)
                taken.append((turn_id, now, conversation_id))
            cursor.execute(self.begin)
            cursor.executemany(self._take, taken)
            cursor.executemany(self._insert, rows)
            cursor.execute("COMMIT")

    def append(self, conversation_id: str) -> object:
        connection = self._connection()
        turn_id, now = _make_id("turn"), system_clock()
        with self._turn:
            connection.execute(self.begin)
            (sequence,) = connection.execute(self._take, (turn_id, now, conversation_id)).fetchone()
            for row in _make_rows(conversation_id, turn_id, now, sequence):
                connection.execute(self._insert, row)
            connection.execute("COMMIT")
        return sequence

    def read(self, conversation_id: str) -> Sequence[tuple[Any, ...]]:
        rows = self._connection().execute(self._read, (conversation_id,)).fetchall()
        rows.reverse()
        return [(*row[:-2], json.loads(row[-2]), json.loads(row[-1]) if row[-1] else None) for row in rows]

    def read_messages(self, conversation_id: str) -> list[tuple[int, str, str]]:
        """Return sequence, role and text of the last messages."""
        return [(row[3], row[4], row[-2][0]["text"]) for row in self.read(conversation_id)]

    @abstractmethod
    def durability(self) -> str:
        """Return the database's own settings of durability."""

    def _connection(self) -> Any:
        if not hasattr(self._own, "connection"):
            self._own.connection = self.connect()
            self._connections.append(self._own.connection)
        return self._own.connection

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class RawSqlite(RawStore):
    begin = "BEGIN IMMEDIATE"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        # SQLite waits for another writer by sleeping, which would make the peer look slow.
        self._turn = threading.Lock()
        self._connection().executescript(_SCHEMA.format(identity="INTEGER PRIMARY KEY AUTOINCREMENT"))

    def connect(self) -> Any:
        connection = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def durability(self) -> str:
        journal, synchronous = (
            self._connection().execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        )
        return f"journal_mode={journal}, synchronous={synchronous}"


class RawPostgres(RawStore):
    mark = "%s"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._connection().execute(
            _SCHEMA.format(identity="BIGINT GENERATED ALWAYS AS IDENTITY")
            + "CREATE INDEX raw_events_in_order ON raw_events (position)"
        )

    def connect(self) -> Any:
        connection = psycopg.connect(self._url, autocommit=True)
        connection.execute("SET synchronous_commit TO on")
        return connection

    def durability(self) -> str:
        version, *settings = (
            self._connection().execute(f"SHOW {name}").fetchone()[0]
            for name in ("server_version", "fsync", "synchronous_commit")
        )
        return "PostgreSQL {}, fsync={}, synchronous_commit={}".format(version, *settings)


def _make_rows(conversation_id: str, turn_id: str, now: int, sequence: int) -> Iterator[tuple[Any, ...]]:
    """Return the rows of one turn."""
    answered = ("end_turn", "example-1", "example", json.dumps(USAGE))
    for at, role, text, answer in (
        (sequence, "user", USER_TEXT, (None, None, None, None)),
        (sequence + 1, "assistant", ANSWER_TEXT, answered),
    ):
        content = json.dumps([{"type": "text", "text": text}], ensure_ascii=False)
        yield (
            _SCOPE, _make_id("msg"), TENANT, APP, USER, _TIMELINE, now, "chat.turn", role, '["chat"]',
            conversation_id, at, turn_id, 1, "user", content, *answer,
        )  # fmt: skip


def _split_into_batches(conversation_ids: Sequence[str], turns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield batches of conversations, one per turn, in rotation, each with the number of its first turn."""
    for first in range(0, turns, _TURNS_PER_TRANSACTION):
        numbers = range(first, min(turns, first + _TURNS_PER_TRANSACTION))
        yield first, [conversation_ids[number % len(conversation_ids)] for number in numbers]


def _make_id(prefix: str) -> str:
    # Ordered by time like Longmind's ids: random ids would scatter over the index and slow the peer down.
    return f"{prefix}_{time.time_ns():016x}{os.urandom(8).hex()}"
