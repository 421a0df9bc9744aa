"""The embedded engine: one SQLite file, in WAL mode, shared by threads and processes.

Reads go through connections of their own and wait for nobody; idle ones are kept for the next read. Writes of one
engine go through one writer (see `writer`); engines and processes wait for each other's writes in the busy handler.

SQLite's locks are a matter of whole processes: a child of a fork inherits the memory of them without the locks, and
closing any descriptor of the file drops those of the whole process. So before a fork all connections are closed
(`rest_for_fork`), and nothing here opens an existing file except through SQLite.
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
from longmind.store.erasure_fence import guard
from longmind.store.migrations import (
    FORMER_VERSION_TABLE,
    VERSION_TABLE,
    Migration,
    check_version,
    describe_unwritable_upgrade,
)
from longmind.store.queries import EngineName, NamedQuery, load_queries
from longmind.store.sqlite.page_copy import write_backup
from longmind.store.sqlite.versions import ensure_version_table, read_versions
from longmind.store.sqlite.writer import SqliteTransaction, SqliteWriter
from longmind.store.text_hash import hash_text
from longmind.store.write_health import WriteHealth

T = TypeVar("T")

MEMORY = ":memory:"
_IDLE_READERS = 8
# In bytes. SQLite itself would treat a shorter file as empty and overwrite it.
_SMALLEST_DATABASE = 512


class SqliteDatabase:
    """A SQLite file, or a database in memory, as the rest of the engine sees it. Threads may share it."""

    engine: EngineName = "sqlite"
    is_remote = False
    clock_error = 0

    def __init__(self, path: str, settings: Settings, publisher: Publisher) -> None:
        self._path = path
        self.address = f"sqlite:///{path}"
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
                _refuse_foreign_file(path, _BusyHandler(settings.busy_timeout_seconds))
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
        """Close the file before a fork; return False if it has to stay open.

        That is inside a transaction or a read of this thread, which must go on, and when reads of other threads do not
        end within `busy_timeout_seconds`. A database in memory is not closed, only kept from being used.

        SQLite notes in memory which locks the process holds, and a child inherits only the notes. It would write to a
        file that others believe to be unused, or wait for ever for a lock of its parent.
        """
        if self._writer.is_this_thread or threading.get_ident() in self._reading:
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
            self._close_readers()
            self._writer.close_connection()
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
        """Apply missing migrations. The write lock makes a second process wait, and then find them applied."""
        with self._translated():
            connection = self._writer.own_connection()
            try:
                register_text_hash(connection)
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
            # A database in memory exists in one connection only, the writer's.
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
        # The one connection of a database in memory does one thing at a time anyway.
        return self.read(scope, work if self._path == MEMORY else _hold_snapshot(work), *args, **kwargs)

    def write(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_usable()
        refuse_nesting(self._writer.is_this_thread)
        refuse_reader(scope)
        fenced_work = guard(work)
        try:
            result = self._do(scope, lambda run: fenced_work(run, *args, **kwargs))
        except StoreError as error:
            self.write_health.note(error)
            raise
        self.write_health.clear()
        self._publisher.deliver()
        return result

    def write_exclusively(self, scope: AnyScope | None, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        # SQLite has one writer at a time, so every write is exclusive.
        return self.write(scope, work, *args, **kwargs)

    def add_queries(self, queries: Mapping[str, NamedQuery]) -> None:
        self._queries.update(queries)

    def scrub(self, most_megabytes: float | None = None) -> ScrubReport:
        """Empty the WAL file, which holds older versions of pages; rebuild the file unless it is too large.

        Deleted content is overwritten at once (`secure_delete`). But rows that moved from page to page before may have
        left copies in unused space, and only a rebuilt file is certain to have none.
        """
        if self._path == MEMORY:
            return ScrubReport(True, "in memory")
        with self._translated():
            return self._writer.run_between_transactions(lambda connection: _scrub(connection, most_megabytes))

    def back_up(self, path: str, progress: Callable[[int, int], None]) -> None:
        """Write the database as of one instant to another file, while others write.

        progress: called with the number of pages that are done, and the number of all.

        Raises StoreError if the copy has other rows than the database or its structure is damaged.
        """
        if self._path == MEMORY:
            with self._translated():
                self._writer.run_between_transactions(lambda connection: write_backup(connection, path, progress))
            return
        connection = _connect(self._path, self._settings)
        try:
            # The view keeps the pages as they are; with WAL it keeps nobody from writing.
            connection.execute("BEGIN")
            write_backup(connection, path, progress)
        except apsw.Error as error:
            raise translate(error, connection, path=path) from error
        finally:
            connection.close()

    def _do(self, scope: AnyScope | None, work: Callable[[SqliteTransaction], T]) -> T:
        if self._writer.is_this_thread:
            # Called from inside a transaction, which sees its own work.
            return work(SqliteTransaction(self._writer.own_connection(), self._queries, to_scope_keys(scope)))
        result: T = self._writer.do(to_scope_keys(scope), work)
        return result

    def advance_ledger_sequence(self) -> None:
        # SQLite keeps the highest position by itself.
        return

    def wait_for_writers(self, seconds: float) -> bool:
        # With one writer at a time, positions become visible in order.
        return True

    def _check_usable(self) -> None:
        if self._closed is not None:
            raise EngineClosed(self._closed.message, hint=self._closed.hint)

    def close(self) -> None:
        self._closed = self._closed or EngineClosed()
        self._writer.stop()
        self._close_readers()

    def _close_readers(self) -> None:
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
    patience = _BusyHandler(settings.busy_timeout_seconds)
    connection.set_busy_handler(patience)
    if path != MEMORY:
        _enter_wal_mode(connection, patience)
    connection.execute(f"PRAGMA synchronous = {'FULL' if settings.durability == 'full' else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys = ON")
    # Lets a cached statement keep its plan. Without it SQLite plans again for every new value: 40 µs instead of 14.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    # Overwrites deleted content with zeros, so that erasure leaves nothing in the file.
    connection.execute("PRAGMA secure_delete = ON").fetchall()
    return connection


def register_text_hash(connection: apsw.Connection) -> None:
    """Give a connection the function by which a migration hashes the texts of atoms."""
    connection.create_scalar_function("longmind_text_hash", _hash_column, 1)


def _hash_column(*values: apsw.SQLiteValue) -> apsw.SQLiteValue:
    return hash_text(str(values[0]))


def _hold_snapshot(work: Work[P, T]) -> Work[P, T]:
    def run_in_snapshot(run: Transaction, /, *args: P.args, **kwargs: P.kwargs) -> T:
        assert isinstance(run, SqliteTransaction)
        with run.hold_view():
            return work(run, *args, **kwargs)

    return run_in_snapshot


def _scrub(connection: apsw.Connection, most_megabytes: float | None) -> ScrubReport:
    # Asked of SQLite and not of the file system: part of the database may be in the WAL file alone.
    pages, size = (next(connection.execute(f"PRAGMA {each}"))[0] for each in ("page_count", "page_size"))
    rebuild = most_megabytes is None or pages * size <= most_megabytes * 1024 * 1024
    try:
        if rebuild:
            connection.execute("VACUUM")
        # Readers hold on to older versions of pages; the busy handler waits for them.
        busy, _, _ = next(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    except (apsw.BusyError, apsw.LockedError, apsw.FullError) as error:
        # The rows are deleted all the same, and their receipt must not be lost because of this.
        return ScrubReport(False, "rows deleted", f"The file was not rebuilt ({error}): run `longmind erase --vacuum`.")
    how = "file rebuilt, WAL emptied" if rebuild else "deleted rows overwritten, WAL emptied"
    if busy:
        return ScrubReport(False, how, "A reader still uses the WAL file: run `longmind erase --vacuum` after it.")
    if not rebuild:
        return ScrubReport(False, how, "Run `longmind erase --vacuum` to rebuild the file.")
    return ScrubReport(True, how)


class _BusyHandler:
    """The busy handler: it waits for other processes' writes in short random sleeps, so that none is starved."""

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


