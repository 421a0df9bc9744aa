"""`longmind export` and `longmind import`: move all data of a user between databases.

Both act on all rows of one user, with the rights of an administrator. A .zip archive is written and read row by row, so
it can have any size; a JSON document is built in memory. An import is one transaction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from longmind.admin.user_export import new_export_file
from longmind.cli.options import App, Subject, Tenant, Url, open_as_admin, require_database
from longmind.cli.output import AsJson, Verbose, make_progress_bar, print_json, stderr, write_text
from longmind.cli.row_summary import print_rows

_SAME = "Nothing was imported: all of it is there already."


def export(
    user: Subject,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .zip file for any size, or a .json file; standard output by default."),
    ] = None,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Export all data of a user as a JSON document, or as an archive if the file ends with .zip."""
    with open_as_admin(require_database(url), tenant, app) as context:
        # Only the archive is streamed; the JSON document is built in memory.
        if output is not None and output.suffix == ".zip":
            with _make_size_bar(output):
                context.admin.export_user_archive(output, user)
        else:
            with stderr.status("exporting"):
                text = json.dumps(context.admin.export_user_data(user), ensure_ascii=False, indent=1)
            if output is None:
                write_text(text)
                return
            with new_export_file(output) as file:
                file.write(f"{text}\n".encode())
    if as_json:
        print_json({"file": str(output), "bytes": output.stat().st_size})
    else:
        stderr.print(Text(f"Wrote {output}."), soft_wrap=True)


def import_(
    file: Annotated[Path, typer.Argument(help="A file that `longmind export` wrote.", exists=True, dir_okay=False)],
    user: Subject,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Import an export, all or nothing, for a user without data. Importing it again changes nothing."""
    with (
        open_as_admin(url, tenant, app) as context,
        make_progress_bar() as bar,
        bar.open(file, "rb", description="importing") as source,
    ):
        report = context.admin.import_user_data(source, user)
    if as_json:
        print_json(report)
    else:
        imported = report["imported"]
        # Importing the same export again is no error, and says so.
        print_rows(imported, verbose=verbose, sentence="Imported {rows}." if any(imported.values()) else _SAME)


def _make_size_bar(file: Path) -> Progress:
    """Return a progress bar that shows the size of a file; its final size is not known before."""

    class FileSizeColumn(ProgressColumn):
        """The current size of the file."""

        def render(self, task: Task) -> Text:
            return Text(decimal(file.stat().st_size if file.exists() else 0))

    columns = (TextColumn("exporting"), BarColumn(), FileSizeColumn(), TimeElapsedColumn())
    bar = make_progress_bar(*columns)
    bar.add_task("exporting", total=None)
    return bar
