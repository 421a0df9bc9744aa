"""`longmind copy`: copy a whole database into another of either engine, while the source is in use.

Equal rows are skipped, so the same command starts a copy and continues an interrupted one. The source is read as of one
instant; at the end both databases are compared by the counts and hashes of their tables.
"""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.change_feed import ChangeFeed
from longmind.cli.options import require_database
from longmind.cli.output import AsJson, Verbose, print_json, show_progress
from longmind.cli.row_summary import print_rows
from longmind.cli.typing_mistakes import find_address
from longmind.errors import InvalidInput
from longmind.settings import load_settings
from longmind.store.database_url import open_database
from longmind.store.whole_tables.copy import copy_database


def copy(
    source: Annotated[str, typer.Option("--from", help="The database to copy.")],
    target: Annotated[str, typer.Option("--to", help="An empty database, or the target of an interrupted copy.")],
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Copy a database and compare both; after an interruption, the same command continues."""
    # Before either is opened: a copy into itself would find nothing to do, and look like a success.
    if source == target:
        raise InvalidInput("The source and the target are the same database.", hint="Give another --to.")
    # Databases without engines: no job may run and no model is needed.
    here = open_database(load_settings({"url": require_database(source)}), ChangeFeed())
    try:
        there = open_database(load_settings({"url": find_address(target)}), ChangeFeed())
        try:
            with show_progress() as progress:
                copied = copy_database(here, there, source, progress)
        finally:
            there.close()
    finally:
        here.close()
    if as_json:
        print_json({name: vars(each) for name, each in copied.items()})
        return
    written = sum(each.written for each in copied.values())
    print_rows(
        {name: each.rows for name, each in copied.items()},
        verbose=verbose,
        sentence=f"Both databases hold the same {{rows}}; {written:,} rows were written.",
        written={name: f"{each.written:,}" for name, each in copied.items()},
        SHA_256_of_both={name: each.sha256[:16] for name, each in copied.items()},
    )
