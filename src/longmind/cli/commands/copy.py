"""`longmind copy`: a whole database into another, of either engine, while the first is in use."""

from __future__ import annotations

from typing import Annotated

import typer

from longmind.change_feed import ChangeFeed
from longmind.cli.options import existing
from longmind.cli.output import AsJson, answer_json, answer_table, progress_bar
from longmind.errors import InvalidInput
from longmind.settings import load_settings
from longmind.store.database_url import open_database
from longmind.store.whole_tables.copy import copy_database as copy_database


def copy(
    source: Annotated[str, typer.Option("--from", help="The database to copy.")],
    target: Annotated[str, typer.Option("--to", help="An empty database, or one that a copy of it was begun into.")],
    as_json: AsJson = False,
) -> None:
    """Copy all users and everything else. Interrupted, the same command goes on; in the end both are compared."""
    if source == target:
        raise InvalidInput("A database cannot be copied into itself.")
    here = open_database(load_settings({"url": existing(source)}), ChangeFeed())
    try:
        there = open_database(load_settings({"url": target}), ChangeFeed())
        try:
            with progress_bar() as bar:
                tasks = {}

                def progress(table: str, done: int, total: int) -> None:
                    if table not in tasks:
                        tasks[table] = bar.add_task(table, total=total)
                    bar.update(tasks[table], completed=done, total=max(done, total))

                copied = copy_database(here, there, source, progress)
        finally:
            there.close()
    finally:
        here.close()
    if as_json:
        answer_json({name: vars(each) for name, each in copied.items()})
        return
    answer_table(
        ("table", "rows", "written", "SHA-256 of both"),
        ((name, f"{it.rows:,}", f"{it.written:,}", it.sha256[:16]) for name, it in copied.items()),
    )
