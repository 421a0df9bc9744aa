"""The embedded engine: one SQLite file, in WAL mode, shared by threads and processes.

Reads go through connections of their own and wait for nobody. Writes of one process go through one writer.
"""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from longmind.errors import (
    EngineClosed,
    NotADatabase,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from longmind.runtime.durable_files import make_private_folder, translate_disk_error
from longmind.runtime.fork_safety import leave_to_parent, rest_during_forks, survive_forks
from longmind.scope import AnyScope
from longmind.settings import Settings
from longmind.store.database import (
    P,
    Publisher,
    RowRefused,
    ScrubReport,
    Transaction,
    Work,
    refuse_nesting,
    refuse_reader,
    to_scope_keys,
)
from longmind.store.erasure_fence import guarded
from longmind.store.migrations import (
    FORMER_VERSION_TABLE,
    VERSION_TABLE,
    Migration,
    check_version,
    describe_unwritable_upgrade,
)
from longmind.store.queries import EngineName, Query, load_queries
from longmind.store.sqlite.versions import ensure_version_table, read_versions
from longmind.store.sqlite.writer import SqliteTransaction, SqliteWriter
from longmind.store.write_health import WriteHealth

T = TypeVar("T")

MEMORY = ":memory:"
_IDLE_READERS = 8
# In bytes. SQLite itself would take a shorter file for an empty one, and write over it.
_SMALLEST_DATABASE = 512


class SqliteDatabase:
    engine: EngineName = "sqlite"
    is_remote = False
    clock_error = 0

    def __init__(self, path: str, settings: Settings, publisher: Publisher) -> None:
        self._path = path
        self._settings = settings
        self._publisher = publisher
        self.write_health = WriteHealth()
        self._queries = load_queries("sqlite")
        self._closed: EngineClosed | None = None
        self._readers: deque[apsw.Connection] = deque()
        self._reading: deque[int] = deque()
        self._reading_lock = threading.Lock()
        if path != MEMORY:
            _prepare_folder(Path(path))
            try:
                _refuse_what_is_not_ours(path, _Patience(settings.busy_timeout_seconds))
            except apsw.Error as error:
                raise translate(error, path=path) from error
            _make_private(path)
        self._writer = self._new_writer()
        survive_forks(self)
        rest_during_forks(self)

    def _new_writer(self) -> SqliteWriter:
        # The writer's thread must not keep the database alive, or one that nobody closed would never go.
        path, settings = self._path, self._settings
        writer = SqliteWriter(
            lambda: _connect(path, settings), self._queries, self._publisher, partial(translate, path=path)
        )
        weakref.finalize(self, writer.stop_soon)
        return writer

    def rest_for_fork(self) -> bool:
        """Close the file. SQLite notes in memory which locks the process holds; a child inherits the notes alone.

        It would then write to a file that others take for abandoned, or wait for ever for a lock of the parent's.
        """
        if self._writer.is_this_thread or threading.get_ident() in self._reading:
            # The fork comes from inside a transaction, which must go on.
            return False
        self._writer.resting.acquire()
        self._reading_lock.acquire()
        deadline = time.monotonic() + self._settings.busy_timeout_seconds
        while self._reading:
            if time.monotonic() > deadline:
                self.wake_after_fork()
                return False
            time.sleep(0.0002)
        if self._path != MEMORY:
            self._let_go_of_readers()
            self._writer.let_go()
        return True

    def wake_after_fork(self) -> None:
        self._reading_lock.release()
        self._writer.resting.release()

    def renew_after_fork(self) -> None:
        leave_to_parent(self._writer, self._readers)
        self._reading = deque()
        self._reading_lock = threading.Lock()
        self._readers = deque()
        self._writer = self._new_writer()
        if self._path == MEMORY and self._closed is None:
            self._closed = EngineClosed(
                "A database in memory cannot be used after a fork.", hint="Use a file, or open an engine in the child."
            )

    def migrate(self, migrations: list[Migration]) -> None:
        """Apply what is missing. The write lock makes a second process wait, and then find it done."""
        with self._translated():
            connection = self._writer.own_connection()
            try:
                connection.execute("BEGIN IMMEDIATE")
                ensure_version_table(connection)
                applied = read_versions(connection) or []
                check_version(applied, migrations)
                for migration in migrations:
                    if migration.version not in applied:
                        if migration.when is None or connection.execute(migration.when).fetchone() == (1,):
                            connection.execute(migration.text)
                        connection.execute(
                            f"INSERT INTO {VERSION_TABLE} VALUES (?, ?)", (migration.version, migration.name)
                        )
                connection.execute("COMMIT")
            except BaseException as error:
                with suppress(apsw.Error):
                    if not connection.get_autocommit():
                        connection.execute("ROLLBACK")
                if isinstance(error, apsw.ReadOnlyError):
                    _refuse_missing(connection, migrations)
                raise

    def read(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_usable()
        if self._path == MEMORY:
            # A database in memory belongs to its one connection, and that to the writer.
            return self._do(scope, lambda run: work(run, *args, **kwargs))
        me = threading.get_ident()
        connection = None
        try:
            with self._reading_lock:
                self._reading.append(me)
            try:
                connection = self._readers.pop()
            except IndexError:
                connection = _connect(self._path, self._settings)
            return work(SqliteTransaction(connection, self._queries, to_scope_keys(scope)), *args, **kwargs)
        except apsw.Error as error:
            raise translate(error, connection, path=self._path) from error
        finally:
            if connection is not None:
                if len(self._readers) < _IDLE_READERS and self._closed is None:
                    self._readers.append(connection)
                else:
                    connection.close()
            if me in self._reading:  # unless a fork has emptied it
                self._reading.remove(me)

    def read_snapshot(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        # A database in memory has one connection, which does one thing at a time.
        return self.read(scope, work if self._path == MEMORY else _at_once(work), *args, **kwargs)

    def write(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_usable()
        refuse_nesting(self._writer.is_this_thread)
        refuse_reader(scope)
        behind = guarded(work)
        try:
            result = self._do(scope, lambda run: behind(run, *args, **kwargs))
        except StoreError as error:
            self.write_health.note(error)
            raise
        self.write_health.clear()
        self._publisher.deliver()
        return result

    def write_exclusively(self, scope: AnyScope, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        # There is one writer at a time: whoever writes is alone.
        return self.write(scope, work, *args, **kwargs)

    def add_queries(self, queries: Mapping[str, Query]) -> None:
        self._queries.update(queries)

    def scrub(self, most_megabytes: float | None = None) -> ScrubReport:
        """Empty the WAL file, which has the pages as they were before; rebuild the file where that is wanted.

        Deleted content is overwritten as it goes. What was moved from page to page before that leaves copies in the
        room between rows, and only a file that is written anew is certain to have none.
        """
        if self._path == MEMORY:
            return ScrubReport(True, "in memory")
        with self._translated():
            return self._writer.run_between_transactions(lambda connection: _scrub(connection, most_megabytes))

    def _do(self, scope: AnyScope | None, work: Callable[[SqliteTransaction], T]) -> T:
        if self._writer.is_this_thread:
            # Asked for from inside a transaction, which sees its own work.
            return work(SqliteTransaction(self._writer.own_connection(), self._queries, to_scope_keys(scope)))
        result: T = self._writer.do(to_scope_keys(scope), work)
        return result

    def advance_ledger_sequence(self) -> None:
        # SQLite has taken note of every place that was given.
        return

    def wait_for_writers(self, seconds: float) -> bool:
        # There is one writer at a time, so positions appear in their order.
        return True

    def _check_usable(self) -> None:
        if self._closed is not None:
            raise EngineClosed(self._closed.message, hint=self._closed.hint)

    def close(self) -> None:
        self._closed = self._closed or EngineClosed()
        self._writer.stop()
        self._let_go_of_readers()

    def _let_go_of_readers(self) -> None:
        while self._readers:
            self._readers.pop().close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise translate(error, self._writer.connection, path=self._path) from error


def _connect(path: str, settings: Settings) -> apsw.Connection:
    connection = apsw.Connection(path)
    patience = _Patience(settings.busy_timeout_seconds)
    connection.set_busy_handler(patience)
    if path != MEMORY:
        _enter_wal_mode(connection, patience)
    connection.execute(f"PRAGMA synchronous = {'FULL' if settings.durability == 'full' else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys = ON")
    # A cached statement keeps its plan. Without this SQLite plans anew for every new value: 40 µs, not 14.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # What is deleted is overwritten with zeros, so that forgetting leaves nothing in the file.
    connection.execute("PRAGMA secure_delete = ON").fetchall()
    return connection


def _at_once(work: Work[P, T]) -> Work[P, T]:
    def in_one_transaction(run: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        assert isinstance(run, SqliteTransaction)
        with run.held():
            return work(run, *args, **kwargs)

    return in_one_transaction


def _scrub(connection: apsw.Connection, most_megabytes: float | None) -> ScrubReport:
    # Asked of the database itself: part of it may stand in the WAL file alone.
    pages, size = (next(connection.execute(f"PRAGMA {each}"))[0] for each in ("page_count", "page_size"))
    rebuild = most_megabytes is None or pages * size <= most_megabytes * 1024 * 1024
    try:
        if rebuild:
            connection.execute("VACUUM")
        # Whoever reads holds on to the pages as they were; the busy handler waits for them.
        busy, _, _ = next(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    except (apsw.BusyError, apsw.LockedError, apsw.FullError) as error:
        # The rows are gone all the same, and their receipt must not be lost for this.
        return ScrubReport(False, "rows deleted", f"The file was not rebuilt ({error}): run `longmind erase --vacuum`.")
    how = "file rebuilt, WAL emptied" if rebuild else "deleted rows overwritten, WAL emptied"
    if busy:
        return ScrubReport(False, how, "A reader keeps the WAL file: run `longmind erase --vacuum` when it has ended.")
    if not rebuild:
        return ScrubReport(False, how, "Run `longmind erase --vacuum` to rebuild the file.")
    return ScrubReport(True, how)


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


def _prepare_folder(path: Path) -> None:
    folder = path.parent
    try:
        # Before anything is acknowledged: a file whose folder is lost is lost.
        make_private_folder(folder)
    except FileExistsError as error:
        raise StoreUnavailable(f"{folder} is a file, not a folder.", hint="Choose another path.") from error
    except OSError as error:
        raise StoreUnavailable(
            f"The folder {folder} cannot be used: {error.strerror}.", hint="Make it, or choose another path."
        ) from error


def _make_private(path: str) -> None:
    """Make a new file one that only its owner may read. SQLite gives its other files the rights of this one."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        # It is there already, or cannot be made: opening it says why in SQLite's words.
        return


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
    if tables and tables.isdisjoint({VERSION_TABLE, FORMER_VERSION_TABLE}):
        raise NotADatabase(f"{path} is a SQLite database of another program.")


def _tables_in(path: str, flags: int, patience: _Patience) -> set[str]:
    connection = apsw.Connection(path, flags=flags)
    # Another process may be making it this moment.
    connection.set_busy_handler(patience)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


def _refuse_missing(connection: apsw.Connection, migrations: list[Migration]) -> None:
    """Say what a file lacks that can be read and not written."""
    applied: list[int] = []
    with suppress(apsw.Error):
        applied = read_versions(connection) or []
    if applied and max(applied) < migrations[-1].version:
        raise describe_unwritable_upgrade(applied, migrations)


def translate(error: Exception, connection: apsw.Connection | None = None, *, path: str) -> Exception:
    """Put SQLite's words into ours; an error that is no database error stays what it is.

    The connection, if it is known, knows what the system has answered: SQLite has one word for all that a disk can do.
    """
    said = connection.system_errno if connection is not None else 0
    match error:
        case apsw.NotADBError() | apsw.CorruptError():
            return NotADatabase(f"{path} is not a SQLite database, or it is damaged ({error}).")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"Other writers held {path} for too long.")
        # The second: the index beside the WAL file could not be given its size. The types of apsw do not know the code.
        case apsw.FullError() | apsw.IOError(extendedresult=apsw.SQLITE_IOERR_SHMSIZE):  # type: ignore[misc]
            return StoreFull(f"There is no room left to write {path}, or what SQLite needs beside it.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(f"{path} cannot be written ({error}).")
        case apsw.IOError() if said:
            return translate_disk_error(OSError(said, os.strerror(said)), path)
        case apsw.CantOpenError() if (refusal := _open_refused()) is not None:
            return translate_disk_error(refusal, path)
        case apsw.CantOpenError():
            return StoreUnavailable(
                f"{path} cannot be opened ({error}).",
                hint="Check that its folder exists and can be written, and that the path is not a folder.",
            )
        case apsw.ConstraintError() | apsw.MismatchError():
            return RowRefused(f"SQLite refused a row in {path}: {error}")
        case apsw.Error():
            return StoreError(f"SQLite failed on {path}: {error}")
        case _:
            return error


def _open_refused() -> OSError | None:
    """What keeps this process from opening any file at all. SQLite does not tell."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error
    return None
