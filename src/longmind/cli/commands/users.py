"""`longmind export` and `longmind import`: move all data of a user between databases, or memory between products.

Longmind's own format has all rows of one user, and needs the rights of an administrator. A .zip archive is written and
read row by row, so it can have any size; a JSON document is built in memory. Its import is one transaction.

The formats of other products have conversations and facts alone. Their import shows a preview, and asks. It comes into
the memory of one user, like all that is added on the command line, and lets the extractor read the conversations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from longmind.admin.user_export import new_export_file
from longmind.cli.options import App, Tenant, Url, make_context, open_as_admin, open_without_models, require_database
from longmind.cli.output import (
    AsJson,
    Verbose,
    Yes,
    confirm,
    make_progress_bar,
    print_json,
    print_line,
    print_table,
    report_progress,
    stderr,
    to_json,
    write_text,
)
from longmind.cli.row_summary import print_rows
from longmind.context import Context
from longmind.engine import Engine, open
from longmind.errors import InvalidInput
from longmind.interchange import (
    EXPORT_FORMATS,
    FORMATS,
    ImportReport,
    apply_import,
    detect_format,
    export_memory,
    preview_import,
)
from longmind.interchange.formats import LONGMIND
from longmind.interchange.source_files import SourceFiles
from longmind.settings import load_caller

_SAME = "Nothing was imported: all of it is there already."
_IN_MEMORY = "sqlite:///:memory:"
_NOUNS = {
    "facts_new": "facts, new",
    "facts_changed": "facts whose text has changed",
    "facts_known": "facts, imported before",
    "facts_changed_here": "facts that were changed here since",
    "facts_forgotten": "facts that were deleted here",
    "conversations_new": "conversations, new",
    "conversations_grown": "conversations with new messages",
    "conversations_known": "conversations, imported before",
    "messages_new": "messages, new",
}

Subject = Annotated[
    str | None,
    typer.Option("--user", help="The user. Longmind's own format needs it; else LONGMIND_USER is the default."),
]


def export(
    user: Subject = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .zip file for any size, or a .json file; standard output by default."),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help=f"{LONGMIND}, which has everything, or {', '.join(EXPORT_FORMATS)}.")
    ] = LONGMIND,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Export all data of a user, or their memory in a format of other products."""
    if format != LONGMIND:
        _export_memory(user, output, format, tenant, app, url, as_json)
        return
    address, subject = require_database(url), _require_user(user)
    with open_as_admin(address, tenant, app, subject=subject) as context:
        # Only the archive is streamed; the JSON document is built in memory.
        if output is not None and output.suffix == ".zip":
            with _make_size_bar(output):
                context.admin.export_user_archive(output, subject)
        else:
            with stderr.status("exporting"):
                data = context.admin.export_user_data(subject)
            if output is None:
                write_text(to_json(data, indent=1))
                return
            with new_export_file(output) as file:
                file.write(f"{json.dumps(data, ensure_ascii=False, indent=1)}\n".encode())
    if as_json:
        print_json({"file": str(output), "bytes": output.stat().st_size})
    else:
        stderr.print(Text(f"Wrote {output}."), soft_wrap=True)


