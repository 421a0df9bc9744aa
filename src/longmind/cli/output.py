"""Where commands write: answers to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, ProgressColumn
from rich.table import Table
from rich.text import Text

from longmind.cli.exit_codes import Exit
from longmind.errors import InvalidInput

_PAGE_WIDTH = 200
"""How wide a table is that goes to a file or a pipe, where nothing says how much room there is."""


class Answers(Console):
    """Standard output. When nobody reads it any more there is nothing to say, and nothing more to do."""

    def on_broken_pipe(self) -> None:
        raise reader_gone()


answers = Answers()
if not answers.is_terminal:
    answers.width = max(answers.width, _PAGE_WIDTH)
problems = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Answer with JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether it is really meant.")]


def reader_gone() -> typer.Exit:
    """The end of a command whose output nobody reads."""
    # What is left would be written once more when Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(Exit.READER_GONE)


def write(text: str, *, end: str = "\n") -> None:
    """Write a text as it is: what is read by programs is neither wrapped nor coloured."""
    try:
        typer.echo(text + end, nl=False)
    except BrokenPipeError:
        raise reader_gone() from None


def answer_json(value: object) -> None:
    write(json.dumps(_plain(value), ensure_ascii=False, indent=2))


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, list):
        return [_plain(member) for member in value]
    return value


def answer(line: str) -> None:
    # What a user wrote is shown as it is, never read as markup.
    answers.print(Text(line), soft_wrap=True)


def answer_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "Nothing is there.") -> None:
    """Show rows under their columns, the first of which is an id and never broken; or say that there is none."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, style="cyan" if place == 0 else None)
    for row in rows:
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    answers.print(table) if table.row_count else answer(empty)


def progress(line: str) -> None:
    problems.print(line, markup=False, highlight=False, soft_wrap=True)


def progress_bar(*columns: ProgressColumn) -> Progress:
    """How far long work is, where somebody is looking on."""
    return Progress(*columns, console=problems, transient=True, disable=not problems.is_terminal)


def more(cursor: str | None, as_json: bool) -> None:
    """Say that there is more, and how to have it."""
    if cursor is not None:
        progress(json.dumps({"nextCursor": cursor}) if as_json else f"There is more: --cursor {cursor}")


def make_sure(question: str, yes: bool) -> None:
    """Ask before something is done that cannot be undone."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody is here to answer that.", hint="Give --yes if it is really meant.")
    typer.confirm(question, abort=True, err=True)


def text_given(text: str) -> str:
    """A text of the command line; `-` stands for all of standard input."""
    return sys.stdin.read() if text == "-" else text
