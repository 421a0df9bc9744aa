"""Reads the ledger from a cursor on, as it grows."""

from __future__ import annotations

import time

from longmind.errors import InvalidInput
from longmind.models.change import Change
from longmind.store.database import Database, Row
from longmind.store.tables import ledger
from longmind.validation.text import quote_value

_AT_ONCE = 500
_SETTLING_SECONDS = 0.2


class ChangeCursor:
    """One reader's way through the changes: it holds the cursor, and tells when to pause and when to end."""

    pause_seconds = 0.05

    def __init__(self, database: Database, after: int | None, wait: bool | float) -> None:
        if after is not None and (isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 2**63):
            raise InvalidInput(
                f"after is {quote_value(after)}.",
                hint="Pass the cursor of the last change you have dealt with, or None.",
            )
        if not isinstance(wait, bool | int | float) or not wait >= 0:
            raise InvalidInput(f"wait is {quote_value(wait)}.", hint="It is True, False or a number of seconds.")
        self._database = database
        self._cursor = after or 0
        self._patience = float("inf") if wait is True else float(wait)
        self.waits = self._patience > 0
        self._quiet_since = time.monotonic()
        self.ended = False
        self.waiting = False

    def read(self) -> list[Change]:
        """The next changes, or none for now."""
        rows = self._read_rows()
        settled = rows if _has_no_gap(self._cursor, rows) else self._settled(rows)
        self.waiting = not settled
        if settled:
            self._cursor = settled[-1][0]
            self._quiet_since = time.monotonic()
        else:
            # Also when a gap holds it up: the next follower goes on from the same cursor.
            self.ended = time.monotonic() - self._quiet_since >= self._patience
        return [ledger.to_change(row) for row in settled]

    def _read_rows(self) -> list[Row]:
        return self._database.read(None, ledger.read_changes, self._cursor, _AT_ONCE)

    def _settled(self, rows: list[Row]) -> list[Row]:
        """A gap may still be filled. Give out what comes before it, or all once it is known what belongs there."""
        if self._database.wait_for_writers(_SETTLING_SECONDS):
            return [row for row in self._read_rows() if row[0] <= rows[-1][0]]
        return [row for number, row in enumerate(rows, 1) if row[0] == self._cursor + number]


def _has_no_gap(cursor: int, rows: list[Row]) -> bool:
    return not rows or rows[-1][0] - cursor == len(rows)
