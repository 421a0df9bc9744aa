"""`longmind events rebuild-jsonl`: rewrite the JSONL files of events from the ledger.

The files mirror the event ledger for other programs. They are repaired by writing them again, never by editing.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from longmind.cli.options import Url, require_database
from longmind.cli.output import AsJson, make_progress_bar, print_json, print_line
from longmind.engine import open


def rebuild_jsonl(
    url: Url = None,
    folder: Annotated[
        str | None, typer.Option("--dir", help="The folder of the files; LONGMIND_EVENTS_JSONL_DIR by default.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only the files of this tenant.")] = None,
    app: Annotated[str | None, typer.Option(help="Only the files of this app.")] = None,
    user: Annotated[str | None, typer.Option(help="Only the files of this user.")] = None,
    as_json: AsJson = False,
) -> None:
    """Rewrite the JSONL files of events from the ledger. Other processes may write events at the same time."""
    columns = (TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        open(
            require_database(url), events_jsonl_dir=folder, extractor="none", summariser="extractive", embedder=None
        ) as engine,
        make_progress_bar(*columns) as bar,
    ):
        task = bar.add_task("events", total=None)
        rebuilt = engine.rebuild_jsonl(
            tenant_id=tenant,
            app_id=app,
            user_id=user,
            # Events recorded during the run can make the total grow.
            progress=lambda done, total: bar.update(task, completed=done, total=max(done, total)),
        )
    if as_json:
        print_json(asdict(rebuilt))
    else:
        print_line(f"Wrote {rebuilt.events:,} events of {rebuilt.users:,} users to {rebuilt.files:,} files.")
