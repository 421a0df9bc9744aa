"""Output of commands: answers to standard output, everything else to standard error.

Texts of users are printed as they are: never wrapped when a program reads them, never parsed as rich markup.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, ProgressColumn, TaskID
from rich.table import Table
from rich.text import Text

from longmind.cli.exit_codes import Exit
from longmind.errors import InvalidInput

_PAGE_WIDTH = 200
"""Width of a table in a file or a pipe, which have no width of their own."""


class OutputConsole(Console):
    """The console of standard output. It ends the command when no one reads the output any more."""

    def on_broken_pipe(self) -> None:
        """End the command with the code of a closed pipe."""
        raise close_broken_pipe()


stdout = OutputConsole()
# rich assumes 80 columns if there is no terminal, and would wrap ids.
if not stdout.is_terminal:
    stdout.width = max(stdout.width, _PAGE_WIDTH)
stderr = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Also list the tables of the database.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def escape_what_streams_lack() -> None:
    """Let the output escape characters that its encoding lacks, instead of failing in the middle of an answer.

    A pipe on Windows often has an encoding of 256 characters.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def close_broken_pipe() -> typer.Exit:
    """Return the exit of a command whose output no one reads, after discarding what is still buffered."""
    # Python flushes standard output at exit, and that would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(Exit.READER_GONE)


def write_text(text: str, *, end: str = "\n") -> None:
    """Write a text unchanged: what programs read is neither wrapped nor coloured."""
    try:
        typer.echo(text + end, nl=False)
    except BrokenPipeError:
        raise close_broken_pipe() from None


def print_json(value: object) -> None:
    """Print a value, or a list of values, as indented JSON."""
    write_text(to_json(_to_plain(value), indent=2))


def to_json(value: object, *, indent: int | None = None) -> str:
    """Return JSON for standard output, in ASCII if its encoding lacks characters: its own escapes are no JSON."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(value, ensure_ascii=not is_unicode, indent=indent)


def _to_plain(value: object) -> object:
    """Return a value as dicts and lists that json can serialise."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [_to_plain(member) for member in value]
    return value


def print_line(line: str) -> None:
    """Print one line of an answer."""
    stdout.print(Text(line), soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "Nothing found.") -> None:
    """Print rows under their columns, or `empty` if there are none.

    The first column holds ids, which are never broken, so that they can be copied.
    """
    # Cells are Text objects, because a string would be parsed as markup.
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, style="cyan" if place == 0 else None)
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    stdout.print(table) if table.row_count else print_line(empty)


def report_progress(line: str) -> None:
    """Print a line about the progress of a command to standard error."""
    stderr.print(line, markup=False, highlight=False, soft_wrap=True)


def make_progress_bar(*columns: ProgressColumn) -> Progress:
    """Return a progress bar, which is shown only on a terminal and disappears at the end."""
    return Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal)


@contextmanager
def show_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show one bar for each part of a copy, added when it begins; the value takes its name, what is done, and all."""
    with make_progress_bar() as bar:
        tasks: dict[str, TaskID] = {}

        def progress(part: str, done: int, total: int) -> None:
            if part not in tasks:
                tasks[part] = bar.add_task(part, total=total)
            bar.update(tasks[part], completed=done, total=max(done, total))

        yield progress


def print_cursor(cursor: str | None, as_json: bool) -> None:
    """Print the option that shows the next page, if there is one.

    It goes to standard error, so that standard output stays one JSON document.
    """
    if cursor is not None:
        report_progress(json.dumps({"nextCursor": cursor}) if as_json else f"For more: --cursor {cursor}")


def confirm(question: str, yes: bool) -> None:
    """Ask before an action that cannot be undone.

    yes: whether --yes was given; then nothing is asked.

    Raises InvalidInput if standard input is not a terminal, since no one could answer.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Standard input is not a terminal.", hint="Give --yes to confirm it.")
    typer.confirm(question, abort=True, err=True)


def read_text(text: str) -> str:
    """Return a text of the command line; `-` stands for the whole standard input."""
    return sys.stdin.read() if text == "-" else text
