"""Page by page copy of a SQLite database into one file, and the check of such a file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import apsw

from longmind.errors import NotADatabase, StoreError

_PAGES_AT_ONCE = 2_000


def write_backup(source: apsw.Connection, path: str, progress: Callable[[int, int], None]) -> None:
    """Copy the database that a connection sees to an empty file, and compare the two.

    The connection must see one state of the database throughout, or the copy could begin again without end.
    """
    counts = count_rows(source)
    with closing(apsw.Connection(path)) as target:
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES_AT_ONCE)
                progress(backup.page_count - backup.remaining, backup.page_count)
        finish_backup(target)
        if count_rows(target) != counts:
            raise StoreError("The backup has other rows than the database.", hint="Check the disk, and try again.")


def finish_backup(connection: apsw.Connection) -> None:
    """Make a database one file without others beside it, and raise NotADatabase if it is damaged."""
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    check_structure(connection)


def check_structure(connection: apsw.Connection) -> None:
    """Read the whole database, and raise NotADatabase if it is damaged."""
    findings = [str(finding) for (finding,) in connection.execute("PRAGMA integrity_check(3)")]
    if findings != ["ok"]:
        raise NotADatabase(f"The file is damaged: {'; '.join(findings)}.", hint="Use another backup.")


def count_rows(connection: apsw.Connection) -> dict[str, int]:
    """Return the number of rows of each table."""
    tables = sorted(str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"))
    # The names come from the schema itself.
    return {table: int(str(next(connection.execute(f'SELECT count(*) FROM "{table}"'))[0])) for table in tables}  # noqa: S608
