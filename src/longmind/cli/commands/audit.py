"""`longmind audit`: verify the audit chain of the memory tools, export it, and move old lines to files.

The audit covers the tool calls of all users, so these commands open the database without an engine and need no user.
Each user has chains of lines, linked by hashes; a damaged chain is reported and never repaired.
"""

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
from longmind.cli.options import Url, require_database
from longmind.cli.output import AsJson, print_json, stdout, to_json, write_text
from longmind.clock import Micros, system_clock, to_micros
from longmind.errors import InvalidInput
from longmind.runtime.durable_files import replaced_file
from longmind.settings import load_settings
from longmind.store.database import Database
from longmind.store.database_url import open_database, sqlite_path

app = typer.Typer(help="The audit of memory tool calls, of all users.", no_args_is_help=True)


_DAY = 24 * 60 * 60 * 1_000_000


@app.command("verify")
def verify(
    url: Url = None,
    file: Annotated[
        Path | None,
        typer.Option(help="An export or a rotated file to check instead of the database.", exists=True, dir_okay=False),
    ] = None,
    alone: Annotated[bool, typer.Option(help="Check a rotated file without the database.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that no line was changed, removed or moved; exit with 1 and name the line if one was."""
    # With a key the chain is authenticated; without one its hashes detect accidents only.
    key = load_settings({}).audit_key
    joined = False
    if file is not None:
        # Tampered bytes must appear as a broken line, not as a decoding error.
        with file.open(encoding="utf-8", errors="replace") as lines:
            report = exporting.verify_exported(lines, key)
        joined = not report.problems and not alone and _join(file, report, url, key)
    else:
        with _open_database(url) as database:
            report = verifying.verify(database, key)
    if as_json:
        print_json(report.as_json())
    else:
        _print_problems(report.problems)
        verdict = "intact" if not report.problems else f"NOT intact, {len(report.problems)} problems"
        stdout.print(f"{report.lines:,} lines in {report.chains:,} chains: {verdict}.", highlight=False)
        if joined and not report.problems:
            stdout.print("The database continues from there.", highlight=False)
    if report.problems:
        raise typer.Exit(1)


@app.command("export")
def export(
    url: Url = None,
    output: Annotated[Path | None, typer.Option(help="The file to write; standard output by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Export all lines as JSON lines, for `longmind audit verify --file` and other programs."""
    key = load_settings({}).audit_key
    with _open_database(url) as database:
        lines = exporting.export(database, key)
        if output is None:
            for line in lines:
                write_text(to_json(line))
        else:
            # Written to a temporary file first, so that an interrupted export leaves no half file.
            with replaced_file(output) as file:
                file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n".encode() for line in lines)
            if as_json:
                print_json({"file": str(output)})


@app.command("rotate")
def rotate(
    folder: Annotated[
        Path, typer.Option(help="The folder for the files, created with access for its owner only.", file_okay=False)
    ],
    before: Annotated[str | None, typer.Option(help="Move lines older than this ISO 8601 instant.")] = None,
    keep_days: Annotated[int | None, typer.Option(help="Move lines older than this number of days.", min=0)] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Move old lines to one file per chain; a damaged chain stays as it is, and the exit code is 1."""
    point = _choose_instant(before, keep_days)
    with _open_database(url) as database:
        rotation = rotating.rotate(database, load_settings({}).audit_key, point, folder)
    if as_json:
        print_json(rotation.as_json())
    else:
        for moved in rotation.moved:
            what = f"lines {moved.first:,} to {moved.last:,} moved to {moved.file}"
            stdout.print(Text(f"{moved.owner}, group {moved.group}: {what}"), soft_wrap=True)
        _print_problems(rotation.problems)
        lines = sum(moved.last - moved.first + 1 for moved in rotation.moved)
        stdout.print(f"Moved {lines:,} lines of {len(rotation.moved):,} chains.", highlight=False)
        if rotation.problems:
            stdout.print("Damaged chains were not moved.", highlight=False)
    if rotation.problems:
        raise typer.Exit(1)


def _choose_instant(before: str | None, keep_days: int | None) -> Micros:
    """Return the instant before which lines are moved."""
    if before is not None and keep_days is None:
        return to_micros(before, "before")
    if keep_days is not None and before is None:
        return system_clock() - keep_days * _DAY
    given = "Neither --before nor --keep-days is" if before is None else "Both --before and --keep-days are"
    raise InvalidInput(f"{given} given.", hint="Give one of the two.")


def _join(file: Path, report: VerificationReport, url: str | None, key: str) -> bool:
    """Check that the database continues a rotated file, and add the gaps to the report.

    Return False if the file is an export instead, or there is no database.
    """
    moved = joining.read_moved(file)
    address = load_settings({"url": url}).url
    if moved is None or (address.startswith("sqlite:") and not Path(sqlite_path(address)).is_file()):
        return False
    with _open_database(url) as database:
        report.problems += joining.find_gaps(database, moved, key)
    return True


def _print_problems(problems: list[ChainProblem]) -> None:
    """Print the place and the kind of each problem."""
    for problem in problems:
        where = "the chain" if problem.seq is None else f"line {problem.seq}"
        stdout.print(Text(f"{problem.owner}, group {problem.group}, {where}: {problem.what}"), soft_wrap=True)


@contextmanager
def _open_database(url: str | None) -> Iterator[Database]:
    """Open the database without an engine: the audit covers all users and needs none of the services."""
    database = open_database(load_settings({"url": require_database(url)}), ChangeFeed())
    try:
        yield database
    finally:
        database.close()
