"""`recollect audit`: is the audit of the memory tools whole, and a copy of it to keep elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from recollect.changes import Changes
from recollect.cli.output import AsJson, answer_json, answers
from recollect.settings import load_settings
from recollect.store.database import Database
from recollect.store.opening import open_database
from recollect.tools import exporting, verifying

app = typer.Typer(help="What was asked of the memory tools, by all users.", no_args_is_help=True)

Url = Annotated[str | None, typer.Option(help="Where the memory is kept; RECOLLECT_URL by default.")]


@app.command("verify")
def verify(
    url: Url = None,
    file: Annotated[Path | None, typer.Option(help="Check this export instead.", exists=True, dir_okay=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no line was changed, removed or moved. It ends with 1 when one was, and says which."""
    key = load_settings({}).audit_key
    if file is not None:
        with file.open(encoding="utf-8", errors="replace") as lines:
            report = exporting.verify_exported(lines, key)
    else:
        with _database(url) as database:
            report = verifying.verify(database, key)
    if as_json:
        answer_json(report.as_json())
    else:
        for problem in report.problems:
            where = "the chain" if problem.seq is None else f"line {problem.seq}"
            answers.print(Text(f"{problem.owner}, group {problem.group}, {where}: {problem.what}"), soft_wrap=True)
        whole = "whole" if not report.problems else f"NOT whole: {len(report.problems)} problems"
        answers.print(f"{report.lines:,} lines in {report.chains:,} chains: {whole}.", highlight=False)
    if report.problems:
        raise typer.Exit(1)


@app.command("export")
def export(
    url: Url = None,
    output: Annotated[Path | None, typer.Option(help="A file to write; standard output by default.")] = None,
) -> None:
    """Write all lines as JSON, one on each line, for `recollect audit verify --file` and other programs."""
    key = load_settings({}).audit_key
    with _database(url) as database:
        lines = (json.dumps(line, ensure_ascii=False) for line in exporting.export(database, key))
        if output is None:
            for line in lines:
                typer.echo(line)
        else:
            with output.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)


@contextmanager
def _database(url: str | None) -> Iterator[Database]:
    database = open_database(load_settings({"url": url}), Changes())
    try:
        yield database
    finally:
        database.close()