def import_(
    file: Annotated[Path, typer.Argument(help="A file, a folder or a .zip archive.", exists=True)],
    user: Subject = None,
    format: Annotated[
        str, typer.Option("--format", help=f"{LONGMIND} for its own export, or {', '.join(FORMATS)}.")
    ] = LONGMIND,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would come in, and write nothing.")] = False,
    source_user: Annotated[
        list[str] | None,
        typer.Option("--source-user", help="Whose records to take, as the file names them; * for all."),
    ] = None,
    read: Annotated[
        bool, typer.Option("--read/--no-read", help="Learn from the conversations now, or leave that to a worker.")
    ] = True,
    yes: Yes = False,
    tenant: Tenant = None,
    app: App = None,
    url: Url = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Import memory; importing the same file again adds nothing.

    Longmind's own export comes in as a whole or not at all, for a user without data. Files of other products bring
    conversations and facts.
    """
    if format == LONGMIND:
        _refuse_options(preview, source_user)
        _import_user(file, _check_own_export(file, user), tenant, app, url, as_json, verbose=verbose)
        return
    # Files of other products come into the memory of one user, whom commands know by default.
    caller = load_caller({"tenant": tenant, "app": app, "user": user})
    if as_json and not preview and not yes:
        raise InvalidInput("An import with --json does not ask.", hint="Give --yes, or --preview to look first.")
    if preview or not yes:
        with _open_for_preview(url) as engine, stderr.status("reading"):
            report = preview_import(make_context(engine, caller), file, format, source_user=source_user)
        _print_report(report, as_json)
        if len(report.users) > 1 and not source_user and not as_json:
            report_progress("A memory is that of one user: choose with --source-user NAME, or take all with '*'.")
        if preview:
            return
        confirm(f"Import this for {caller.user}?", yes)
    # With models, unlike the preview: what comes in is embedded and read.
    with open(url) as engine:
        report = _apply(engine, make_context(engine, caller), file, format, source_user)
        if read and report.conversations_new + report.conversations_grown:
            _read_conversations(engine)
    _print_report(report, as_json)


def _require_user(user: str | None) -> str:
    """Return the user; raise InvalidInput if none was named.

    There is no default, so that no one's data is exported or replaced by accident.
    """
    if user is None:
        raise InvalidInput(
            "No --user.",
            hint="Name the user whose data it is: Longmind's own format has all of it, so no default is used. "
            f"Other commands use --user {load_caller({}).user}.",
        )
    return user


def _refuse_options(preview: bool, source_user: list[str] | None) -> None:
    """Raise InvalidInput for options that Longmind's own format does not have."""
    for name, given in (("--preview", preview), ("--source-user", source_user)):
        if given:
            raise InvalidInput(f"{name} is for files of other products.", hint="Name the product with --format.")


def _check_own_export(file: Path, user: str | None) -> str:
    """Return the user of an import in Longmind's own format; raise InvalidInput for a file that looks like another."""
    # Before the database is opened, which would create an empty one.
    looks_like = detect_format(SourceFiles(file))
    if looks_like not in (None, LONGMIND):
        raise InvalidInput(
            f"{file.name} is no export of Longmind.",
            hint=f"It looks like {looks_like}: import it with --format {looks_like}.",
        )
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder.", hint=f"Pass a file, or choose a --format: {', '.join(FORMATS)}.")
    return _require_user(user)


def _import_user(
    file: Path, user: str, tenant: str | None, app: str | None, url: str | None, as_json: bool, *, verbose: bool
) -> None:
    """Import Longmind's own export."""
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


def _open_for_preview(url: str | None) -> Engine:
    """Open the database, or an empty one in memory where there is none: a preview leaves nothing behind."""
    try:
        return open_without_models(require_database(url))
    except InvalidInput as error:
        if "There is no database" not in error.message:
            raise
        return open_without_models(_IN_MEMORY)


def _apply(engine: Engine, context: Context, file: Path, format: str, source_user: list[str] | None) -> ImportReport:
    """Import a file with a bar that shows the progress."""
    with make_progress_bar() as bar:
        tasks = {}

        # One bar for facts and one for conversations, added when their first are written.
        def progress(noun: str, done: int, total: int) -> None:
            if noun not in tasks:
                tasks[noun] = bar.add_task(noun, total=total)
            bar.update(tasks[noun], completed=done)

        return apply_import(context, file, format, source_user=source_user, progress=progress)


def _read_conversations(engine: Engine) -> None:
    """Do the jobs that learn from the conversations; a person may interrupt it."""
    try:
        with stderr.status("learning from the conversations; Ctrl-C leaves the rest to a worker"):
            engine.work()
    except KeyboardInterrupt:
        report_progress("Stopped. The rest is learned by `longmind worker`, or by the next import.")


def _print_report(report: ImportReport, as_json: bool) -> None:
    """Print a report as tables, or as JSON."""
    if as_json:
        print_json(report)
        return
    head = "Imported" if report.applied else "Would import"
    span = "" if report.earliest is None else f", from {report.earliest[:10]} to {(report.latest or '')[:10]}"
    print_line(f"{head} from {report.file} ({report.format}{span}):")
    # Zeros are left out: most outcomes are rare.
    counts = [(f"{getattr(report, name):,}", noun) for name, noun in _NOUNS.items() if getattr(report, name)]
    print_table(("number", "of"), counts, empty="Nothing.")
    if report.examples:
        print_table(("first",), [(each,) for each in report.examples])
    if report.left_out:
        rows = [(f"{each.count:,}", each.reason, "; ".join(each.examples)) for each in report.left_out]
        print_table(("left out", "reason", "such as"), rows)
    if len(report.users) > 1:
        print_table(("user", "records"), [(name, f"{count:,}") for name, count in report.users.items()])


def _export_memory(
    user: str | None,
    output: Path | None,
    format: str,
    tenant: str | None,
    app: str | None,
    url: str | None,
    as_json: bool,
) -> None:
    """Export memory in a format of other products."""
    caller = load_caller({"tenant": tenant, "app": app, "user": user})
    # Nothing is searched or learned, so no model is loaded.
    with open_without_models(require_database(url)) as engine:
        context = make_context(engine, caller)
        if output is None:
            export_memory(context, sys.stdout.buffer, format)
            return
        with _make_size_bar(output):
            report = export_memory(context, output, format)
    if as_json:
        print_json(report)
    else:
        report_progress(f"Wrote {report.facts:,} facts and {report.conversations:,} conversations to {output}.")


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
