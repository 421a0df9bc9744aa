"""The SQLite files that LangGraph writes: its store and its checkpoints. They are another product's, and only read.

The statements stand here as plain texts, since the tables are not ours: there is no scope to bind. A file is opened so
that nothing can write it, and closed when the last row was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from longmind.errors import InvalidInput

Row = tuple[Any, ...]


class LangGraphFile:
    """An open file. Close it, or use it in a `with` statement."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        with self._explain():
            self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def __enter__(self) -> LangGraphFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def list_tables(self) -> set[str]:
        """Return the names of the tables."""
        with self._explain():
            return {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def list_items(self) -> Iterator[Row]:
        """Yield `(prefix, key, value, created_at)` of the items of the store, oldest first."""
        with self._explain():
            yield from self._connection.execute(
                "SELECT prefix, key, value, created_at FROM store ORDER BY created_at, prefix, key"
            )

    def list_threads(self) -> list[Row]:
        """Return `(thread_id, bytes, newest)` of the threads: the size of all checkpoints, and the id of the newest."""
        with self._explain():
            return list(
                self._connection.execute(
                    "SELECT thread_id, SUM(LENGTH(checkpoint)), MAX(checkpoint_id) FROM checkpoints"
                    " WHERE checkpoint_ns = '' GROUP BY thread_id"
                )
            )

    def list_states(self, thread_id: object, newest: object, *, every: bool) -> Iterator[Row]:
        """Yield `(type, checkpoint)` of a thread, oldest first: of every checkpoint, or of the newest alone."""
        with self._explain():
            yield from self._connection.execute(
                "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
                " AND (checkpoint_id = ? OR ?) ORDER BY checkpoint_id",
                (thread_id, newest, int(every)),
            )

    def list_writes(self, thread_id: object) -> Iterator[Row]:
        """Yield `(type, value)` of what was written to the messages of a thread, oldest first."""
        with self._explain():
            yield from self._connection.execute(
                "SELECT type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND channel = 'messages'"
                " ORDER BY checkpoint_id, task_id, idx",
                (thread_id,),
            )

    @contextmanager
    def _explain(self) -> Iterator[None]:
        """Translate errors of SQLite, which may come with any row of a damaged file."""
        try:
            yield
        except apsw.Error as error:
            raise InvalidInput(
                f"{self._name} cannot be read as an SQLite file: {error}.", hint="Copy it again from its place."
            ) from error
