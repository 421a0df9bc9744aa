"""A connection to PostgreSQL that tracks its scope, and limits how long it waits for a silent server."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg

from longmind.store.database import ScopeKeys
from longmind.store.postgres.wire import StatementConnection

RV = TypeVar("RV")

Noting = Callable[[psycopg.Error | None], None]

_SESSION = {
    "search_path": "longmind, public",
    # Every statement looks rows up by key, so one plan fits all values, and planning would take longer than running.
    "plan_cache_mode": "force_generic_plan",
}


_UNLIMITED_FACTOR = 60
"""Factor on the patience of a transaction without a time limit: a server can fall silent in that one too."""


class Silent(psycopg.OperationalError):
    """The server was silent for longer than the connection waits."""


class ScopedConnection(StatementConnection):
    """A connection that knows which scope the session is set to, and whether a COMMIT is under way.

    The scope is a setting of the session that row-level security compares with each row. `scope_id` mirrors it, and is
    None whenever a rollback or an error may have changed it.
    """

    scope_id: str | None = None
    committing = False
    patience = float("inf")
    """Seconds that the server may stay silent in the middle of a statement."""
    idle_limit = 0
    """Milliseconds that the server lets this process stand still while it holds a lock; 0 is no limit."""
    has_no_time_limit = False
    """True if statements of this transaction may take far longer, such as deleting a million rows."""
    made_at = 0.0
    """Start of its connecting: it may not know of anything that became of the server after that."""
    server_started = ""
    history: object = None
    """Identifies the history of the server's data as far as it is known: see `Transaction.history`."""

    @classmethod
    def connect(cls, conninfo: str = "", *, noting: Noting, **options: Any) -> ScopedConnection:  # type: ignore[override]
        """Connect, and pass the outcome to `noting`, since the pool keeps its failures to itself."""
        noting(psycopg.errors.ConnectionTimeout("the server has not answered yet"))
        # Taken before the handshake, during which the server may already change.
        made_at = time.monotonic()
        try:
            connection = super().connect(conninfo, **options)
        except psycopg.Error as error:
            noting(error)
            raise
        connection.made_at = made_at
        return connection

    def prepare(self, settings: dict[str, str], patience: float) -> None:
        """Set the limits and settings of the session.

        patience: seconds that the server may be silent, and that a transaction may stand still.
        """
        self.idle_limit = max(1, round(min(patience * 1000, 2**31 - 1)))
        limit = str(self.idle_limit)
        # Ends the transaction, and with it the locks, of a process that was stopped in the middle of one.
        names = {**_SESSION, **settings, "idle_in_transaction_session_timeout": limit}
        if self._has_transaction_timeout:
            # In the middle of a pipeline, the server does not count a client as idle.
            names["transaction_timeout"] = limit
        row = self.execute(
            "SELECT pg_postmaster_start_time()::text, count(set_config(name, setting, false))"
            " FROM unnest(%s::text[], %s::text[]) AS given (name, setting)",
            (list(names), list(names.values())),
        ).fetchone()
        assert row is not None
        self.server_started = row[0]
        self.patience = patience

    def lift_time_limit(self, *, also_idle: bool = False) -> None:
        """Let this transaction run as long as it needs; one that only reads may also stand still: it blocks nobody."""
        self.has_no_time_limit = True
        limits = ["transaction_timeout"] if self._has_transaction_timeout else []
        limits += ["idle_in_transaction_session_timeout"] if also_idle else []
        if limits:
            self.run_statement("SELECT count(set_config(name, '0', true)) FROM unnest($1::text[]) AS name", [limits])

    @property
    def _has_transaction_timeout(self) -> bool:
        return self.info.server_version >= 170000

    def wait(self, gen: Generator[Any, Any, RV], *args: Any, **options: Any) -> RV:
        try:
            patience = self.patience * (_UNLIMITED_FACTOR if self.has_no_time_limit else 1)
            return super().wait(_limit_silence(gen, patience), *args, **options)
        except Silent:
            # At once: cleaning up on the way out would wait for the same server.
            self.close()
            raise

    def refuse_lost_session(self) -> None:
        """Raise now if the server has left, before anything is sent whose outcome would matter."""
        # An idle server sends only its goodbye or a notice; a round trip shows which.
        if self.has_input():
            self.execute("SELECT 1")

    def enter_scope(self, keys: ScopeKeys) -> None:
        """Set the scope that the session may see; free if it is set already."""
        if self.scope_id != keys.scope_id:
            self.scope_id = None
            self.run_statement(
                "SELECT set_config('longmind.scope', $1, false), set_config('longmind.app', $2, false)", keys
            )
            self.scope_id = keys.scope_id

    def abandon(self, error: BaseException) -> bool:
        """Undo a transaction that failed with this error; return whether the connection is lost."""
        # The rollback also undoes a change of scope, so the session's scope is unknown.
        self.scope_id = None
        # A fatal error ends the session, even if the driver has not read its end yet. An error without a code does not
        # come from the server but from the driver, which may have tripped over the end of the session.
        lost = isinstance(error, psycopg.Error) and (
            self.closed
            or error.diag.severity_nonlocalized == "FATAL"
            or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None)
        )
        try:
            if lost or not isinstance(error, Exception):
                self.close()
            else:
                if self.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    self.execute("ROLLBACK")
                if self.doubtful or isinstance(error, psycopg.Error):
                    # The server skipped what followed the failure in the pipeline, preparations included. And a
                    # prepared statement fails for good once its table has changed.
                    self.forget_statements()
        except psycopg.Error:
            # The pool discards a broken connection, and the server rolls back by itself.
            self.close()
        return lost


def _limit_silence(gen: Generator[Any, Any, RV], seconds: float) -> Generator[Any, Any, RV]:
    """Pass the steps of the driver through; raise Silent when the server sends nothing for that many seconds."""
    try:
        wanted = next(gen)
        heard_at = time.monotonic()
        while True:
            # The driver comes back several times a second even when nothing has arrived.
            if ready := (yield wanted):
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > seconds:
                raise Silent(f"no answer for {seconds:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: RV = end.value
        return answer
