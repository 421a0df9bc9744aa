"""`longmind export` and `longmind import`: all that belongs to a user, out of a database and into another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from longmind.admin.user_export import written_file
from longmind.cli.options import App, Subject, Tenant, Url, administrator, existing
from longmind.cli.output import AsJson, answer, answer_json, problems, progress_bar, write


def export(
    user: Subject,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .zip for any size, or a .json; standard output by default.")
    ] = None,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Write all that is kept of a user, as one JSON document or, to a file that ends with .zip, as an archive."""
    with administrator(existing(url), tenant, app) as context:
        if output is not None and output.suffix == ".zip":
            with _growing(output):
                context.admin.export_user_archive(output, user)
        else:
            with problems.status("exporting"):
                text = json.dumps(context.admin.export_user_data(user), ensure_ascii=False, indent=1)
            if output is None:
                write(text)
                return
            with written_file(output) as file:
                file.write(f"{text}\n".encode())
    if as_json:
        answer_json({"file": str(output), "bytes": output.stat().st_size})
    else:
        problems.print(Text(f"written to {output}"), soft_wrap=True)


def import_(
    file: Annotated[Path, typer.Argument(help="What `longmind export` has written.", exists=True, dir_okay=False)],
    user: Subject,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Bring an export in, all of it or nothing. The user must have nothing yet; the same again changes nothing."""
    with (
        administrator(url, tenant, app) as context,
        progress_bar() as bar,
        bar.open(file, "rb", description="importing") as source,
    ):
        report = context.admin.import_user_data(source, user)
    if as_json:
        answer_json(report)
    else:
        answer(f"{sum(report['imported'].values()):,} rows were imported.")


def _growing(file: Path) -> Progress:
    """A bar for a file that is being written; how long it gets is known when it is there."""

    class Written(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(decimal(file.stat().st_size if file.exists() else 0))

    columns = (TextColumn("exporting"), BarColumn(), Written(), TimeElapsedColumn())
    bar = progress_bar(*columns)
    bar.add_task("exporting", total=None)
    return bar
