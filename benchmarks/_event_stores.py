"""The contenders of the events benchmark: Longmind, and plain statements on both engines.

A plain store keeps the same columns of an event that matter to its reader, in one table with an index on timeline and
time and one on the ids, and decodes what it reads as a program would.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg

import longmind
from benchmarks._recall_data import CheapEmbedder

RECENT = 50
TAGS = ["bench", "note"]

Rows = list[dict[str, Any]]


class Timeline(Protocol):
    def record(self, text: str) -> object: ...

    def record_many(self, texts: Sequence[str]) -> object: ...

    def recent(self) -> Sequence[object]: ...


class OurTimeline:
    def __init__(self, engine: longmind.Engine, name: str) -> None:
        self._events = engine.context(tenant_id="bench", app_id="events", user_id=name, session_id=name).events

    def record(self, text: str) -> object:
        return self._events.record("note", {"text": text}, tags=TAGS, text=text)

    def record_many(self, texts: Sequence[str]) -> object:
        return self._events.record_many(
            [{"kind": "note", "data": {"text": text}, "tags": TAGS, "text": text} for text in texts]
        )

    def recent(self) -> Sequence[object]:
        return self._events.recent(limit=RECENT)

    def search(self, query: str, mode: Any) -> Sequence[object]:
        return self._events.search(query, limit=RECENT, mode=mode)


def open_ours(url: str, **settings: Any) -> longmind.Engine:
    return longmind.open(url, embedder=CheapEmbedder(), cache_megabytes=1024, **settings)


_COLUMNS = "event_id, timeline, ts, kind, text, tags, data, severity, signal"
_TABLE = """
CREATE TABLE events (
    position {key}, event_id TEXT NOT NULL UNIQUE, timeline TEXT NOT NULL, ts BIGINT NOT NULL, kind TEXT NOT NULL,
    text TEXT, tags TEXT, data TEXT, severity INTEGER NOT NULL, signal DOUBLE PRECISION NOT NULL
)
"""
_INDEX = "CREATE INDEX events_newest ON events (timeline, ts)"
_numbers = count(1)


class RawSqlite:
    """Plain `sqlite3`, as durable as ours: one connection for a process, and a lock for its threads."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_TABLE.format(key="INTEGER PRIMARY KEY AUTOINCREMENT"))
        self._connection.execute(_INDEX)
        # A store in use overwrites its write-ahead log, which is faster than letting it grow.
        self._connection.execute("CREATE TABLE ballast AS SELECT zeroblob(16000000)")
        self._connection.execute("DROP TABLE ballast")
        self._connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()

    def timeline(self, name: str) -> RawTimeline:
        return RawTimeline(self, name)

    def insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(f"INSERT INTO events ({_COLUMNS}) VALUES ({', '.join('?' * 9)})", rows)
            self._connection.execute("COMMIT")

    def newest(self, timeline: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM events WHERE timeline = ? ORDER BY ts DESC, position DESC LIMIT {RECENT}",
            (timeline,),
        ).fetchall()

    def close(self) -> None:
        self._connection.close()


class RawPostgres:
    """Plain `psycopg` on one connection."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(_TABLE.format(key="BIGINT GENERATED ALWAYS AS IDENTITY"))
        self._connection.execute(_INDEX)

    def timeline(self, name: str) -> RawTimeline:
        return RawTimeline(self, name)

    def insert(self, rows: Sequence[tuple[Any, ...]]) -> None:
        statement = f"INSERT INTO events ({_COLUMNS}) VALUES ({', '.join(['%s'] * 9)})"
        if len(rows) == 1:
            # A single statement is its own transaction and needs one round trip.
            self._connection.execute(statement, rows[0])
            return
        with self._connection.transaction():
            self._connection.cursor().executemany(statement, rows)

    def newest(self, timeline: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(
            f"SELECT {_COLUMNS} FROM events WHERE timeline = %s ORDER BY ts DESC, position DESC LIMIT {RECENT}",
            (timeline,),
        ).fetchall()

    def close(self) -> None:
        self._connection.close()


RawStore = RawSqlite | RawPostgres


class RawTimeline:
    def __init__(self, store: RawStore, name: str) -> None:
        self._store = store
        self._name = name

    def record(self, text: str) -> object:
        return self.record_many([text])

    def record_many(self, texts: Sequence[str]) -> object:
        rows = [
            (
                f"event {next(_numbers)}", self._name, time.time_ns() // 1000, "note", text, json.dumps(TAGS),
                json.dumps({"text": text}), 2, 0.5,
            )
            for text in texts
        ]  # fmt: skip
        self._store.insert(rows)
        return rows

    def recent(self) -> Sequence[object]:
        found = self._store.newest(self._name)
        names = _COLUMNS.split(", ")
        events: Rows = [dict(zip(names, row, strict=True)) for row in reversed(found)]
        for event in events:
            event["tags"] = json.loads(event["tags"])
            event["data"] = json.loads(event["data"])
        return events
