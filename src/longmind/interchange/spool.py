"""Records of a file on their way into memory, kept in a temporary file.

A file is read to its end before anything is written, so that a mistake at its end leaves nothing behind. What was read
waits on the disk, in the order of the times in it: exports often begin with the newest, and memory has to learn the
oldest first.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from types import TracebackType
from typing import Any

from longmind.clock import Micros
from longmind.errors import LimitExceeded
from longmind.interchange.records import ForeignConversation, ForeignFact, ForeignMessage

MOST_RECORDS = 2_000_000
_UNKNOWN_TIME = -1


class Spool:
    """Facts and conversations of one file. Only their times and places are in memory."""

    def __init__(self) -> None:
        # Closed by the `with` statement of this object.
        self._file = tempfile.TemporaryFile(prefix="longmind-import-")  # noqa: SIM115
        self._facts: list[tuple[Micros, int]] = []
        self._conversations: list[tuple[Micros, int]] = []

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def fact_count(self) -> int:
        """The number of facts."""
        return len(self._facts)

    @property
    def conversation_count(self) -> int:
        """The number of conversations."""
        return len(self._conversations)

    def put(self, record: ForeignFact | ForeignConversation) -> None:
        """Keep a record."""
        places = self._facts if isinstance(record, ForeignFact) else self._conversations
        if len(places) >= MOST_RECORDS:
            raise LimitExceeded("Records of a file", limit=MOST_RECORDS, given=len(places) + 1, unit="at a time")
        places.append((_UNKNOWN_TIME if record.at is None else record.at, self._file.tell()))
        # ASCII, which also holds the halves of surrogate pairs that a file may have.
        self._file.write(json.dumps(asdict(record), ensure_ascii=True).encode() + b"\n")

    def read_facts(self) -> Iterator[ForeignFact]:
        """Yield the facts, oldest first; those without a time come before all."""
        for fields in self._read(self._facts):
            yield ForeignFact(**{**fields, "tags": tuple(fields["tags"]), "owners": tuple(fields["owners"])})

    def read_conversations(self) -> Iterator[ForeignConversation]:
        """Yield the conversations, oldest first; those without a time come before all."""
        for fields in self._read(self._conversations):
            messages = tuple(ForeignMessage(**each) for each in fields["messages"])
            yield ForeignConversation(**{**fields, "messages": messages, "owners": tuple(fields["owners"])})

    def _read(self, places: list[tuple[Micros, int]]) -> Iterator[dict[str, Any]]:
        """Yield the fields of the records at some places, in the order of their times."""
        for _, place in sorted(places):
            self._file.seek(place)
            yield json.loads(self._file.readline())
        self._file.seek(0, 2)
