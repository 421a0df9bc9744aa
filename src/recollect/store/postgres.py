"""The engine for many machines: PostgreSQL with pgvector, through a pool of connections.

Row-level security is the second wall around a scope: a connection is told whose rows it may see before each use, and
a statement that does not bind the scope finds nothing else. Superusers would see through that wall, so their
connections step down to a role that owns nothing. Statements of a write go out in a pipeline: what need not be waited
for costs no round trip.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from recollect.errors import (
    EngineClosed,
    ExtensionMissing,
    InvalidUrl,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from recollect.forking import leave_to_parent, survive_forks
from recollect.scope import Scope
from recollect.settings import Settings
from recollect.store.database import Announcements, P, Pending, Publisher, Row, Work, refuse_nesting, scope_key
from recollect.store.migrate import Migration, check_version
from recollect.store.queries import EngineName, Query, load_queries

try:
    import psycopg
    import psycopg_pool
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:  # the extra is not installed
    raise ExtensionMissing(
        "PostgreSQL needs the driver psycopg, which is not installed.", hint="pip install 'recollect[postgres]'"
    ) from error

T = TypeVar("T")

# Any number will do, as long as nobody else in the database uses it: this is 'recollect' as a telephone would spell it.
_MIGRATION_LOCK = 732_655_328
_APP_ROLE = "recollect_app"


class ScopedConnection(psycopg.Connection[Row]):
    """A connection that knows which scope the server has been told to let it see."""

    scope_id: str | None = None

    def enter_scope(self, scope_id: str) -> None:
        if self.scope_id != scope_id:
            self.scope_id = None
            self.execute("SELECT set_config('recollect.scope', %s, false)", (scope_id,))
            self.scope_id = scope_id

    def abandon(self) -> None:
        """Undo a transaction that failed. The server undoes a change of scope with it, so nothing is known of that."""
        self.scope_id = None
        try:
            if self.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self.execute("ROLLBACK")
        except psycopg.Error:
            # The pool throws a broken connection away; the server rolls back by itself.
            self.close()


class PostgresTransaction(Announcements):
    def __init__(self, connection: ScopedConnection, queries: dict[str, Query], scope_id: str) -> None:
        super().__init__()
        self.scope_id = scope_id
        self._connection = connection
        self._queries = queries

    def _run(self, query: str, values: dict[str, Any]) -> psycopg.Cursor[Row]:
        values["scope_id"] = self.scope_id
        return self._connection.execute(self._queries[query].text, values)

    def one(self, query: str, **values: Any) -> Row | None:
        return self._run(query, values).fetchone()

    def all(self, query: str, **values: Any) -> list[Row]:
        return self._run(query, values).fetchall()

    def send(self, query: str, **values: Any) -> Pending:
        return self._run(query, values).fetchone


class _Writing(threading.local):
    """Whether this thread is in a write transaction."""

    now = False


class PostgresDatabase:
    engine: EngineName = "postgres"

    def __init__(self, url: str, settings: Settings, publisher: Publisher) -> None:
        self._url = url
        self._address = _without_password(url)
        self._settings = settings
        self._publisher = publisher
        self._queries = load_queries("postgres")
        self._closed = False
        self._writing = _Writing()
        self._pool_lock = threading.Lock()
        self._pool: psycopg_pool.ConnectionPool[ScopedConnection] | None = None
        survive_forks(self)

    def renew_after_fork(self) -> None:
        leave_to_parent(self._pool)
        self._writing = _Writing()
        self._pool_lock = threading.Lock()
        self._pool = None

    def migrate(self, migrations: list[Migration]) -> None:
        """Apply what is missing, in one transaction, while other processes that open the database wait."""
        # The role of the address itself makes the schema; the pool's connections step down from it.
        patience = _whole(self._settings.connect_timeout_seconds)
        with self._translated(), psycopg.connect(self._url, connect_timeout=patience) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            _ensure_schema(connection)
            applied = [row[0] for row in connection.execute("SELECT version FROM recollect.recollect_schema")]
            check_version(applied, migrations)
            missing = [migration for migration in migrations if migration.version not in applied]
            if missing:
                _ensure_vector(connection)
                connection.execute("SET LOCAL search_path TO recollect, public")
            for migration in missing:
                connection.execute(migration.text)
                connection.execute(
                    "INSERT INTO recollect.recollect_schema VALUES (%s, %s)", (migration.version, migration.name)
                )
            _ensure_role(connection)

    def read(self, scope: Scope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        scope_id = scope_key(scope)
        with self._translated(), self._connections().connection() as connection:
            connection.enter_scope(scope_id)
            return work(PostgresTransaction(connection, self._queries, scope_id), *args, **kwargs)

    def write(self, scope: Scope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        scope_id = scope_key(scope)
        refuse_nesting(self._writing.now)
        with self._translated(), self._connections().connection() as connection:
            transaction = PostgresTransaction(connection, self._queries, scope_id)
            self._writing.now = True
            try:
                with connection.pipeline():
                    connection.execute("BEGIN")
                    connection.enter_scope(scope_id)
                    result = work(transaction, *args, **kwargs)
                    connection.execute("COMMIT")
            except BaseException:
                connection.abandon()
                raise
            finally:
                self._writing.now = False
        self._publisher.add(transaction.changes)
        self._publisher.deliver()
        return result

    def settle(self, seconds: float) -> bool:
        before = self._ledger_writers()
        deadline = time.monotonic() + seconds
        while not before.isdisjoint(self._ledger_writers()):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def _ledger_writers(self) -> set[str]:
        """The running transactions that may have taken a place in the ledger."""
        return {row[0] for row in self.read(None, lambda run: run.all("ledger_writers"))}

    def _connections(self) -> psycopg_pool.ConnectionPool[ScopedConnection]:
        if self._closed:
            raise EngineClosed
        pool = self._pool
        if pool is None:
            with self._pool_lock:
                if self._closed:
                    raise EngineClosed
                pool = self._pool = self._pool or self._open_pool()
        return pool

    def _open_pool(self) -> psycopg_pool.ConnectionPool[ScopedConnection]:
        return psycopg_pool.ConnectionPool(
            self._url,
            connection_class=ScopedConnection,
            kwargs={
                "autocommit": True,  # BEGIN and COMMIT are statements of ours, so that they travel in the pipeline
                "prepare_threshold": 2,
                "connect_timeout": _whole(self._settings.connect_timeout_seconds),
                "application_name": "recollect",
            },
            min_size=1,
            max_size=self._settings.pool_size,
            timeout=self._settings.connect_timeout_seconds,
            configure=self._prepare_connection,
            open=True,
        )

    def _prepare_connection(self, connection: ScopedConnection) -> None:
        connection.execute("SET search_path TO recollect, public")
        # Every statement goes by keys, so one plan fits all values. To plan anew would take longer than to execute.
        connection.execute("SET plan_cache_mode TO force_generic_plan")
        lock_timeout = _whole(self._settings.busy_timeout_seconds * 1000)
        connection.execute(f"SET lock_timeout TO {lock_timeout}")
        connection.execute(f"SET synchronous_commit TO {'on' if self._settings.durability == 'full' else 'off'}")
        if _sees_through(connection):
            connection.execute(f"SET ROLE {_APP_ROLE}")

    def close(self) -> None:
        with self._pool_lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, psycopg_pool.PoolTimeout) as error:
            raise _translate(error, self._address) from error


def _ensure_schema(connection: psycopg.Connection[Any]) -> None:
    if connection.execute("SELECT to_regclass('recollect.recollect_schema')").fetchone() == (None,):
        connection.execute("CREATE SCHEMA IF NOT EXISTS recollect")
        connection.execute("CREATE TABLE recollect.recollect_schema (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")


def _ensure_vector(connection: psycopg.Connection[Any]) -> None:
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        return
    if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
        raise ExtensionMissing(
            "This PostgreSQL server does not have the extension pgvector.",
            hint="Install pgvector on the server (the package is often called postgresql-NN-pgvector) and open again.",
        )
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.InsufficientPrivilege as error:
        raise ExtensionMissing(
            "The extension pgvector is not enabled in this database, and this role may not enable it.",
            hint="Let an administrator run CREATE EXTENSION vector; in this database once, and open again.",
        ) from error


def _ensure_role(connection: psycopg.Connection[Any]) -> None:
    """Make the role that superusers step down to. Anybody else is held by the wall as it is, the owner included."""
    if not _sees_through(connection):
        return
    ready = connection.execute(
        "SELECT bool_and(has_table_privilege(pg_roles.oid, pg_class.oid, 'SELECT')) FROM pg_roles, pg_class "
        "WHERE rolname = %s AND relnamespace = 'recollect'::regnamespace AND relkind = 'r'",
        (_APP_ROLE,),
    )
    if ready.fetchone() != (True,):
        # Roles are shared by all databases of a server: another process may be making it this moment. Who bypasses
        # the wall without being a superuser has to be a member to step down.
        connection.execute(
            f"DO $$ BEGIN CREATE ROLE {_APP_ROLE} NOLOGIN; GRANT {_APP_ROLE} TO CURRENT_USER; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
        connection.execute(f"GRANT USAGE ON SCHEMA recollect TO {_APP_ROLE}")
        connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA recollect TO {_APP_ROLE}")
        connection.execute(f"REVOKE INSERT, UPDATE, DELETE ON recollect.recollect_schema FROM {_APP_ROLE}")
    # Tried here, since the pool would say only after a long wait that it cannot be done.
    connection.execute(f"SET LOCAL ROLE {_APP_ROLE}")


def _sees_through(connection: psycopg.Connection[Any]) -> bool:
    """Whether row-level security does not bind this role."""
    return connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone() == (True,)


def _whole(number: float) -> int:
    # PostgreSQL knows no longer times than fit into 31 bits.
    return max(1, round(min(number, 2**31 - 1)))


def _without_password(url: str) -> str:
    """The address as the driver reads it. One it would misread is refused: its words about it quote the password."""
    parts: dict[str, Any] | None = None
    with suppress(psycopg.ProgrammingError):
        parts = conninfo_to_dict(url)
    user_info, at, place = url.partition("://")[2].partition("@")
    unescaped = at and ("/" in user_info or "@" in place.partition("?")[0])
    if parts is None or unescaped or not re.fullmatch(r"[0-9,]*", parts.get("port") or ""):
        raise InvalidUrl(
            "The address of PostgreSQL cannot be understood.",
            hint="Write postgresql://user:password@host:5432/database, and in a password %40 for '@' and %2F for '/'.",
        )
    named = {key: parts.get(key) or "" for key in ("user", "host", "port", "dbname")}
    return "postgresql://{user}@{host}:{port}/{dbname}".format(**named)


def _translate(error: Exception, address: str) -> Exception:
    """Put PostgreSQL's words into ours."""
    words = " ".join(str(error).split())
    match error:
        case psycopg.errors.LockNotAvailable() | psycopg.errors.QueryCanceled() | psycopg.errors.DeadlockDetected():
            return StoreBusy(f"Other transactions held what was needed at {address} for too long ({words}).")
        case psycopg_pool.PoolClosed():
            return EngineClosed()
        case psycopg_pool.PoolTimeout() | psycopg_pool.TooManyRequests():
            return StoreUnavailable(
                f"No connection to {address} became free in time.",
                hint="Check that the server answers; raise pool_size if many callers share one engine.",
            )
        case psycopg.errors.DiskFull():
            return StoreFull(f"{address}: {words}")
        case psycopg.errors.ReadOnlySqlTransaction():
            return StoreReadOnly(f"{address}: {words}", hint="This may be a replica: connect to the primary.")
        case psycopg.OperationalError() | psycopg.errors.InvalidCatalogName():
            return StoreUnavailable(
                f"PostgreSQL at {address} cannot be reached ({words}).",
                hint="Check host, port, database, user and password, and that the server is running.",
            )
        case psycopg.errors.InsufficientPrivilege():
            return StoreError(
                f"PostgreSQL at {address} refused ({words}).",
                hint="The first open makes the schema: connect with a role that may create in this database.",
            )
        case _:
            return StoreError(f"PostgreSQL failed at {address} ({words}).")
