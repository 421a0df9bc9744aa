"""The embedded engine: one SQLite file, in WAL mode, shared by threads and processes.

Writers of one process form a queue. Whoever is at its head carries the work of all that wait behind it in one
transaction, so that many callers share one sync of the disk, and a single caller pays for no thread switch.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from recollect.errors import (
    EngineClosed,
    NotADatabase,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from recollect.forking import leave_to_parent, rest_during_forks, survive_forks
from recollect.models.change import Change
from recollect.scope import Scope
from recollect.settings import Settings
from recollect.store.database import Announcements, P, Pending, Publisher, Row, Work, refuse_nesting, scope_key
from recollect.store.migrate import Migration, check_version
from recollect.store.queries import EngineName, Query, load_queries

T = TypeVar("T")

MEMORY = ":memory:"
_IDLE_READERS = 8
_CARRIED_AT_ONCE = 256
# In bytes. SQLite itself would take a shorter file for an empty one, and write over it.
_SMALLEST_DATABASE = 512


class SqliteTransaction(Announcements):
    def __init__(self, connection: apsw.Connection, queries: dict[str, Query], scope_id: str) -> None:
        super().__init__()
        self.scope_id = scope_id
        self._execute = connection.execute
        self._queries = queries

    def one(self, query: str, **values: Any) -> Row | None:
        values["scope_id"] = self.scope_id
        return next(self._execute(self._queries[query].text, values), None)

    def all(self, query: str, **values: Any) -> list[Row]:
        values["scope_id"] = self.scope_id
        return list(self._execute(self._queries[query].text, values))

    def send(self, query: str, **values: Any) -> Pending:
        rows = self.all(query, **values)
        return lambda: rows[0] if rows else None


class _Ticket:
    """One caller's work in the queue of writers."""

    def __init__(self, scope: Scope | None, work: Callable[[SqliteTransaction], Any]) -> None:
        self.scope_id = scope_key(scope)
        self.done = False
        self.changes: list[Callable[[], Change]] = []
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self, transaction: SqliteTransaction) -> None:
        self._result = self._work(transaction)
        self.changes = transaction.changes

    def fail(self, error: BaseException) -> None:
        self._error = self._error or error

    def outcome(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result


class SqliteDatabase:
    engine: EngineName = "sqlite"

    def __init__(self, path: str, settings: Settings, publisher: Publisher) -> None:
        self._path = path
        self._settings = settings
        self._publisher = publisher
        self._queries = load_queries("sqlite")
        self._closed: EngineClosed | None = None
        self._queue: deque[_Ticket] = deque()
        self._leader: int | None = None
        self._writer_lock = threading.Lock()
        self._readers: deque[apsw.Connection] = deque()
        self._reading: deque[int] = deque()
        self._reading_lock = threading.Lock()
        if path != MEMORY:
            _prepare_folder(Path(path))
            with self._translated():
                _refuse_what_is_not_ours(path, _Patience(settings.busy_timeout_seconds))
        self._writer: apsw.Connection | None = self._connect()
        survive_forks(self)
        rest_during_forks(self)

    def rest_for_fork(self) -> bool:
        """Close the file. SQLite notes in memory which locks the process holds; a child inherits the notes alone.

        It would then write to a file that others take for abandoned, or wait for ever for a lock of the parent's.
        """
        me = threading.get_ident()
        if self._leader == me or me in self._reading:
            # The fork comes from inside a transaction, which must go on.
            return False
        self._writer_lock.acquire()
        self._reading_lock.acquire()
        while self._reading:
            time.sleep(0.0002)
        if self._path != MEMORY:
            self._let_go()
        return True

    def wake_after_fork(self) -> None:
        self._reading_lock.release()
        self._writer_lock.release()

    def renew_after_fork(self) -> None:
        leave_to_parent(self._writer, self._readers)
        self._reading = deque()
        self._reading_lock = threading.Lock()
        self._queue = deque()
        self._leader = None
        self._writer_lock = threading.Lock()
        self._readers = deque()
        self._writer = None
        if self._path == MEMORY and self._closed is None:
            self._closed = EngineClosed(
                "A database in memory cannot be used after a fork.", hint="Use a file, or open an engine in the child."
            )

    def _connect(self) -> apsw.Connection:
        with self._translated():
            connection = apsw.Connection(self._path)
            patience = _Patience(self._settings.busy_timeout_seconds)
            connection.set_busy_handler(patience)
            if self._path != MEMORY:
                _enter_wal_mode(connection, patience)
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._settings.durability == 'full' else 'NORMAL'}")
            connection.execute("PRAGMA foreign_keys = ON")
            # A cached statement keeps its plan. Without this SQLite plans anew for every new value: 40 µs, not 14.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            # What is deleted is overwritten with zeros, so that forgetting leaves nothing in the file.
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            return connection

    def migrate(self, migrations: list[Migration]) -> None:
        """Apply what is missing. The write lock makes a second process wait, and then find it done."""
        with self._translated():
            connection = self._own_writer()
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS recollect_schema "
                    "(version INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"
                )
                applied = [row[0] for row in connection.execute("SELECT version FROM recollect_schema")]
                check_version(applied, migrations)
                for migration in migrations:
                    if migration.version not in applied:
                        connection.execute(migration.text)
                        connection.execute(
                            "INSERT INTO recollect_schema VALUES (?, ?)", (migration.version, migration.name)
                        )
                connection.execute("COMMIT")
            except BaseException:
                _roll_back(connection)
                raise

    def read(self, scope: Scope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_usable()
        if self._path == MEMORY:
            # A database in memory belongs to its one connection.
            with self._writer_lock, self._translated():
                return work(SqliteTransaction(self._own_writer(), self._queries, scope_key(scope)), *args, **kwargs)
        me = threading.get_ident()
        with self._reading_lock:
            self._reading.append(me)
        try:
            return self._read(scope, work, *args, **kwargs)
        finally:
            self._reading.remove(me)

    def _read(self, scope: Scope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._connect()
        try:
            return work(SqliteTransaction(connection, self._queries, scope_key(scope)), *args, **kwargs)
        except apsw.Error as error:
            raise _translate(error, self._path) from error
        finally:
            if len(self._readers) < _IDLE_READERS and self._closed is None:
                self._readers.append(connection)
            else:
                connection.close()

    def write(self, scope: Scope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_usable()
        refuse_nesting(self._leader == threading.get_ident())
        ticket = _Ticket(scope, lambda run: work(run, *args, **kwargs))
        self._queue.append(ticket)
        try:
            with self._writer_lock:
                if not ticket.done:
                    self._carry(ticket)
        except BaseException:
            # The caller was interrupted while it waited, and is gone: nobody is to do its work any more.
            ticket.done = True
            raise
        result: T = ticket.outcome()
        self._publisher.deliver()
        return result

    def _carry(self, mine: _Ticket) -> None:
        """Do the work of all who wait, mine among them, each batch in one transaction."""
        while not mine.done:
            waiting = [self._queue.popleft() for _ in range(min(len(self._queue), _CARRIED_AT_ONCE))]
            batch = [ticket for ticket in waiting if not ticket.done]
            self._leader = threading.get_ident()
            try:
                with self._translated():
                    self._commit(self._own_writer(), batch)
                for ticket in batch:
                    self._publisher.add(ticket.changes)
            except BaseException as error:
                for ticket in batch:
                    ticket.fail(error if ticket is mine or isinstance(error, Exception) else _interrupted())
            finally:
                self._leader = None
                for ticket in batch:
                    ticket.done = True

    def _commit(self, connection: apsw.Connection, batch: list[_Ticket]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            for ticket in batch:
                transaction = SqliteTransaction(connection, self._queries, ticket.scope_id)
                if len(batch) == 1:
                    ticket.run(transaction)
                else:
                    self._run_apart(connection, ticket, transaction)
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    def _run_apart(self, connection: apsw.Connection, ticket: _Ticket, transaction: SqliteTransaction) -> None:
        """Do one caller's work; if it fails, undo it and nothing else."""
        connection.execute("SAVEPOINT one")
        try:
            ticket.run(transaction)
        except Exception as error:
            if connection.get_autocommit():
                # SQLite has rolled back the whole transaction by itself (a full disk, say).
                raise
            connection.execute("ROLLBACK TO one")
            ticket.fail(_translate(error, self._path))
        connection.execute("RELEASE one")

    def _own_writer(self) -> apsw.Connection:
        self._check_usable()
        if self._writer is None:
            self._writer = self._connect()
        return self._writer

    def settle(self, seconds: float) -> bool:
        # There is one writer at a time, so positions appear in their order.
        return True

    def _check_usable(self) -> None:
        if self._closed is not None:
            raise EngineClosed(self._closed.message, hint=self._closed.hint)

    def close(self) -> None:
        with self._writer_lock:
            self._closed = self._closed or EngineClosed()
            self._let_go()

    def _let_go(self) -> None:
        while self._readers:
            self._readers.pop().close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise _translate(error, self._path) from error


class _Patience:
    """Waits for other processes' writes with short random sleeps, so that none of them is starved."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since = 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._since = now
        if now - self._since > self._seconds:
            return False
        time.sleep(random.uniform(0.0001, min(0.0005 * (tries + 1), 0.01)))
        return True


def _enter_wal_mode(connection: apsw.Connection, patience: _Patience) -> None:
    # The switch of a new file needs it alone, and SQLite does not ask the busy handler while two processes try.
    tries = 0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except apsw.BusyError:
            if not patience(tries):
                raise
            tries += 1


def _interrupted() -> StoreUnavailable:
    return StoreUnavailable(
        "The write was interrupted before it was committed.", hint="Nothing was written; try again."
    )


def _roll_back(connection: apsw.Connection) -> None:
    with suppress(apsw.Error):
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")


def _prepare_folder(path: Path) -> None:
    folder = path.parent
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, mode=0o700)
    except FileExistsError as error:
        raise StoreUnavailable(f"{folder} is a file, not a folder.", hint="Choose another path.") from error
    except OSError as error:
        raise StoreUnavailable(
            f"The folder {folder} cannot be used: {error.strerror}.", hint="Make it, or choose another path."
        ) from error


def _refuse_what_is_not_ours(path: str, patience: _Patience) -> None:
    """Look before anything is changed: a text file, or another program's database, must stay as it is."""
    # Only SQLite itself may look inside. To open and close the file in any other way would end the locks on it that
    # another engine of this process holds.
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    if size == 0:
        return
    if size < _SMALLEST_DATABASE:
        raise NotADatabase(f"{path} is not a SQLite database.")
    try:
        tables = _tables_in(path, apsw.SQLITE_OPEN_READONLY, patience)
    except apsw.ReadOnlyError:
        # Somebody died in the middle of a write and left a journal: to undo it takes the right to write.
        tables = _tables_in(path, apsw.SQLITE_OPEN_READWRITE, patience)
    if tables and "recollect_schema" not in tables:
        raise NotADatabase(f"{path} is a SQLite database of another program.")


def _tables_in(path: str, flags: int, patience: _Patience) -> set[str]:
    connection = apsw.Connection(path, flags=flags)
    # Another process may be making it this moment.
    connection.set_busy_handler(patience)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


def _translate(error: Exception, path: str) -> Exception:
    """Put SQLite's words into ours; an error that is no database error stays what it is."""
    match error:
        case apsw.NotADBError() | apsw.CorruptError():
            return NotADatabase(f"{path} is not a SQLite database, or it is damaged ({error}).")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"Other writers held {path} for too long.")
        # The second: the index beside the WAL file could not be given its size. The types of apsw do not know the code.
        case apsw.FullError() | apsw.IOError(extendedresult=apsw.SQLITE_IOERR_SHMSIZE):  # type: ignore[misc]
            return StoreFull(f"There is no room left to write {path}.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(f"{path} cannot be written ({error}).")
        case apsw.CantOpenError():
            return StoreUnavailable(
                f"{path} cannot be opened ({error}).",
                hint="Check that its folder exists and can be written, and that the path is not a folder.",
            )
        case apsw.Error():
            return StoreError(f"SQLite failed on {path}: {error}")
        case _:
            return error
