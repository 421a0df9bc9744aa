"""`longmind erase`: a user for good, the step that leaves no trace on the disk, and the proof that there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from longmind.change_feed import ChangeFeed
from longmind.cli.options import App, Tenant, Url, administrator, existing
from longmind.cli.output import AsJson, Yes, answer_json, answer_table, answers, make_sure, problems
from longmind.errors import InvalidInput
from longmind.settings import load_settings
from longmind.store.database import ScrubReport
from longmind.store.database_url import open_database, sqlite_path
from longmind.store.whole_tables.byte_scan import ByteScan, SearchedTexts, scan_folder, scan_postgres, scan_sqlite

app = typer.Typer(help="Erase a user for good, and prove it.")


@app.callback(invoke_without_command=True)
def erase(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="Whose data; the environment does not say so here.")] = None,
    vacuum: Annotated[bool, typer.Option(help="Write the files anew, without what was deleted.")] = False,
    yes: Yes = False,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Erase all that is kept of a user. With --vacuum, also alone, nothing of deleted rows is left in the files."""
    if context.invoked_subcommand is not None:
        if user is not None or vacuum or yes or tenant is not None or app is not None or url is not None or as_json:
            # It would look somewhere else than the user believes, and find nothing there.
            raise InvalidInput("Options of verify come after it.", hint="Use: longmind erase verify --url … --text …")
        return
    if user is None and not vacuum:
        raise InvalidInput("Neither a user nor --vacuum was given.", hint="Use: longmind erase --user NAME [--vacuum]")
    address = existing(url)
    told: dict[str, object] = {}
    if user is not None:
        make_sure(f"Erase all data of {user!r} for good?", yes)
        with administrator(address, tenant, app) as admin, problems.status("erasing"):
            told |= admin.admin.delete_user_data(user, confirm=True)
    if vacuum:
        with problems.status("writing the files anew"):
            scrubbed = _scrub(address)
        told["physical"] = {"done": scrubbed.done, "how": scrubbed.how, "left": scrubbed.left}
    if as_json:
        answer_json(told)
    else:
        _show(told)


@app.command("verify")
def verify(
    text: Annotated[list[str] | None, typer.Option(help="What must not be found; may be given several times.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="A file with one such text on each line.", exists=True, dir_okay=False)
    ] = None,
    wal: Annotated[bool, typer.Option(help="Look through PostgreSQL's write-ahead log too.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Look for texts in the raw files of the database and in the JSONL files; it ends with 1 and says where one is."""
    texts = [*(text or []), *([] if file is None else _lines(file))]
    needles = SearchedTexts(texts)
    if not any(texts):
        raise InvalidInput("There is nothing to look for.", hint="Give --text or --file.")
    with problems.status("looking through the files"):
        scan = _scan(url, needles, wal)
    if as_json:
        answer_json(scan.as_json())
    else:
        for where, found in scan.found:
            answers.print(Text(f"{where}: {found}"), soft_wrap=True)
        if scan.not_rewritten:
            answers.print(
                "Not written anew since the last erasure, so that compressed values may be left: "
                + ", ".join(scan.not_rewritten)
                + ". Run `longmind erase --vacuum`.",
                highlight=False,
            )
        verdict = "nothing was found" if scan.clean else "NOT clean"
        answers.print(f"{scan.files:,} files, {scan.bytes:,} bytes, {len(texts):,} texts: {verdict}.", highlight=False)
    if not scan.clean:
        raise typer.Exit(1)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InvalidInput(f"{str(file)!r} is not UTF-8.", hint="Write it as UTF-8, one text on each line.") from None


def _scan(url: str | None, needles: SearchedTexts, wal: bool) -> ByteScan:
    settings = load_settings({"url": existing(url)})
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
    database = open_database(load_settings({"url": url}), ChangeFeed())
    try:
        return database.scrub()
    finally:
        database.close()


def _show(told: dict[str, object]) -> None:
    deleted, receipt, physical = (told.get(name) for name in ("deleted", "receipt", "physical"))
    if isinstance(deleted, dict):
        rows = ((place, f"{count:,}") for place, count in deleted.items() if count)
        answer_table(("place", "rows"), rows, empty="There was nothing of this user.")
    if isinstance(receipt, dict):
        answers.print(f"Receipt {receipt['id']}, line {receipt['seq']} of the log, {receipt['hash']}", highlight=False)
    if isinstance(physical, dict):
        answers.print(Text(f"On the disk: {physical['how']}. {physical['left'] or ''}".strip()), soft_wrap=True)
    for name in told.get("files") or ():  # type: ignore[attr-defined]  # a list of names
        answers.print(Text(f"Lines of the user's audit were moved to {name}: remove that file too."), soft_wrap=True)