def _enter_wal_mode(connection: apsw.Connection, patience: _BusyHandler) -> None:
    # The switch of a new file needs exclusive access, and SQLite skips the busy handler while two processes try.
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
        # Synced before any write is acknowledged: a file is lost with its folder.
        make_private_folder(folder)
    except FileExistsError as error:
        raise StoreUnavailable(f"The folder {folder} is a file.", hint="Choose another path.") from error
    except OSError as error:
        raise StoreUnavailable(
            f"The folder {folder} cannot be used: {error.strerror}.", hint="Create it, or choose another path."
        ) from error


def _make_private(path: str) -> None:
    """Create the file readable by its owner alone, if it is new. SQLite gives its other files the same rights."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        # It exists, or cannot be created: opening it reports the reason.
        return


def _refuse_foreign_file(path: str, patience: _BusyHandler) -> None:
    """Raise NotADatabase for a text file or another program's database, before anything in it is changed."""
    # Only SQLite may open the file: closing any other descriptor of it would drop the locks that another engine of this
    # process holds.
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    if size == 0:
        return
    if size < _SMALLEST_DATABASE:
        raise NotADatabase(f"{path} is not a SQLite database.")
    try:
        tables = _read_table_names(path, apsw.SQLITE_OPEN_READONLY, patience)
    except apsw.ReadOnlyError:
        # A process died during a write and left a journal, which only a connection with write access can undo.
        tables = _read_table_names(path, apsw.SQLITE_OPEN_READWRITE, patience)
    if tables and tables.isdisjoint({VERSION_TABLE, FORMER_VERSION_TABLE}):
        raise NotADatabase(f"{path} is a SQLite database of another program.")


