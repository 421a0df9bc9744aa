"""A connection to PostgreSQL that knows what it may see, and does not wait for ever for a server that is silent."""

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
    # Every statement goes by keys, so one plan fits all values. To plan anew would take longer than to execute.
    "plan_cache_mode": "force_generic_plan",
}


_AT_LENGTH = 60
"""How many times the usual patience a transaction has that may take its time: a server can stop in that one too."""


class Silent(psycopg.OperationalError):
    """The server gave no sign for so long that it is not waited for any more."""


class ScopedConnection(StatementConnection):
    """A connection that knows which scope the server has been told to let it see, and whether a COMMIT is under way."""

    scope_id: str | None = None
    committing = False
    patience = float("inf")
    """For how many seconds the server may be silent in the middle of a statement."""
    idle_limit = 0
    """For how many milliseconds the server lets this process stand still while it holds a lock; 0 for ever."""
    in_no_hurry = False
    """Whether a single statement of this transaction may take far longer, such as one that deletes a million rows."""
    made_at = 0.0
    """When it was begun to be made: what the server becomes from then on, it may not know of."""
    server_started = ""
    history: object = None
    """What the server's data has been through, as far as that is known: see `Transaction.history`."""

    @classmethod
    def connect(cls, conninfo: str = "", *, noting: Noting, **options: Any) -> ScopedConnection:  # type: ignore[override]
        """Connect, and note what came of it: the pool keeps its failures to itself."""
        noting(psycopg.errors.ConnectionTimeout("the server has not answered yet"))
        # Before it begins: what the server is like may change while the two greet each other.
        made_at = time.monotonic()
        try:
            connection = super().connect(conninfo, **options)
        except psycopg.Error as error:
            noting(error)
            raise
        connection.made_at = made_at
        return connection

    def prepare(self, settings: dict[str, str], patience: float) -> None:
        """Set what holds for the whole session."""
        self.idle_limit = max(1, round(min(patience * 1000, 2**31 - 1)))
        limit = str(self.idle_limit)
        # A process that was stopped in the middle of a transaction holds its locks no longer than this.
        names = {**_SESSION, **settings, "idle_in_transaction_session_timeout": limit}
        if self._times_transactions:
            # In the middle of a pipeline a server does not take a client for idle.
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
        """Let this transaction take as long as it needs; what only reads may also pause, and keeps nobody waiting."""
        self.in_no_hurry = True
        limits = ["transaction_timeout"] if self._times_transactions else []
        limits += ["idle_in_transaction_session_timeout"] if also_idle else []
        if limits:
            self.run_statement("SELECT count(set_config(name, '0', true)) FROM unnest($1::text[]) AS name", [limits])

    @property
    def _times_transactions(self) -> bool:
        return self.info.server_version >= 170000

    def wait(self, gen: Generator[Any, Any, RV], *args: Any, **options: Any) -> RV:
        try:
            patience = self.patience * (_AT_LENGTH if self.in_no_hurry else 1)
            return super().wait(_heard(gen, patience), *args, **options)
        except Silent:
            # At once: what is still to be done on the way out would wait for the same server.
            self.close()
            raise

    def meet(self) -> None:
        """Fail now if the server has left, while nothing has been sent that would have to be known the outcome of."""
        # An idle server has nothing to say but goodbye, or a notice: an answer tells which.
        if self.has_something_to_say():
            self.execute("SELECT 1")

    def enter_scope(self, keys: ScopeKeys) -> None:
        if self.scope_id != keys.scope_id:
            self.scope_id = None
            self.run_statement(
                "SELECT set_config('longmind.scope', $1, false), set_config('longmind.app', $2, false)", keys
            )
            self.scope_id = keys.scope_id

    def abandon(self, error: BaseException) -> bool:
        """Undo a transaction that failed with this error; whether the connection turned out to be lost."""
        # The server undoes a change of scope with the transaction, so nothing is known of that.
        self.scope_id = None
        # A fatal error ends the session, even if the driver has not read the end of it yet. What is no answer of the
        # server's is the driver's, which has lost its way: what it stumbles over may hide that the session has ended.
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
                    # What stood in the pipeline behind the statement that failed was skipped, also where it was to be
                    # prepared; and one that is prepared fails for ever once its table has changed.
                    self.forget_statements()
        except psycopg.Error:
            # The pool throws a broken connection away; the server rolls back by itself.
            self.close()
        return lost


def _heard(gen: Generator[Any, Any, RV], seconds: float) -> Generator[Any, Any, RV]:
    """The steps of the driver, broken off when the server has been silent for so long in between."""
    try:
        wanted = next(gen)
        heard_at = time.monotonic()
        while True:
            # The driver looks up several times a second, also when nothing is there.
            if ready := (yield wanted):
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > seconds:
                raise Silent(f"no answer for {seconds:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: RV = end.value
        return answer
