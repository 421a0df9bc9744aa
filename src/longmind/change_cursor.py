"""A cursor into the ledger, for readers that follow the changes of all users.

Positions are taken before transactions commit, so a later position may become visible before an earlier one. A reader
that passed over such a gap would miss a change for good. So the cursor moves past a gap only when every transaction
that was running when the gap was seen has ended: then the gap stays empty for ever.
"""

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
    """One reader's position in the ledger, and its rules for pausing and ending.

    `read` until `ended`; while `waiting`, pause for `pause_seconds` first. One thread at a time may use it.
    """

    pause_seconds = 0.05

    def __init__(self, database: Database, after: int | None, wait: bool | float) -> None:
        if after is not None and (isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 2**63):
            raise InvalidInput(
                f"after is {quote_value(after)}.",
                hint="Pass the cursor of the last change that you handled, or None.",
            )
        if not isinstance(wait, bool | int | float) or not wait >= 0:
            raise InvalidInput(f"wait is {quote_value(wait)}.", hint="Pass True, False or a number of seconds.")
        self._database = database
        self._cursor = after or 0
        self._patience = float("inf") if wait is True else float(wait)
        self.waits = self._patience > 0
        self._quiet_since = time.monotonic()
        self.ended = False
        self.waiting = False

    def read(self) -> list[Change]:
        """Return the next changes, or none for now."""
        # A missing number is a transaction that is not committed yet, or one that was rolled back.
        rows = self._read_rows()
        certain = rows if _has_no_gap(self._cursor, rows) else self._read_certain(rows)
        self.waiting = not certain
        if certain:
            self._cursor = certain[-1][0]
            self._quiet_since = time.monotonic()
        else:
            # Even if a gap is the reason: the next reader goes on from the same cursor.
            self.ended = time.monotonic() - self._quiet_since >= self._patience
        return [ledger.to_change(row) for row in certain]

    def _read_rows(self) -> list[Row]:
        return self._database.read(None, ledger.read_changes, self._cursor, _AT_ONCE)

    def _read_certain(self, rows: list[Row]) -> list[Row]:
        """Return the rows before a gap that may still be filled, or all once it is certain what belongs there."""
        if self._database.wait_for_writers(_SETTLING_SECONDS):
            return [row for row in self._read_rows() if row[0] <= rows[-1][0]]
        return [row for number, row in enumerate(rows, 1) if row[0] == self._cursor + number]


def _has_no_gap(cursor: int, rows: list[Row]) -> bool:
    return not rows or rows[-1][0] - cursor == len(rows)
