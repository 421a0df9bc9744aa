"""`longmind audit`: is the audit of the memory tools whole, a copy of it, and its old lines moved to files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from longmind.audit import chain_export as exporting
from longmind.audit import rotation as rotating
from longmind.audit import segment_join as joining
from longmind.audit import verification as verifying
from longmind.audit.verification import ChainProblem, VerificationReport
from longmind.change_feed import ChangeFeed
from longmind.cli.options import Url, existing
from longmind.cli.output import AsJson, answer_json, answers, write
from longmind.clock import Micros, system_clock, to_micros
from longmind.errors import InvalidInput
from longmind.runtime.durable_files import replaced_file
from longmind.settings import load_settings
from longmind.store.database import Database
from longmind.store.database_url import open_database, sqlite_path

app = typer.Typer(help="What was asked of the memory tools, by all users.", no_args_is_help=True)


_DAY = 24 * 60 * 60 * 1_000_000


@app.command("verify")
def verify(
    url: Url = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Check this export, or file of rotated lines, instead.", exists=True, dir_okay=False),
    ] = None,
    alone: Annotated[bool, typer.Option(help="Do not check that the database goes on from a rotated file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that no line was changed, removed or moved. It ends with 1 when one was, and says which."""
    key = load_settings({}).audit_key
    joined = False
    if file is not None:
        with file.open(encoding="utf-8", errors="replace") as lines:
            report = exporting.verify_exported(lines, key)
        joined = not report.problems and not alone and _join(file, report, url, key)
    else:
        with _database(url) as database:
            report = verifying.verify(database, key)
    if as_json:
        answer_json(report.as_json())
    else:
        _show(report.problems)
        whole = "whole" if not report.problems else f"NOT whole: {len(report.problems)} problems"
        answers.print(f"{report.lines:,} lines in {report.chains:,} chains: {whole}.", highlight=False)
        if joined and not report.problems:
            answers.print("The database goes on from there.", highlight=False)
    if report.problems:
        raise typer.Exit(1)


@app.command("export")
def export(
    url: Url = None,
    output: Annotated[Path | None, typer.Option(help="A file to write; standard output by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write all lines as JSON, one on each line, for `longmind audit verify --file` and other programs."""
    key = load_settings({}).audit_key
    with _database(url) as database:
        lines = (json.dumps(line, ensure_ascii=False) for line in exporting.export(database, key))
        if output is None:
            for line in lines:
                write(line)
        else:
            with replaced_file(output) as file:
                file.writelines(f"{line}\n".encode() for line in lines)
            if as_json:
                answer_json({"file": str(output)})


@app.command("rotate")
def rotate(
    folder: Annotated[Path, typer.Option(help="Where the files go; made for its owner alone.", file_okay=False)],
    before: Annotated[str | None, typer.Option(help="Move lines older than this instant, in ISO 8601.")] = None,
    keep_days: Annotated[int | None, typer.Option(help="Move lines older than so many days.", min=0)] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Move old lines to files, one for each chain. A chain that is not whole stays as it is, and this ends with 1."""
    point = _point(before, keep_days)
    with _database(url) as database:
        rotation = rotating.rotate(database, load_settings({}).audit_key, point, folder)
    if as_json:
        answer_json(rotation.as_json())
    else:
        for moved in rotation.moved:
            what = f"lines {moved.first:,} to {moved.last:,} are in {moved.file}"
            answers.print(Text(f"{moved.owner}, group {moved.group}: {what}"), soft_wrap=True)
        _show(rotation.problems)
        lines = sum(moved.last - moved.first + 1 for moved in rotation.moved)
        answers.print(f"{lines:,} lines of {len(rotation.moved):,} chains were moved.", highlight=False)
        if rotation.problems:
            answers.print("Chains that are not whole were left as they are.", highlight=False)
    if rotation.problems:
        raise typer.Exit(1)


def _point(before: str | None, keep_days: int | None) -> Micros:
    if before is not None and keep_days is None:
        return to_micros(before, "before")
    if keep_days is not None and before is None:
        return system_clock() - keep_days * _DAY
    raise InvalidInput("Which lines are old is not told.", hint="Give either --before or --keep-days.")


def _join(file: Path, report: VerificationReport, url: str | None, key: str) -> bool:
    """Add what keeps a rotated file from the database; False when it is none, or there is no database."""
    moved = joining.read_moved(file)
    address = load_settings({"url": url}).url
    if moved is None or (address.startswith("sqlite:") and not Path(sqlite_path(address)).is_file()):
        return False
    with _database(url) as database:
        report.problems += joining.find_gaps(database, moved, key)
    return True


def _show(problems: list[ChainProblem]) -> None:
    for problem in problems:
        where = "the chain" if problem.seq is None else f"line {problem.seq}"
        answers.print(Text(f"{problem.owner}, group {problem.group}, {where}: {problem.what}"), soft_wrap=True)


@contextmanager
def _database(url: str | None) -> Iterator[Database]:
    database = open_database(load_settings({"url": existing(url)}), ChangeFeed())
    try:
        yield database
    finally:
        database.close()