def _read_table_names(path: str, flags: int, patience: _BusyHandler) -> set[str]:
    connection = apsw.Connection(path, flags=flags)
    # Another process may be creating the database at this moment.
    connection.set_busy_handler(patience)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


def _refuse_missing(connection: apsw.Connection, migrations: list[Migration]) -> None:
    """Raise StoreReadOnly with the schema versions if a file that cannot be written needs an upgrade."""
    applied: list[int] = []
    with suppress(apsw.Error):
        applied = read_versions(connection) or []
    if applied and max(applied) < migrations[-1].version:
        raise describe_unwritable_upgrade(applied, migrations)


def translate(error: Exception, connection: apsw.Connection | None = None, *, path: str) -> Exception:
    """Return the error of ours for an error of SQLite; any other error is returned as it is.

    connection: supplies the error number of the system, since SQLite has one code for all failures of a disk.
    """
    error_number = connection.system_errno if connection is not None else 0
    match error:
        case apsw.NotADBError() | apsw.CorruptError():
            return NotADatabase(f"{path} is not a SQLite database, or it is damaged ({error}).")
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusy(f"Other writers kept {path} locked for too long.")
        # The second one: the shared-memory index could not be enlarged. The types of apsw lack the code.
        case apsw.FullError() | apsw.IOError(extendedresult=apsw.SQLITE_IOERR_SHMSIZE):  # type: ignore[misc]
            return StoreFull(f"The disk has no room left for {path} and the files that SQLite needs next to it.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreReadOnly(f"{path} cannot be written ({error}).")
        case apsw.IOError() if error_number:
            return translate_disk_error(OSError(error_number, os.strerror(error_number)), path)
        case apsw.CantOpenError() if (refusal := _find_open_error()) is not None:
            return translate_disk_error(refusal, path)
        case apsw.CantOpenError() if os.path.isdir(path):
            return StoreUnavailable(
                f"{path} is a folder, not a file.", hint="Add the name of a file in it, such as memory.db."
            )
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


def _find_open_error() -> OSError | None:
    """Return the error, if any, that keeps this process from opening files at all, which SQLite does not report."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error
    return None
