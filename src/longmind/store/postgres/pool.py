"""A pool that hands out the connection returned last, so that a single caller always gets the same one.

The driver's pool hands out the one that has rested longest, so two connections take turns where one would do. The one
used last still has its user's scope set, and the server process behind it has warm caches.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg_pool
from psycopg.pq import TransactionStatus

from longmind.store.postgres.connection import ScopedConnection


class StickyPool(psycopg_pool.ConnectionPool[ScopedConnection]):
    """Holds back one idle connection, which the pool behind it counts as in use."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._idle_lock = threading.Lock()
        self._idle: ScopedConnection | None = None
        self._asking = 0
        """Callers inside the pool's own getconn: they would wait there for a connection that is held back here."""
        self._not_before = 0.0
        super().__init__(*args, **options)

    def getconn(self, timeout: float | None = None) -> ScopedConnection:
        """Lend the connection that is held back, or else one of the pool's."""
        with self._idle_lock:
            connection, self._idle = self._idle, None
            if connection is not None:
                return connection
            self._asking += 1
        try:
            return super().getconn(timeout)
        finally:
            with self._idle_lock:
                self._asking -= 1

    def putconn(self, conn: ScopedConnection) -> None:
        """Take a connection back; hold it back for the next caller unless somebody waits or it is to be replaced."""
        if conn.pgconn.transaction_status == TransactionStatus.IDLE:
            with self._idle_lock:
                # An old one goes back, so that the pool replaces it.
                young = self._not_before < conn.made_at > time.monotonic() - self.max_lifetime
                if young and self._idle is None and not self._asking:
                    self._idle = conn
                    return
        super().putconn(conn)

    def drain(self) -> None:
        """Replace all connections, the one that is held back included."""
        self._release_older(time.monotonic())
        super().drain()

    def close(self, timeout: float = 5.0) -> None:
        self._release_older(float("inf"))
        super().close(timeout)

    def _release_older(self, before: float) -> None:
        """Return the connection that is held back, and from now on hold back none made before that time."""
        with self._idle_lock:
            self._not_before = before
            connection, self._idle = self._idle, None
        if connection is not None:
            super().putconn(connection)
