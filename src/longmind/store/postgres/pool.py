"""A pool of connections that keeps one at hand: who calls alone has the same one again.

The driver's pool gives out the one that has rested longest, so that two connections take turns where one would do. Who
was used just now has its user's scope set, and behind it is a process of the server that has at hand what it needs.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg_pool
from psycopg.pq import TransactionStatus

from longmind.store.postgres.connection import ScopedConnection


class StickyPool(psycopg_pool.ConnectionPool[ScopedConnection]):
    """Keeps one connection at hand, which the pool behind it takes for one in use."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._hand = threading.Lock()
        self._at_hand: ScopedConnection | None = None
        self._asking = 0
        """How many are asking the pool: they would wait there for a connection that is kept here."""
        self._not_before = 0.0
        super().__init__(*args, **options)

    def getconn(self, timeout: float | None = None) -> ScopedConnection:
        with self._hand:
            connection, self._at_hand = self._at_hand, None
            if connection is not None:
                return connection
            self._asking += 1
        try:
            return super().getconn(timeout)
        finally:
            with self._hand:
                self._asking -= 1

    def putconn(self, conn: ScopedConnection) -> None:
        if conn.pgconn.transaction_status == TransactionStatus.IDLE:
            with self._hand:
                # One that is old goes back for the pool to renew it.
                young = self._not_before < conn.made_at > time.monotonic() - self.max_lifetime
                if young and self._at_hand is None and not self._asking:
                    self._at_hand = conn
                    return
        super().putconn(conn)

    def drain(self) -> None:
        self._keep_none_of(time.monotonic())
        super().drain()

    def close(self, timeout: float = 5.0) -> None:
        self._keep_none_of(float("inf"))
        super().close(timeout)

    def _keep_none_of(self, before: float) -> None:
        """Give back what is at hand, and from now on whatever was made before that time."""
        with self._hand:
            self._not_before = before
            connection, self._at_hand = self._at_hand, None
        if connection is not None:
            super().putconn(connection)
