"""`longmind events rebuild-jsonl`: the files that mirror events, written anew from the ledger."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from longmind.cli.options import Url, existing
from longmind.cli.output import AsJson, answer, answer_json, progress_bar
from longmind.engine import open


def rebuild_jsonl(
    url: Url = None,
    folder: Annotated[
        str | None, typer.Option("--dir", help="Where the files are; LONGMIND_EVENTS_JSONL_DIR by default.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only the files of this tenant.")] = None,
    app: Annotated[str | None, typer.Option(help="Only the files of this app.")] = None,
    user: Annotated[str | None, typer.Option(help="Only the files of this user.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the JSONL files of events anew from the ledger, after which the two agree. Others may write meanwhile."""
    columns = (TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        open(
            existing(url), events_jsonl_dir=folder, extractor="none", summariser="extractive", embedder=None
        ) as engine,
        progress_bar(*columns) as bar,
    ):
        task = bar.add_task("events", total=None)
        rebuilt = engine.rebuild_jsonl(
            tenant_id=tenant,
            app_id=app,
            user_id=user,
            progress=lambda done, total: bar.update(task, completed=done, total=max(done, total)),
        )
    if as_json:
        answer_json(asdict(rebuilt))
    else:
        told = f"{rebuilt.events:,} events of {rebuilt.users:,} users were written to {rebuilt.files:,} files."
        answer(told)
