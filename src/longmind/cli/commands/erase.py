"""`longmind erase`: erase a user, remove the traces from the disk, and search the raw files as proof.

Deleted rows remain readable in the files of a database until they are rewritten, which --vacuum does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from longmind.change_feed import ChangeFeed
from longmind.cli.options import App, Tenant, Url, open_as_admin, require_database
from longmind.cli.output import AsJson, Verbose, Yes, confirm, print_json, stderr, stdout
from longmind.cli.row_summary import print_rows
from longmind.errors import InvalidInput
from longmind.settings import load_settings
from longmind.store.database import ScrubReport
from longmind.store.database_url import open_database, sqlite_path
from longmind.store.whole_tables.byte_scan import ByteScan, SearchedTexts, scan_folder, scan_postgres, scan_sqlite

app = typer.Typer(help="Erase a user for good, and prove it.")

_NO_DATA = "This user had no data."


@app.callback(invoke_without_command=True)
def erase(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="The user; LONGMIND_USER is ignored here.")] = None,
    vacuum: Annotated[bool, typer.Option(help="Rewrite the files of the database without deleted rows.")] = False,
    yes: Yes = False,
    verbose: Verbose = False,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase all data of a user. --vacuum, with or without a user, removes deleted rows from the files."""
    if context.invoked_subcommand is not None:
        if (
            user is not None
            or vacuum
            or yes
            or verbose
            or tenant is not None
            or app is not None
            or url is not None
            or as_json
        ):
            # Options before the subcommand belong to this command; ignoring them would check the wrong database.
            raise InvalidInput(
                "An option of erase stands before the subcommand verify.",
                hint="Use: longmind erase verify --url … --text …",
            )
        return
    # Without arguments it must not do anything: the default of an erasure is dangerous.
    if user is None and not vacuum:
        raise InvalidInput("Neither --user nor --vacuum is given.", hint="Use: longmind erase --user NAME [--vacuum]")
    address = require_database(url)
    report: dict[str, object] = {}
    if user is not None:
        # Asked before the database is opened, so that a refusal leaves no trace.
        confirm(f"Erase all data of {user!r} for good?", yes)
        with open_as_admin(address, tenant, app) as admin, stderr.status("erasing"):
            report |= admin.admin.delete_user_data(user, confirm=True)
    if vacuum:
        with stderr.status("rewriting the files"):
            scrubbed = _scrub(address)
        report["physical"] = {"done": scrubbed.done, "how": scrubbed.how, "left": scrubbed.left}
    if as_json:
        print_json(report)
    else:
        _print_report(report, verbose)


@app.command("verify")
def verify(
    text: Annotated[list[str] | None, typer.Option(help="A text to search for; may be repeated.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="A file with one text per line.", exists=True, dir_okay=False)
    ] = None,
    wal: Annotated[bool, typer.Option(help="Also search PostgreSQL's write-ahead log.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Search the raw files of the database and the JSONL files; exit with 1 and name the file if a text is found."""
    texts = [*(text or []), *([] if file is None else _read_lines(file))]
    # Texts are also searched in the forms in which a database may store them.
    needles = SearchedTexts(texts)
    if not any(texts):
        raise InvalidInput("No text to search for is given.", hint="Give --text or --file.")
    with stderr.status("searching the files"):
        scan = _scan(url, needles, wal)
    if as_json:
        print_json(scan.as_json())
    else:
        for where, found in scan.found:
            stdout.print(Text(f"{where}: {found}"), soft_wrap=True)
        if scan.not_rewritten:
            stdout.print(
                "Not rewritten since the last erasure, so compressed values may remain: "
                + ", ".join(scan.not_rewritten)
                + ". Run `longmind erase --vacuum`.",
                highlight=False,
            )
        verdict = "nothing found" if scan.clean else "NOT clean"
        stdout.print(f"{scan.files:,} files, {scan.bytes:,} bytes, {len(texts):,} texts: {verdict}.", highlight=False)
    if not scan.clean:
        raise typer.Exit(1)


def _read_lines(file: Path) -> list[str]:
    """Return the texts of a file, one per line."""
    try:
        return file.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InvalidInput(f"{str(file)!r} is not UTF-8.", hint="Save it as UTF-8 with one text per line.") from None


def _scan(url: str | None, needles: SearchedTexts, wal: bool) -> ByteScan:
    """Search the files of the database, and the JSONL files if there are any.

    The database is opened only for PostgreSQL, which stores long values compressed.
    """
    settings = load_settings({"url": require_database(url)})
    if settings.url.startswith("sqlite:"):
        scan = scan_sqlite(sqlite_path(settings.url), needles)
    else:
        database = open_database(settings, ChangeFeed())
        try:
            scan = scan_postgres(settings.url, database, needles, wal=wal)
        finally:
            database.close()
    if settings.events_jsonl_dir:
        scan_folder(Path(settings.events_jsonl_dir).expanduser(), needles, scan)
    return scan


def _scrub(url: str) -> ScrubReport:
    """Rewrite the files of the database without deleted rows."""
    database = open_database(load_settings({"url": url}), ChangeFeed())
    try:
        return database.scrub()
    finally:
        database.close()


def _print_report(report: dict[str, object], verbose: bool) -> None:
    """Print the number of erased rows, the receipt, and what happened on the disk."""
    deleted, receipt, physical = (report.get(name) for name in ("deleted", "receipt", "physical"))
    if isinstance(deleted, dict):
        print_rows(deleted, verbose=verbose, sentence="Erased {rows}." if any(deleted.values()) else _NO_DATA)
    if isinstance(receipt, dict):
        stdout.print(f"Receipt {receipt['id']}, line {receipt['seq']} of the log, {receipt['hash']}", highlight=False)
    if isinstance(physical, dict):
        stdout.print(Text(f"On disk: {physical['how']}. {physical['left'] or ''}".strip()), soft_wrap=True)
    for name in report.get("files") or ():  # type: ignore[attr-defined]  # a list of names
        stdout.print(Text(f"Older audit lines of the user are in {name}; remove that file too."), soft_wrap=True)
