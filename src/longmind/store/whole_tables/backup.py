"""Backups: a whole database of either engine as one SQLite file, and the way back.

A backup shows the database as of one instant, while others write, and is compared with it before it gets its name. It
is a SQLite database like any other: it can be opened, copied and restored by every later version.

A database is restored in one transaction, in which its rows are compared with those of the backup: it is as it was
before, or it is as it was saved.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from longmind.errors import Conflict, NotADatabase, SchemaTooNew, StoreError
from longmind.runtime.durable_files import new_file_path
from longmind.store.database import Database, Transaction
from longmind.store.migrations import load_migrations
from longmind.store.sqlite.database import SqliteDatabase, translate
from longmind.store.sqlite.page_copy import check_structure, count_rows, finish_backup
from longmind.store.sqlite.versions import read_versions
from longmind.store.whole_tables.copy import RowDigest, copy_database, digest_table, learn_tables, list_filled
from longmind.store.whole_tables.user_rows import TableColumns
from longmind.store.whole_tables.user_tables import COPIED_TABLES

OpenFile = Callable[[Path], Database]
"""Opens a SQLite file as a database, and brings its schema up to date."""
BackupProgress = Callable[[str, int, int], None]
"""Called with the name of what is being copied, how much of it is done, and how much there is."""
_TABLES = frozenset(table.table for table in COPIED_TABLES)
_BESIDE = ("-wal", "-shm", "-journal")


def back_up_database(
    source: Database, address: str, file: Path, open_file: OpenFile, progress: BackupProgress
) -> dict[str, int]:
    """Write a new backup of a database, and return the number of rows by table.

    Raises FileExistsError if there is such a file, and StoreError if the backup differs from the database.
    """
    with new_file_path(file) as (path, _):
        try:
            if isinstance(source, SqliteDatabase):
                source.back_up(str(path), lambda done, total: progress("pages", done, total))
            else:
                with closing(open_file(path)) as target:
                    copy_database(source, target, address, progress)
            with _connected(path) as connection:
                finish_backup(connection)
                return {name: count for name, count in count_rows(connection).items() if name in _TABLES}
        finally:
            for suffix in _BESIDE:
                Path(f"{path}{suffix}").unlink(missing_ok=True)


def check_backup(file: Path) -> None:
    """Read a whole backup, and raise NotADatabase or SchemaTooNew if it cannot be restored."""
    if any(os.path.exists(f"{file}{suffix}") and os.path.getsize(f"{file}{suffix}") for suffix in _BESIDE):
        raise NotADatabase(
            f"{file} is a database in use, and a part of it stands in other files.",
            hint="Make a backup of it with `longmind backup`, and restore that.",
        )
    with _connected(file, apsw.SQLITE_OPEN_READONLY) as connection:
        check_structure(connection)
        applied = read_versions(connection)
    known = load_migrations("sqlite")[-1].version
    if not applied:
        raise NotADatabase(f"{file} is no backup: it has no memory in it.", hint="Give a file of `longmind backup`.")
    if max(applied) > known:
        raise SchemaTooNew(f"{file} has schema version {max(applied)}, but this Longmind knows versions up to {known}.")


@contextmanager
def open_backup(file: Path, open_file: OpenFile) -> Iterator[Database]:
    """Open a copy of a backup, since an older one has to be brought up to date and must itself stay as it is."""
    beside = file.parent if os.access(file.parent, os.W_OK) else None
    with TemporaryDirectory(prefix=".restoring-", dir=beside) as folder:
        copied = Path(folder) / "backup.db"
        shutil.copyfile(file, copied)
        with closing(open_file(copied)) as database:
            yield database


def restore_database(source: Database, target: Database, *, replace: bool, progress: BackupProgress) -> dict[str, int]:
    """Give the target the rows of the source in one transaction, and return their number by table.

    replace: whether the rows of a target that is not empty may go; Conflict is raised otherwise.
    """
    sources, targets = learn_tables(source), learn_tables(target)

    def work(run: Transaction) -> dict[str, int]:
        run.lift_time_limit()
        filled = list_filled(run, [table.name for table in targets])
        if filled and not replace:
            raise Conflict(
                f"The database is not empty: {filled[0]} has rows.",
                hint="Give --replace to put the backup in the place of all that is in it, or restore elsewhere.",
            )
        for table in reversed(targets):
            run.send(f"copy_clear_{table.name}")
        return source.read_snapshot(None, _fill_tables, run, sources, targets, progress)

    counts = target.write_exclusively(None, work)
    target.advance_ledger_sequence()
    return counts


def _fill_tables(
    source_run: Transaction,
    run: Transaction,
    sources: list[TableColumns],
    targets: list[TableColumns],
    progress: BackupProgress,
) -> dict[str, int]:
    counts = {}
    for table, target in zip(sources, targets, strict=True):
        counted = source_run.one(f"copy_count_{table.name}")
        total = int(counted[0]) if counted else 0
        digest = RowDigest()
        for row in digest.watch(table.normalise(row) for row in source_run.each(f"copy_all_{table.name}")):
            run.send(f"copy_put_{target.name}", **target.bind(target.columns, row))
            if digest.rows % 500 == 0:
                progress(table.name, digest.rows, total)
        progress(table.name, total, total)
        found = digest_table(run, target)
        if (found.rows, found.sha256) != (digest.rows, digest.sha256):
            raise StoreError(
                f"{table.name} has {found.rows:,} rows now and differs from the backup with {digest.rows:,}.",
                hint="Nothing was changed. Stop other writers to the database, and restore again.",
            )
        counts[table.name] = digest.rows
    return counts


@contextmanager
def _connected(path: Path, flags: int = apsw.SQLITE_OPEN_READWRITE) -> Iterator[apsw.Connection]:
    """Open a file as it is, and speak of the errors of SQLite in our words."""
    try:
        with closing(apsw.Connection(str(path), flags=flags)) as connection:
            yield connection
    except apsw.Error as error:
        raise translate(error, path=str(path)) from error
