"""`longmind backup` and `longmind restore`: a whole database as one file, and back.

Programs may write to the database while it is backed up. A restore is one transaction; programs that have the database
open should be stopped first, since they remember what was there before.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from longmind.change_feed import ChangeFeed
from longmind.cli.options import Url, require_database
from longmind.cli.output import AsJson, Verbose, Yes, confirm, print_json, show_progress
from longmind.cli.row_summary import print_rows
from longmind.cli.typing_mistakes import find_address
from longmind.errors import InvalidInput
from longmind.settings import load_settings
from longmind.store.database import Database
from longmind.store.database_url import open_database, sqlite_path
from longmind.store.whole_tables import backup as store


def backup(
    file: Annotated[Path, typer.Argument(help="The new file; it must not exist yet.", dir_okay=False)],
    url: Url = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Write the whole database to one file, while it is in use, and compare both."""
    if file.exists():
        raise InvalidInput(f"{file} exists already.", hint="Give another name: a backup never replaces a file.")
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"There is no folder {file.absolute().parent}.", hint="Create it, or check the path.")
    address = require_database(url)
    with closing(_open_url(address)) as source, show_progress() as progress:
        counts = store.back_up_database(source, address, file, _open_file, progress)
    size = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "bytes": size, "rows": counts})
    else:
        print_rows(counts, verbose=verbose, sentence=f"Saved {{rows}} in {file} ({decimal(size)}), and compared them.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `longmind backup`.", exists=True, dir_okay=False)],
    url: Url = None,
    replace: Annotated[bool, typer.Option("--replace", help="Remove everything that the database holds now.")] = False,
    yes: Yes = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty database, or in the place of another, all or nothing."""
    # Before the question and before the database is touched: a file that cannot be restored is the most common mistake.
    store.check_backup(file)
    address = find_address(url)
    if address.startswith("sqlite:") and Path(sqlite_path(address)).resolve() == file.resolve():
        raise InvalidInput("The file is the database itself.", hint="Give a backup, and another --url.")
    if replace:
        confirm("Put the backup in the place of all that the database holds now?", yes)
    with (
        store.open_backup(file, _open_file) as source,
        closing(_open_url(address)) as target,
        show_progress() as progress,
    ):
        counts = store.restore_database(source, target, replace=replace, progress=progress)
    if as_json:
        print_json({"file": str(file), "rows": counts})
    else:
        print_rows(counts, verbose=verbose, sentence="Restored {rows}. Restart programs that had the database open.")


def _open_url(url: str) -> Database:
    """Open a database without an engine: no job may run, and no model is needed."""
    return open_database(load_settings({"url": url}), ChangeFeed())


def _open_file(path: Path) -> Database:
    """Open a SQLite file as a database, and bring its schema up to date."""
    return _open_url(f"sqlite:///{path.absolute()}")
